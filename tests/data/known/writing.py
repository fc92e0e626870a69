# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scripts beside this one share: arithmetic of f32 and the writing of safetensors, by Python alone.

Files hold `x` (F32) and, for specs of it, `SPEC.codes` (U8, places among the levels), `SPEC.scales` (F32) and, where the
levels are the point, `SPEC.levels` (F32). known_answers_test compares all of them to the bit.
"""
import json
import random
import struct


def f32(value):
    """Rounded to f32. A sum, product or quotient of two f32 that Python computes in f64 is then that of f32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


TINY = 2.0**-126


def normal_values(count, seed):
    """With outliers, zeros, and groups of one sign."""
    numbers = random.Random(seed)
    out = [f32(numbers.gauss(0, 1) * (1 + i // 64 % 3)) for i in range(count)]
    for i in range(0, count, 97):
        out[i] = f32(out[i] * 8)
    for i in range(5, count, 41):
        out[i] = 0.0
    out[64:128] = [abs(value) for value in out[64:128]]
    return out


def nearest(levels, value):
    """The place of the nearest level, the lower one on ties."""
    return min(range(len(levels)), key=lambda place: (abs(levels[place] - value), place))


def save(path, tensors):
    """tensors: name -> ("F32" or "U8", shape, values)."""
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        part = struct.pack(f"<{len(values)}f", *values) if dtype == "F32" else bytes(values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
