#!/usr/bin/env python3
"""The program on a card as scripts meet it: exit codes and sentences when memory is short or the card
is lost.

    HEARTH=build/bin/hearth_emulated python3 tests/simt/program_test.py [TEST …]

HEARTH is the program linked with the emulated card (tests/simt/program.cpp).
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLENTY = 4 << 30
NO_ROOM, LOST = 4, 1


class OnCard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="hearth-card-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.model = os.path.join(cls.folder, "tiny.gguf")
        subprocess.run(["python3", ROOT / "packaging/random_gguf.py", "tiny", "q4_0", cls.model],
                       check=True, stdout=subprocess.DEVNULL)

    def run_card(self, *arguments, memory=PLENTY, lose_after=None):
        env = dict(os.environ, HOME=self.folder, LC_ALL="C.UTF-8", HEARTH_SIMT_MEMORY=str(memory))
        if lose_after is not None:
            env["HEARTH_SIMT_LOSE_AFTER"] = str(lose_after)
        return subprocess.run(
            [os.environ["HEARTH"], "--data-dir", os.path.join(self.folder, "data"), *arguments],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, timeout=300, check=False)

    def ask(self, *arguments, **more):
        return self.run_card("run", self.model, "hi", "--isa", "cuda", "--max-tokens", "3", "--temp",
                             "0", "--seed", "1", "--json", *arguments, **more)

    def test_an_answer_comes_from_the_card(self):
        done = self.ask()
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["usage"]["completion_tokens"], 3)

    def test_what_does_not_fit_is_refused_with_the_context_that_does(self):
        context = 8192
        for memory in range(320 << 20, 256 << 20, -(2 << 20)):
            done = self.ask("--ctx", str(context), memory=memory)
            if done.returncode != 0:
                break
        self.assertEqual(done.returncode, NO_ROOM, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        fits = int(re.search(r"the largest context that fits is (\d+) tokens", done.stderr)[1])
        self.assertLess(fits, context)
        self.assertEqual(self.ask("--ctx", str(fits), memory=memory).returncode, 0)

    def test_a_model_that_cannot_fit_is_refused(self):
        done = self.ask(memory=1 << 20)
        self.assertEqual(done.returncode, NO_ROOM, done.stdout + done.stderr)
        self.assertIn("does not fit on the card", done.stderr)
        self.assertIn("--isa auto", done.stderr)

    def test_a_lost_card_ends_with_a_sentence(self):
        done = self.ask("--max-tokens", "50", lose_after=400)
        self.assertEqual(done.returncode, LOST, done.stdout + done.stderr)
        self.assertIn("the card stopped computing", done.stderr)

    def test_doctor_names_the_card(self):
        done = self.run_card("doctor", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertTrue(report["cuda"])
        self.assertIn("compute capability", report["card"])


if __name__ == "__main__":
    unittest.main()
