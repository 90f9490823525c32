#!/usr/bin/env python3
"""What a busy neighbour costs, and what waiting costs: pairs alternated, medians.

    packaging/neighbour_bench.py HEARTH MODEL.gguf [--pairs 5] [--threads 2]

Runs the same prompt alone and beside a process that keeps one core busy all the time, and prints the ratio of the
speeds beside the share of the machine that is left. Then counts the processor ticks of a loaded, waiting chat
over ten seconds.
"""
import argparse
import json
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time


def timings(args, data):
    ids = ",".join(str((i * 7919) % 40000 + 500) for i in range(512))
    out = subprocess.run([args.hearth, "--data-dir", data, "--no-log", "run", args.model, "--ids", ids, "--raw", "--json",
                          "--temp", "0", "--ignore-eos", "--max-tokens", "65", "--threads", str(args.threads)],
                         capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"hearth failed: {out.stderr}")
    t = json.loads(out.stdout)["timings"]
    return 512e3 / t["prefill_ms"], 64e3 / t["decode_ms"]


def busy_neighbour():
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
    return process


def ticks(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def idle_ticks(args, data, seconds=10):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(args.hearth, [args.hearth, "--data-dir", data, "--no-log", "run", args.model])
    time.sleep(2)
    os.write(terminal, b"Hello\r")  # loads the model
    time.sleep(8)
    before = ticks(pid)
    time.sleep(seconds)
    after = ticks(pid)
    os.close(terminal)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return after - before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hearth")
    parser.add_argument("model")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as data:
        timings(args, data)
        alone, beside = [], []
        for _ in range(args.pairs):
            alone.append(timings(args, data))
            neighbour = busy_neighbour()
            try:
                beside.append(timings(args, data))
            finally:
                neighbour.kill()
                neighbour.wait()
        for i, what in enumerate(("prefill 512", "decode at 512")):
            a = statistics.median(t[i] for t in alone)
            b = statistics.median(t[i] for t in beside)
            print(f"{what}: alone {a:.1f} tok/s, beside a busy neighbour {b:.1f} tok/s, ratio {b / a:.2f}; "
                  f"of {cores} cores {cores - 0.5} are left when the neighbour's one is shared evenly: "
                  f"{(cores - 0.5) / cores:.2f}")
        print(f"waiting with the model loaded: {idle_ticks(args, data)} ticks of processor time in 10 s")


main()
