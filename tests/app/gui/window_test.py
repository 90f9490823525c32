#!/usr/bin/env python3
"""The window as a person meets it: under Xvfb, typed at with xdotool, looked at as pixels.

    HEARTH=build/bin/hearth HEARTH_TEST_MODELS=DIR window_test.py [--keep FOLDER]

Needs Xvfb, xdotool and ImageMagick. With --keep the screenshots stay in FOLDER. Each check is a
sentence; the first one that fails ends the program with 1.
"""

import argparse
import os
import pty
import select
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cli_support import program, starter_model  # noqa: E402


class Desk:
    """A screen of its own with the program in it."""

    def __init__(self, folder, keep, size="1280x900"):
        self.folder, self.keep = folder, keep
        read, write = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", size + "x24", "-nolisten", "tcp",
             "-noreset", "-r"],  # -r: no key repeats itself, however slow the machine is
            pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as numbers:
            self.display = ":" + numbers.readline().strip()
        self.env = dict(os.environ, DISPLAY=self.display, LC_ALL="C.UTF-8", HOME=folder,
                        LP_NUM_THREADS="1")
        for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "WAYLAND_DISPLAY"):
            self.env.pop(name, None)
        self.program = None

    def start(self, *arguments):
        self.program = subprocess.Popen([program(), *arguments], env=self.env,
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.wait(lambda: self.xdotool("search", "--name", "Hearth", check=False).strip(),
                  "a window opens")
        self.window = self.xdotool("search", "--name", "Hearth").split()[0]
        self.xdotool("windowfocus", self.window, check=False)
        self.wait(lambda: self.colours() > 20, "the window shows something")

    def stop(self):
        if self.program is not None and self.program.poll() is None:
            self.program.terminate()
            self.program.wait(20)
        self.server.terminate()
        self.server.wait(10)

    def xdotool(self, *arguments, check=True):
        done = subprocess.run(["xdotool", *arguments], env=self.env, capture_output=True, text=True)
        if check and done.returncode != 0:
            raise SystemExit("xdotool %s: %s" % (arguments, done.stderr))
        return done.stdout

    def key(self, name):
        # A key that goes down and up at once can be lost by the X test extension.
        self.xdotool("keydown", name)
        time.sleep(0.06)
        self.xdotool("keyup", name)

    def type(self, text):
        self.xdotool("type", "--delay", "30", text)
        time.sleep(0.3)

    def shot(self, name):
        path = os.path.join(self.keep or self.folder, name + ".png")
        subprocess.run(["import", "-window", "root", path], env=self.env, check=True)
        return path

    def colours(self):
        path = self.shot("look")
        out = subprocess.run(["identify", "-format", "%k", path], capture_output=True, text=True)
        return int(out.stdout or 0)

    def wait(self, condition, sentence, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                print("ok:", sentence)
                return
            if self.program is not None and self.program.poll() is not None:
                break
            time.sleep(0.2)
        if self.program is not None and self.program.poll() is not None:
            print(self.program.stderr.read().decode(errors="replace"), file=sys.stderr)
        raise SystemExit("FAILED: " + sentence)


def messages(folder):
    path = os.path.join(folder, ".local/share/hearth/hearth.db")
    if not os.path.exists(path):
        return []
    with sqlite3.connect("file:%s?mode=ro" % path, uri=True) as db:
        return db.execute("select role, content, state from messages order by id").fetchall()


def home_with_starter():
    """A new home folder whose only model is the starter."""
    folder = tempfile.mkdtemp()
    models = os.path.join(folder, ".local/share/hearth/models")
    os.makedirs(models)
    os.symlink(starter_model(), os.path.join(models, "smollm2-135m-q4_1.gguf"))
    return folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep")
    keep = parser.parse_args().keep
    for tool in ("Xvfb", "xdotool", "import"):
        if shutil.which(tool) is None:
            raise SystemExit("this test needs %s (packaging/packages.sh names the packages)" % tool)
    folder = home_with_starter()
    desk = Desk(folder, keep)
    try:
        run(desk, folder)
    finally:
        desk.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print("The window starts, chats and stops as it should.")


def run(desk, folder):
    desk.start()
    desk.shot("first-start")
    desk.key("Return")  # the first model of the list
    time.sleep(0.5)
    desk.type("Say hello")
    desk.shot("typed")
    desk.key("Return")
    desk.wait(lambda: [m for m in messages(folder) if m[0] == "user" and m[1] == "Say hello"],
              "the question is in the database")
    desk.wait(lambda: [m for m in messages(folder) if m[0] == "assistant" and m[1]],
              "an answer comes and is stored")
    desk.key("Escape")
    time.sleep(1.0)
    desk.shot("answered")
    desk.key("F1")
    time.sleep(0.5)
    desk.shot("shortcuts")
    desk.key("Escape")
    both_front_ends(desk, folder)
    idle_ticks(desk)
    two_at_once(desk, folder)
    desk.program.terminate()
    desk.program.wait(20)
    print("ok: SIGTERM ends the program")


class TerminalChat:
    """The chat in a terminal, beside the window, in the same conversation."""

    def __init__(self, env):
        self.screen = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.environ.clear()
            os.environ.update(env, TERM="xterm")
            os.execv(program(), [program(), "run", starter_model(), "-c", "--max-tokens", "20"])

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            self.screen += os.read(self.master, 65536)
        return self.screen

    def write(self, text):
        os.write(self.master, text.encode())

    def end(self):
        self.write("\x04")
        os.waitpid(self.pid, 0)
        os.close(self.master)


def both_front_ends(desk, folder):
    """Neither is touched when the other one writes; both show it."""
    env = {name: value for name, value in desk.env.items() if name != "DISPLAY"}
    terminal = TerminalChat(env)
    desk.wait(lambda: b"Say hello" in terminal.read(), "the terminal shows the window's chat")
    desk.type("Now from the window")
    desk.key("Return")
    desk.wait(lambda: stored(folder, "Now from the window"), "the window's question is stored")
    began = time.monotonic()
    desk.wait(lambda: b"Now from the window" in terminal.read(),
              "the terminal shows it without a key")
    print("ok: after %.2f s" % (time.monotonic() - began))
    desk.wait(lambda: answers(folder)[1:], "the window's answer begins")
    desk.key("Escape")
    desk.wait(lambda: answered(folder, 2), "the window's answer ends")
    time.sleep(2.0)
    with open(desk.shot("before"), "rb") as file:
        before = file.read()
    terminal.write("And from the terminal\r")
    desk.wait(lambda: stored(folder, "And from the terminal"), "the terminal's question is stored")
    began = time.monotonic()

    def changed():
        with open(desk.shot("after"), "rb") as file:
            return file.read() != before
    desk.wait(changed, "the window shows it without a key")
    print("ok: after %.2f s" % (time.monotonic() - began))
    desk.wait(lambda: answered(folder, 3), "the terminal's answer ends")
    time.sleep(1.5)
    desk.shot("both")
    terminal.end()


def two_at_once(desk, folder):
    """A chat that is left goes on being answered, beside the next one."""
    before = len(answers(folder))
    for question in ("Name one colour", "Name one animal"):
        desk.key("ctrl+n")
        time.sleep(0.5)
        desk.type(question)
        desk.key("Return")
        desk.wait(lambda: stored(folder, question), "a question in a chat of its own")
    desk.wait(lambda: len(answers(folder)) >= before + 2 and all(answers(folder)[before:]),
              "both are answered", 180)
    states = [m[2] for m in messages(folder) if m[0] == "assistant"][before:]
    if not set(states) <= {0, 1}:  # whole, or still written
        raise SystemExit("FAILED: leaving a chat ended its answer: states %s" % states)
    print("ok: and none was cut off")
    time.sleep(1.0)
    desk.shot("two-chats")


def stored(folder, text):
    return any(m[0] == "user" and m[1] == text for m in messages(folder))


def answers(folder):
    return [m[1] for m in messages(folder) if m[0] == "assistant"]


def answered(folder, n):
    """That many answers, all of them ended."""
    states = [m[2] for m in messages(folder) if m[0] == "assistant"]
    return len(states) >= n and 1 not in states


def idle_ticks(desk):
    """Nothing happens: nothing is computed."""
    def ticks():
        with open("/proc/%d/stat" % desk.program.pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    time.sleep(8.0)  # the answer is over, short messages are gone
    before = ticks()
    time.sleep(10.0)
    spent = ticks() - before
    print("ok: %d ticks in 10 idle seconds" % spent)
    # One tick is the least that can be counted.
    if spent > 2:
        raise SystemExit("FAILED: an idle window computes: %d ticks in 10 s" % spent)


if __name__ == "__main__":
    main()
