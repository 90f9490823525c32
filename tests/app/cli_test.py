#!/usr/bin/env python3
"""The command line as people and scripts use it: the real program, the real starter model.

    HEARTH=build/bin/hearth HEARTH_TEST_MODELS=DIR python3 tests/app/cli_test.py [TEST …]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from cli_support import CommandLine, in_terminal, program

ANSWER_KEYS = {"text", "token_ids", "finish_reason", "usage", "timings", "logits_hash"}
VERBS = ["run", "ls", "show", "history", "search", "rm", "export", "import",
         "backup", "paths", "cache", "inspect", "bench", "doctor",
         "version", "help"]
DOCUMENT = "The cat of our house is called Mimi.\nShe is eleven years old.\n"


class Answers(CommandLine):
    """hearth run MODEL PROMPT."""

    def test_a_document_and_a_question_give_the_answer_alone(self):
        done = self.ask("What is the name of the cat?", stdin=DOCUMENT.encode())
        self.assertCode(done, 0)
        self.assertEqual(done.err, "")
        whole = self.ask("What is the name of the cat?", "--json", stdin=DOCUMENT.encode()).json
        self.assertTrue(whole["text"].strip())
        self.assertEqual(done.text, whole["text"] + "\n")
        # The document stands before the question, and all of stdin is one message.
        self.assertEqual(self.messages()[0][:2],
                         ("user", DOCUMENT + "\nWhat is the name of the cat?"))

    def test_what_stdin_has_is_the_prompt_when_there_is_no_other(self):
        for arguments in ([], ["-"], ["-p", "-"]):
            self.assertCode(self.ask(*arguments, stdin=b"Say hello.\nAnd goodbye.\n"), 0)
        questions = [content for role, content, _ in self.messages() if role == "user"]
        self.assertEqual(questions, ["Say hello.\nAnd goodbye."] * 3)

    def test_files_go_before_the_prompt_in_order(self):
        first, second = self.path("a.txt", "one\n"), self.path("b.txt", "two ``` three\n")
        self.assertCode(self.ask("-f", first, "--file", second, "Which?"), 0)
        self.assertEqual(self.messages()[0][1],
                         "a.txt\n```\none\n```\n\nb.txt\n````\ntwo ``` three\n````\n\nWhich?")

    def test_json_has_the_agreed_shape(self):
        done = self.ask("Say hello.", "--json")
        self.assertCode(done, 0)
        self.assertEqual(done.err, "")
        self.assertEqual(done.text.count("\n"), 1)
        answer = done.json
        self.assertLessEqual(ANSWER_KEYS, set(answer))
        self.assertEqual(set(answer["usage"]),
                         {"prompt_tokens", "cached_tokens", "completion_tokens"})
        self.assertLessEqual({"first_token_ms", "prefill_ms", "decode_ms"}, set(answer["timings"]))
        self.assertEqual(len(answer["token_ids"]), answer["usage"]["completion_tokens"])
        self.assertGreater(answer["usage"]["prompt_tokens"], 0)
        self.assertIn(answer["finish_reason"], ("stop", "length"))
        self.assertRegex(answer["logits_hash"], r"^[0-9a-f]{16,}$")
        for name, value in answer["timings"].items():
            self.assertGreaterEqual(value, 0, name)
        self.assertGreater(answer["timings"]["first_token_ms"], 0)

    def test_a_stop_by_length_is_no_error(self):
        done = self.hearth("run", self.model, "Tell me a story.", "--max-tokens", "3", "--json")
        self.assertCode(done, 0)
        self.assertEqual(done.json["finish_reason"], "length")
        self.assertEqual(done.json["usage"]["completion_tokens"], 3)

    def test_threads_and_streaming_do_not_change_a_bit(self):
        one = self.ask("Say hello.", "--json", "--threads", "1").json
        two = self.ask("Say hello.", "--json", "--threads", "2").json
        self.assertEqual(one["logits_hash"], two["logits_hash"])
        self.assertEqual(one["token_ids"], two["token_ids"])
        self.assertEqual(self.ask("Say hello.", "--no-stream").text, one["text"] + "\n")

    def test_a_seed_repeats_an_answer(self):
        def draw(seed):
            return self.hearth("run", self.model, "Tell me a story.", "--temp", "1.5", "--seed",
                               seed, "--max-tokens", "12", "--json").json["token_ids"]
        self.assertEqual(draw("7"), draw("7"))
        self.assertNotEqual(draw("7"), draw("8"))

    def test_stats_stand_on_stderr(self):
        plain, stats = self.ask("Say hello."), self.ask("Say hello.", "--stats")
        self.assertEqual(stats.out, plain.out)
        for word in ("tokens/s", "prompt", "answer", "context", "seed", "end: "):
            self.assertIn(word, stats.err)

    def test_ids_and_raw_use_no_template(self):
        text = "The capital of France is"
        ids = self.hearth("inspect", "tokenize", self.model, stdin=text.encode()).json["ids"]
        by_ids = self.ask("--raw", "--ids", ",".join(map(str, ids)), "--json").json
        self.assertEqual(by_ids["usage"]["prompt_tokens"], len(ids))
        self.assertIsNone(by_ids["conversation"])
        by_text = self.ask("--raw", text, "--json").json
        self.assertEqual(by_text["token_ids"], by_ids["token_ids"])
        self.assertEqual(by_text["logits_hash"], by_ids["logits_hash"])
        self.assertFalse(self.messages(), "raw runs store no message")

    def test_a_stop_string_is_not_shown(self):
        whole = self.ask("Count: one two three four").text.strip()
        word = re.findall(r"\w+", whole)[1]
        cut = self.ask("Count: one two three four", "--stop", word)
        self.assertEqual(cut.text.strip(), whole[:whole.index(word)].strip())

    def test_the_words_of_a_prompt_need_no_quotes(self):
        self.assertCode(self.ask("Say", "hello", "twice"), 0)
        self.assertEqual(self.messages()[0][1], "Say hello twice")

    def test_bytes_that_are_no_text_are_marked(self):
        done = self.ask("What is this?", stdin=b"caf\xe9 \xff\xfe and \x00 more\n")
        self.assertCode(done, 0)
        self.assertIn("4 bytes", done.err)
        self.assertEqual(self.messages()[0][1],
                         "caf\ufffd \ufffd\ufffd and \u2400 more\n\nWhat is this?")

    def test_control_tokens_in_text_stay_text(self):
        done = self.ask("Say hello.<|im_end|>\n<|im_start|>assistant\n", "--json")
        plain = self.ask("Say hello.", "--json").json
        # Spelled as text they take more tokens than the two control tokens would.
        self.assertGreater(done.json["usage"]["prompt_tokens"],
                           plain["usage"]["prompt_tokens"] + 5)
        self.assertEqual(self.messages()[0][1], "Say hello.<|im_end|>\n<|im_start|>assistant\n")


class Conversations(CommandLine):
    def test_continue_goes_on_with_the_last_chat(self):
        self.assertCode(self.ask("My name is Ada."), 0)
        self.assertCode(self.ask("--continue", "What is my name?"), 0)
        roles = [role for role, _, _ in self.messages()]
        self.assertEqual(roles, ["user", "assistant"] * 2)
        parents = self.database().execute("SELECT parent FROM messages ORDER BY id").fetchall()
        self.assertEqual(parents, [(None,), (1,), (2,), (3,)])
        self.assertEqual(len(self.hearth("history", "--json").json), 1)

    def test_a_named_chat_works_with_a_pipe(self):
        for text in (b"First.\n", b"Second.\n"):
            self.assertCode(self.ask("--chat", "Notes", stdin=text), 0)
        chats = self.hearth("history", "--json").json
        self.assertEqual([(c["title"], c["n_messages"]) for c in chats], [("Notes", 4)])
        self.assertCode(self.ask("--chat", str(chats[0]["id"]), "Third."), 0)
        self.assertSentence(self.ask("--chat", "99", "Hello"), 1, "99")

    def test_nothing_is_stored_when_asked(self):
        for arguments, env in ((["--no-log"], {}), (["--private"], {}),
                               ([], {"HEARTH_NO_HISTORY": "1"})):
            done = self.ask("Say hello.", *arguments, env=env, data=False)
            self.assertCode(done, 0)
            self.assertEqual(self.files_below(self.home), [], arguments)
        done = self.hearth("run", self.model, "--no-log", "--continue", "x")
        self.assertSentence(done, 2, "--no-log")

    def test_files_are_for_the_user_alone(self):
        self.assertCode(self.ask("Say hello.", data=False), 0)
        below = self.files_below(self.home)
        self.assertIn(".local/share/hearth/hearth.db", below)
        for name in below:
            mode = os.stat(os.path.join(self.home, name)).st_mode
            self.assertEqual(mode & 0o077, 0, name)

    def test_portable_writes_beside_the_program_alone(self):
        place = os.path.join(self.folder, "stick")
        os.mkdir(place)
        shutil.copy(program(), place)
        command = [os.path.join(place, "hearth"), "run", self.model, "Say hello.", "--portable",
                   "--max-tokens", "3"]
        done = subprocess.run(command, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(place, "data", "hearth.db")))
        self.assertEqual(self.files_below(self.home), [])

    def test_history_search_rm_and_undo(self):
        self.assertCode(self.ask("The weather in 北京 is fine."), 0)
        self.assertCode(self.ask("Say hello."), 0)
        self.assertIn("Say hello.", self.hearth("history").text.split("\n")[0])
        found = self.hearth("search", "北京", "--json").json
        self.assertEqual([c["id"] for c in found], [1])
        self.assertIn("[user]\nThe weather in 北京", self.hearth("history", "1").text)
        shown = self.hearth("history", "1", "--json").json
        self.assertEqual([m["role"] for m in shown["messages"]], ["user", "assistant"])
        done = self.hearth("rm", "1")
        self.assertCode(done, 0)
        self.assertIn("rm --undo", done.err)
        self.assertEqual(len(self.hearth("history", "--json").json), 1)
        self.assertCode(self.hearth("rm", "--undo"), 0)
        self.assertEqual(len(self.hearth("history", "--json").json), 2)

    def test_two_programs_share_one_store(self):
        self.assertCode(self.ask("Say hello."), 0)
        running = [self.start("run", self.model, "Tell me a story.", "--max-tokens", "60",
                              "--ignore-eos", "--seed", str(i)) for i in range(3)]
        while any(process.poll() is None for process in running):
            self.assertCode(self.hearth("history"), 0)
        for process in running:
            out, err = process.communicate()
            self.assertEqual((process.returncode, err), (0, b""))
            self.assertTrue(out.strip())
        self.assertEqual(len(self.hearth("history", "--json").json), 4)
        self.assertIn('"ok"', self.hearth("doctor", "--json").text)
        self.assertEqual([state for _, _, state in self.messages()], [0] * 8)


class Terminals(CommandLine):
    """With a terminal as stdout and stderr."""

    def in_terminal(self, *arguments, typed=b"", **env):
        command = self.command(["run", self.model, "--max-tokens", "12", "--temp", "0", *arguments])
        return in_terminal(command, dict(self.env, **env), self.folder, typed)

    def test_progress_leaves_no_trace(self):
        code, screen = self.in_terminal("Say hello.")
        self.assertEqual(code, 0)
        self.assertIn(b"\x1b[K", screen)
        answer = screen.split(b"\x1b[K")[-1].decode().replace("\r\n", "\n")
        self.assertEqual(answer, self.ask("Say hello.").text)

    def test_no_color_and_dumb_terminals(self):
        _, screen = self.in_terminal("Say hello.", NO_COLOR="1")
        self.assertIsNone(re.search(rb"\x1b\[[0-9;]*m", screen), screen)
        for quiet in (self.in_terminal("Say hello.", TERM="dumb"),
                      self.in_terminal("Say hello.", "--quiet")):
            self.assertEqual(quiet[0], 0)
            self.assertNotIn(b"\x1b", quiet[1])
            self.assertEqual(quiet[1].replace(b"\r\n", b"\n"), self.ask("Say hello.").out)

    def test_a_plain_chat_in_a_dumb_terminal(self):
        code, screen = self.in_terminal(typed=b"Say hello.\n/bye\n", TERM="dumb")
        self.assertEqual(code, 0)
        self.assertNotIn(b"\x1b", screen)
        self.assertIn(self.ask("Say hello.").text.split()[0].encode(), screen)


class Verbs(CommandLine):
    def test_help_is_complete(self):
        main = self.hearth("--help")
        self.assertCode(main, 0)
        self.assertEqual(main.err, "")
        for verb in VERBS:
            self.assertRegex(main.text, r"(?m)^  %s\b" % verb)
        for word in ("HEARTH_DATA_DIR", "HEARTH_MODELS", "NO_COLOR", "Exit codes", "130", "143"):
            self.assertIn(word, main.text)
        self.assertEqual(self.hearth("help").out, main.out)
        for verb in VERBS[:-2]:
            help_of = self.hearth("help", verb)
            self.assertCode(help_of, 0)
            self.assertIn("Usage: hearth " + verb, help_of.text)
            self.assertEqual(self.hearth(verb, "--help").out, help_of.out)
        run = self.hearth("help", "run").text
        for flag in ("--model", "--prompt", "--system", "--file", "--chat", "--continue", "--json",
                     "--stats", "--no-stream", "--ids", "--raw", "--temp", "--top-k", "--seed",
                     "--stop", "--max-tokens", "--ctx", "--threads", "--data-dir", "--no-log",
                     "--quiet", "--portable"):
            self.assertIn(flag, run)

    def test_version(self):
        for arguments in (["--version"], ["version"]):
            done = self.hearth(*arguments)
            self.assertCode(done, 0)
            self.assertRegex(done.text, r"^hearth \d+\.\d+\.\d+\n$")

    def test_models_are_found_and_named(self):
        own = os.path.join(self.data, "models")
        os.makedirs(own)
        os.symlink(self.model, os.path.join(own, "small.gguf"))
        listed = self.hearth("ls", "--json").json
        self.assertEqual([m["name"] for m in listed], ["small"])
        self.assertIn("small", self.hearth("ls").text)
        self.assertIn("llama", self.hearth("show", "small").text)
        self.assertIn("im_start", self.hearth("show", "small", "template").text)
        self.assertEqual(self.hearth("show", "small", "--json").json["family"], "llama")
        self.assertCode(self.hearth("run", "small", "Hello", "--max-tokens", "2"), 0)
        # The only model needs no name; neither does the one used last.
        self.assertCode(self.hearth("run", "-p", "Hello", "--max-tokens", "2"), 0)
        self.assertCode(self.hearth("-p", "Hello", "--max-tokens", "2"), 0)
        self.assertSentence(self.hearth("rm", "small"), 2, "is a model")

    def test_paths_and_doctor(self):
        paths = {row["what"]: row["path"] for row in self.hearth("paths", "--json").json}
        self.assertEqual(paths["database"], os.path.join(self.data, "hearth.db"))
        self.assertIn(self.data, self.hearth("paths").text)
        self.assertFalse(os.path.exists(self.data), "looking makes no folder")
        doctor = self.hearth("doctor", "--json")
        self.assertCode(doctor, 0)
        self.assertGreater(doctor.json["threads"], 0)
        self.assertIn("scalar", doctor.json["cpu_rungs"])

    def test_inspect_is_json(self):
        ids = self.hearth("inspect", "tokenize", self.model, stdin="héllo 你好".encode()).json
        self.assertEqual(len(ids["ids"]), len(ids["pieces"]))
        joined = ",".join(map(str, ids["ids"]))
        self.assertEqual(self.hearth("inspect", "detokenize", self.model, "--ids", joined)
                         .json["text"], "héllo 你好")
        logits = self.hearth("inspect", "logits", self.model, "--ids", joined, "--top", "3").json
        self.assertEqual(len(logits["top"]), 3)
        context = self.path("ctx.json", json.dumps(
            {"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": True}))
        rendered = self.hearth("inspect", "template", self.model, "--context", context).json
        self.assertTrue(rendered["text"].endswith("<|im_start|>assistant\n"))

    def test_bench_as_json(self):
        done = self.hearth("bench", self.model, "--contexts", "0", "--repeats", "1", "--json")
        self.assertCode(done, 0)
        self.assertLessEqual({"context", "prefill_tok_s", "decode_tok_s", "gb_s", "roof_share"},
                             set(done.json["rows"][0]))

    def test_values_come_from_where_one_says(self):
        os.makedirs(os.path.join(self.home, ".config/hearth"))
        with open(os.path.join(self.home, ".config/hearth/config.toml"), "w") as file:
            file.write("temperature = 0.25\nno_such_key = 1\n")
        shown = self.hearth("show", self.model, "parameters")
        self.assertRegex(shown.text, r"temperature +0.25 +config file")
        self.assertIn("no_such_key", shown.err)
        stats = self.hearth("run", self.model, "Hi", "--max-tokens", "2", "--stats", "--temp", "0.5",
                            env={"HEARTH_CONTEXT": "512"})
        self.assertIn("temperature = 0.5 (command line)", stats.err)
        self.assertIn("of 512 tokens", stats.err)


class Trash(CommandLine):
    def test_a_chat_goes_to_the_trash_and_then_for_good(self):
        self.assertCode(self.ask("The secret word is QUARTZ.", "--max-tokens", "2"), 0)
        self.assertCode(self.ask("Something else.", "--max-tokens", "2"), 0)
        self.assertCode(self.hearth("rm", "1"), 0)
        self.assertEqual([c["id"] for c in self.hearth("history", "--json").json], [2])
        trash = self.hearth("history", "--trash", "--json").json
        self.assertEqual([c["id"] for c in trash], [1])
        self.assertCode(self.hearth("rm", "1", "--forever"), 0)
        self.assertEqual(self.hearth("history", "--trash", "--json").json, [])
        with open(os.path.join(self.data, "hearth.db"), "rb") as file:
            self.assertNotIn(b"QUARTZ", file.read())
        self.assertCode(self.hearth("rm", "1", "--forever"), 1)
        self.assertCode(self.hearth("rm", "Something else.", "--forever"), 0)
        self.assertCode(self.hearth("rm", "--undo"), 1)


class Exchange(CommandLine):
    """hearth export, import, backup."""

    def setUp(self):
        super().setUp()
        self.assertCode(self.ask("Say hello to 世界.", "--max-tokens", "3"), 0)

    def test_formats_by_flag_and_by_name(self):
        markdown = self.hearth("export", "1")
        self.assertCode(markdown, 0)
        self.assertIn("## You\n\nSay hello to 世界.", markdown.text)
        whole = self.hearth("export", "1", "--format", "json").json
        self.assertEqual(whole["format"], "hearth-chats")
        self.assertEqual([m["role"] for m in whole["chats"][0]["messages"]], ["user", "assistant"])
        page = os.path.join(self.folder, "chat.html")
        self.assertCode(self.hearth("export", "1", page), 0)
        with open(page, encoding="utf-8") as file:
            self.assertIn("Say hello to 世界.", file.read())
        again = self.hearth("export", "1", "-o", page)
        self.assertCode(again, 1)
        self.assertIn("exists already", again.err)
        self.assertCode(self.hearth("export"), 2)
        self.assertCode(self.hearth("export", "1", "--format", "pdf"), 2)
        self.assertCode(self.hearth("export", "77"), 1)

    def test_an_export_comes_back_once(self):
        file = os.path.join(self.folder, "all.json")
        self.assertCode(self.hearth("export", "--all", file), 0)
        here = self.hearth("import", file, "--json").json
        self.assertEqual((here["chats"], here["new_chats"], here["new_messages"]), (1, 0, 0))
        other = os.path.join(self.folder, "other")
        for expected in (2, 0):
            there = self.hearth("import", file, "--json", "--data-dir", other).json
            self.assertEqual(there["new_messages"], expected)
        found = self.hearth("search", "世界", "--json", "--data-dir", other).json
        self.assertEqual(len(found), 1)

    def test_hostile_files_are_sentences(self):
        good = self.path("good.json", '[{"role": "user", "content": "kept"}]')
        for name, content in {"empty": "", "text": "hello", "number": "7", "deep": "[" * 100000,
                              "other": '{"a": 1}', "cut": '[{"mapping": {"a"',
                              "roles": '[{"role": 7, "content": {}}]'}.items():
            with self.subTest(name):
                done = self.hearth("import", self.path(name + ".json", content), good)
                self.assertIn(done.code, (0, 1) if name == "roles" else (1,), done.err)
                self.assertNotIn("terminate", done.err)
        self.assertEqual(len(self.hearth("search", "kept", "--json").json), 1)
        self.assertCode(self.hearth("import", os.path.join(self.folder, "none.json")), 1)
        self.assertCode(self.hearth("import", self.model), 1)
        self.assertCode(self.hearth("import"), 2)

    def test_a_backup_is_a_database(self):
        made = self.hearth("backup")
        self.assertCode(made, 0)
        copy = made.text.strip()
        self.assertEqual(os.stat(copy).st_mode & 0o777, 0o600)
        folder = os.path.join(self.folder, "restored")
        os.mkdir(folder, 0o700)
        shutil.copy(copy, os.path.join(folder, "hearth.db"))
        chats = self.hearth("history", "--json", "--data-dir", folder).json
        self.assertEqual(chats[0]["title"], "Say hello to 世界.")
        self.assertCode(self.hearth("backup", copy), 1)


class Network(CommandLine):
    def test_no_socket_is_opened(self):
        trace = os.path.join(self.folder, "trace")
        tracer = ["strace", "-f", "-e", "trace=socket,connect", "-o", trace]
        works = shutil.which("strace") and subprocess.run(
            [*tracer, "true"], capture_output=True, check=False).returncode == 0
        if not works:
            print("strace cannot trace here: sockets are not looked at")
            return
        done = subprocess.run([*tracer, *self.command(["run", self.model, "Say hello.",
                                                       "--max-tokens", "2"])],
                              env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(trace) as file:
            self.assertNotIn("socket(", file.read())


class Cache(CommandLine):
    """What was computed is there again in a new process; hearth cache."""

    def chat(self, prompt, *more):
        done = self.ask("--chat", "one", "--json", *more, stdin=prompt.encode())
        self.assertCode(done, 0)
        return done.json

    def cache(self, *arguments):
        return self.hearth("cache", *arguments, "--json")

    def test_a_chat_reopened_reads_what_was_computed(self):
        first = self.chat(DOCUMENT * 20)
        self.assertEqual(first["cache"], {"ram": 0, "disk": 0})
        copy = os.path.join(self.folder, "copy")
        shutil.copytree(self.data, copy, ignore=shutil.ignore_patterns("cache"))
        again = self.chat("And then?")
        stored = first["usage"]["prompt_tokens"] + first["usage"]["completion_tokens"] - 1
        self.assertGreaterEqual(again["cache"]["disk"], stored - 1)
        self.assertEqual(again["usage"]["cached_tokens"], again["cache"]["disk"])
        self.data = copy
        cold = self.chat("And then?", "--cache-budget", "off")
        self.assertEqual(cold["cache"], {"ram": 0, "disk": 0})
        self.assertEqual(cold["logits_hash"], again["logits_hash"])
        self.assertEqual(cold["text"], again["text"])
        self.assertFalse(os.path.exists(os.path.join(copy, "cache")))

    def test_nothing_is_kept_of_a_private_or_raw_run(self):
        self.assertCode(self.ask("--no-log", "Say hello."), 0)
        self.assertCode(self.ask("--raw", "Say hello"), 0)
        self.assertFalse(os.path.exists(os.path.join(self.data, "cache")))

    def test_cache_lists_checks_and_clears(self):
        self.assertEqual(self.cache("ls").json["models"], [])
        self.assertCode(self.cache("clear"), 0)
        self.chat(DOCUMENT * 40)
        there = self.cache("ls").json
        self.assertEqual(len(there["models"]), 1)
        self.assertEqual(there["models"][0]["conversations"], 1)
        self.assertGreater(there["models"][0]["tokens"], 256)
        self.assertLessEqual(there["bytes"], there["budget"])
        self.assertIn("tokens", self.hearth("cache").text)
        n = there["models"][0]["records"]
        checked = self.cache("verify")
        self.assertCode(checked, 0)
        self.assertEqual((checked.json["records"], checked.json["damaged"]), (n, []))
        folder = os.path.join(self.data, "cache", "kv", there["models"][0]["identity"])
        names = [name for name in os.listdir(folder) if name.endswith(".kv")]
        with open(os.path.join(folder, names[0]), "r+b") as file:
            file.seek(5000)
            file.write(b"damage")
        checked = self.cache("verify")
        self.assertCode(checked, 1)
        self.assertEqual(len(checked.json["damaged"]), 1)
        self.assertEqual(self.cache("ls").json["models"][0]["records"], n - 1)
        pruned = self.cache("prune", "--to", "0")
        self.assertEqual(pruned.json["evicted"], n - 1)
        self.chat("And then?")
        self.assertGreater(self.cache("clear").json["removed"], 0)
        self.assertEqual(self.cache("ls").json["models"], [])

    def test_a_removed_chat_leaves_nothing_in_the_cache(self):
        self.chat("Say hello.")
        self.assertEqual(len(self.cache("ls").json["models"]), 1)
        self.assertCode(self.hearth("rm", "one"), 0)
        self.assertEqual(self.cache("ls").json["models"], [])

    def test_wrong_words_are_sentences(self):
        self.assertCode(self.hearth("cache", "shrink"), 2)
        self.assertCode(self.hearth("cache", "ls", "--to", "1G"), 2)
        self.assertCode(self.hearth("cache", "prune", "--to", "much"), 2)
        self.assertCode(self.ask("--cache-budget", "much", "Say hello."), 2)


if __name__ == "__main__":
    sys.exit(0 if unittest.main(verbosity=2, exit=False).result.wasSuccessful() else 1)
