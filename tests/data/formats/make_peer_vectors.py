# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes peer_vectors.safetensors: the results of AQT and qwix, and of the formulas of compressed-tensors, for tensors.

    python3 tests/data/formats/make_peer_vectors.py [FILE]   # aqtp 0.9.0, qwix 0.1.8, jax 0.10.2 on the CPU, ml_dtypes 0.6.0

`TENSOR` (F32) is the input. For each spec there are `TENSOR/SPEC.codes` (I8 integers, twice the value for half-integers; F32 values for
floats), `.scale` (F32) and `.zero` (F32). XLA divides by a constant with its reciprocal, which is one ulp off. Where the documented
arithmetic is a division, NumPy divides; the package computes everything else.
"""
import dataclasses
import os
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from aqt.jax.v2 import aqt_tensor, calibration, utils
from aqt.jax.v2.numerics import int_numerics
from qwix._src.core import numerics, qarray, sparsity
from safetensors.numpy import save_file

jax.config.update("jax_disable_jit", True)
r = np.random.default_rng(29)
normal = r.standard_normal((6, 64)).astype(np.float32)
tensors = {
    "normal": normal,
    "outliers": np.where(r.random((6, 64)) < 0.02, normal * 50, normal).astype(np.float32),
    "zero_rows": np.where(np.arange(6)[:, None] % 2 == 0, 0, normal).astype(np.float32),
    "shifted": (np.abs(normal) * 0.01 + 0.005).astype(np.float32),
    "small": (normal * 1e-20).astype(np.float32),
}
integers = {2: "int2", 3: "int3", 4: jnp.int4, 5: "int5", 6: "int6", 7: "int7", 8: jnp.int8}
out = dict(tensors)


def wide(scale, shape):
    for axis, size in enumerate(shape):
        scale = np.repeat(scale, size // scale.shape[axis], axis)
    return scale


def save(name, codes, scale, zero=None):
    out[name + ".codes"], out[name + ".scale"] = np.asarray(codes), np.ascontiguousarray(np.asarray(scale, np.float32))
    if zero is not None:
        out[name + ".zero"] = np.ascontiguousarray(np.asarray(zero, np.float32))


def qwix(name, x, spec, qtype, method, **axes):
    how = qarray.HowToQuantize(qtype=qtype, calibration_method=method, **axes)
    found = {k: np.asarray(v) for k, v in qarray.calibrate(jnp.asarray(x), how).items()}
    if method.startswith("rms"):  # XLA sums in its own order
        rms = np.sqrt(np.square(x, dtype=np.float64).mean(-1, keepdims=True)).astype(np.float32)
        assert np.allclose(found["absmax"], rms * np.float32(method[4:]), rtol=5e-7, atol=0)
        found["absmax"] = rms * np.float32(method[4:])
    if "absmax" in found:
        scale, zero = found["absmax"] / np.float32(numerics.get_symmetric_bound(qtype)), None
    else:
        low, high = numerics.get_asymmetric_bound(qtype)
        scale = (found["max"] - found["min"]) / np.float32(high - low)
    scale = np.where(scale < np.sqrt(np.finfo(np.float32).tiny), np.float32(1), scale)
    if "min" in found:
        zero = np.asarray(numerics.convert_to(jnp.asarray(np.float32(low) - found["min"] / scale), qtype), np.float32)
    if qtype in ("mxfp4", "mxfp8"):  # this version rounds up to the next power of two
        scale = (2 ** np.ceil(np.log2(scale))).astype(np.float32)
    if qtype == "nvfp4":
        scale = np.asarray(numerics.convert_to(jnp.asarray(scale), jnp.float8_e4m3fn)).astype(np.float32)
    value = x / wide(scale, x.shape)
    if zero is not None:
        value = value + wide(zero, x.shape)
    codes = numerics.convert_to(jnp.asarray(value), qtype)
    codes = np.asarray(numerics.convert_from(codes, qtype)).astype(np.float32)
    if np.issubdtype(codes.dtype, np.floating) and (isinstance(qtype, str) and qtype.startswith("int") or qtype in (jnp.int4, jnp.int8)):
        codes = codes.astype(np.int8)
    if method.startswith("fixed"):
        scale = np.broadcast_to(scale, scale.shape)
    save(f"{name}/{spec}", codes, scale, zero)


def aqt(name, x, spec, bits, preserve_zero, preserve_max, cal, axes=(-1,)):
    ints = int_numerics.IntSymmetric(bits=bits, preserve_zero=preserve_zero, preserve_max_val=preserve_max, clip=True,
                                     clip_gradient=False, round=True, noise_fn=None)
    scale, _, _ = cal.get_scale_and_bias_and_sparsity(jnp.asarray(x), axes, ints, utils.Context(key=None, train_step=None))
    bound = np.float32(ints.get_quant_bound())
    class Whole:  # the bound itself, so that NumPy can divide
        get_quant_bound = staticmethod(lambda: 1.0)
    if isinstance(cal, calibration.SnrBasedAutoCalibration):
        amax = np.abs(x).max(-1, keepdims=True)
        amax = np.where(amax == 0, np.float32(1), amax)
        each = amax * np.float32([*cal.auto_clip_search_config]) / bound
        scale = np.take_along_axis(each, np.abs(each - np.asarray(scale[0])).argmin(-1)[:, None], -1)
    elif isinstance(cal, calibration.AbsMeanCalibration):  # XLA sums in its own order
        count = np.maximum((x != 0).sum(-1, keepdims=True), 1)
        mean = ((np.abs(x, dtype=np.float64) ** cal.p).sum(-1, keepdims=True) / count) ** (1 / cal.p)
        mean = mean.astype(np.float32) * np.float32(cal.clipping_scale)
        each = np.where(mean == 0, np.float32(1), mean) / bound
        assert np.allclose(each, np.asarray(scale[0]), rtol=5e-7, atol=0)
        scale = each
    else:
        exact = dataclasses.replace(cal, po2_scale=False).get_scale_and_bias_and_sparsity(jnp.asarray(x), axes, Whole, None)[0][0]
        scale = np.asarray(exact) / bound
    if cal.po2_scale:
        scale = np.asarray(calibration.ceil_to_po2(jnp.asarray(scale)))
    scale = [jnp.asarray(scale)]
    q = aqt_tensor.QTensor(qvalue=None, scale=scale, scale_t=None, bias=[], dequant_dtype=jnp.float32).quant(jnp.asarray(x))
    codes, _ = ints.vjp_fwd(q.qvalue, utils.Context(key=None, train_step=None))
    codes = np.asarray(codes)
    save(f"{name}/{spec}", (codes if preserve_zero else codes * 2).astype(np.int16), np.asarray(scale[0]))


def ct(x, bits, block, symmetric):
    """calculate_qparams and quantize of compressed-tensors for integers, with groups along a row."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    g = x.reshape(len(x), -1, block)
    least, most = np.minimum(g.min(-1), 0), np.maximum(g.max(-1), 0)
    if symmetric:
        scale = np.maximum(np.abs(least), np.abs(most)) / np.float32((high - low) / 2)
        zero = None
    else:
        scale = (most - least) / np.float32(high - low)
    scale = np.where(scale == 0, np.finfo(np.float32).eps, scale).astype(np.float32)
    if not symmetric:
        zero = np.clip(np.rint(low - least / scale), low, high).astype(np.float32)
    v = g / scale[..., None] + (0 if zero is None else zero[..., None])
    codes = np.rint(np.clip(v, low, high)).reshape(x.shape)
    return codes.astype(np.int8), scale, zero


