#!/usr/bin/env python3
"""The command line when something is wrong: every exit code, bad files, signals, full disks,
closed pipes. The real program, the real starter model.

    HEARTH=build/bin/hearth HEARTH_TEST_MODELS=DIR python3 tests/app/cli_trouble_test.py [TEST …]
"""

import os
import pty
import resource
import select
import signal
import subprocess
import sys
import time
import unittest

from cli_support import (CommandLine, bad_files, in_terminal, limit_file_size, program, shell_code,
                         wait_for)

LONG_STORY = ["--ignore-eos", "--max-tokens", "2000"]
# Law 5 promises 150 ms of the engine; the rest is for a busy machine and the end of a process.
STOP_S = 2.0


class WrongUse(CommandLine):
    """Exit code 2."""

    def assertUsage(self, done, *words):
        self.assertCode(done, 2)
        self.assertEqual(done.out, b"")
        self.assertTrue(done.err.startswith("hearth: "), done.err)
        self.assertLessEqual(done.err.count("\n"), 2)
        for word in words:
            self.assertIn(word, done.err)

    def test_flags_verbs_and_values(self):
        for arguments, *words in (
                (["run", self.model, "x", "--tempp", "1"], "--tempp", "--temp"),
                (["run", self.model, "x", "--temp", "hot"], "--temp", "hot"),
                (["run", self.model, "x", "--temp", "-1"], "--temp"),
                (["run", self.model, "x", "--top-k"], "--top-k"),
                (["run", self.model, "x", "--isa", "mmx"], "mmx", "avx2"),
                (["run", self.model, "x", "-p", "y"], "twice"),
                (["run", self.model, "--ids", "1,2"], "--raw"),
                (["run", self.model, "--ids", "1,x", "--raw"], "x"),
                (["run", self.model, "--ids", "1", "--raw", "y"], "--ids"),
                (["run", self.model, "x", "--continue", "--chat", "y"], "--chat"),
                (["runn", self.model], "runn", "run"),
                (["serve"], "not there yet"),
                (["show"], "model"),
                (["show", self.model, "info", "more"], "more"),
                (["inspect", "nothing", self.model], "tokenize"),
                (["inspect", "logits", self.model], "--ids"),
                (["search"], "text"),
                (["rm"], "conversation"),
                (["bench", self.model, "--contexts", "many"], "many")):
            with self.subTest(" ".join(arguments)):
                self.assertUsage(self.hearth(*arguments), *words)

    def test_no_question_is_no_question(self):
        for arguments, stdin in (([], None), ([""], None), (["-"], b""), ([], b"\n\n")):
            with self.subTest(arguments):
                self.assertUsage(self.ask(*arguments, stdin=stdin), "no question")
        self.assertFalse(self.messages(), "nothing is stored of it")

    def test_a_chat_needs_a_screen(self):
        out = os.path.join(self.folder, "out")
        script = "exec %s run %s --data-dir %s > %s" % (program(), self.model, self.data, out)
        code, screen = in_terminal(["/bin/sh", "-c", script], self.env, self.folder)
        self.assertEqual(code, 2)
        self.assertIn(b"give a prompt", screen)
        self.assertEqual(os.path.getsize(out), 0)


class BadModels(CommandLine):
    """Exit code 3, one sentence."""

    def test_bad_files(self):
        for name, content in bad_files(self.model).items():
            with self.subTest(name):
                path = self.path(name, content)
                self.assertSentence(self.hearth("run", path, "Hello"), 3, name)
                self.assertSentence(self.hearth("show", path), 3, name)
                os.unlink(path)

    def test_things_that_are_no_files(self):
        folder = os.path.join(self.folder, "folder.gguf")
        os.mkdir(folder)
        pipe = os.path.join(self.folder, "pipe.gguf")
        os.mkfifo(pipe)
        dangling = os.path.join(self.folder, "dangling.gguf")
        os.symlink("nowhere", dangling)
        for path in (folder, pipe, dangling, "/dev/null", "/no/such/file.gguf"):
            with self.subTest(path):
                self.assertSentence(self.hearth("run", path, "Hello"), 3, os.path.basename(path))

    def test_names(self):
        self.assertSentence(self.hearth("run", "no-such-model", "Hello"), 3, "no-such-model")
        self.assertSentence(self.hearth("run", "-p", "Hello"), 3, "no model")
        own = os.path.join(self.data, "models")
        os.makedirs(own)
        os.symlink(self.model, os.path.join(own, "twin-a.gguf"))
        second = os.path.join(own, "twin-b.gguf")
        subprocess.run(["cp", self.model, second], check=True)
        done = self.hearth("run", "twin", "Hello")
        self.assertCode(done, 3)
        self.assertIn("twin-a", done.err)
        self.assertIn("twin-b", done.err)
        done = self.hearth("run", "-p", "Hello")
        self.assertCode(done, 3)
        self.assertIn("which", done.err)
        self.assertSentence(self.hearth("run", "twin-c", "Hello"), 3, "twin-a")


