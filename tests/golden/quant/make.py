#!/usr/bin/env python3
"""Writes blocks.txt: random blocks of every weight format and their values by the `gguf` package.

Per format three lines: name and count of elements; the blocks' bytes in hex; the values as f32 bits
in hex. Halfs are finite (subnormals included), everything else is random.
usage: make.py > blocks.txt
"""
import numpy as np
import gguf
from gguf.quants import dequantize

# name: (block bytes, elements, byte offsets of halfs)
FORMATS = {
    "Q4_0": (18, 32, [0]), "Q4_1": (20, 32, [0, 2]), "Q5_0": (22, 32, [0]), "Q5_1": (24, 32, [0, 2]),
    "Q8_0": (34, 32, [0]), "Q2_K": (84, 256, [80, 82]), "Q3_K": (110, 256, [108]),
    "Q4_K": (144, 256, [0, 2]), "Q5_K": (176, 256, [0, 2]), "Q6_K": (210, 256, [208]),
    "IQ4_NL": (18, 32, [0]), "IQ4_XS": (136, 256, [0]), "MXFP4": (17, 32, []),
    "BF16": (2, 1, []), "F16": (2, 1, [0]),
}
rng = np.random.default_rng(20261130)
for name, (size, elems, halfs) in FORMATS.items():
    count = 256 if elems == 1 else 8 if elems == 32 else 3
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for at in halfs:
        h = rng.integers(0, 0x7C00, count, dtype=np.uint16) | (rng.integers(0, 2, count, dtype=np.uint16) << 15)
        h[0] &= 0x83FF  # one subnormal scale
        blocks[:, at:at + 2] = h.astype("<u2")[:, None].view(np.uint8)
    if name == "BF16":
        blocks[:, 1] &= 0xBF  # finite
    if name == "MXFP4":
        blocks[:3, 0] = [0, 1, 250]
    kind = gguf.GGMLQuantizationType[name]
    row = blocks.reshape(1, -1)
    values = row.view("<f2").astype(np.float32) if name == "F16" else dequantize(row, kind)
    print(name, values.size)
    print(blocks.tobytes().hex())
    print(values.astype("<f4").tobytes().hex())
