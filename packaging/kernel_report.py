#!/usr/bin/env python3
"""What the compiler says of every kernel of the card, as the table of kernels/SPEED.md.

    kernel_report.py [--nvcc NVCC] [--archs 80,86,89,90,120] [--only FILE] [--lines]

Per kernel and architecture: registers, bytes of shared memory, bytes spilled, and the share of a
multiprocessor's warps that these let run. Fails when a kernel spills, or when a block wants more
shared memory than every card has. --lines: one line per kernel and architecture instead.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++20", "-O3", "--expt-relaxed-constexpr", "--fmad=false", "-Xptxas", "-v", "-cubin"]
# architecture: warps, blocks, KiB of shared memory of a multiprocessor (CUDA C++ Programming Guide,
# "Technical Specifications per Compute Capability"). Registers: 65536, given out 256 a warp at a time.
LIMITS = {"80": (64, 32, 164), "86": (48, 16, 100), "89": (48, 24, 100), "90": (64, 32, 228),
          "120": (48, 24, 100)}
MOST_SHARED = 99 << 10
Report = collections.namedtuple("Report", "registers shared spilled warps share")


def format_names():
    """DType values in their order, from the list of formats."""
    text = (ROOT / "kernels/dtype.h").read_text()
    body = re.search(r"#define HEARTH_WEIGHT_FORMATS\(X\)(.*?)\n\n", text, re.S).group(1)
    return [m.upper() for m in re.findall(r"X\((\w+)", body)]


def shape_of(kernel):
    """(threads of a block, bytes of dynamic shared memory), as the launchers ask for."""
    m = re.match(r"attention_kernel<(\w+), (\d+)", kernel)
    if m:
        dim = int(m[2])
        halves = 2 if dim > 128 else 1
        state = 4 * 16 * (dim + 2 * halves)
        return 128 * halves, dim // 16 * 2 * 32 * 16 + 2 * state
    if kernel.startswith("merge_kernel"):
        return 128, 0
    if kernel.startswith("panel_kernel"):
        stage = 2 * 64 * 4 * 16 + 64 * 16 + 2 * 64 * 16
        return 256, 3 * stage + 4 * 8 * 4 * 256
    return 256, 0


def occupancy(arch, threads, registers, shared):
    warps, blocks, kib = LIMITS[arch]
    of_block = threads // 32
    by_registers = 65536 // ((registers * 32 + 255) // 256 * 256) // of_block
    by_shared = (kib << 10) // (shared + 1024)
    return min(warps // of_block, by_registers, by_shared, blocks) * of_block, warps


def compile_one(nvcc, source, arch, folder):
    out = pathlib.Path(folder) / f"{source.stem}-{arch}.cubin"
    ran = subprocess.run([nvcc, *FLAGS, f"-I{ROOT}", f"-arch=sm_{arch}", source, "-o", out],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"kernel_report.py: nvcc refuses {source.name} for sm_{arch}:\n{ran.stdout}")
    text = subprocess.run(["c++filt"], input=ran.stdout, stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return text.replace("hearth::cuda::(anonymous namespace)::", "")


def parse(text, arch, names):
    found = {}
    for part in text.split("Compiling entry function '")[1:]:
        kernel = re.sub(r"^void ", "", part.split("' for '")[0])
        kernel = re.sub(r"\(hearth::DType\)(\d+)", lambda m: names[int(m[1])], kernel)
        kernel = re.sub(r"\((Args|RopeArgs|hearth|float|int|std|__half).*$", "", kernel)
        registers = int(re.search(r"Used (\d+) registers", part)[1])
        static = re.search(r"(\d+) bytes smem", part)
        spilled = sum(map(int, re.findall(r"(\d+) bytes spill (?:stores|loads)", part)))
        threads, dynamic = shape_of(kernel)
        shared = dynamic + (int(static[1]) if static else 0)
        share = occupancy(arch, threads, registers, shared)
        found[kernel] = Report(registers, shared, spilled, *share)
    return found


def cell(r):
    return f"{r.registers}{f' ({r.spilled} spilled)' if r.spilled else ''}, {r.warps}"


def table(reports, archs):
    print("| kernel | shared KiB | " + " | ".join(
        f"sm_{a} (of {LIMITS[a][0]})" for a in archs) + " |")
    print("| --- | --- |" + " --- |" * len(archs))
    for kernel, by_arch in reports.items():
        shared = max(r.shared for r in by_arch.values())
        print(f"| `{kernel}` | {shared / 1024:.1f} | " + " | ".join(
            cell(by_arch[a]) for a in archs) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--archs", default=",".join(LIMITS))
    parser.add_argument("--only", default="")
    parser.add_argument("--lines", action="store_true")
    args = parser.parse_args()
    archs, names = args.archs.split(","), format_names()
    sources = sorted(s for s in (ROOT / "kernels/cuda").glob("*.cu") if args.only in s.name)
    reports = collections.OrderedDict()
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {(s, a): pool.submit(compile_one, args.nvcc, s, a, folder)
                for s in sources for a in archs}
        for (source, arch), job in jobs.items():
            for kernel, report in sorted(parse(job.result(), arch, names).items()):
                reports.setdefault(kernel, {})[arch] = report
                if args.lines:
                    print(arch, kernel, *report)
    if not args.lines:
        table(reports, archs)
    bad = [f"{k} on sm_{a}: {r.spilled} bytes spilled, {r.shared} bytes of shared memory"
           for k, by in reports.items() for a, r in by.items()
           if r.spilled or r.shared > MOST_SHARED]
    if bad:
        print("to mend:", *bad, sep="\n    ", file=sys.stderr)
    return 1 if bad or not reports else 0


if __name__ == "__main__":
    sys.exit(main())
