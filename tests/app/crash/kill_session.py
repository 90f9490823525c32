#!/usr/bin/env python3
"""Kills a terminal chat every 50 ms further into a scripted session: send, stream, regenerate, edit,
go back, import, export, delete and undo, while computed prefixes go to disk. One database and one
cache live through all kills.

After each kill -9: the database is whole by SQLite's check and by the rules of the tree (a message
follows an earlier one of its chat, a chat shows a message that it has, no piece of text hangs in the
air), no message that was there is gone or shorter, no text of an answer that the screen showed more
than a second before is missing, and no record of the cache is damaged. At the end the program lists
and searches the chats, no answer counts as being written, importing once more adds nothing, and what
the cache gives has the bits of a cold run.

    kill_session.py --hearth build/bin/hearth [--model FILE.gguf] [--kills N]

8 kills spread over the session; every 50 ms of all of it with HEARTH_TEST_FULL=1. Exit code 0: all
as promised; 1: a sentence for each broken promise on stderr.
"""

import argparse
import json
import os
import pty
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
import time

STEP_S = 0.05
CI_KILLS = 8  # a session takes half a minute
LONGEST_SESSION_S = 120.0
ALLOWED_LOSS_S = 1.0
# Reading the terminal and sending the signal are not free on a busy machine.
CLOCK_SLACK_S = 0.1
PROMPT = b">>> "
RULES = {
    "a message follows a later one, or one of another chat":
        "SELECT count(*) FROM messages m LEFT JOIN messages p ON p.id = m.parent WHERE m.parent "
        "IS NOT NULL AND (p.id IS NULL OR p.conversation <> m.conversation OR p.id >= m.id)",
    "a chat shows a message that it does not have":
        "SELECT count(*) FROM conversations c WHERE c.active_leaf IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM messages m WHERE m.id = c.active_leaf AND m.conversation = c.id)",
    "a piece of text belongs to a message that has ended":
        "SELECT count(*) FROM message_chunks k WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE "
        "m.id = k.message AND m.state = 1)",
    "a chat was imported twice":
        "SELECT count(*) FROM (SELECT title FROM conversations WHERE title LIKE 'Imported %' "
        "GROUP BY title HAVING count(*) > 1)",
}


def session_lines(number, imported, exported):
    """What is typed, and whether an answer follows."""
    report = "".join(f"Line {i} of report {number}: the dog is number {number * 100 + i}. "
                     for i in range(25))  # more than a record of the cache
    return [("Read this. " + report, True), (f"Question {number} about a cat?", True),
            ("/regen", True), ("/edit", False), (f"Question {number} about two cats?", True),
            ("/import " + imported, False), ("And then?", True), ("/continue", False),
            ("/branch 2", False), ("What else?", True), ("/title Session", False),
            ("/export " + exported, False), ("/fork 2", False), ("/delete", False),
            ("/delete undo", False), ("/new", False), (f"Last question {number}?", True)]


class Session:
    """The program in a terminal that echoes nothing. The next line is typed when it asks for one."""

    def __init__(self, options, folder, lines):
        self.lines = lines
        self.screen = b""
        self.pieces = []  # (time, bytes so far)
        self.n_typed = 0  # prompts that were answered by a line
        self.answers = []  # where on the screen the output of a question begins
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            mode = termios.tcgetattr(0)
            mode[3] &= ~termios.ECHO
            termios.tcsetattr(0, termios.TCSANOW, mode)
            os.execve(options.hearth, [options.hearth, "run", options.model, "--data-dir", folder,
                                       "--max-tokens", "40", "--temp", "0.8", "--ignore-eos",
                                       "--threads", "2"], dict(os.environ, TERM="dumb"))

    def run_until(self, moment):
        """False when the session has ended before."""
        while (left := moment - time.monotonic()) > 0:
            if self.screen.endswith(PROMPT) and self.n_asked() > self.n_typed:
                if not self.lines:
                    return False
                self.type(*self.lines.pop(0))
            if select.select([self.descriptor], [], [], left)[0] and not self.take():
                return False
        return True

    def n_asked(self):
        return self.screen.count(PROMPT)

    def type(self, line, has_answer):
        self.n_typed = self.n_asked()
        if has_answer:
            self.answers.append(len(self.screen))
        os.write(self.descriptor, line.encode() + b"\n")

    def take(self):
        try:
            piece = os.read(self.descriptor, 65536)
        except OSError:
            return False
        self.screen += piece
        self.pieces.append((time.monotonic(), len(self.screen)))
        return bool(piece)

    def kill(self):
        self.killed = time.monotonic()
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.descriptor)

    def shown_answers(self):
        """The answers as far as they were on the screen a second before the kill, without blanks."""
        moment = self.killed - ALLOWED_LOSS_S - CLOCK_SLACK_S
        n_old = max((n for at, n in self.pieces if at <= moment), default=0)
        shown = []
        for begin in self.answers:
            text = self.screen[begin:n_old].split(PROMPT)[0].decode("utf-8", "ignore")
            lines = text.replace("\r", "").split("\n")
            # Notes stand in brackets, on lines of their own.
            shown.append(without_blanks("".join(l for l in lines if not re.match(r"\(.*\)$", l))))
        return [text for text in shown if text]


