#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a sparse safetensors file: a true header, data that are holes and read as zeros.

make_checkpoint.py large OUT    40 tensors of [8192, 8192] F32: 10.7 GB listed, a few KiB on disk
make_checkpoint.py many OUT     100,000 tensors of [8, 8] F32
"""
import json
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


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("large", "many"):
        sys.exit(__doc__)
    if sys.argv[1] == "large":
        write(sys.argv[2], [f"model.layers.{i}.mlp.up_proj.weight" for i in range(40)], [8192, 8192])
    else:
        write(sys.argv[2], [f"model.layers.{i // 10}.part{i % 10}.weight" for i in range(100_000)], [8, 8])


if __name__ == "__main__":
    main()
