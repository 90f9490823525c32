#!/usr/bin/env python3
"""The AVX-VNNI rung cannot run on every machine that tests it: its object is disassembled instead.

    avxvnni_object.py LIBRARY    the static library of the kernels

Holds: the int8 dot product is there, in the VEX encoding, and nothing of AVX-512 is (no zmm, no mask register, no
register beyond ymm15): the object starts on a processor that has AVX-VNNI and not AVX-512. Its source is the one
of the 256-bit VNNI rung, whose results the matmul tests compare bit for bit.
"""
import re
import subprocess
import sys

disassembly = subprocess.run(["objdump", "-d", "--no-show-raw-insn", sys.argv[1]], check=True,
                             capture_output=True, text=True).stdout
member = ""
products = 0
failures = []
members = set()
for line in disassembly.splitlines():
    if "file format" in line:
        member = line.split(":")[0]
        continue
    if "_avxvnni" not in member:
        continue
    members.add(member)
    if "vpdpbusd" in line:
        products += 1
        if "{vex}" not in line:
            failures.append(f"{member}: not in the VEX encoding: {line.strip()}")
    if re.search(r"%zmm|%k[0-7]\b|%[xy]mm(1[6-9]|2\d|3[01])\b", line):
        failures.append(f"{member}: an AVX-512 register: {line.strip()}")
if not members:
    failures.append(f"{sys.argv[1]} holds no object of the AVX-VNNI rung")
if products < 50:
    failures.append(f"expected at least 50 int8 dot products in {sorted(members)}, found {products}")
for failure in failures[:20]:
    print("error:", failure)
print(f"{len(members)} objects, {products} VPDPBUSD in VEX encoding")
sys.exit(1 if failures else 0)