def without_blanks(text):
    return "".join(text.split())


def stored(database):
    """{message id: text with its pieces}, and broken rules."""
    db = sqlite3.connect(database, timeout=30)
    db.text_factory = bytes
    try:
        broken = []
        if db.execute("PRAGMA integrity_check").fetchall() != [(b"ok",)]:
            broken.append("the integrity check of SQLite fails")
        broken += [rule for rule, query in RULES.items() if db.execute(query).fetchone()[0]]
        texts = dict(db.execute("SELECT id, content FROM messages"))
        for message, piece in db.execute("SELECT message, content FROM message_chunks ORDER BY id"):
            texts[message] += piece
        return texts, broken
    finally:
        db.close()


def make_import(folder):
    path = os.path.join(folder, "chats.json")
    chats = [{"conversation_id": f"c{i}", "title": f"Imported {i}", "current_node": "c",
              "mapping": {"a": {"parent": None, "message": None},
                          "b": {"parent": "a", "message": {"author": {"role": "user"},
                                "create_time": 1.7e9, "content": {"parts": [f"foreign {i}"]}}},
                          "c": {"parent": "b", "message": {"author": {"role": "assistant"},
                                "create_time": 1.7e9 + 1, "content": {"parts": ["yes"] * 50}}}}}
             for i in range(40)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(chats, file)
    return path


def lost_text(session, texts, before):
    """Sentences about answers on the screen that the database does not have."""
    new = [without_blanks(text.decode("utf-8", "ignore"))
           for message, text in texts.items() if message not in before]
    return [f"an answer that was shown for more than a second is not stored: {shown[:80]!r}"
            for shown in session.shown_answers() if not any(t.startswith(shown) for t in new)]


def damaged_records(options, folder):
    done = subprocess.run([options.hearth, "cache", "verify", "--json", "--data-dir", folder],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    if done.returncode != 0:
        return [f"hearth cache verify fails: {done.stderr.decode('utf-8', 'replace')}"]
    return [f"a record of the cache is damaged: {path}" for path in json.loads(done.stdout)["damaged"]]


def kill_at(options, folder, imported, number, seconds, before):
    """(texts that are stored, broken promises, answers that were compared)"""
    exported = os.path.join(folder, f"export-{number}.md")
    session = Session(options, folder, session_lines(number, imported, exported))
    session.run_until(time.monotonic() + seconds)
    session.kill()
    database = os.path.join(folder, "hearth.db")
    if not os.path.exists(database):
        return before, [], 0
    try:
        texts, broken = stored(database)
    except sqlite3.Error as error:
        return before, [f"the database does not open whole: {error}"], 0
    for message, text in before.items():
        if not texts.get(message, b"").startswith(text):
            broken.append(f"message {message} is gone or another one now")
    broken += lost_text(session, texts, before) + damaged_records(options, folder)
    return texts, broken, len(session.shown_answers())


def whole_session(options, imported):
    """How long the session is when nobody kills it, and whether it came to its end."""
    with tempfile.TemporaryDirectory(prefix="hearth-session-") as folder:
        exported = os.path.join(folder, "export.md")
        session = Session(options, folder, session_lines(0, imported, exported))
        begin = time.monotonic()
        session.run_until(begin + LONGEST_SESSION_S)
        seconds = time.monotonic() - begin
        session.kill()
        if session.lines:
            print(f"the session stops at {session.lines[0][0][:60]!r}:\n"
                  f"{session.screen.decode('utf-8', 'replace')}", file=sys.stderr)
        return seconds, not session.lines


def warm_is_cold(options, folder, number):
    """The last killed session's first question, from what the cache has and without it."""
    broken, hashes = [], []
    prompt = session_lines(number, "", "")[0][0]
    copy = os.path.join(folder, "copy")
    for data, budget in ((folder, "1G"), (copy, "off")):
        done = subprocess.run([options.hearth, "run", options.model, prompt, "--json", "--temp", "0",
                               "--max-tokens", "4", "--cache-budget", budget, "--data-dir", data],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
        if done.returncode != 0:
            return [f"hearth run fails: {done.stderr.decode('utf-8', 'replace')}"]
        hashes.append(json.loads(done.stdout)["logits_hash"])
    shutil.rmtree(copy)
    if hashes[0] != hashes[1]:
        broken.append("what the cache gives has other bits than a cold run")
    return broken


def check_end(options, folder, imported):
    broken = []

    def hearth(*arguments):
        done = subprocess.run([options.hearth, *arguments, "--json", "--data-dir", folder],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        if done.returncode != 0:
            broken.append(f"hearth {arguments[0]} fails: {done.stderr.decode('utf-8', 'replace')}")
            return None
        return json.loads(done.stdout or b"null")

    if not hearth("history"):
        broken.append("no chat is listed")
    hearth("import", imported)
    again = hearth("import", imported)
    if again and again["new_messages"]:
        broken.append(f"importing once more adds {again['new_messages']} messages")
    if not hearth("search", "foreign 7"):
        broken.append("an imported chat is not found")
    db = sqlite3.connect(os.path.join(folder, "hearth.db"))
    if db.execute("SELECT count(*) FROM messages WHERE state = 1").fetchone()[0]:
        broken.append("answers of killed programs still count as being written")
    db.close()
    return broken


def starter_model():
    folder = os.environ.get("HEARTH_TEST_MODELS") or os.path.expanduser("~/.cache/hearth-models")
    return os.path.join(folder, "smollm2-135m-q4_1.gguf")


def moments(options, seconds):
    """When to kill, in seconds from the start."""
    if options.kills is None and os.environ.get("HEARTH_TEST_FULL"):
        return [STEP_S * n for n in range(1, int(seconds / STEP_S) + 1)]
    n = options.kills or CI_KILLS
    return [seconds * (i + 1) / n for i in range(n)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--model", default=starter_model())
    parser.add_argument("--kills", type=int, help="so many, spread over the session")
    options = parser.parse_args()
    n_broken, n_answers, texts = 0, 0, {}
    with tempfile.TemporaryDirectory(prefix="hearth-session-") as folder:
        imported = make_import(folder)
        seconds, is_whole = whole_session(options, imported)
        if not is_whole:
            return 1
        kills = moments(options, seconds)
        for number, moment in enumerate(kills):
            texts, broken, n_compared = kill_at(options, folder, imported, number, moment, texts)
            n_answers += n_compared
            for sentence in broken:
                print(f"kill {number} after {moment:.2f} s: {sentence}", file=sys.stderr)
            n_broken += len(broken)
        for sentence in check_end(options, folder, imported) + warm_is_cold(options, folder,
                                                                            len(kills) - 1):
            print(f"after all: {sentence}", file=sys.stderr)
            n_broken += 1
    if n_answers == 0:
        print("no session showed an answer that could be compared", file=sys.stderr)
        n_broken += 1
    print(f"{len(kills)} kills in a session of {seconds:.1f} s, {len(texts)} messages stored, "
          f"{n_answers} answers compared; {n_broken} promises broken")
    return 1 if n_broken else 0


if __name__ == "__main__":
    sys.exit(main())
