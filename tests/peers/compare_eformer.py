# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantizes the same tensors with quantscope-cli and with the real eformer, and compares every stored byte.

Also compares files: the reference safetensors writer writes the inputs, and the reference reader reads our outputs. A copy of a file
without quantized tensors must have the same bytes as that of the reference writer.

eformer runs without jit. Where XLA on the CPU differs from the arithmetic in eformer's source, comments below say so, and the comparison
uses that arithmetic. Denormals are left out, because XLA flushes them.
"""
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from eformer.ops.quantization import _config as config
from eformer.ops.quantization import quantization_functions as functions
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

cli = sys.argv[1]
passed = failed = 0


def check(name, ours, theirs):
    global passed, failed
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    same = ours.shape == theirs.shape and ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()
    passed, failed = passed + same, failed + (not same)
    if not same:
        print(f"FAIL {name}: {ours.dtype}{ours.shape} against {theirs.dtype}{theirs.shape}", end="")
        if ours.shape == theirs.shape:
            different = np.flatnonzero(ours.ravel() != theirs.ravel())
            if different.size:
                i = different[0]
                print(f"; {different.size} differ, first at {i}: {ours.ravel()[i]} against {theirs.ravel()[i]}", end="")
        print()


def quantscope(*arguments):
    done = subprocess.run([cli, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"quantscope-cli {' '.join(map(str, arguments))}: {done.stderr}")


def inputs():
    r = np.random.default_rng(7)
    shapes = [(4, 64), (8, 130), (4, 3, 96), (16, 1), (12, 257), (64, 512), (4, 7, 5, 33)]
    kinds = {
        "normal": lambda s: r.standard_normal(s),
        "laplace": lambda s: r.laplace(size=s),
        "outliers": lambda s: r.standard_normal(s) * np.where(r.random(s) < 0.01, 60, 1),
        "small": lambda s: r.standard_normal(s) * 1e-6,
        "zeros": lambda s: np.where(r.random(s) < 0.7, 0, r.standard_normal(s)),
        "ties": lambda s: np.round(r.standard_normal(s) * 8) / 8,
    }
    for (kind, make), shape in itertools.product(kinds.items(), shapes):
        yield f"{kind}.{'x'.join(map(str, shape))}", make(shape).astype(np.float32)


def pad(x, block):
    extra = -x.shape[-1] % block
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, extra)]) if extra else x


def divided_in(dtype, a, b):
    """The correctly rounded quotient of two 16-bit floats: rounding the f32 quotient gives the same result as rounding once."""
    return (np.asarray(a, np.float32) / np.asarray(b, np.float32)).astype(dtype)


def main():
    tensors = dict(inputs())
    for name, x in list(tensors.items()):
        if name.startswith(("normal", "outliers")):
            tensors[f"bf16.{name}"] = x.astype(ml_dtypes.bfloat16)
            tensors[f"f16.{name}"] = x.astype(np.float16)
            tensors[f"f64.{name}"] = x.astype(np.float64)
    with tempfile.TemporaryDirectory() as folder, jax.disable_jit():
        folder = Path(folder)
        source = folder / "source.safetensors"
        save_file(tensors, source, metadata={"format": "pt"})

        for block in (2, 32, 48, 64, 128, 256):
            out = folder / f"nf4.{block}.safetensors"
            quantscope("quantize", source, "--spec", f"nf4:block={block}", "-o", out)
            ours = load_file(out)
            decoded = {}
            for decode in ("table", "poly"):
                plain = folder / f"nf4.{block}.{decode}.safetensors"
                quantscope("dequantize", out, "--decode", decode, "-o", plain)
                decoded[decode] = load_file(plain)
            for name, x in tensors.items():
                x32 = pad(x.astype(np.float32), block)
                packed, absmax = functions.single_quantize_and_pack_nf4(jnp.asarray(x32), block_size=block)
                check(f"nf4.{block}.{name}.packed", ours[name + ".packed"], packed)
                check(f"nf4.{block}.{name}.absmax", ours[name + ".absmax"], absmax)
                poly = np.asarray(functions.single_dequantize_nf4(packed, absmax, block))[..., : x.shape[-1]]
                check(f"nf4.{block}.{name}.poly", decoded["poly"][name], poly.astype(x.dtype))
                table = np.asarray(functions.get_nf4())
                codes = np.stack([np.asarray(packed) >> 4, np.asarray(packed) & 15], -1).reshape(*absmax.shape, block)
                exact = (table[codes] * np.asarray(absmax)[..., None]).reshape(x32.shape)[..., : x.shape[-1]]
                check(f"nf4.{block}.{name}.table", decoded["table"][name], exact.astype(x.dtype))

        for axis in (-1, 0):
            out = folder / f"int8.{axis}.safetensors"
            quantscope("quantize", source, "--spec", f"int8:axis={axis}", "-o", out)
            ours = load_file(out)
            for name, x in tensors.items():
                x32 = x.astype(np.float32)
                q, scale = map(np.asarray, functions.quantize_int8(jnp.asarray(x32), axis=axis))
                # Even without jit, XLA on the CPU multiplies by 1/127 and by the reciprocal of a broadcast scale. The results agree except
                # within an ulp of a tie. eformer's source says division, which NumPy rounds correctly.
                amax = np.abs(x32).max(axis=axis, keepdims=True)
                divided = amax / np.float32(127) + np.finfo(np.float32).tiny
                check(f"int8.{axis}.{name}.scale", ours[name + ".scale"], divided)
                divided_q = np.round(x32 / divided).astype(np.int8)
                check(f"int8.{axis}.{name}.weight", ours[name + ".weight"], divided_q)
                quotient = np.abs(x32 / divided)
                tie = np.abs(quotient - np.floor(quotient) - 0.5) < 1e-4
                check(f"int8.{axis}.{name}.eformer", np.where(tie, q, ours[name + ".weight"]), q)
                check(f"int8.{axis}.{name}.eformer.scale", np.allclose(scale, divided, rtol=2e-7, atol=0), True)

        packable = {n: x for n, x in tensors.items() if x.shape[0] % 4 == 0}
        for kind in ("binary", "ternary"):
            out = folder / f"{kind}.safetensors"
            quantscope("quantize", source, "--spec", kind, "-o", out)
            ours = load_file(out)
            for name, x in packable.items():
                theirs = config.quantize(jnp.asarray(x.astype(np.float32)), dtype=kind)
                check(f"{kind}.{name}.weight", ours[name + ".weight"], np.asarray(theirs.weight))

        # compute=input: absmax, tiny, the division and the stored scale are in the dtype of the input. F32 and F64 are both F32 there.
        for block in (2, 48, 64):
            out = folder / f"input.{block}.safetensors"
            quantscope("quantize", source, "--spec", f"nf4:block={block}:compute=input", "-o", out)
            ours = load_file(out)
            for name, x in tensors.items():
                x = x.astype(np.float32) if x.dtype == np.float64 else x
                padded = pad(x, block)
                packed, absmax = functions.single_quantize_and_pack_nf4(jnp.asarray(padded), block_size=block)
                if x.dtype == np.float16:
                    # f16 division of XLA on the CPU is not correctly rounded: a quarter of the quotients are one ulp off. So eformer's
                    # lines are repeated here with IEEE division.
                    blocks = padded.reshape(*padded.shape[:-1], -1, block)
                    normalized = divided_in(np.float16, blocks, np.abs(blocks).max(-1, keepdims=True) + np.finfo(np.float16).tiny)
                    codes = np.abs(normalized.astype(np.float32)[..., None] - np.asarray(functions.get_nf4())).argmin(-1)
                    packed = (codes[..., 0::2] << 4 | codes[..., 1::2]).astype(np.uint8)
                check(f"nf4.input.{block}.{name}.packed", ours[name + ".packed"], packed)
                check(f"nf4.input.{block}.{name}.absmax", np.asarray(ours[name + ".absmax"], np.float32), np.asarray(absmax, np.float32))
        lowest = 0
        for axis in (-1, 0):
            out = folder / f"int8.input.{axis}.safetensors"
            quantscope("quantize", source, "--spec", f"int8:axis={axis}:compute=input", "-o", out)
            ours = load_file(out)
            for name, x in tensors.items():
                x = x.astype(np.float32) if x.dtype == np.float64 else x
                q, scale = map(np.asarray, functions.quantize_int8(jnp.asarray(x), axis=axis))
                lowest += int((q == -128).sum())
                # As above: the division in eformer's source, rounded to the dtype of the input. XLA's is one ulp off in F16 and F32.
                amax = np.abs(x).max(axis=axis, keepdims=True)
                tiny = np.asarray(ml_dtypes.finfo(x.dtype).tiny, np.float32)
                divided = (divided_in(x.dtype, amax, np.asarray(127, x.dtype)).astype(np.float32) + tiny).astype(x.dtype)
                check(f"int8.input.{axis}.{name}.scale", np.asarray(ours[name + ".scale"], np.float32), np.asarray(divided, np.float32))
                quotient = divided_in(x.dtype, x, divided).astype(np.float32)
                codes = np.clip(np.round(quotient), -128, 127).astype(np.int8)
                check(f"int8.input.{axis}.{name}.weight", ours[name + ".weight"], codes)
                ulp = 2.0**-9 if x.dtype == np.float16 else 1e-6
                near = np.abs(np.abs(quotient) % 1 - 0.5) <= np.abs(quotient) * ulp
                near = near if x.dtype != ml_dtypes.bfloat16 else np.zeros_like(near)
                check(f"int8.input.{axis}.{name}.eformer", np.where(near, q, ours[name + ".weight"]), q)
        check("int8.input.lowest integers", lowest > 0, True)

        # The files must equal those of the reference writer byte for byte. A plain bf16 copy of bf16 tensors changes nothing but names our
        # metadata.
        out = folder / "input.64.safetensors"
        again = folder / "again.safetensors"
        with safe_open(out, "np") as opened:
            metadata = opened.metadata()
        save_file(load_file(out), again, metadata=metadata)

        def header(path):
            data = Path(path).read_bytes()
            size = int.from_bytes(data[:8], "little")
            return json.loads(data[8 : 8 + size]), data[8 + size :]

        ours_header, ours_data = header(out)
        theirs_header, theirs_data = header(again)
        check("file.data", np.frombuffer(ours_data, np.uint8), np.frombuffer(theirs_data, np.uint8))
        check("file.header", np.array([ours_header == theirs_header]), np.array([True]))
        check("file.order", np.array([k for k in ours_header if k != "__metadata__"]),
              np.array([k for k in theirs_header if k != "__metadata__"]))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
