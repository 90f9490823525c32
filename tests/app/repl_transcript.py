#!/usr/bin/env python3
"""Transcript of the terminal chat: the real program in a real terminal (tmux), typed at and read.

    HEARTH=build/bin/hearth HEARTH_TEST_MODELS=DIR repl_transcript.py [--show] [CASE …]

Needs tmux and the locale C.UTF-8. Each check is a sentence; the first one that fails prints the
screen and the program ends with 1. --show prints the screens on the way.
"""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cli_support import program, starter_model

FAMILY = "\U0001F468\u200d\U0001F469\u200d\U0001F467"
PLACEHOLDER = "Send a message (/? for help)"


class Screen:
    """One tmux session on a server of its own."""

    def __init__(self, folder, show):
        self.socket = os.path.join(folder, "tmux")
        self.show_screens = show
        self.columns, self.rows = 80, 24
        env = dict(os.environ, LC_ALL="C.UTF-8", HOME=folder, XDG_STATE_HOME="", XDG_DATA_HOME="")
        env.pop("TMUX", None)
        self.tmux("new-session", "-d", "-s", "t", "-x", "80", "-y", "24",
                  "exec bash --norc --noprofile", env=env)
        self.tmux("set-option", "-g", "default-terminal", "screen-256color")
        self.type("PS1='$ '; modes=$(stty -g); clear\r")
        self.wait(lambda s: s == "$", "the shell is there")

    def tmux(self, *arguments, env=None, data=None):
        done = subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", "-u", *arguments],
                              capture_output=True, text=True, env=env, input=data)
        if done.returncode != 0:
            raise SystemExit("tmux %s: %s" % (arguments[0], done.stderr.strip()))
        return done.stdout

    def keys(self, *names):
        self.tmux("send-keys", "-t", "t", *names)

    def type(self, text):
        for part in text.split("\r"):
            if part:
                self.tmux("send-keys", "-t", "t", "-l", part)
            if part is not text.split("\r")[-1]:
                self.keys("Enter")

    def enter(self, text):
        self.tmux("send-keys", "-t", "t", "-l", text)
        self.keys("Enter")

    def paste(self, text):
        self.tmux("load-buffer", "-", data=text)
        self.tmux("paste-buffer", "-p", "-r", "-t", "t")

    def text(self):
        lines = self.tmux("capture-pane", "-p", "-t", "t").split("\n")
        return "\n".join(line.rstrip() for line in lines).rstrip("\n")

    def last(self):
        return self.text().split("\n")[-1]

    def cursor(self):
        x, y = self.tmux("display", "-p", "-t", "t", "#{cursor_x} #{cursor_y}").split()
        return int(x), int(y)

    def program(self):
        """The process that the shell runs now."""
        shell = self.tmux("display", "-p", "-t", "t", "#{pane_pid}").strip()
        with open("/proc/%s/task/%s/children" % (shell, shell)) as file:
            return int(file.read().split()[0])

    def resize(self, columns, rows):
        self.tmux("resize-window", "-t", "t", "-x", str(columns), "-y", str(rows))

    def wait(self, condition, what, seconds=30):
        end = time.monotonic() + seconds
        while True:
            text = self.text()
            if condition(text):
                if self.show_screens:
                    self.print("ok: " + what)
                else:
                    print("ok:", what)
                return text
            if time.monotonic() > end:
                self.print("FAILED: " + what)
                sys.exit(1)
            time.sleep(0.03)

    def print(self, title):
        print(title)
        for line in self.text().split("\n"):
            print("    |" + line)

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)


