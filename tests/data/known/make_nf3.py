# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes nf3.safetensors: the levels of 3-bit NormalFloat, and what blocks of 32 and of 64 become.

    python3 tests/data/known/make_nf3.py

bitsandbytes' create_normal_map (functional.py) has, for 4 bits, 8 positive quantiles from linspace(offset, 0.5, 9) and 7
negative ones from linspace(offset, 0.5, 8), the last of each left out, 0 between them, divided by the largest; its offset
is the mean of 1 - 1/32 and 1 - 1/30. Here the same with 4 and 3. That 4 bits give the 16 published levels is checked.
"""
from pathlib import Path
from statistics import NormalDist

from writing import TINY, f32, nearest, normal_values, save

PUBLISHED_NF4 = [
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
]  # fmt: skip


def normal_map(bits):
    half = 2 ** (bits - 1)
    offset = 1 - (1 / (4 * half) + 1 / (4 * half - 2)) / 2

    def quantiles(places):
        step = (0.5 - offset) / (places - 1)
        return [NormalDist().inv_cdf(offset + step * i) for i in range(places - 1)]

    values = sorted(quantiles(half + 1) + [0.0] + [-q for q in quantiles(half)])
    return [f32(value / values[-1]) for value in values]


assert max(abs(a - b) for a, b in zip(normal_map(4), PUBLISHED_NF4)) < 3e-7  # theirs are of f32 throughout
levels = normal_map(3)
x = normal_values(4 * 128, 3)
tensors = {"x": ("F32", [4, 128], x)}
for block in (32, 64):
    spec = f"nf3:block={block}"
    codes, scales = [], []
    for begin in range(0, len(x), block):
        scale = max(abs(value) for value in x[begin : begin + block])
        scales.append(scale)
        codes += [nearest(levels, f32(value / f32(scale + TINY))) for value in x[begin : begin + block]]
    tensors[spec + ".codes"] = ("U8", [4, 128], codes)
    tensors[spec + ".scales"] = ("F32", [4, 128 // block], scales)
    tensors[spec + ".levels"] = ("F32", [8], levels)
save(Path(__file__).with_name("nf3.safetensors"), tensors)
