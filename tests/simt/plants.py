#!/usr/bin/env python3
"""Bugs planted into the kernels, one at a time: the tests on the emulated card must find each.

A test of the tests. Every plant is a replacement in one source; the sources that include it are
compiled again, linked with the test objects of the build, and the tests named by a tag must fail.
    plants.py --cxx CXX --source DIR --cuda-include DIR --objects A.o,B.o --archives x.a,y.a
Compiling them takes minutes: HEARTH_TEST_FULL=1, --all or --only plants them; without, every plant's
text must still be in its source, once.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROWS, ATTENTION, MATMUL = "rows.cu", "attention.cu", "matmul.cu"
# (name, file, text, replacement, sources to compile, tests to run)
PLANTS = [
    ("no barrier before the sum of a block", "device_math.cuh",
     "    __syncthreads();\n    float sum = part[0];", "    float sum = part[0];", [ROWS], "[rows]"),
    ("one warp's part is never written", "device_math.cuh",
     "if (threadIdx.x % 32 == 0) part", "if (threadIdx.x % 32 == 0 && threadIdx.x > 32) part",
     [ROWS], "[rows]"),
    ("a shared array one element short", ROWS,
     "SMEM(float, part, [8]);", "SMEM(float, part, [7]);", [ROWS], "[rows]"),
    ("barrier in half of the warps", ROWS,
     "sum = block_sum_256(sum, part);",
     "if (threadIdx.x < 128) __syncthreads();\n    sum = block_sum_256(sum, part);", [ROWS], "[rows]"),
    ("a lane leaves before a shuffle", "quantize.cuh",
     "std::uint32_t top = 0;", "if (threadIdx.x == 3) return;\n    std::uint32_t top = 0;", [ROWS],
     "[rows]"),
    ("wrong lane in the maximum of a block of 32", "quantize.cuh",
     "step < 8; step *= 2", "step < 4; step *= 2", [ROWS], "[matmul]"),
    ("scale of the second half instead of the block", "quantize.cuh",
     "out.s[block] = __fmul_rn(d, static_cast<float>(whole));",
     "out.s[block] = __fmul_rn(d, static_cast<float>(sum));", [ROWS], "[matmul]"),
    ("row stride of the wrong matrix", ROWS,
     "float* to = y + row * y_stride;", "float* to = y + row * x_stride + 1;", [ROWS], "[rows]"),
    ("host pointer given to a kernel", "embed.cu",
     "y.data, y.stride, tokens", "reinterpret_cast<float*>(&y), y.stride, tokens", ["embed.cu"],
     "[embed]"),
    ("code read from the neighbouring lane", "embed.cu",
     "t = k % 16 / 4", "t = (k % 16 / 4 + 1) % 4", ["embed.cu"], "[embed]"),
    ("keys stored at the slot after", "rope_kv.cu",
     "const int slot = position % kPageTokens;", "const int slot = (position + 1) % kPageTokens;",
     ["rope_kv.cu"], "[attention]"),
    ("pages taken by index instead of table", "rope_kv.cu",
     "a.places.pages[a.places.first_page[row] + position / kPageTokens]", "position / kPageTokens",
     ["rope_kv.cu"], "[attention]"),
    ("pairs of the other rotation", "rope_kv.cu",
     "rotates && a.rope.half_split ? i : 2 * i", "rotates && !a.rope.half_split ? i : 2 * i",
     ["rope_kv.cu"], "[rope]"),
    ("mask one key too far", ATTENTION,
     "at < rows.hi[r] ? v", "at <= rows.hi[r] ? v", [ATTENTION], "[attention]"),
    ("window one key short", ATTENTION,
     "hi - a.window : 0", "hi - a.window + 1 : 0", [ATTENTION], "[attention]"),
    ("accumulator not rescaled", ATTENTION,
     "o[j][i] = __fmul_rn(o[j][i], factor[i / 2]);", "o[j][i] = __fmul_rn(o[j][i], 1.0f);",
     [ATTENTION], "[attention]"),
    ("no barrier between the warps' folds", ATTENTION,
     "dim, m, l, o);\n            __syncthreads();", "dim, m, l, o);", [ATTENTION], "[attention]"),
    ("queries read before they are stored", ATTENTION,
     "clear(shared.part);\n        __syncthreads();", "clear(shared.part);", [ATTENTION],
     "[attention]"),
    ("state of a row read after it was written", ATTENTION,
     "        __syncwarp();  // all four", "        if (lane % 4 == 0 && any) to.l[half][row] = to_l;  // all four",
     [ATTENTION], "[attention]"),
    ("partitions merged from the second on", ATTENTION,
     "for (int p = 0; p < count; ++p) {\n                const float* state",
     "for (int p = 1; p < count; ++p) {\n                const float* state", [ATTENTION],
     "[attention]"),
    ("list of pages read past its end", ATTENTION,
     "if (key + 16 * p >= max_hi) continue;", "", [ATTENTION], "[attention]"),
    ("wait for the wrong stage", MATMUL,
     "ptx::cp_async_wait<kStages - 2>();", "ptx::cp_async_wait<kStages - 1>();", [MATMUL],
     "[matmul]"),
    ("no barrier after the wait", MATMUL,
     "ptx::cp_async_wait<kStages - 2>();\n        __syncthreads();",
     "ptx::cp_async_wait<kStages - 2>();", [MATMUL], "[matmul]"),
    ("stage fetched into the one in use", MATMUL,
     "shared.stage[ahead % kStages]", "shared.stage[group % kStages]", [MATMUL], "[matmul]"),
    ("slices merged before all are there", MATMUL,
     "    __syncthreads();\n    for (int i = static_cast<int>(threadIdx.x); i < tiles_here",
     "    for (int i = static_cast<int>(threadIdx.x); i < tiles_here", [MATMUL], "[matmul]"),
    ("columns past the end are not zero", MATMUL,
     "ptx::cp_async16(dst, there ? from : base, there ? 16 : 0);",
     "ptx::cp_async16(dst, from, 16);", [MATMUL], "[matmul]"),
    ("copies in flight at the end", MATMUL,
     "    ptx::cp_async_wait<0>();\n    if (wanted",
     "    fetch_stage<kType>(shared.stage[0], x, first, n, 0);\n    if (wanted", [MATMUL], "[matmul]"),
    ("a slice lost in the panel", MATMUL,
     "if (++slice < w.slices)", "if (slice++ < 0)", [MATMUL], "[matmul]"),
]


def plant(args, entry, folder):
    name, file, text, replacement, sources, tag = entry
    root = pathlib.Path(args.source)
    original = (root / "kernels/cuda" / file).read_text()
    if original.count(text) != 1:
        return f"{name}: its text stands {original.count(text)} times in {file}, expected once"
    place = folder / name.replace(" ", "-").replace("'", "") / "kernels/cuda"
    place.mkdir(parents=True)
    for source in (root / "kernels/cuda").iterdir():
        (place / source.name).write_text(source.read_text())
    (place / file).write_text(original.replace(text, replacement))
    objects = []
    for source in sources:
        out = place / (source + ".o")
        subprocess.run(
            [args.cxx, "-std=c++20", "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-w",
             "-I", place.parent.parent, "-I", root, "-I", root / "tests/simt",
             "-isystem", args.cuda_include, "-x", "c++", "-c", place / source, "-o", out],
            check=True)
        objects.append(out)
    program = place / "tests"
    subprocess.run([args.cxx, "-o", program, *args.objects.split(","), *objects,
                    *args.archives.split(","), "-pthread", "-ldl", "-lrt"], check=True)
    try:
        ran = subprocess.run([program, tag, "--abort"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return f"{name}: the tests {tag} did not end"
    program.unlink()
    if ran.returncode == 0:
        return f"{name}: the tests {tag} found nothing"
    return ""


def main():
    parser = argparse.ArgumentParser()
    for option in ("cxx", "source", "cuda-include", "objects", "archives"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="", help="plants whose name contains this")
    parser.add_argument("--slice", default="0/1", help="I/N: every Nth plant from the Ith on")
    args = parser.parse_args()
    everything = args.all or os.environ.get("HEARTH_TEST_FULL") == "1"
    sources = pathlib.Path(args.source) / "kernels/cuda"
    lost = [p[0] for p in PLANTS if (sources / p[1]).read_text().count(p[2]) != 1]
    if lost:
        print("their text is not in its source, once:", *lost, sep="\n    ")
        return 1
    if not everything and not args.only:
        print(f"{len(PLANTS)} bugs can be planted; HEARTH_TEST_FULL=1 plants them")
        return 0
    part, of = map(int, args.slice.split("/"))
    chosen = [p for p in PLANTS if args.only in p[0]][part::of]
    failures = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {pool.submit(plant, args, p, pathlib.Path(folder)): p for p in chosen}
        for job in concurrent.futures.as_completed(jobs):
            problem = job.result()
            print(problem or f"found: {jobs[job][0]}", flush=True)
            failures += bool(problem)
    print(f"{len(chosen) - failures} of {len(chosen)} planted bugs were found")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