class Limits(CommandLine):
    def test_a_context_that_is_too_small(self):
        text = "All work and no play makes Jack a dull boy. " * 20
        done = self.ask(text, "--ctx", "128")
        self.assertSentence(done, 5, "128", "--ctx")
        self.assertEqual([row[0] for row in self.messages()][0], "user", "the question is kept")
        self.assertSentence(self.ask(text, "--ctx", "128", "--json"), 5)
        # The same chat goes on with a larger one.
        self.assertCode(self.ask("--continue", "Why?", "--ctx", "1024"), 0)

    def test_a_huge_prompt_is_refused_in_time(self):
        begin = time.monotonic()
        done = self.ask(stdin=b"One more sentence of a very long document. " * 50_000)
        self.assertSentence(done, 5, "tokens")
        self.assertLess(time.monotonic() - begin, 30)

    def test_an_answer_ends_where_the_context_ends(self):
        done = self.ask("Tell me a story.", "--ctx", "64", "--ignore-eos", "--max-tokens", "500",
                        "--json")
        self.assertCode(done, 0)
        self.assertEqual(done.json["finish_reason"], "length")
        self.assertEqual(done.json["context"], {"tokens": 64, "used": 64, "left_out_messages": 0})

    def test_no_memory(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (180 << 20, 180 << 20))
        self.assertSentence(self.ask("Hello", preexec_fn=limit), 4, "memory")

    def test_ids_outside_the_vocabulary(self):
        self.assertSentence(self.ask("--raw", "--ids", "1,999999999"), 2, "999999999")


class Disks(CommandLine):
    """Exit code 1, or an answer that is shown all the same."""

    def test_a_data_folder_that_cannot_be(self):
        file = self.path("file")
        done = self.hearth("run", self.model, "Hi", "--data-dir", file + "/below", data=False)
        self.assertSentence(done, 1, file)
        done = self.hearth("run", self.model, "Hi", "--data-dir", "/proc/nowhere", data=False)
        self.assertSentence(done, 1, "/proc/nowhere")
        # It works without a place to store.
        self.assertCode(self.hearth("run", self.model, "Hi", "--max-tokens", "2", "--no-log",
                                    "--data-dir", file + "/below", data=False), 0)

    def test_a_database_that_is_none(self):
        os.mkdir(self.data)
        with open(os.path.join(self.data, "hearth.db"), "wb") as file:
            file.write(b"My diary. " * 1000)
        self.assertSentence(self.ask("Hi"), 1, "hearth.db")
        with open(os.path.join(self.data, "hearth.db"), "rb") as file:
            self.assertEqual(file.read(), b"My diary. " * 1000)

    def test_a_disk_that_is_full_before_the_question(self):
        self.assertCode(self.ask("First."), 0)
        done = self.ask("Second. " * 2000, preexec_fn=limit_file_size(4096))
        self.assertSentence(done, 1, "disk")
        self.assertCode(self.ask("Third."), 0)
        self.assertEqual([c for role, c, _ in self.messages() if role == "user"],
                         ["First.", "Third."])

    def test_a_disk_that_fills_while_it_answers(self):
        self.assertCode(self.ask("First."), 0)
        arguments = ["Tell me a story.", "--ignore-eos", "--max-tokens", "300", "--seed", "1"]
        whole = self.hearth("run", self.model, *arguments, "--no-log")
        done = self.hearth("run", self.model, *arguments, preexec_fn=limit_file_size(60_000))
        self.assertEqual(done.out, whole.out, "the answer is shown to its end")
        self.assertIn("not", done.err)
        self.assertIn("disk", done.err)
        self.assertIn('"ok"', self.hearth("doctor", "--json").text)
        questions = [c for role, c, _ in self.messages() if role == "user"]
        self.assertEqual(questions, ["First.", "Tell me a story."])

    def test_an_output_that_is_full(self):
        with open("/dev/full", "wb") as full:
            done = self.ask("Say hello.", stdout=full)
            self.assertCode(done, 1)
            self.assertIn("No space left", done.err)
            self.assertEqual(done.err.count("\n"), 1)
            listed = self.hearth("history", stdout=full)
            self.assertCode(listed, 1)


