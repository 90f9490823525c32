#!/usr/bin/env python3
"""Measures what the disk tier of the prefix cache is for: a chat is made, the program ends, a new
process sends one short message. Compared with the same message computed without the cache.

  tests/engine/reopen.py --hearth build/dev/bin/hearth --tokens 4096,16384 MODEL.gguf ...

Per model and length: tokens stored and reused, time to the first token of both runs (loading the
model left out, and shown), time spent reading, and whether the logits have the same hash. The
files are dropped from the page cache before they are read ("cold disk") unless --warm.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

WORDS = """the river keeps an old stone bridge while winter light falls over quiet fields and
someone walks home with bread under one arm thinking about letters that were never sent because
every road seemed longer than the last and nobody asked where it would end or who had built it
""".split()


def long_text(n_words):
    """Sentences that do not repeat: the n-th word depends on n in a way that has no short period."""
    out = []
    state = 12345
    for i in range(n_words):
        state = (state * 1103515245 + 12345) % 2**31
        word = WORDS[state // 65536 % len(WORDS)]
        out.append(word + ("." if i % 11 == 10 else ""))
    return " ".join(out)


class Run:
    def __init__(self, args, model, n_tokens):
        self.args, self.model, self.n_tokens = args, model, n_tokens
        self.folder = tempfile.mkdtemp(prefix="hearth-reopen-")
        self.context = n_tokens + 1024

    def hearth(self, folder, words, prompt=None):
        env = dict(os.environ, HEARTH_DATA_DIR=folder)
        command = [self.args.hearth, *words, "--json"]
        done = subprocess.run(command, env=env, input=prompt or "", capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command[:6])} ... failed with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def ask(self, folder, prompt, *more):
        words = ["run", self.model, "--chat", "long", "--temp", "0", "--max-tokens", "16",
                 "--ctx", str(self.context), *more]
        return self.hearth(folder, words, prompt)

    def make_chat(self):
        """A text of about n_tokens, found by counting a sample."""
        sample = long_text(1000)
        counted = self.hearth(self.folder, ["inspect", "tokenize", self.model], sample)
        per_word = len(counted["ids"]) / 1000
        return self.ask(self.folder, long_text(int(self.n_tokens / per_word)))

    def drop_from_page_cache(self):
        for folder, _, files in os.walk(os.path.join(self.folder, "cache")):
            for name in files:
                fd = os.open(os.path.join(folder, name), os.O_RDONLY)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(fd)

    def run(self):
        first = self.make_chat()
        usage = first["usage"]
        # Of an answer the newest token is never computed; an end token is not kept.
        stored = usage["prompt_tokens"] + usage["completion_tokens"] - 1
        copy = self.folder + "-cold"
        shutil.copytree(self.folder, copy, ignore=shutil.ignore_patterns("cache"))
        if not self.args.warm:
            self.drop_from_page_cache()
        start = time.monotonic()
        warm = self.ask(self.folder, "And then?")
        wall = time.monotonic() - start
        cold = self.ask(copy, "And then?", "--cache-budget", "off")
        size = sum(os.path.getsize(os.path.join(d, f))
                   for d, _, names in os.walk(self.folder + "/cache") for f in names)
        shutil.rmtree(self.folder)
        shutil.rmtree(copy)
        return self.report(warm, cold, stored, size, wall)

    def report(self, warm, cold, stored, size, wall):
        def first_token(r):
            t = r["timings"]
            return t["first_token_ms"] - t["load_ms"] - t["queue_ms"]

        reused = warm["cache"]["disk"]
        row = {
            "model": os.path.basename(self.model),
            "prompt_tokens": warm["usage"]["prompt_tokens"],
            "stored": stored,
            "reused": reused,
            "reused_percent": round(100 * reused / stored, 2),
            "cold_first_ms": round(first_token(cold)),
            "first_ms": round(first_token(warm)),
            "first_percent": round(100 * first_token(warm) / first_token(cold), 2),
            "read_ms": round(warm["timings"]["restore_ms"]),
            "load_ms": round(warm["timings"]["load_ms"]),
            "process_ms": round(1000 * wall),
            "cache_mib": round(size / 2**20),
            "same_logits": warm["logits_hash"] == cold["logits_hash"],
            "same_text": warm["text"] == cold["text"],
        }
        limit = max(0.03 * row["cold_first_ms"], 150)
        row["holds"] = (row["same_logits"] and row["same_text"] and reused >= 0.99 * stored
                        and row["first_ms"] <= limit)
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hearth", default="build/dev/bin/hearth")
    parser.add_argument("--tokens", default="4096")
    parser.add_argument("--warm", action="store_true", help="leave the files in the page cache")
    parser.add_argument("models", nargs="+")
    args = parser.parse_args()
    good = True
    for model in args.models:
        for n in args.tokens.split(","):
            row = Run(args, model, int(n)).run()
            print(json.dumps(row), flush=True)
            good = good and row["holds"]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
