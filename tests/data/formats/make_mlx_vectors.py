# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes mlx_vectors.safetensors: the results of mlx.core.quantize (mode "affine") for tensors on the CPU.

    python3 tests/data/formats/make_mlx_vectors.py [FILE]   # mlx[cpu] 0.32.4, numpy 2.4.6, safetensors 0.8.0

The tensors `F32`, `F16` and `BF16` have a row for each kind of group. `TENSOR/SPEC.weight` (U32 words), `.scales` and `.biases` (dtype of
the tensor) are what mlx stores, for all bit widths and group sizes. `.values` are the values that mlx decodes, for int4 in groups of 64.
"""
import sys
from pathlib import Path

import mlx.core as mx
import numpy as np
from safetensors import TensorSpec, serialize_file

mx.set_default_device(mx.cpu)
COLUMNS = 128
r = np.random.default_rng(41)
kinds = {"F32": mx.float32, "F16": mx.float16, "BF16": mx.bfloat16}


def normal(factor=1.0):
    return r.standard_normal(COLUMNS) * factor


def pattern(*values):
    return np.tile(np.array(values), COLUMNS // len(values))


def rows(wide):
    out = [normal(10.0**power) for power in (-6, -5, -3, -2, -2, -1, 0, 0, 1, 2)]
    out += [-abs(normal()), abs(normal()), normal(0.01) + 10, normal(0.01) - 10]  # values of one sign, and values far from 0
    out += [0 * normal(), pattern(-0.0), *(np.full(COLUMNS, value) for value in (0.3, -0.7, 1e-8, -6e-8, 5.1e-8, 60000))]  # constant rows
    out += [pattern(1, -1), pattern(2, -2, 0.5, -0.5), pattern(1e-7, -2e-8), normal(3e-8)]  # a symmetric range; the smallest scale
    out += [np.arange(COLUMNS) + shift for shift in (-63.5, -64, -20, 1)] + [(np.arange(COLUMNS) % 16 - 7.5) / 2]  # half-integer multiples of the scale: ties
    out += [np.arange(COLUMNS) % steps + 0.5 * (np.arange(COLUMNS) % 3 == 1) for steps in (4, 8, 32)]
    out += [normal(12000), pattern(60000, -65000), pattern(65504, -65504)]
    if wide:
        out += [np.full(COLUMNS, 1e30), np.full(COLUMNS, -1e35), pattern(1e38, -1e38), normal(1e37), normal(1e-40), np.full(COLUMNS, 1e-42)]
    return np.stack(out).astype(np.float32)


def plain(array):
    """As a NumPy array. NumPy has no BF16, so BF16 is given as its bits, with the dtype."""
    halves = array.dtype in (mx.float16, mx.bfloat16)
    kind = {mx.float32: "float32", mx.float16: "float16", mx.bfloat16: "bfloat16", mx.uint32: "uint32"}[array.dtype]
    return kind, np.array(array.view(mx.uint16) if halves else array)


out = {}
for name, kind in kinds.items():
    x = mx.array(rows(name != "F16")).astype(kind)
    out[name] = plain(x)
    for bits in (2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            stored = mx.quantize(x, group_size=group, bits=bits)
            key = f"{name}/int{bits}:block={group}:dialect=mlx"
            out |= {f"{key}.{field}": plain(array) for field, array in zip(("weight", "scales", "biases"), stored)}
            if (bits, group) == (4, 64):
                out[key + ".values"] = plain(mx.dequantize(*stored, group_size=group, bits=bits))
path = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "mlx_vectors.safetensors"
specs = {key: TensorSpec(dtype=kind, shape=bits.shape, data_ptr=bits.ctypes.data, data_len=bits.nbytes) for key, (kind, bits) in out.items()}
serialize_file(specs, str(path), None)
print(len(out), "tensors")
