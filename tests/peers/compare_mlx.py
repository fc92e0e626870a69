# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantizes the same matrices with quantscope-cli (dialect=mlx, layout mlx) and with mlx.core.quantize on the CPU, from F32, F16 and BF16,
with every bit width and group size. Words, scales, biases and decoded values must be equal bit for bit. Layout native must give the same
values, rounded to the dtype of the matrix.
"""
import tempfile
from pathlib import Path

import mlx.core as mx
import numpy as np

from checks import Checks, quantscope

mx.set_default_device(mx.cpu)
check = Checks()
KINDS = {"F32": mx.float32, "F16": mx.float16, "BF16": mx.bfloat16}


def bits(array):
    """The bits as integers, so that -0 differs from 0."""
    return np.array(array.view(mx.uint32 if array.itemsize == 4 else mx.uint16))


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and bool((bits(a) == bits(b)).all())


def matrices():
    r = np.random.default_rng(29)
    out = {}
    for shape in ((1, 128), (7, 384), (64, 1024), (3, 40960)):  # rows shorter and longer than what a core processes at once
        x = r.standard_normal(shape)
        kinds = {
            "normal": x,
            "shifted": x * 0.01 + 5,
            "below": -abs(x),
            "outliers": np.where(r.random(shape) < 0.01, x * 60, x),
            "wide": x * 2.0 ** r.integers(-16, 12, shape),
            "rows": x * 2.0 ** r.integers(-20, 12, (shape[0], 1)) + r.integers(-2, 3, (shape[0], 1)),
            "ties": r.integers(-30, 31, shape) / 4,
            "tiny": x * 1e-7,
            "flat": np.broadcast_to(x[:, :1], shape),
        }
        out |= {f"{kind}.{'x'.join(map(str, shape))}": values for kind, values in kinds.items()}
    return {name: x.astype(np.float32) for name, x in out.items()}


def compare(spec, group, width, sources, folder):
    source, out, back, native = (folder / f"{name}.safetensors" for name in ("source", "out", "back", "native"))
    for path in (out, back, native):
        path.unlink(missing_ok=True)
    quantscope("quantize", source, "--spec", spec, "--layout", "mlx", "-o", out)
    fields = mx.load(str(out))
    quantscope("dequantize", out, "-o", back)
    values = mx.load(str(back))
    quantscope("quantize", source, "--spec", spec, "--layout", "native", "-o", native)
    back.unlink()
    quantscope("dequantize", native, "-o", back)
    analysed = mx.load(str(back))
    for name, x in sources.items():
        theirs = mx.quantize(x, group_size=group, bits=width)
        module = name.removesuffix(".weight")
        for field, array in zip(("weight", "scales", "biases"), theirs):
            check(f"{spec} {name} {field}", same(fields[f"{module}.{field}"], array))
        check(f"{spec} {name} decodes", same(values[name], mx.dequantize(*theirs, group_size=group, bits=width)))
        wide = mx.dequantize(theirs[0], *(array.astype(mx.float32) for array in theirs[1:]), group_size=group, bits=width)
        check(f"{spec} {name} analysed", same(analysed[name], wide.astype(x.dtype)))


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    sources = {f"{name}.{kind}.weight": mx.array(x).astype(type) for name, x in matrices().items() for kind, type in KINDS.items()}
    sources = {name: x for name, x in sources.items() if bool(mx.isfinite(x).all())}
    mx.save_safetensors(str(folder / "source.safetensors"), sources)
    for width in (2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            compare(f"int{width}:block={group}:dialect=mlx", group, width, sources, folder)
check.finish()
