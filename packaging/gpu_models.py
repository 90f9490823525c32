#!/usr/bin/env python3
"""Likelihoods of recorded texts by real models on the card, against those of the reference decoder.

    gpu_models.py HEARTH MODELS [ISA]     MODELS: a folder with the files of fetch_models.sh

A model that is not there is said and left out; with none at all the run fails.
"""
import json
import pathlib
import subprocess
import sys

FILES = {"smollm2": "smollm2-135m-q4_1.gguf", "gemma3": "gemma3-270m-q4_k_m.gguf",
         "qwen2": "qwen2.5-coder-0.5b-q4_k_m.gguf"}
# Activations are int8 per 32: the reference computes with exact ones. As for the CPU backend.
TOLERANCE = 0.01


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    hearth, models, isa = sys.argv[1], pathlib.Path(sys.argv[2]), (sys.argv[3:] + ["cuda"])[0]
    golden = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/reference/nll"
    failures = runs = 0
    for name, file in FILES.items():
        if not (models / file).is_file():
            print(f"{name}: {models / file} is not there, left out")
            continue
        for case in json.loads((golden / f"{name}.json").read_text()):
            ran = subprocess.run(
                [hearth, "inspect", "nll", str(golden / case["text"]), "-m", str(models / file),
                 "--isa", isa], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            runs += 1
            if ran.returncode != 0:
                print(f"{name} {case['text']}: exit code {ran.returncode}: {ran.stderr.strip()}")
                failures += 1
                continue
            got, expected = json.loads(ran.stdout)["mean_nll"], case["mean_nll"]
            off = abs(got / expected - 1)
            verdict = "ok" if off <= TOLERANCE else "WRONG"
            failures += off > TOLERANCE
            print(f"{name} {case['text']}: {got:.4f}, expected {expected:.4f}, {off:.2%} off: {verdict}")
    return 1 if failures or runs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
