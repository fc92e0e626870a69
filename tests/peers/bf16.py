# SPDX-License-Identifier: GPL-3.0-or-later
"""Tensors of a safetensors file as NumPy arrays. BF16 becomes float32, because the NumPy loader of safetensors does not support it."""
import json

import numpy as np

DTYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "U8": "u1"}


def load(path):
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    out = {}
    for name, t in header.items():
        if name == "__metadata__":
            continue
        a = np.frombuffer(data[slice(*t["data_offsets"])], DTYPES[t["dtype"]]).reshape(t["shape"])
        out[name] = (a.astype(np.uint32) << 16).view(np.float32) if t["dtype"] == "BF16" else a
    return out
