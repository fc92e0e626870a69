# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes rms.safetensors: int4 in blocks of 32 whose bound is 3 times the root mean square.

    python3 tests/data/known/make_rms.py
"""
import math
from pathlib import Path

from writing import TINY, f32, normal_values, save

x = normal_values(4 * 128, 1)
codes, scales = [], []
for begin in range(0, len(x), 32):
    group = x[begin : begin + 32]
    squares = 0.0
    for value in group:
        squares += value * value
    bound = f32(f32(math.sqrt(squares / len(group))) * 3.0)
    scale = f32(f32(bound / 7.0) + TINY)
    scales.append(scale)
    for value in group:
        codes.append(int(max(-7, min(7, round(f32(value / scale))))) + 7)
save(
    Path(__file__).with_name("rms.safetensors"),
    {
        "x": ("F32", [4, 128], x),
        "int4:block=32:calib=rms,3.codes": ("U8", [4, 128], codes),
        "int4:block=32:calib=rms,3.scales": ("F32", [4, 4], scales),
    },
)
