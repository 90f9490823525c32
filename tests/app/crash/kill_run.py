#!/usr/bin/env python3
"""Kills `hearth run` at random moments while it answers, and looks at what is left.

After each kill -9: the database opens and is whole, the question is stored, the stored answer is a
beginning of the printed one (or longer), and nothing that was printed more than a second before the
kill is missing. At the end the program itself lists the chats and continues the last one.

    kill_run.py --hearth build/bin/hearth [--model FILE.gguf] [--kills N] [--seed 1]

The model is the starter model in the folder HEARTH_TEST_MODELS (~/.cache/hearth-models) unless given;
20 kills, 50 with HEARTH_TEST_FULL=1.

Exit code 0: all as promised. 1: a sentence for each broken promise on stderr.
"""

import argparse
import json
import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ALLOWED_LOSS_S = 1.0
# Reading the pipe and sending the signal are not free on a busy machine.
CLOCK_SLACK_S = 0.1
NEVER_ANSWERS_S = 60.0
MIN_STREAMING_SHARE = 0.5


class Run:
    """One `hearth run`, its output with the time at which each byte arrived."""

    def __init__(self, command):
        self.started = time.monotonic()
        self.pieces = []  # (time, bytes so far)
        self.printed = b""
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def read_until(self, moment):
        """Reads output until `moment`; false when the program ended by itself."""
        descriptor = self.process.stdout.fileno()
        while (left := moment - time.monotonic()) > 0:
            if not select.select([descriptor], [], [], left)[0]:
                continue
            if not self.take(descriptor):
                return False
        return True

    def read_until_first_output(self):
        end = time.monotonic() + NEVER_ANSWERS_S
        while not self.printed and time.monotonic() < end:
            if not self.read_until(min(end, time.monotonic() + 0.02)):
                return False
        return bool(self.printed)

    def take(self, descriptor):
        piece = os.read(descriptor, 65536)
        self.printed += piece
        self.pieces.append((time.monotonic(), len(self.printed)))
        return bool(piece)

    def kill(self):
        """Kills, reads what was still in the pipe (of unknown age), returns the exit code."""
        self.killed = time.monotonic()
        self.process.send_signal(signal.SIGKILL)
        code = self.process.wait()
        self.printed += self.process.stdout.read()
        self.errors = self.process.stderr.read().decode("utf-8", "replace")
        return code

    def n_bytes_before(self, moment):
        return max((n for arrived, n in self.pieces if arrived <= moment), default=0)

    def age_of_byte(self, index):
        """How long before the kill the byte was printed; 0 when it came out of the pipe later."""
        return max((self.killed - arrived for arrived, n in self.pieces if n > index), default=0.0)


def stored_answers(database, prompt):
    """(questions with this text, text of the answer to the last one, its state) from the file."""
    db = sqlite3.connect(database, timeout=30)
    db.text_factory = bytes
    try:
        whole = db.execute("PRAGMA integrity_check").fetchall()
        if whole != [(b"ok",)]:
            raise sqlite3.DatabaseError(f"integrity check: {whole}")
        questions = db.execute("SELECT id FROM messages WHERE role = 'user' AND content = ?",
                               (prompt,)).fetchall()
        if not questions:
            return 0, None, None
        answer = db.execute("SELECT id, content, state FROM messages WHERE parent = ? "
                            "AND role = 'assistant' ORDER BY id DESC", questions[-1]).fetchone()
        if answer is None:
            return len(questions), None, None
        chunks = db.execute("SELECT content FROM message_chunks WHERE message = ? ORDER BY id",
                            (answer[0],)).fetchall()
        return len(questions), answer[1] + b"".join(c for (c,) in chunks), answer[2]
    finally:
        db.close()


def check_run(run, database, prompt):
    """The promises that this run broke, as sentences, and the age of the oldest lost byte."""
    if not os.path.exists(database):
        return (["the answer was shown, but there is no database"] if run.printed else []), 0.0
    try:
        n_questions, answer, _ = stored_answers(database, prompt)
    except sqlite3.Error as error:
        return [f"the database does not open whole: {error}"], 0.0
    if n_questions > 1:
        return [f"the question is stored {n_questions} times"], 0.0
    if not run.printed:
        return [], 0.0
    if n_questions == 0:
        return ["an answer was shown, but its question is not stored"], 0.0
    stored = answer or b""
    broken = []
    shown = run.printed
    common = min(len(stored), len(shown))
    if stored[:common] != shown[:common]:
        broken.append(f"the stored answer differs from the shown one: {stored[:common]!r} "
                      f"against {shown[:common]!r}")
    lost_age = run.age_of_byte(len(stored)) if len(stored) < len(shown) else 0.0
    n_old = run.n_bytes_before(run.killed - ALLOWED_LOSS_S - CLOCK_SLACK_S)
    if len(stored) < n_old:
        broken.append(f"{n_old - len(stored)} bytes are missing that were shown more than "
                      f"{ALLOWED_LOSS_S} s before the kill (the oldest {lost_age:.2f} s)")
    return broken, lost_age


