#!/usr/bin/env python3
"""kill -9 while what was computed goes to disk: no record that is not whole is ever believed.

    HEARTH=build/bin/hearth HEARTH_TEST_MODELS=DIR python3 tests/app/cache_kill_test.py
"""

import os
import shutil
import signal
import sys
import time
import unittest

from cli_support import CommandLine

ROUNDS = 40 if os.environ.get("HEARTH_TEST_FULL") else 8
SENTENCE = "The ferry to the island leaves at %d o'clock, and the captain's dog is number %d. "


def document(salt):
    """About 600 tokens, so that several records are written."""
    return "".join(SENTENCE % (i, salt * 100 + i) for i in range(24))


class Kill(CommandLine):
    def setUp(self):
        super().setUp()
        self.cache = os.path.join(self.data, "cache", "kv")

    def records(self):
        return [name for name in self.files_below(self.cache) if "tmp-" in name or ".kv" in name] \
            if os.path.isdir(self.cache) else []

    def start_chat(self, salt):
        process = self.start("run", self.model, "--temp", "0", "--max-tokens", "2", "--json",
                             document(salt))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def test_what_is_there_after_a_kill_is_whole(self):
        n_killed_while_writing = 0
        for n in range(ROUNDS):
            before = set(self.records())
            process = self.start_chat(n)
            # From the first new file on, a moment that differs from round to round.
            while process.poll() is None and set(self.records()) == before:
                time.sleep(0.0005)
            time.sleep(0.02 * (n % 8))
            if n + 1 < ROUNDS:  # the last one may end by itself
                n_killed_while_writing += process.poll() is None
                process.send_signal(signal.SIGKILL)
            process.wait()
            checked = self.hearth("cache", "verify", "--json")
            self.assertCode(checked, 0)
            self.assertEqual(checked.json["damaged"], [])
        self.assertGreater(n_killed_while_writing, 0)
        self.assertGreater(self.hearth("cache", "--json").json["models"][0]["records"], 0)
        # And it gives the bits of a cold run.
        copy = os.path.join(self.folder, "copy")
        shutil.copytree(self.data, copy, ignore=shutil.ignore_patterns("cache"))
        for n in (0, ROUNDS - 1):
            warm = self.ask("--json", document(n)).json
            self.data, kept = copy, self.data
            cold = self.ask("--json", "--cache-budget", "off", document(n)).json
            self.data = kept
            self.assertEqual(warm["logits_hash"], cold["logits_hash"])
            self.assertEqual(warm["text"], cold["text"])
        left = [name for name in self.files_below(self.cache) if "tmp-" in name]
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