class Pipes(CommandLine):
    def test_a_reader_that_leaves(self):
        process = self.start("run", self.model, "Tell me a story.", *LONG_STORY)
        self.assertTrue(process.stdout.read(1))
        process.stdout.close()
        begin = time.monotonic()
        process.wait(timeout=60)
        self.assertLess(time.monotonic() - begin, STOP_S)
        self.assertEqual(shell_code(process.returncode), 128 + signal.SIGPIPE)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        answer = self.messages()[-1]
        self.assertEqual((answer[0], answer[2]), ("assistant", 2), "what was written is kept")

    def test_head(self):
        script = "set -o pipefail; %s run %s 'Tell me a story.' --no-log %s | head -c 1" % (
            program(), self.model, " ".join(LONG_STORY))
        done = subprocess.run(["bash", "-c", script], env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60, check=False)
        self.assertEqual((done.returncode, len(done.stdout), done.stderr), (141, 1, b""))

    def test_closed_descriptors(self):
        ask = "%s run %s --data-dir %s --max-tokens 3 'Say hello.'" % (program(), self.model,
                                                                      self.data)
        for closed, code in (("<&-", 0), ("2>&-", 0), (">&-", 1), ("<&- >&- 2>&-", 1)):
            with self.subTest(closed):
                done = subprocess.run(["bash", "-c", "%s %s" % (ask, closed)], env=self.env,
                                      stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                      check=False)
                self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual([c for role, c, _ in self.messages() if role == "user"],
                         ["Say hello."] * 4)
        self.assertIn('"ok"', self.hearth("doctor", "--json").text)


class Signals(CommandLine):
    """Exit codes 130 and 143, soon."""

    def stopped_by(self, process, number):
        begin = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, STOP_S)
        self.assertEqual(shell_code(process.returncode), 128 + number, err)
        return out, err

    def test_while_it_answers(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal.Signals(number).name):
                process = self.start("run", self.model, "Tell me a story.", *LONG_STORY)
                begin = process.stdout.read(30)
                out, err = self.stopped_by(process, number)
                self.assertEqual(err, b"")
                role, content, state = self.messages()[-1]
                self.assertEqual((role, state), ("assistant", 2))
                self.assertEqual((begin + out).decode().rstrip("\n"), content.rstrip("\n"))

    def test_while_it_reads_the_prompt(self):
        self.assertCode(self.ask("First."), 0)
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal.Signals(number).name):
                n_before = len(self.messages())
                process = self.start("run", self.model, "A long text. " * 1500)
                self.assertTrue(wait_for(lambda: len(self.messages()) > n_before, 30))
                time.sleep(0.7)  # the model is loaded, the text is being read
                out, _ = self.stopped_by(process, number)
                self.assertEqual(out, b"")
                self.assertEqual(self.messages()[-1][0], "user", "the question is kept")

    def test_json_of_a_stopped_answer(self):
        process = self.start("run", self.model, "Tell me a story.", "--json", *LONG_STORY)
        self.assertTrue(wait_for(lambda: len(self.messages()) > 1, 30))
        out, _ = self.stopped_by(process, signal.SIGINT)
        self.assertIn(b'"finish_reason":"stopped"', out)

    def test_while_it_waits_for_stdin(self):
        reader, writer = os.pipe()
        process = self.start("run", self.model, "What?", stdin=reader)
        time.sleep(0.3)
        self.stopped_by(process, signal.SIGTERM)
        os.close(reader)
        os.close(writer)
        self.assertEqual(self.messages(), [])

    def test_in_the_chat(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal.Signals(number).name):
                pid, master = pty.fork()
                if pid == 0:
                    command = self.command(["run", self.model, *LONG_STORY])
                    os.execve(command[0], command, self.env)
                screen = b""
                os.write(master, b"Tell me a story.\r")
                end = time.monotonic() + 30
                while screen.count(b"\n") < 3 and time.monotonic() < end:
                    if select.select([master], [], [], 0.1)[0]:
                        screen += os.read(master, 65536)
                os.kill(pid, number)
                ended = wait_for(lambda: self.drain(master, pid), STOP_S)
                self.assertTrue(ended, screen)
                self.assertEqual(shell_code(os.waitstatus_to_exitcode(self.status)), 128 + number)
                os.close(master)
                self.assertEqual(self.messages()[-1][2], 2, "the answer so far is kept")

    def drain(self, master, pid):
        if select.select([master], [], [], 0)[0]:
            try:
                os.read(master, 65536)
            except OSError:
                pass
        found, self.status = os.waitpid(pid, os.WNOHANG)
        return found == pid


if __name__ == "__main__":
    sys.exit(0 if unittest.main(verbosity=2, exit=False).result.wasSuccessful() else 1)
