# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantizes the same tensors with quantscope-cli and with qwix: 8-bit floats with their scales, integers with our scales, and mxfp4 and
mxfp8 (dialect=qwix) with their scales.

For integers, qwix puts the maximum on the far edge of the last level (7.5 for int4), our default on its centre (7). So only codes of
integers are compared, not scales. XLA on the CPU divides by a constant, and by a broadcast scale, with a reciprocal. So scales may be one
ulp off, and codes may differ if a quotient is that close to a tie.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from qwix._src.core import qarray
from safetensors.numpy import load_file, save_file

cli = sys.argv[1]
passed = failed = 0
floats = {"fp8_e4m3": ml_dtypes.float8_e4m3fn, "fp8_e5m2": ml_dtypes.float8_e5m2}
integers = {"int2": jnp.int2, "int4": jnp.int4, "int8": jnp.int8}


def check(name, same):
    global passed, failed
    passed, failed = passed + bool(same), failed + (not same)
    if not same:
        print(f"FAIL {name}")


def quantscope(*arguments):
    done = subprocess.run([cli, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"quantscope-cli {' '.join(map(str, arguments))}: {done.stderr}")


def codes_of(ours, name, format, shape):
    """Unpacks the layout native: floats of one byte, or codes of 2, 4 and 8 bits that count from the lowest integer."""
    packed = ours[name + ".codes"]
    if format in floats:
        return packed
    bits = int(format[3:])
    codes = np.stack([(packed >> at) & (2**bits - 1) for at in range(0, 8, bits)], -1)
    codes = codes.reshape(*packed.shape[:-1], -1)[..., : shape[-1]]
    return codes.astype(np.int32) - (2 ** (bits - 1) - 1)


def bytes_of(path):
    """Reads tensors of bytes with any dtype name, because NumPy has no e8m0."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    return {
        name: np.frombuffer(data, np.uint8, one["data_offsets"][1] - one["data_offsets"][0], 8 + size + one["data_offsets"][0]).reshape(one["shape"])
        for name, one in json.loads(data[8 : 8 + size]).items()
        if name != "__metadata__"
    }


def mx_values(ours, name, format, shape):
    """Decodes the bytes of the layout native: levels e2m1 and e4m3, and scales e8m0."""
    packed = ours[name + ".codes"]
    if format == "mxfp4":
        bits = np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1)[..., : shape[-1]]
        levels = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)[bits & 7] * np.where(bits & 8, np.float32(-1), np.float32(1))
    else:
        levels = packed.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    return levels, np.exp2(ours[name + ".scale"].astype(np.float32) - 127)


def compare_mx(folder, source, tensors):
    """XLA's log2 is about one ulp off. So if amax / qmax is that close to a power of two, its scale may be the next one."""
    for format, qtype, most in (("mxfp4", ml_dtypes.float4_e2m1fn, 6), ("mxfp8", ml_dtypes.float8_e4m3fn, 448)):
        for keys in ("", ":scaletype=po2"):
            spec = f"{format}:dialect=qwix{keys}"
            out = folder / "out.safetensors"
            quantscope("quantize", source, "--spec", spec, "--layout", "native", "-o", out)
            ours = bytes_of(out)
            for name, x in tensors.items():
                how = qarray.HowToQuantize(qtype=format, channelwise_axes=range(x.ndim - 1), tiled_axes={x.ndim - 1: 32})
                theirs = qarray.quantize(jnp.asarray(x), how)
                levels, scales = mx_values(ours, name, format, x.shape)
                shaped = scales.reshape(np.asarray(theirs.scale).shape)
                check(f"{spec}.{name}.scale", (shaped == np.asarray(theirs.scale)).all())
                check(f"{spec}.{name}.codes", (levels == np.asarray(theirs.qvalue).view(qtype).astype(np.float32)).all())
                bound = np.abs(x.reshape(*x.shape[:-1], -1, 32)).max(-1)
                check(f"{spec}.{name}.no value is clipped", (bound <= scales.reshape(bound.shape) * most).all())


def how_of(scale, shape, qtype):
    if scale == "channel":
        return qarray.HowToQuantize(qtype=qtype, channelwise_axes=range(len(shape) - 1))
    if scale == "tensor":
        return qarray.HowToQuantize(qtype=qtype)
    return qarray.HowToQuantize(qtype=qtype, channelwise_axes=range(len(shape) - 1), tiled_axes={len(shape) - 1: int(scale)})


def main():
    r = np.random.default_rng(11)
    tensors = {}
    for shape in ((8, 64), (3, 5, 192), (64, 512)):
        x = r.standard_normal(shape).astype(np.float32)
        name = "x".join(map(str, shape))
        tensors[f"normal.{name}"] = x
        tensors[f"outliers.{name}"] = np.where(r.random(shape) < 0.01, x * 60, x).astype(np.float32)
        tensors[f"zeros.{name}"] = np.where(np.arange(shape[-1]) < 64, 0, x).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder, jax.disable_jit():
        folder = Path(folder)
        source = folder / "source.safetensors"
        save_file(tensors, source)
        compare_mx(folder, source, tensors)
        for format, qtype in (floats | integers).items():
            for scale in ("channel", "tensor", "64"):
                spec = f"{format}:" + (f"block={scale}" if scale.isdigit() else f"scale={scale}")
                out = folder / "out.safetensors"
                quantscope("quantize", source, "--spec", spec, "--layout", "native", "-o", out)
                ours = load_file(out)
                for name, x in tensors.items():
                    how = how_of(scale, x.shape, qtype)
                    codes, scales = codes_of(ours, name, format, x.shape), ours[name + ".scale"]
                    shaped = scales.reshape(qarray.get_scale_shape(x.shape, how))
                    theirs = qarray.quantize(jnp.asarray(x), how)
                    if format in floats:
                        check(f"{spec}.{name}.scale", np.allclose(shaped, np.asarray(theirs.scale), rtol=1.2e-7, atol=0))
                    under = qarray.quantize_with_scale_zero_point(jnp.asarray(x), qtype, jnp.asarray(shaped), None)
                    values = np.asarray(under.qvalue)
                    values = values.view(np.uint8) if format in floats else values.astype(np.int32)
                    same = codes == values
                    # Codes that differ must be one apart, and the exact quotient must be within two ulps of a tie.
                    wide = shaped
                    for axis, (n, m) in enumerate(zip(x.shape, shaped.shape)):
                        wide = np.repeat(wide, n // m, axis)
                    quotient = x.astype(np.float64) / wide
                    if format in floats:
                        low, high = (c.view(qtype).astype(np.float64) for c in (codes, np.asarray(under.qvalue).view(np.uint8)))
                    else:
                        low, high = codes, values
                    tie = np.abs(quotient - (low + high) / 2) <= np.abs(quotient) * 2.4e-7
                    check(f"{spec}.{name}.codes", (same | tie).all() and same.mean() > 0.999)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
