#!/usr/bin/env python3
"""Compares answers of real models with and without drafts: ids and hashes of logits must be equal.

  real_equality.py --hearth build/bin/hearth MODEL --draft lookup|NAME [--prompts 20] [--tokens 64]

20 prompts (chat, code, Chinese, a text to repeat) x greedy and two sampled settings. Prints one
line per difference and a summary; exit code 1 when anything differs.
"""

import argparse
import json
import subprocess
import sys

TEXT = ("The ferry leaves the north pier at eight and returns at noon. Tickets are sold on board. "
        "Dogs travel free, bicycles pay half. In strong wind the ferry does not run.")

PROMPTS = [
    "Write a Python function that merges two sorted lists.",
    "Why is the sky blue?",
    "用三句话介绍一下长城。",
    f"Repeat this text, but write ship instead of ferry:\n{TEXT}",
    "Write a C function that reverses a string in place.",
    "Give me a recipe for pancakes.",
    "什么是机器学习？请举一个例子。",
    "List the numbers from one to thirty as words.",
    "Explain the difference between a list and a tuple in Python.",
    f"Translate into German:\n{TEXT}",
    "Write a SQL query that counts orders per customer and month.",
    "Tell me a short story about a lighthouse keeper.",
    "写一个计算斐波那契数列的Python函数。",
    "Write the same greeting ten times.",
    "What does this do? for (int i = 0; i < n; ++i) a[i] = a[i] + a[i - 1];",
    "Who wrote Faust?",
    "把下面的句子翻译成英文：今天天气很好，我们去公园散步吧。",
    "Write an HTML table with the days of the week.",
    "Summarise in one sentence: " + TEXT,
    "Write unit tests for a stack class in Python.",
]

SETTINGS = [
    ["--temp", "0"],
    ["--temp", "0.7", "--top-p", "0.9", "--seed", "11"],
    ["--temp", "1.0", "--top-k", "0", "--min-p", "0.05", "--repeat-penalty", "1.1", "--seed", "12"],
]


def answer(args, prompt, setting, draft):
    command = [args.hearth, "run", args.model, prompt, "--json", "--no-log", "--draft", draft,
               "--max-tokens", str(args.tokens)] + setting
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--hearth", default="build/bin/hearth")
    parser.add_argument("--draft", default="lookup")
    parser.add_argument("--prompts", type=int, default=len(PROMPTS))
    parser.add_argument("--tokens", type=int, default=64)
    args = parser.parse_args()
    n = wrong = drafted = accepted = 0
    for prompt in PROMPTS[:args.prompts]:
        for setting in SETTINGS:
            plain = answer(args, prompt, setting, "off")
            other = answer(args, prompt, setting, args.draft)
            n += 1
            drafted += other["speculation"]["drafted"]
            accepted += other["speculation"]["accepted"]
            same = all(plain[k] == other[k] for k in ("token_ids", "logits_hash", "finish_reason"))
            if not same:
                wrong += 1
                print(f"differs: {prompt!r} with {' '.join(setting)}")
    print(f"{n} answers, {wrong} differ; {accepted} of {drafted} drafts accepted")
    if drafted == 0:
        print("nothing was drafted: this shows nothing")
    return 1 if wrong or drafted == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