class Transcript:
    def __init__(self, screen, hearth, model, folder):
        self.s = screen
        self.folder = folder
        self.data = os.path.join(folder, "data")
        self.command = "%s run %s --data-dir %s --seed 1" % tuple(
            map(shlex.quote, (hearth, model, self.data)))

    def start(self, options="", environment="", ready=None):
        self.s.enter("clear; %s %s %s" % (environment, self.command, options))
        self.at_prompt("the prompt is there", ready)

    def at_prompt(self, what, ready=None, seconds=60):
        """The last row is an empty prompt (with the placeholder where there is colour)."""
        ready = ready or (">>> " + PLACEHOLDER)
        return self.s.wait(lambda t: t.split("\n")[-1] == ready, what, seconds)

    def clear(self):
        self.s.keys("C-l")
        self.s.wait(lambda t: t.count("\n") == 0, "Ctrl+L leaves the line alone on the screen", 5)

    def leaves_with(self, code, what):
        """The shell is back, with the tty in its normal state."""
        self.s.wait(lambda t: t.split("\n")[-1] == "$", what)
        self.s.enter('code=$?; clear; echo code=$code tty=$([ "$(stty -g)" = "$modes" ] && echo same)')
        self.s.wait(lambda t: t.split("\n")[0] == "code=%d tty=same" % code,
                    "%s: exit code %d, the tty is as before" % (what, code), 5)

    # --- cases ------------------------------------------------------------------------------------

    def two_turns(self):
        self.start()
        self.s.enter("Say hello.")
        screen = self.at_prompt("the first turn ends in a prompt")
        lines = screen.split("\n")
        self.check(lines[0] == ">>> Say hello.", "the question stands as it was typed", screen)
        self.check(len(lines[1]) > 1 and lines[-2] == "", "an answer and a blank row follow", screen)
        self.s.enter("What did I ask before?")
        screen = self.at_prompt("the second turn, too")
        self.check(screen.count(">>> ") == 3, "three prompts, two answers", screen)
        self.s.enter("/context")
        self.s.wait(lambda t: " of " in t and " are free" in t, "/context shows the gauge", 5)
        self.s.enter("/history")
        self.s.wait(lambda t: "4 messages" in t and "Say hello." in t, "/history has the chat", 5)
        self.s.keys("C-d")
        self.leaves_with(0, "Ctrl+D leaves")
        self.start("--continue", ready=None)
        self.check("Say hello." in self.s.text(), "--continue shows where it stood", self.s.text())

    def typing(self):
        self.clear()
        self.s.type("Hi 你好 " + FAMILY + "!")
        self.s.wait(lambda t: t == ">>> Hi 你好 " + FAMILY + "!", "Chinese and emoji are typed", 5)
        self.check(self.s.cursor() == (15, 0), "the cursor counts columns", str(self.s.cursor()))
        self.s.keys("BSpace", "BSpace")
        self.s.wait(lambda t: t == ">>> Hi 你好", "a joined emoji is one backspace", 5)
        self.s.keys("BSpace", "BSpace")
        self.s.wait(lambda t: t == ">>> Hi 你", "a Chinese character is one backspace", 5)
        self.s.keys("Left", "Left")
        self.s.type("é")
        self.s.keys("C-a")
        self.s.type("世")
        self.s.wait(lambda t: t == ">>> 世Hié 你", "insertion before wide characters", 5)
        self.s.keys("C-e", "C-w", "C-w")
        self.s.wait(lambda t: t == ">>> " + PLACEHOLDER, "Ctrl+W cuts words", 5)
        self.s.keys("C-y")
        self.s.wait(lambda t: t == ">>> 世Hié 你", "Ctrl+Y puts them back", 5)
        self.s.keys("C-c")
        self.s.wait(lambda t: t == ">>> " + PLACEHOLDER, "Ctrl+C clears the line", 5)
        self.s.type("汉" * 45)
        self.s.wait(lambda t: t.split("\n") == [">>> " + "汉" * 37, "    " + "汉" * 8],
                    "a long line wraps before a wide character", 5)
        self.s.resize(50, 24)
        self.s.wait(lambda t: t.split("\n") == [">>> " + "汉" * 22, "    " + "汉" * 22, "    汉"],
                    "a narrower window wraps it anew", 5)
        self.s.resize(80, 24)
        self.s.wait(lambda t: t.split("\n") == [">>> " + "汉" * 37, "    " + "汉" * 8],
                    "a wider one, too", 5)
        self.s.keys("C-c")
        self.s.keys("Up")
        self.s.wait(lambda t: t == ">>> /history", "Up has what was typed before", 5)
        self.s.keys("C-r")
        self.s.type("hello")
        self.s.wait(lambda t: t == "(search) 'hello': Say hello.", "Ctrl+R finds it", 5)
        self.s.keys("Escape")
        self.s.keys("C-c")

    def pasting(self):
        self.s.wait(lambda t: t == ">>> " + PLACEHOLDER, "the line is empty", 5)
        self.s.paste("/bye\nsecond line\n\tthird 行")
        self.s.wait(lambda t: t == ">>> /bye\n... second line\n...     third 行",
                    "a paste keeps its lines and does not run", 5)
        self.s.enter("")
        self.at_prompt("it is a message, no command")
        self.s.paste("".join("row %06d of a large paste\n" % i for i in range(40000)))
        self.s.wait(lambda t: "row 039999 of a large paste" in t, "a paste of a megabyte", 20)
        self.s.keys("C-a")
        self.s.type("typed after it")
        self.s.wait(lambda t: "... typed after it" in t.split("\n"), "and the line still edits", 20)
        self.s.keys("C-c")
        self.at_prompt("Ctrl+C drops it", seconds=5)

    def commands(self):
        self.clear()
        self.s.enter("/help")
        screen = self.at_prompt("/help", seconds=5)
        for word in ("/model", "/set", "/regen", "/history", "/file", "/context"):
            self.check(word in screen, "/help has " + word, screen)
        self.clear()
        self.s.enter("/hlep me")
        self.s.wait(lambda t: "Did you mean /help?" in t and t.endswith(">>> /hlep me"),
                    "an unknown word gets a suggestion and stays to be edited", 5)
        self.s.keys("C-c")
        self.s.enter("/image 1")
        self.s.wait(lambda t: "/image is not there yet." in t, "a later command says so", 5)
        self.s.enter("/usr/bin/env")
        self.s.wait(lambda t: "Enter sends the line as a message" in t
                    and t.endswith(">>> /usr/bin/env"), "a path is asked about", 5)
        self.s.keys("C-c")
        self.clear()
        self.s.type("/mo")
        self.s.keys("Tab")
        self.s.wait(lambda t: t == ">>> /model", "Tab completes a command", 5)
        self.s.keys("C-c")
        self.s.enter("/set temperature 7000")
        self.s.wait(lambda t: "Error: " in t and t.endswith(PLACEHOLDER),
                    "a bad value is a sentence and the prompt comes back", 5)
        self.s.enter("/set temperature 0.5")
        self.s.enter("/preset save calm")
        self.s.wait(lambda t: "Kept as calm." in t, "/preset save keeps the settings", 5)
        self.s.enter("/preset")
        self.s.wait(lambda t: "calm  (settings)" in t and "temperature" in t, "/preset lists", 5)
        self.s.enter("/preset calm")
        self.s.wait(lambda t: "calm (settings) is in force." in t, "/preset uses one", 5)
        self.s.enter("/preset rm calm")
        self.s.wait(lambda t: "calm (settings) is forgotten." in t, "/preset rm forgets it", 5)
        self.s.enter("/preset calm")
        self.s.wait(lambda t: "nothing is kept as 'calm'" in t, "and says that it is gone", 5)
        self.s.enter("/model no-such-model")
        self.s.wait(lambda t: "no-such-model" in t.split("\n")[-2] or "Error" in t,
                    "a missing model, too", 5)

    def stopping(self):
        self.clear()
        self.s.enter("/set ignore_eos true")
        self.s.enter("/set max_tokens 4000")
        self.clear()
        self.s.enter("Tell me a very long story.")
        self.s.wait(lambda t: t.count("\n") >= 3, "a long answer runs")
        self.s.type("typed ahead")
        self.s.keys("C-c")
        screen = self.at_prompt("Ctrl+C stops it", seconds=5)
        self.check("(stopped; what was written is kept" in screen, "and says so", screen)
        self.check("typed ahead" not in screen, "what was typed is not in the answer", screen)
        self.clear()
        self.s.enter(" ".join("Sentence %d of a long text to read." % i for i in range(300)))
        time.sleep(0.2)
        self.s.keys("C-c")
        screen = self.at_prompt("Ctrl+C stops while the text is read, too", seconds=5)
        self.check("(stopped" in screen, "and says so", screen)
        self.clear()
        self.s.enter("/set max_tokens 60")
        self.s.enter("Again.")
        time.sleep(0.1)
        self.s.type("typed ahead 你")
        self.s.wait(lambda t: t.split("\n")[-1] == ">>> typed ahead 你",
                    "what is typed while an answer runs stands in the next line",
                    180)  # what was stopped is read first
        self.s.keys("C-c")

    def leaving(self):
        self.clear()
        self.s.keys("C-c")
        self.s.wait(lambda t: "(Ctrl+C again leaves" in t, "Ctrl+C on an empty line: a hint", 5)
        self.s.type("x")
        self.s.keys("BSpace")
        self.s.keys("C-c")
        self.s.wait(lambda t: t.count("(Ctrl+C again leaves") == 2, "a key between: a hint again", 5)
        self.s.keys("C-z")
        self.s.wait(lambda t: "Stopped" in t and t.split("\n")[-1] == "$", "Ctrl+Z sleeps", 5)
        self.s.enter("clear; fg")
        self.at_prompt("fg wakes it", seconds=5)
        self.s.keys("C-c")
        self.s.wait(lambda t: "(Ctrl+C again leaves" in t, "the hint", 5)
        self.s.keys("C-c")
        self.leaves_with(130, "the second Ctrl+C leaves")

    def branching(self):
        self.start("--max-tokens 6")
        self.clear()
        self.s.enter("Name a colour.")
        self.at_prompt("a question and an answer")
        self.s.enter("/regen")
        self.at_prompt("another answer")
        self.s.enter("/versions")
        self.s.wait(lambda t: "/switch NUMBER shows another one." in t, "/versions lists both", 5)
        self.clear()
        self.s.enter("/switch 1")
        self.s.wait(lambda t: "(2 messages," in t, "/switch shows the first", 5)
        self.clear()
        self.s.enter("/edit")
        self.s.wait(lambda t: t.endswith(">>> Name a colour."), "/edit puts the question there", 5)
        self.s.enter(" Or two.")
        self.at_prompt("the edited question is answered")
        self.clear()
        self.s.enter("/tree")
        screen = self.s.wait(lambda t: "Numbers: messages" in t, "/tree shows all branches", 5)
        self.check(screen.count(">>> Name a colour.") == 2, "both questions are there", screen)
        self.s.enter("/export %s/chat.html" % self.folder)
        self.s.wait(lambda t: "Written: " in t, "/export writes a file", 5)
        self.s.enter("/import %s/chat.html" % self.folder)
        self.s.wait(lambda t: "holds no chats" in t, "/import refuses what holds no chats", 5)
        self.s.enter("/archive")
        self.s.wait(lambda t: "is archived" in t, "/archive", 5)
        self.s.keys("C-d")
        self.leaves_with(0, "Ctrl+D leaves")

    def outside_editor(self):
        editor = os.path.join(self.folder, "editor")
        with open(editor, "w") as file:
            file.write("#!/bin/sh\nprintf 'from the editor\\nsecond 行\\n' >> \"$1\"\n")
        os.chmod(editor, 0o700)
        self.start("--no-log", environment="VISUAL=" + shlex.quote(editor))
        self.clear()
        self.s.type("begin, ")
        self.s.keys("C-g")
        self.s.wait(lambda t: t.endswith(">>> begin, from the editor\n... second 行"),
                    "Ctrl+G edits in $VISUAL", 5)
        self.s.keys("C-c")
        self.s.enter("/bye")
        self.leaves_with(0, "/bye leaves")

    def killed(self):
        self.start()
        os.kill(self.s.program(), signal.SIGTERM)
        self.s.wait(lambda t: t.split("\n")[-1] == "$", "SIGTERM ends it", 5)
        self.leaves_with(143, "SIGTERM ends it")

    def plain_terminal(self):
        self.start(environment="TERM=dumb", ready=">>>")
        self.s.enter("Say hello.")
        screen = self.at_prompt("a dumb terminal has the same chat", ready=">>>")
        self.check("\x1b" not in screen and PLACEHOLDER not in screen, "in plain text", screen)
        self.s.keys("C-c")
        self.s.wait(lambda t: "(Ctrl+C again leaves" in t, "with the hint", 5)
        self.s.keys("C-c")
        self.leaves_with(130, "and the second Ctrl+C leaves")

    def check(self, condition, what, screen):
        if condition:
            print("ok:", what)
            return
        print("FAILED:", what)
        print(screen)
        sys.exit(1)


CASES = ("two_turns", "typing", "pasting", "commands", "stopping", "leaving", "branching",
         "outside_editor", "killed", "plain_terminal")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*", default=CASES, help=", ".join(CASES))
    parser.add_argument("--show", action="store_true", help="print the screens on the way")
    options = parser.parse_args()
    if not os.path.exists(starter_model()):
        sys.exit("the model %s is not there; packaging/test.sh fetches it" % starter_model())
    if shutil.which("tmux") is None:
        sys.exit("tmux is not installed; packaging/test.sh installs it")
    folder = tempfile.mkdtemp(prefix="hearth-transcript-")
    screen = Screen(folder, options.show)
    try:
        transcript = Transcript(screen, program(), starter_model(), folder)
        for case in options.case:
            print("--", case)
            getattr(transcript, case)()
    finally:
        screen.close()
        shutil.rmtree(folder, ignore_errors=True)
    print("all checks passed")


if __name__ == "__main__":
    main()