def history(options, folder):
    done = subprocess.run([options.hearth, "history", "--json", "--data-dir", folder],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    if done.returncode != 0:
        return None, done.stderr.decode("utf-8", "replace")
    return json.loads(done.stdout or b"[]"), ""


def kill_once(options, folder, number, rng):
    """Returns (broken promises, was it streaming, age of the oldest lost byte)."""
    prompt = f"Tell me a long story about the number {number}, with many details."
    run = Run([options.hearth, "run", options.model, prompt, "--data-dir", folder, "--temp", "0.8",
               "--seed", str(number), "--max-tokens", "1500", "--threads", str(options.threads)])
    if number % 5 == 4:  # at any moment: start, loading, reading the prompt
        alive = run.read_until(time.monotonic() + rng.uniform(0.0, 1.0))
    else:
        alive = (run.read_until_first_output() and
                 run.read_until(time.monotonic() + rng.uniform(0.0, 3.5)))
    code = run.kill()
    broken = []
    if not alive and code not in (0, -signal.SIGKILL):
        broken.append(f"hearth ended by itself with code {code}: {run.errors.strip()}")
    # Every other time the program itself is the first to open what is left.
    if number % 2 == 1:
        listed, error = history(options, folder)
        if listed is None:
            broken.append(f"hearth history fails after the kill: {error.strip()}")
    found, lost_age = check_run(run, os.path.join(folder, options.database), prompt)
    return broken + found, alive and bool(run.printed), lost_age


def check_end(options, folder):
    """The program itself, after all kills: lists every chat, no answer streams, goes on."""
    listed, error = history(options, folder)
    if not listed:
        return [f"hearth history shows no chat after the kills: {error.strip()}"]
    broken = []
    db = sqlite3.connect(os.path.join(folder, options.database))
    n_streaming = db.execute("SELECT count(*) FROM messages WHERE state = 1").fetchone()[0]
    db.close()
    if n_streaming:
        broken.append(f"{n_streaming} answers of killed programs still count as being written")
    done = subprocess.run([options.hearth, "run", options.model, "And then?", "--continue",
                           "--data-dir", folder, "--max-tokens", "3"], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=300, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        broken.append(f"the last chat cannot be continued (code {done.returncode}): "
                      f"{done.stderr.decode('utf-8', 'replace').strip()}")
    return broken


def starter_model():
    folder = os.environ.get("HEARTH_TEST_MODELS") or os.path.expanduser("~/.cache/hearth-models")
    return os.path.join(folder, "smollm2-135m-q4_1.gguf")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--model", default=starter_model())
    parser.add_argument("--kills", type=int, default=50 if os.environ.get("HEARTH_TEST_FULL") else 20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--database", default="hearth.db", help="its name in the data folder")
    options = parser.parse_args()
    if not os.path.exists(options.model):
        sys.exit(f"The model {options.model} is missing: packaging/fetch_models.sh gets it, or set "
                 "HEARTH_TEST_MODELS to the folder that has it.")
    rng = random.Random(options.seed)
    n_broken, n_streaming, worst = 0, 0, 0.0
    with tempfile.TemporaryDirectory(prefix="hearth-kill-") as folder:
        for number in range(options.kills):
            broken, was_streaming, lost_age = kill_once(options, folder, number, rng)
            n_streaming += was_streaming
            worst = max(worst, lost_age)
            for sentence in broken:
                print(f"kill {number}: {sentence}", file=sys.stderr)
            n_broken += len(broken)
        for sentence in check_end(options, folder):
            print(f"after all: {sentence}", file=sys.stderr)
            n_broken += 1
    if n_streaming < options.kills * MIN_STREAMING_SHARE:
        print(f"only {n_streaming} of {options.kills} kills met a streaming answer", file=sys.stderr)
        n_broken += 1
    print(f"{options.kills} kills, {n_streaming} while streaming; oldest text lost: {worst:.2f} s; "
          f"{n_broken} promises broken")
    return 1 if n_broken else 0


if __name__ == "__main__":
    sys.exit(main())
