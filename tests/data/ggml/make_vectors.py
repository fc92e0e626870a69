# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes vectors.safetensors: known answers for the block formats, computed only by ggml and gguf.

    python3 tests/data/ggml/make_vectors.py LIBGGML_BASE.so    # gguf 0.19.0, ggml 0.21.0 built without -march

`x` (F32): normal, heavy-tailed, one-sided, sparse, wide, constant, tiny, zero and tied values, 256 of each kind in turn.
`FORMAT.blocks` (U8): `x` encoded by ggml's quantize_row_FORMAT_ref. For iq4_nl it is quantize_iq4_nl, the encoder of ggml's tools, which
searches for a scale; the other one takes the first. If gguf has an encoder, both must agree.
`random.FORMAT.blocks` and `random.FORMAT.values`: random bytes and the values that gguf (for nvfp4: ggml) decodes.
"""
import ctypes
import sys
from pathlib import Path

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from safetensors.numpy import save_file

here = Path(__file__).parent
ggml = ctypes.CDLL(sys.argv[1])
names = "q4_0 q4_1 q5_0 q5_1 q8_0 q2_K q3_K q4_K q5_K q6_K iq4_nl iq4_xs tq1_0 tq2_0 mxfp4 nvfp4".split()


def inputs():
    r = np.random.default_rng(11)
    n = lambda scale=1.0: (r.standard_normal(256) * scale).astype(np.float32)
    parts = [n(0.02), n(), n(1000), r.standard_t(4, 256), np.abs(n(0.01)), -np.abs(n(0.01)), n(0.05) * (r.random(256) < 0.2)]
    parts += [n() * np.repeat(2.0 ** r.integers(-12, 4, 16), 16), np.zeros(256), np.full(256, 0.37), np.full(256, -2.5)]
    parts += [np.where(np.arange(256) % 3 == 0, 1, -1), r.integers(-8, 9, 256) / 8, r.integers(-254, 255, 256) / 2]
    parts += [np.linspace(-1, 1, 256), r.laplace(size=256) * 0.01 + 0.05, n(1e-7), n(3e-6)]
    parts += [np.where(np.arange(256) == 77, 40, n(0.02)), np.tile(np.float32([12, 8, 6, 5, 3.5, 2.5, 0.75, 0.25]), 32) / 2]
    return np.concatenate(parts).astype(np.float32)


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def reference(name, x, nbytes):
    out = np.zeros(nbytes, np.uint8)
    if name == "iq4_nl":
        ggml.quantize_iq4_nl(pointer(x), pointer(out), ctypes.c_int64(1), ctypes.c_int64(x.size), None)
        return out
    getattr(ggml, f"quantize_row_{name}_ref")(pointer(x), pointer(out), ctypes.c_int64(x.size))
    return out


def decoded(name, blocks, n):
    out = np.zeros(n, np.float32)
    getattr(ggml, f"dequantize_row_{name}")(pointer(blocks), pointer(out), ctypes.c_int64(n))
    return out


x = inputs()
out = {"x": x}
r = np.random.default_rng(12)
for name in names:
    kind = GGMLQuantizationType[name.upper()]
    elements, size = GGML_QUANT_SIZES[kind]
    key = name.lower()
    blocks = reference(name, x, x.size // elements * size)
    out[f"{key}.blocks"] = blocks
    try:
        theirs = gguf.quantize(x, kind).reshape(-1)
        assert (theirs == blocks).all(), name
    except NotImplementedError:
        pass
    some = r.integers(0, 256, 2048 // elements * size, dtype=np.uint8)
    values = decoded(name, some, 2048)
    try:
        same = gguf.dequantize(some, kind).reshape(-1)
        assert (np.isnan(same) == np.isnan(values)).all() and (same == values)[~np.isnan(same)].all(), name
    except NotImplementedError:
        print(name, "is not decoded by gguf")
    out[f"random.{key}.blocks"], out[f"random.{key}.values"] = some, values
save_file(out, here / "vectors.safetensors")
