# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes vectors.safetensors: figures of tensors with extreme scales, computed by NumPy in f64.

    python3 tests/data/metrics/make_vectors.py [FILE]   # numpy 2.4.6, ml_dtypes 0.6.0, safetensors 0.8.0

`CASE` (F32) is a tensor, and `CASE.inputs` (F32) are the inputs of its layer. `CASE/SPEC` (F64) are the figures of its reconstruction, in
the order of FIGURES; NaN means that a figure does not exist. Reconstructions are computed here in f32, element by element, by the
definition of the format. All sums over them are f64, and math.fsum where terms cancel.
"""
import sys
from math import fsum
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

FIGURES = ("mse rmse mae max_abs nmse sqnr_db cosine one_minus_cosine bias clip_share zero_share sign_flips code_entropy dead_codes kurtosis crest "
           "weighted_nmse output_nmse hessian_trace p50 p95 p99").split()
TINY = np.finfo(np.float32).tiny
f32 = np.float32


def int8(x):
    scale = np.abs(x).max(-1, keepdims=True) / f32(127) + TINY
    code = np.clip(np.round(x / scale), -127, 127)
    return code * scale, code, 255, np.abs(x) > f32(127) * scale * f32(1.000001)


def int4_affine(x):
    x = x.reshape(-1, 32)
    low, high = np.minimum(x.min(-1, keepdims=True), 0), np.maximum(x.max(-1, keepdims=True), 0)
    scale = (high - low) / f32(15)
    scale = np.where(np.isinf(scale), high / f32(15) - low / f32(15), np.where(scale == 0, f32(1), scale))
    zero = np.clip(np.round(f32(-8) - low / scale), -8, 7)
    code = np.clip(np.round(x / scale + zero), -8, 7)
    bounds = [np.where(zero == 0, f32(edge) * scale * f32(1.000001), (f32(edge) * f32(1.000001) - zero) * scale) for edge in (-8, 7)]
    return (code - zero) * scale, code, 16, (x < bounds[0]) | (x > bounds[1])


def nf4(x):
    levels = np.array([-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
                       -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1], np.float32)
    x = x.reshape(-1, 32)
    most = np.abs(x).max(-1, keepdims=True)
    code = np.abs((x / (most + TINY))[..., None] - levels).argmin(-1)
    return levels[code] * most, code, 16, np.abs(x) > most * f32(1.000001)


def binary(x):
    v = np.where(x < 0, f32(-1), f32(1))
    return v, v, 2, np.abs(x) > f32(1.000001)


def ternary(x):
    mean = f32(fsum(x.ravel().tolist())) / f32(x.size)
    square = np.square(x - mean)
    variance = f32(square.sum(dtype=np.float64)) / f32(x.size)
    threshold = f32(0.5) * np.sqrt(variance)
    v = np.where(x > threshold, f32(1), np.where(x < -threshold, f32(-1), f32(0)))
    return v, v, 3, np.abs(x) > f32(1.000001)


def small(dtype, most):
    def through(x):
        v = x.astype(dtype).astype(np.float32)
        return v, None, 0, np.abs(x) > most
    return through


SPECS = {"int8": int8, "int4:block=32:sym=no": int4_affine, "nf4:block=32": nf4, "binary": binary, "ternary": ternary,
         "f16": small(np.float16, f32(65504) * f32(1.000001)), "bf16": small(ml_dtypes.bfloat16, np.inf)}


def total(terms):
    return fsum(terms.ravel().tolist())


def figures(w32, v32, code, levels, clipped, inputs):
    w, v = w32.astype(np.float64), v32.astype(np.float64).reshape(w32.shape)
    e = v - w
    n, sse, ssw, ssv = w.size, total(e * e), total(w * w), total(v * v)
    nmse = sse / ssw if ssw > 0 else np.nan
    # 1 - cos = |w/|w| - v/|v||^2 / 2: exact also for small angles.
    apart = np.nan
    if ssw > 0 and ssv > 0:
        direction = w.astype(np.longdouble) / np.sqrt(np.longdouble(ssw)) - v.astype(np.longdouble) / np.sqrt(np.longdouble(ssv))
        apart = float((direction * direction).sum() / 2)
    centred = w - total(w) / n
    centred -= total(centred) / n
    m2, m4 = total(centred**2) / n if w.min() < w.max() else 0, total(centred**4) / n
    counts = np.unique(code, return_counts=True)[1] if code is not None else None
    squares = np.square(inputs.astype(np.float64)).mean(0).astype(np.float32).astype(np.float64)
    x = inputs.astype(np.float64)
    weighted, power = total(squares * w * w), total((x @ w.T) ** 2)
    magnitude = np.sort(np.abs(v32.reshape(w32.shape) - w32).ravel()).astype(np.float64)
    return {
        "mse": sse / n, "rmse": np.sqrt(sse / n), "mae": total(np.abs(e)) / n, "max_abs": np.abs(e).max(), "nmse": nmse,
        "sqnr_db": -10 * np.log10(nmse) if nmse > 0 else np.nan, "cosine": 1 - apart, "one_minus_cosine": apart, "bias": total(e) / n,
        "clip_share": clipped.mean(), "zero_share": (v == 0).mean(), "sign_flips": (w * v < 0).sum(),
        "code_entropy": np.nan if counts is None else abs(-(counts / n * np.log2(counts / n)).sum()),
        "dead_codes": np.nan if counts is None else levels - len(counts), "kurtosis": m4 / m2**2 - 3 if m2 > 0 else np.nan,
        "crest": np.abs(w).max() / np.sqrt(ssw / n) if ssw > 0 else np.nan,
        "weighted_nmse": total(squares * e * e) / weighted if weighted > 0 else np.nan,
        "output_nmse": total((x @ e.T) ** 2) / power if power > 0 else np.nan,
        "hessian_trace": 2 * squares.mean() * sse, **{f"p{p}": magnitude[int(np.ceil(p / 100 * n)) - 1] for p in (50, 95, 99)},
    }


def main():
    r = np.random.default_rng(16)
    normal = r.standard_normal((24, 96))
    heavy = r.standard_t(3, (24, 96))
    cases = {
        "plain": normal * 0.02, "at_1e30": normal * 1e30, "at_1e_30": normal * 1e-30, "at_1e18": heavy * 1e18, "at_1e_18": heavy * 1e-18,
        "near_largest": np.clip(normal * 1e38, -3.3e38, 3.3e38), "denormal": normal * 1e-40, "tiny_norms": normal * 1e-3,
        "huge_offset": normal + 1e6, "offset_1e30": normal * 1e24 + 1e30, "near_constant": 3 + normal * 1e-6, "constant": np.full((24, 96), 0.1),
        "outlier": np.where(np.arange(24 * 96).reshape(24, 96) == 1000, 1e6, normal), "mixed_rows": normal * 10.0 ** np.arange(-12, 12)[:, None],
        "first_is_far": np.where(np.arange(24 * 96).reshape(24, 96) == 0, 1e9, normal), "one_sided": np.abs(heavy) + 0.5,
    }
    out = {}
    for name, case in cases.items():
        w = case.astype(np.float32)
        inputs = (r.standard_normal((40, 96)) * r.uniform(0.2, 3, 96)).astype(np.float32)
        out[name], out[name + ".inputs"] = w, inputs
        for spec, make in SPECS.items():
            with np.errstate(over="ignore", invalid="ignore"):
                v, code, levels, clipped = make(w)
            if not np.isfinite(v).all():
                continue  # f16 overflows to infinity, which is not a figure
            found = figures(w, v, code, levels, clipped, inputs)
            out[f"{name}/{spec}"] = np.array([found[figure] for figure in FIGURES], np.float64)
    save_file(out, sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "vectors.safetensors")
    print(len(out), "tensors")


main()
