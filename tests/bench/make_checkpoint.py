#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a safetensors file for the benchmarks. All except `sweep` are sparse: the header is real, and the data is a hole that reads as
zeros.

    make_checkpoint.py large OUT    40 tensors of [8192, 8192] F32: 10.7 GB listed, a few KiB on disk
    make_checkpoint.py twenty OUT   75 tensors of [8192, 8192] F32: 20.1 GB listed
    make_checkpoint.py huge OUT     one tensor of [65536, 76800] F32: 20.1 GB listed
    make_checkpoint.py many OUT     100,000 tensors of [8, 8] F32
    make_checkpoint.py sweep OUT    100 million parameters, F32: 7 layers of a transformer and an embedding, normal values
"""
import array
import json
import random
import struct
import sys


def write(path, names, shape):
    size = 4
    for dim in shape:
        size *= dim
    header, at = {}, 0
    for name in names:
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + at)


def write_sweep(path):
    """Uses 2^20 normally distributed values. Each row starts at another position, and each tensor has another scale."""
    random.seed(3)
    shapes = {}
    for layer in range(7):
        for name in ("q", "k", "v", "o"):
            shapes[f"layers.{layer}.{name}_proj.weight"] = [1024, 1024]
        shapes |= {f"layers.{layer}.{n}_proj.weight": s for n, s in (("up", [2816, 1024]), ("gate", [2816, 1024]), ("down", [1024, 2816]))}
    shapes["embed.weight"] = [(100_000_000 - sum(a * b for a, b in shapes.values())) // 1024, 1024]
    header, at = {}, 0
    for name, shape in shapes.items():
        size = 4 * shape[0] * shape[1]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    normal = [random.gauss(0, 0.02) for _ in range(1 << 20)]
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for rows, columns in shapes.values():
            scale = random.uniform(0.5, 2)
            values = array.array("f", (scale * v for v in normal))
            for _ in range(rows):
                start = random.randrange(len(values) - columns)
                file.write(values[start : start + columns].tobytes())


KINDS = {
    "large": lambda path: write(path, [f"model.layers.{i}.mlp.up_proj.weight" for i in range(40)], [8192, 8192]),
    "twenty": lambda path: write(path, [f"model.layers.{i}.mlp.up_proj.weight" for i in range(75)], [8192, 8192]),
    "huge": lambda path: write(path, ["model.layers.0.mlp.up_proj.weight"], [65536, 76800]),
    "many": lambda path: write(path, [f"model.layers.{i // 10}.part{i % 10}.weight" for i in range(100_000)], [8, 8]),
    "sweep": write_sweep,
}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    KINDS[sys.argv[1]](sys.argv[2])


if __name__ == "__main__":
    main()
