# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes mad.safetensors: int4 and af4 whose bound is 4.5 times the median absolute deviation.

    python3 tests/data/known/make_mad.py

The deviation is |x - median(x)| of a group, and its median is not multiplied by 1.4826. Medians are Python's
(statistics.median: of an even number the mean of the two in the middle), in f64; the bound is rounded to f32 once.
Blocks of 33 values have a middle; the last block of a row has 29.
"""
from pathlib import Path
from statistics import median

from writing import TINY, f32, nearest, normal_values, save

AF4 = [
    -1.0, -0.69441008, -0.51243739, -0.3736951, -0.25607552, -0.14982478, -0.04934812, 0.0, 0.04273164, 0.12934483,
    0.21961274, 0.31675666, 0.42563882, 0.55496234, 0.72424863, 1.0,
]  # fmt: skip
levels = [f32(level) for level in AF4]
x = normal_values(4 * 128, 7)
tensors = {"x": ("F32", [4, 128], x)}


def bound_of(group):
    middle = median(group)
    return f32(median(abs(value - middle) for value in group) * 4.5)


for format in ("int4", "af4"):
    for block in (32, 33):
        spec = f"{format}:block={block}:calib=mad,4.5"
        codes, scales = [], []
        for row in range(4):
            for begin in range(0, 128, block):
                group = x[128 * row + begin : 128 * row + min(128, begin + block)]
                bound = bound_of(group)
                if format == "int4":
                    scale = f32(f32(bound / 7.0) + TINY)
                    codes += [int(max(-7, min(7, round(f32(value / scale))))) + 7 for value in group]
                else:
                    scale = bound
                    codes += [nearest(levels, f32(value / f32(scale + TINY))) for value in group]
                scales.append(scale)
        tensors[spec + ".codes"] = ("U8", [4, 128], codes)
        tensors[spec + ".scales"] = ("F32", [4, len(scales) // 4], scales)
save(Path(__file__).with_name("mad.safetensors"), tensors)
