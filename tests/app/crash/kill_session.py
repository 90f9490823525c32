#!/usr/bin/env python3
"""Kills a terminal chat every 50 ms further into a scripted session: send, stream, regenerate, edit,
go back, import, export, delete and undo. One database lives through all kills.

After each kill -9: the database is whole by SQLite's check and by the rules of the tree (a message
follows an earlier one of its chat, a chat shows a message that it has, no piece of text hangs in the
air), no message that was there is gone or shorter. At the end the program lists and searches the
chats, no answer counts as being written, and importing once more adds nothing.

    kill_session.py --hearth build/bin/hearth [--model FILE.gguf] [--kills N]

20 kills, 80 with HEARTH_TEST_FULL=1. Exit code 0: all as promised; 1: a sentence for each broken
promise on stderr.
"""

import argparse
import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

FIRST_MS, STEP_MS = 100, 50
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


def session_lines(number, imported):
    return [f"Question {number} about a cat?", "/regen", "/edit", "", "/import " + imported,
            "And then?", "/branch 2", "What else?", "/title Session", "/pin", "/fork 2",
            "/delete", "/delete undo", "/archive 1", "/new", f"Last question {number}?"]


class Session:
    """The program in a terminal; what it prints is read and thrown away."""

    def __init__(self, options, folder):
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.execv(options.hearth, [options.hearth, "run", options.model, "--data-dir", folder,
                                      "--max-tokens", "12", "--temp", "0.8", "--threads", "2"])

    def drain(self, seconds):
        """Reads for so long; false when the program has ended."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.descriptor], [], [], left)[0]:
                continue
            try:
                if not os.read(self.descriptor, 65536):
                    return False
            except OSError:
                return False
        return True

    def type(self, line):
        os.write(self.descriptor, line.encode() + b"\r")

    def kill(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.descriptor)


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


def kill_once(options, folder, imported, number, before):
    session = Session(options, folder)
    moment = time.monotonic() + (FIRST_MS + STEP_MS * number) / 1000 * options.stretch
    lines = session_lines(number, imported)
    alive = True
    while alive and time.monotonic() < moment:
        if lines:
            session.type(lines.pop(0))
        alive = session.drain(max(0.0, min(0.15, moment - time.monotonic())))
    session.kill()
    database = os.path.join(folder, "hearth.db")
    if not os.path.exists(database):
        return before, []
    try:
        texts, broken = stored(database)
    except sqlite3.Error as error:
        return before, [f"the database does not open whole: {error}"]
    for message, text in before.items():
        if not texts.get(message, b"").startswith(text):
            broken.append(f"message {message} is gone or another one now")
    return texts, broken


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--model", default=starter_model())
    parser.add_argument("--kills", type=int, default=80 if os.environ.get("HEARTH_TEST_FULL") else 20)
    parser.add_argument("--stretch", type=float, default=4.0 if not os.environ.get("HEARTH_TEST_FULL")
                        else 1.0, help="how much longer each session lives")
    options = parser.parse_args()
    n_broken, texts = 0, {}
    with tempfile.TemporaryDirectory(prefix="hearth-session-") as folder:
        imported = make_import(folder)
        for number in range(options.kills):
            texts, broken = kill_once(options, folder, imported, number, texts)
            for sentence in broken:
                print(f"kill {number}: {sentence}", file=sys.stderr)
            n_broken += len(broken)
        for sentence in check_end(options, folder, imported):
            print(f"after all: {sentence}", file=sys.stderr)
            n_broken += 1
    if not texts:
        print("no session came so far that it stored a message", file=sys.stderr)
        n_broken += 1
    print(f"{options.kills} kills, {len(texts)} messages stored; {n_broken} promises broken")
    return 1 if n_broken else 0


if __name__ == "__main__":
    sys.exit(main())