def nvfp4(x, block=16):
    """nvfp4 of compressed-tensors: one f32 per tensor, e4m3 scales, e2m1 values."""
    amax = np.abs(x).max()
    unit = np.float32(448 * 6) / amax if amax else np.float32(1)
    bound = np.abs(x.reshape(len(x), -1, block)).max(-1)
    local = np.clip(bound / np.float32(6) * unit, 0, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    local = np.where(local == 0, np.float32(0.125), local)
    scale = (local / unit).astype(np.float32)
    v = np.clip(x / wide(scale, x.shape), -6, 6).astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
    return v, scale


def ocp(x, block, dtype, most):
    bound = np.abs(x.reshape(len(x), -1, block)).max(-1)
    _, exponent = np.frexp(bound)
    exponent = np.clip(exponent - 1 - int(np.floor(np.log2(most))), -127, 127)
    scale = np.where(bound == 0, np.float32(1), np.ldexp(np.float32(1), exponent)).astype(np.float32)
    v = np.clip(x / wide(scale, x.shape), -most, most).astype(dtype).astype(np.float32)
    return v, scale


row = {"channelwise_axes": (0,)}
for name, x in tensors.items():
    for bits, qtype in integers.items():
        qwix(name, x, f"int{bits}:scale=channel:dialect=qwix", qtype, "absmax", **row)
        if name != "small":  # XLA flushes its quotients
            plain = calibration.AbsMaxCalibration()
            aqt(name, x, f"int{bits}:scale=channel:dialect=aqt", bits, True, False, plain)
            aqt(name, x, f"int{bits}:scale=channel:dialect=aqt_max", bits, True, True, plain)
            aqt(name, x, f"int{bits}:scale=channel:dialect=aqt_halves", bits, False, False, plain)
        for symmetric in (True, False):
            codes, scale, zero = ct(x, bits, 32, symmetric)
            save(f"{name}/int{bits}:block=32:sym={'yes' if symmetric else 'no'}:dialect=ct", codes, scale, zero)
    for bits in (4, 8):
        qwix(name, x, f"int{bits}:scale=channel:sym=no:dialect=qwix", integers[bits], "minmax", **row)
        qwix(name, x, f"int{bits}:scale=channel:sym=no:calib=minmax,0.8:dialect=qwix", integers[bits], "minmax,0.8", **row)
        qwix(name, x, f"int{bits}:scale=tensor:sym=no:calib=fixed,-1,2:dialect=qwix", integers[bits], "fixed,-1,2")
        qwix(name, x, f"int{bits}:scale=channel:calib=absmax,0.75:dialect=qwix", integers[bits], "absmax,0.75", **row)
        qwix(name, x, f"int{bits}:scale=tensor:calib=fixed,3:dialect=qwix", integers[bits], "fixed,3")
        qwix(name, x, f"int{bits}:tile=0x2,1x16:dialect=qwix", integers[bits], "absmax", tiled_axes={0: 2, 1: 16})
        qwix(name, x, f"int{bits}:tile=0x3:dialect=qwix", integers[bits], "absmax", channelwise_axes=(1,), tiled_axes={0: 3})
        qwix(name, x, f"int{bits}:axis=0:dialect=qwix", integers[bits], "absmax", channelwise_axes=(1,))
        qwix(name, x, f"int{bits}:axis=0,1:dialect=qwix", integers[bits], "absmax")
        if name == "small":
            continue
        for clip in (0.5, 0.9):
            aqt(name, x, f"int{bits}:scale=channel:calib=absmax,{clip}:dialect=aqt", bits, True, False,
                calibration.AbsMaxCalibration(clipping_scale=clip))
        aqt(name, x, f"int{bits}:scale=channel:scaletype=po2:dialect=aqt", bits, True, False,
            calibration.AbsMaxCalibration(po2_scale=True))
        aqt(name, x, f"int{bits}:scale=channel:calib=fixed,1.5:dialect=aqt", bits, True, False,
            calibration.ConstantCalibration(bound=1.5))
        for p in (1, 2):
            aqt(name, x, f"int{bits}:scale=channel:calib=absmean,2.5,{p}:dialect=aqt", bits, True, False,
                calibration.AbsMeanCalibration(clipping_scale=2.5, p=p))
        aqt(name, x, f"int{bits}:scale=channel:calib=snr,0.3,0.6,0.8,1:dialect=aqt", bits, True, False,
            calibration.SnrBasedAutoCalibration(auto_clip_search_config=(0.3, 0.6, 0.8, 1.0)))
    for format, qtype in (("fp8_e4m3", jnp.float8_e4m3fn), ("fp8_e5m2", jnp.float8_e5m2)):
        qwix(name, x, f"{format}:scale=channel:dialect=qwix", qtype, "absmax", **row)
    if name != "small":
        for format, qtype in (("int4", jnp.int4), ("int8", jnp.int8), ("fp8_e4m3", jnp.float8_e4m3fn)):
            qwix(name, x, f"{format}:scale=channel:calib=rms,2.5:dialect=qwix", qtype, "rms,2.5", **row)
        qwix(name, x, "nf4:block=32:dialect=qwix", "nf4", "absmax", tiled_axes={1: 32}, **row)
        qwix(name, x, "nvfp4:dialect=qwix", "nvfp4", "absmax", tiled_axes={1: 16}, **row)
        for format in ("mxfp4", "mxfp8"):
            for keys in ("", ":scaletype=po2"):
                qwix(name, x, f"{format}{keys}:dialect=qwix", format, "absmax", tiled_axes={1: 32}, **row)
    save(f"{name}/mxfp4:dialect=ocp", *ocp(x, 32, ml_dtypes.float4_e2m1fn, 6.0))
    save(f"{name}/mxfp8:dialect=ocp", *ocp(x, 32, ml_dtypes.float8_e4m3fn, 448.0))
    save(f"{name}/nvfp4", *nvfp4(x))

for n, m in ((1, 2), (2, 4), (1, 4), (4, 8)):
    mask = np.asarray(sparsity.get_sparsity_mask(jnp.asarray(normal), n, m))
    how = qarray.HowToQuantize(qtype=jnp.int8, channelwise_axes=(0,))
    x = np.where(mask, normal, 0).astype(np.float32)
    qwix("normal", x, f"int8:scale=channel:sparse={n}/{m}:dialect=qwix", jnp.int8, "absmax", **row)
save_file(out, sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "peer_vectors.safetensors")
print(len(out), "tensors")
