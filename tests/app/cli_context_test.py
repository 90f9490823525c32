#!/usr/bin/env python3
"""A conversation and its context: prompts of ctx-2 … ctx+2 tokens and of ten times the context, under
every policy, as text, as JSON and in a terminal. Nothing is ever left out in silence (user cases D1,
D2, D4, D7, D10; T08).

    HEARTH=build/bin/hearth HEARTH_TEST_MODELS=DIR python3 tests/app/cli_context_test.py
"""

import sys
import unittest

from cli_support import CommandLine, in_terminal

CONTEXT = 160
POLICIES = ["stop", "drop-oldest", "drop-middle"]
FULL_NOTICE = "the answer ends here because the context of 160 tokens is full"


class Context(CommandLine):
    def words(self, tokens):
        """A prompt that makes exactly so many tokens, template included."""
        if not hasattr(self, "overhead"):
            self.overhead = self.tokens_of(" a" * 40) - 40
        return " a" * (tokens - self.overhead)

    def tokens_of(self, prompt):
        done = self.hearth("run", self.model, prompt, "--json", "--no-log", "--max-tokens", "1")
        self.assertCode(done, 0)
        return done.json["usage"]["prompt_tokens"]

    def in_context(self, prompt, *arguments):
        return self.hearth("run", self.model, prompt, "--ctx", str(CONTEXT), "--ignore-eos",
                           *arguments)

    def test_one_prompt_around_the_limit(self):
        self.assertEqual(self.tokens_of(self.words(100)), 100)
        for tokens in (CONTEXT - 2, CONTEXT - 1, CONTEXT, CONTEXT + 1, CONTEXT + 2, CONTEXT * 10):
            prompt = self.words(tokens)
            for policy in POLICIES if tokens in (CONTEXT - 1, CONTEXT) else POLICIES[:1]:
                for form in ([], ["--json"]):
                    with self.subTest(tokens=tokens, policy=policy, form=form):
                        done = self.in_context(prompt, "--no-log", "--context-policy", policy, *form)
                        if tokens >= CONTEXT:
                            self.assertCode(done, 5)
                            self.assertIn(f"{tokens} tokens", done.err)
                            self.assertEqual(done.out, b"")
                            continue
                        self.assertCode(done, 0)
                        self.assertIn(FULL_NOTICE, done.err)
                        if form:
                            self.assertEqual(done.json["finish_reason"], "length")
                            self.assertEqual(done.json["usage"]["prompt_tokens"], tokens)

    def test_a_chat_that_outgrows_its_context(self):
        for policy in POLICIES:
            with self.subTest(policy):
                run = lambda prompt, *more: self.in_context(
                    prompt, "--chat", "of " + policy, "--max-tokens", "8", *more)
                flag = ["--context-policy", policy]
                left_out, codes = [], []
                for turn in range(8):
                    done = run(f"Question {turn}?" + " a" * 20, "--json", *flag)
                    codes.append(done.code)
                    if done.code != 0:
                        self.assertIn("context", done.err)
                        break
                    left_out.append(done.json["context"]["left_out_messages"])
                    if turn > 0 and left_out[-1] != left_out[-2]:
                        self.assertIn("does not see messages", done.err)
                if policy == "stop":
                    self.assertEqual(codes[-1], 5)
                    self.assertEqual(set(left_out), {0})
                    # It was told before, and the chat goes on where it is allowed to.
                    again = run("And now?", "--context-policy", "drop-oldest")
                    self.assertCode(again, 0)
                    self.assertIn("does not see messages", again.err)
                else:
                    self.assertEqual(set(codes), {0})
                    self.assertGreater(left_out[-1], 0)
                    self.assertEqual(left_out, sorted(left_out))
                    # In steps, so that the turns between find their beginning in the cache.
                    self.assertLess(len(set(left_out)), len(left_out))
                # Nothing is gone from the chat itself.
                chat = self.hearth("history", "of " + policy, "--json").json
                questions = [m for m in chat["messages"] if m["role"] == "user"]
                self.assertGreaterEqual(len(questions), len(codes))

    def test_it_is_told_before_the_context_is_full(self):
        done = self.in_context(self.words(CONTEXT - 20), "--max-tokens", "8")
        self.assertCode(done, 0)
        self.assertIn("% full", done.err)
        self.assertIn("--context-policy", done.err)

    def test_the_terminal_says_it(self):
        command = self.command(["run", self.model, "--ctx", str(CONTEXT), "--max-tokens", "8"])
        typed = self.words(CONTEXT).strip() + "\r/context policy drop-middle\r/context\r/bye\r"
        code, screen = in_terminal(command, self.env, self.folder, typed.encode())
        self.assertEqual(code, 0)
        self.assertIn(b"but the context holds 160", b" ".join(screen.split()))
        self.assertIn(b"drop-middle (this chat)", screen)


if __name__ == "__main__":
    sys.exit(0 if unittest.main(verbosity=2, exit=False).result.wasSuccessful() else 1)
