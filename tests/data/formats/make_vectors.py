# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes vectors.safetensors: known answers for the integer and float formats, computed only by NumPy and ml_dtypes.

    python3 tests/data/formats/make_vectors.py        # numpy 2.4.6, ml_dtypes 0.6.0, safetensors 0.8.0

`casts.x` (F32) has values at, between and around all values of the 8-bit floats, clipped to the finite range. `casts.FORMAT` (U8) are the
same values cast by ml_dtypes. `FILE.SPEC.codes` (I8 integers, U8 bytes of floats) and `FILE.SPEC.scale` (F32) are the tensor `x` of
../golden/FILE under a spec, with a scale per row or per block of a row; the last block of a row may be shorter. All operations are in f32.
"""
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import load_file, save_file

here = Path(__file__).parent
tiny = np.finfo(np.float32).tiny
floats = {
    "fp8_e4m3": ml_dtypes.float8_e4m3fn,
    "fp8_e5m2": ml_dtypes.float8_e5m2,
    "fp8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "fp8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}
blocks = {"mxfp4": ml_dtypes.float4_e2m1fn, "nvfp4": ml_dtypes.float4_e2m1fn, "mxfp8": ml_dtypes.float8_e4m3fn}


def cast(x, dtype):
    most = np.float32(ml_dtypes.finfo(dtype).max)
    return np.clip(x, -most, most).astype(dtype).view(np.uint8)


def values_of(dtype):
    count = 16 if dtype == ml_dtypes.float4_e2m1fn else 256
    every = np.arange(count, dtype=np.uint8).view(dtype).astype(np.float32)
    return np.unique(every[np.isfinite(every)])


def decisions():
    points = [np.float32([0, 1e-45, 1e-40, tiny, 1e30, np.finfo(np.float32).max])]
    for dtype in {**floats, **blocks}.values():
        values = values_of(dtype)
        values = values[values >= 0]
        points += [values, (values[1:] + values[:-1]) / np.float32(2), np.float32([values[-1] * 1.0625])]
    at = np.concatenate(points)
    with np.errstate(over="ignore"):
        around = np.concatenate([np.nextafter(at, np.float32(-np.inf)), at, np.nextafter(at, np.float32(np.inf))])
    around = np.unique(around[np.isfinite(around) & (around >= 0)])
    return np.concatenate([around, -around])


def quantized(x, format, block):
    """Quantizes rows in blocks; block 0 means one scale per row."""
    x = x.reshape(-1, x.shape[-1])
    codes, scales = [], []
    for row in x:
        for at in range(0, len(row), block or len(row)):
            group = row[at : at + (block or len(row))]
            bound = np.abs(group).max()
            if format in floats:
                scale = bound / np.float32(ml_dtypes.finfo(floats[format]).max)
                scale = scale if scale != 0 else np.float32(1)
                codes.append(cast(group / scale, floats[format]))
            else:
                most = np.float32(2 ** (int(format[3:]) - 1) - 1)
                scale = bound / most + tiny
                codes.append(np.clip(np.rint(group / scale), -most, most).astype(np.int8))
            scales.append(scale)
            assert scale.dtype == np.float32
    return np.concatenate(codes).reshape(x.shape), np.float32(scales).reshape(len(x), -1)


out = {"casts.x": decisions()}
for format, dtype in (floats | blocks).items():
    out[f"casts.{format}"] = cast(out["casts.x"], dtype)
for file in ("normal", "odd_tail", "outliers_and_zero_row", "tiny_values"):
    x = load_file(here.parent / "golden" / f"{file}.safetensors")["x"]
    for format in [f"int{bits}" for bits in range(2, 9)] + list(floats):
        for block in (0, 24) if file == "odd_tail" else (0,) if format in floats else (64,):
            name = f"{file}.{format}:" + (f"block={block}" if block else "scale=channel")
            out[name + ".codes"], out[name + ".scale"] = quantized(x, format, block)
save_file(out, here / "vectors.safetensors")
