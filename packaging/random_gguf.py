#!/usr/bin/env python3
"""Writes a seeded random model in a real shape, for measuring where no model can be fetched.

    random_gguf.py SHAPE TYPE FILE      SHAPE tiny, 135m, 1.5b or 8b; TYPE q4_0, q4_k or q8_0

The same arguments give the same bytes. Weights repeat every few MiB: speed does not see it. The
text it writes means nothing.
"""
import random
import struct
import sys

# name: layers, hidden, inner, heads, kv heads, head_dim, vocabulary
SHAPES = {
    "tiny": (3, 256, 512, 4, 2, 64, 512),
    "135m": (30, 576, 1536, 9, 3, 64, 49152),
    "1.5b": (28, 1536, 8960, 12, 2, 128, 151936),
    "8b": (32, 4096, 14336, 32, 8, 128, 128256),
}
# GGUF type id, elements and bytes of a block, positions of its half-precision scales
TYPES = {"q4_0": (2, 32, 18, (0,)), "q4_k": (12, 256, 144, (0, 2)), "q8_0": (8, 32, 34, (0,))}
CHUNK_BYTES = 8 << 20
# Codes times scale have about the deviation 1 / sqrt(hidden) that norms expect.
CODE_DEVIATION = {"q4_0": 4.6, "q4_k": 170.0, "q8_0": 74.0}


def text(s):
    raw = s.encode()
    return struct.pack("<Q", len(raw)) + raw


def entry(key, kind, value):
    """kind: u32 f32 text texts i32s"""
    head = text(key)
    if kind == "u32":
        return head + struct.pack("<II", 4, value)
    if kind == "f32":
        return head + struct.pack("<If", 6, value)
    if kind == "text":
        return head + struct.pack("<I", 8) + text(value)
    if kind == "texts":
        return head + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    return head + struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)


def byte_symbols():
    """GPT-2's printable stand-ins for the 256 bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    symbols, extra = [], 256
    for b in range(256):
        if b in printable:
            symbols.append(chr(b))
        else:
            symbols.append(chr(extra))
            extra += 1
    return symbols


def metadata(shape_name, shape):
    layers, hidden, inner, heads, kv_heads, dim, vocabulary = shape
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + byte_symbols()
    types = [3, 3, 3] + [1] * 256
    # Merges make long texts no longer than they are: a few are enough for the file to be valid.
    merges = ["h e", "i n", "r e"]
    tokens += ["he", "in", "re"]
    types += [1, 1, 1]
    template = ("{% for m in messages %}{{'<|im_start|>' + m['role'] + '\\n' + m['content'] + "
                "'<|im_end|>\\n'}}{% endfor %}{% if add_generation_prompt %}"
                "{{'<|im_start|>assistant\\n'}}{% endif %}")
    return [
        entry("general.architecture", "text", "llama"),
        entry("general.name", "text", f"random {shape_name}"),
        entry("general.alignment", "u32", 32),
        entry("llama.context_length", "u32", 32768),
        entry("llama.embedding_length", "u32", hidden),
        entry("llama.block_count", "u32", layers),
        entry("llama.feed_forward_length", "u32", inner),
        entry("llama.vocab_size", "u32", vocabulary),
        entry("llama.attention.head_count", "u32", heads),
        entry("llama.attention.head_count_kv", "u32", kv_heads),
        entry("llama.attention.key_length", "u32", dim),
        entry("llama.attention.value_length", "u32", dim),
        entry("llama.attention.layer_norm_rms_epsilon", "f32", 1e-5),
        entry("llama.rope.dimension_count", "u32", dim),
        entry("llama.rope.freq_base", "f32", 500000.0),
        entry("tokenizer.ggml.model", "text", "gpt2"),
        entry("tokenizer.ggml.pre", "text", "gpt-2"),
        entry("tokenizer.ggml.tokens", "texts", tokens),
        entry("tokenizer.ggml.token_type", "i32s", types),
        entry("tokenizer.ggml.merges", "texts", merges),
        entry("tokenizer.ggml.bos_token_id", "u32", 0),
        entry("tokenizer.ggml.eos_token_id", "u32", 2),
        entry("tokenizer.chat_template", "text", template),
    ]


def tensors(shape):
    """(name, columns, rows or 0 for a vector)"""
    layers, hidden, inner, heads, kv_heads, dim, vocabulary = shape
    yield "token_embd.weight", hidden, vocabulary
    for i in range(layers):
        p = f"blk.{i}."
        yield p + "attn_norm.weight", hidden, 0
        yield p + "attn_q.weight", hidden, heads * dim
        yield p + "attn_k.weight", hidden, kv_heads * dim
        yield p + "attn_v.weight", hidden, kv_heads * dim
        yield p + "attn_output.weight", heads * dim, hidden
        yield p + "ffn_norm.weight", hidden, 0
        yield p + "ffn_gate.weight", hidden, inner
        yield p + "ffn_up.weight", hidden, inner
        yield p + "ffn_down.weight", inner, hidden
    yield "output_norm.weight", hidden, 0


def chunk_of(type_name, hidden):
    """Some MiB of random blocks with sensible scales."""
    _, _, block, scales = TYPES[type_name]
    rng = random.Random(20261130)
    data = bytearray(rng.randbytes(CHUNK_BYTES // block * block))
    scale = hidden ** -0.5 / CODE_DEVIATION[type_name]
    d = struct.pack("<e", scale)
    m = struct.pack("<e", scale * 7.5)
    for at in range(0, len(data), block):
        data[at + scales[0]:at + scales[0] + 2] = d
        if len(scales) > 1:
            data[at + scales[1]:at + scales[1] + 2] = m
    return bytes(data)


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in SHAPES or sys.argv[2] not in TYPES:
        sys.exit(__doc__)
    shape_name, type_name, path = sys.argv[1:]
    shape = SHAPES[shape_name]
    type_id, elements, block, _ = TYPES[type_name]
    if shape[1] % elements:
        sys.exit(f"random_gguf.py: rows of {shape[1]} are no whole blocks of {type_name}; "
                 "take q4_0 or q8_0")
    pairs = metadata(shape_name, shape)
    infos, sizes, offset = [], [], 0
    for name, cols, rows in tensors(shape):
        vector = rows == 0
        size = 4 * cols if vector else cols // elements * block * rows
        dims = struct.pack("<IQ", 1, cols) if vector else struct.pack("<IQQ", 2, cols, rows)
        infos.append(text(name) + dims + struct.pack("<IQ", 0 if vector else type_id, offset))
        sizes.append((size, vector, cols))
        offset += (size + 31) // 32 * 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(pairs)) + b"".join(pairs + infos)
    chunk = chunk_of(type_name, shape[1])
    with open(path, "wb") as out:
        out.write(head + bytes(-len(head) % 32))
        for size, vector, cols in sizes:
            if vector:
                out.write(struct.pack("<f", 1.0) * cols)
            else:
                whole, rest = divmod(size, len(chunk))
                for _ in range(whole):
                    out.write(chunk)
                out.write(chunk[:rest])
            out.write(bytes(-size % 32))
    print(f"{path}: {shape_name} {type_name}, {offset >> 20} MiB")


if __name__ == "__main__":
    main()
