#!/usr/bin/env python3
"""Speed against llama.cpp in one run, as ratios: pairs alternated, medians.

    packaging/peer_bench.py HEARTH MODEL.gguf... [--pairs 5] [--threads 2] [--contexts 0,2048] [--isa auto]

Needs `pip install llama-cpp-python` (it compiles for minutes). Flash attention as llama.cpp chooses it, f16 KV.
Prints one row per model: prefill 512, decode at each context, ours / theirs.
"""
import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import time

import llama_cpp


@llama_cpp.llama_log_callback
def quiet(level, text, data):
    pass


class Peer:
    """A model loaded by llama.cpp, kept for all pairs."""

    def __init__(self, path, contexts, threads):
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        cp = llama_cpp.llama_context_default_params()
        cp.n_ctx = max(contexts) + 1024
        cp.n_batch = cp.n_ubatch = 512
        cp.n_threads = cp.n_threads_batch = threads
        self.ctx = llama_cpp.llama_init_from_model(self.model, cp)
        self.memory = llama_cpp.llama_get_memory(self.ctx)
        n_vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.ids = [(i * 7919) % (n_vocab - 1000) + 500 for i in range(max(contexts) + 512)]
        self.contexts = contexts
        self.feed(self.ids[:64])

    def feed(self, tokens):
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        if llama_cpp.llama_decode(self.ctx, llama_cpp.llama_batch_get_one(array, len(tokens))) != 0:
            sys.exit("llama_decode failed")
        llama_cpp.llama_synchronize(self.ctx)

    def measure(self, decode_tokens=32):
        """[(prefill tok/s, decode tok/s)] for each context: 512 tokens computed after `context`, then one by one."""
        rows = []
        for context in self.contexts:
            llama_cpp.llama_memory_clear(self.memory, True)
            for a in range(0, context, 512):
                self.feed(self.ids[a:min(a + 512, context)])
            start = time.perf_counter()
            self.feed(self.ids[context:context + 512])
            prefill = 512 / (time.perf_counter() - start)
            llama_cpp.llama_memory_seq_rm(self.memory, 0, context, -1)
            self.feed(self.ids[:1])
            start = time.perf_counter()
            for i in range(decode_tokens):
                self.feed(self.ids[i:i + 1])
            rows.append((prefill, decode_tokens / (time.perf_counter() - start)))
        return rows

    def close(self):
        llama_cpp.llama_free(self.ctx)
        llama_cpp.llama_model_free(self.model)


def ours(args, path):
    out = subprocess.run([args.hearth, "bench", path, "--contexts", args.contexts, "--threads", str(args.threads),
                          "--isa", args.isa, "--prompts", "none", "--columns", "none", "--repeats", "1", "--json"],
                         capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(out.stderr)
    return [(r["prefill_tok_s"], r["decode_tok_s"]) for r in json.loads(out.stdout)["rows"]]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("hearth")
    ap.add_argument("models", nargs="+")
    ap.add_argument("--pairs", type=int, default=5)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--contexts", default="0,2048")
    ap.add_argument("--isa", default="auto", help="ours; a peer of another instruction set is another build of it")
    args = ap.parse_args()
    contexts = [int(x) for x in args.contexts.split(",")]
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p())
    llama_cpp.llama_backend_init()
    print(f"{'model':32} {'context':>7} {'prefill':>8} {'peer':>8} {'ratio':>6} {'decode':>8} {'peer':>8} {'ratio':>6}")
    for path in args.models:
        a, b = [], []
        peer = Peer(path, contexts, args.threads)
        for pair in range(args.pairs):
            order = [(a, lambda: ours(args, path)), (b, peer.measure)]
            for rows, measure in order if pair % 2 == 0 else order[::-1]:
                rows.append(measure())
        peer.close()
        for i, context in enumerate(contexts):
            m = [statistics.median(r[i][j] for r in rows) for rows in (a, b) for j in (0, 1)]
            print(f"{path.split('/')[-1]:32} {context:7} {m[0]:8.1f} {m[2]:8.1f} {m[0] / m[2]:6.2f} "
                  f"{m[1]:8.1f} {m[3]:8.1f} {m[1] / m[3]:6.2f}", flush=True)


if __name__ == "__main__":
    main()
