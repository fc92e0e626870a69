# SPDX-License-Identifier: GPL-3.0-or-later
"""Applies every operation on quantized tensors to eformer's arrays and to ours, and compares the results.

    compare_values.py PEER_VALUES               compares on many shapes
    compare_values.py PEER_VALUES --vectors F   writes inputs and eformer's results of one shape (tests/data/values)

Some handlers of eformer do not run with this version of JAX: mul and sqrt got another keyword; reshape and broadcast_in_dim unpack bind
parameters that are now one; reduce takes a jaxpr. For these, the lines of the handler are repeated here: materialize, the operation, and
ArrayX.quantize if the handler quantizes again. Denormals are left out, because XLA flushes them.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from eformer.jaximus import implicit
from eformer.ops.quantization import Array1B, Array8B, ArrayNF4
from eformer.ops.quantization import implicit_array_nf4 as nf4_module
from eformer.ops.quantization import quantization_functions as functions
from jax import lax
from safetensors.numpy import load_file, save_file

BLOCK = 16


def one_bit(kind):
    def quantize(x):
        if kind == "binary":
            codes = jnp.where(jnp.sign(x) == 0, 1, jnp.sign(x))
        else:
            threshold = 0.5 * jnp.std(x)
            codes = jnp.where(x > threshold, 1, jnp.where(x < -threshold, -1, 0))
        return Array1B.quantize(codes.astype(jnp.int8), dtype=jnp.float32)

    return quantize


QUANTIZE = {
    "nf4": lambda x: ArrayNF4.quantize(x, BLOCK),
    "int8": lambda x: Array8B.quantize(x),
    "ternary": one_bit("ternary"),
    "binary": one_bit("binary"),
}


def again(kind, x):
    """The steps of a handler after it has moved materialized values."""
    return Array1B.quantize(x, dtype=jnp.float32) if kind in ("ternary", "binary") else QUANTIZE[kind](x)


def crop(array, shape):
    array = np.asarray(array)
    return array[tuple(slice(n) for n in shape)]


def inputs(rows, features, seed):
    r = np.random.default_rng(seed)
    normal = lambda *shape: r.standard_normal(shape).astype(np.float32)
    w = normal(rows, features)
    w.flat[:: 7] *= 5
    return {
        "w": w, "y": normal(rows, features), "x": normal(3, rows), "z": normal(features, 5),
        "w3": normal(4, rows, features), "x3": normal(4, 3, features),
        "image": normal(2, 8, 11), "kernel": normal(4, 8, 16),
    }


def conv(image, kernel, **options):
    return implicit(lambda a, b: lax.conv_general_dilated(a, b, **options))(image, kernel)


def theirs(kind, numbers):
    """Our materialize removes the padding that eformer adds. So nf4 gets shapes of whole blocks if an operation would show the padding."""
    given = {name: jnp.asarray(x) for name, x in numbers.items()}
    q, q3, qk = (QUANTIZE[kind](given[name]) for name in ("w", "w3", "kernel"))
    shape = numbers["w"].shape
    rows, features = shape
    x, y, z, x3 = (given[name] for name in ("x", "y", "z", "x3"))
    whole = q.materialize()
    dims = lambda *d: ((d[0], d[1]), (d[2] if len(d) > 2 else (), d[3] if len(d) > 3 else ()))
    dot = lambda a, b, d: implicit(lambda p, s: lax.dot_general(p, s, d))(a, b)
    out = {"materialize": whole, "straight_through": whole}
    for name, f in {"add": lax.add, "div": lax.div, "max": lax.max, "lt": lax.lt}.items():
        out[name] = implicit(f)(q, y)
    out["mul"] = lax.mul(whole, y)
    out["exp"], out["log"], out["sqrt"] = implicit(lax.exp)(q), implicit(lax.log)(q), lax.sqrt(whole)
    out["integer_pow.3"], out["integer_pow.-2"] = lax.pow(whole, 3), lax.pow(whole, -2)
    out["reduce.sum"] = lax.reduce(whole, np.float32(0), lax.add, (1,))
    out["reduce.max"] = lax.reduce(whole, np.float32(-np.inf), lax.max, (0,))
    out["reduce.min"] = lax.reduce(whole, np.float32(np.inf), lax.min, (0, 1))
    out["concatenate.0"] = implicit(lambda a, b: lax.concatenate([a, b], 0))(q, y)
    out["concatenate.1"] = implicit(lambda a, b: lax.concatenate([b, a, a], 1))(q, y)
    out["gather.rows"] = implicit(lambda a: a[jnp.array([rows - 1, 0, 1, 0])])(q)
    numbers_of = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1))
    out["gather.windows"] = lax.gather(
        whole, jnp.array([[1, 3], [rows, features]]), numbers_of, (2, 5), mode=lax.GatherScatterMode.CLIP)
    out["transpose"] = crop((again(kind, whole.T) if kind == "int8" else implicit(jnp.transpose)(q)).materialize(),
                            shape[::-1])
    if kind != "nf4":
        out["transpose.codes"] = implicit(jnp.transpose)(q).materialize()
    out["reshape"] = again(kind, whole.reshape(rows // 2, 2 * features)).materialize()
    wide = lax.broadcast_in_dim(whole, (3, *shape), (1, 2))
    out["broadcast_in_dim"] = (again(kind, wide) if kind != "ternary" and kind != "binary" else None)
    out["broadcast_in_dim"] = wide if out["broadcast_in_dim"] is None else out["broadcast_in_dim"].materialize()
    out["convert_element_type"] = implicit(lambda a: lax.convert_element_type(a, jnp.bfloat16))(QUANTIZE[kind](given["w"])).materialize()
    # Array8B ignores the dimension numbers and rounds to bf16 if the left side is dense. So the tolerance is that of bf16.
    right = dims((1,), (0,))
    out["dot_general.rhs"] = lax.dot_general(x, whole, right) if kind == "int8" else dot(x, q, right)
    out["dot_general.lhs"] = dot(q, z, dims((1,), (0,)))
    out["dot_general.both"] = dot(q, q, dims((1,), (1,)))
    out["dot_general.batch"] = lax.dot_general(x3, q3.materialize(), dims((2,), (2,), (0,), (0,)))
    out["dot_general.two_axes"] = dot(q3, x3, dims((2, 0), (2, 0)))
    out["conv.plain"] = conv(given["image"], qk.materialize(), window_strides=(1,), padding=[(0, 0)])
    out["conv.dilated"] = conv(given["image"], qk.materialize(), window_strides=(2,), padding=[(2, 1)],
                               lhs_dilation=(3,), rhs_dilation=(2,))
    return {f"{kind}.{name}": np.array(value).astype(np.float32) for name, value in out.items()}


# Values that are only moved, or computed with one rounding, must have equal bits. int8: XLA multiplies by 1/127, so scales may be one ulp
# off. Sums in another order and XLA's own exp, log and pow: some ulps of the terms. bf16 results: the last digit.
def tolerance(name):
    kind, operation = name.split(".", 1)
    if operation == "convert_element_type":
        return 2**-7 if kind == "int8" else 0
    if operation.startswith(("dot_general", "conv", "exp", "log", "integer_pow", "reduce.sum")):
        return 4e-6
    return 6e-7 if kind == "int8" else 0


def same(name, ours, reference):
    if ours.shape != reference.shape:
        return f"{ours.shape} against {reference.shape}"
    limit = tolerance(name)
    if limit == 0:
        good = (ours == reference) | (np.isnan(ours) & np.isnan(reference))
    else:
        floor = limit * np.abs(reference[np.isfinite(reference)]).max(initial=0)  # terms may cancel
        good = np.isclose(ours, reference, rtol=limit, atol=floor, equal_nan=True)
        if name.startswith("int8"):  # a quotient within an ulp of a tie may get the other code
            good |= good.mean() > 0.999
    if good.all():
        return None
    i = np.flatnonzero(~good.ravel())[0]
    return f"{(~good).sum()} of {good.size} differ, first at {i}: {ours.ravel()[i]!r} against {reference.ravel()[i]!r}"


def kernel_conditions():
    """Finds where eformer's kernel path is "not applicable" (None). Its kernel is replaced by a stub."""
    functions._USE_KERNEL_ON_TPU = True
    ArrayNF4.ndim = property(lambda array: len(array.shape))  # eformer's conditions read ndim, which the class does not have
    nf4_module.nf4_matmul = lambda x, *t, kernel, **k: jnp.zeros((x.shape[0], t[0].shape[2] if not k.get("backward") else t[0].shape[2]))
    q = lambda *shape: ArrayNF4.quantize(jnp.ones(shape), BLOCK)
    d = lambda *shape: jnp.ones(shape)
    cases = {
        "rhs": (d(3, 32), q(32, 64), (((1,), (0,)), ((), ())), None),
        "rhs of rank 3": (d(2, 3, 32), q(32, 64), (((2,), (0,)), ((), ())), None),
        "rhs on its last axis": (d(3, 64), q(32, 64), (((1,), (1,)), ((), ())), None),
        "lhs not on its last axis": (d(32, 3), q(32, 64), (((0,), (0,)), ((), ())), None),
        "two axes": (d(32, 64), q(32, 64), (((0, 1), (0, 1)), ((), ())), None),
        "batch": (d(2, 3, 32), q(2, 32, 64), (((2,), (1,)), ((0,), (0,))), None),
        "rank 3": (d(3, 4), q(4, 32, 64), (((1,), (0,)), ((), ())), None),
        "both": (q(32, 32), q(32, 64), (((1,), (0,)), ((), ())), None),
        "preferred": (d(3, 32), q(32, 64), (((1,), (0,)), ((), ())), jnp.float32),
        "size": (d(3, 16), q(32, 64), (((1,), (0,)), ((), ())), None),
        "lhs": (q(32, 32), d(32, 5), (((1,), (0,)), ((), ())), None),
        "lhs against the last axis": (q(32, 32), d(5, 32), (((1,), (1,)), ((), ())), None),
        "lhs of rank 3": (q(2, 32, 32), d(32, 5), (((2,), (0,)), ((), ())), None),
        "lhs on its first axis": (q(32, 32), d(32, 5), (((0,), (0,)), ((), ())), None),
    }
    found = {}
    for name, (a, b, numbers, preferred) in cases.items():
        found[name] = nf4_module._maybe_kernel_dot_general(a, b, numbers, preferred) is not None
    functions._USE_KERNEL_ON_TPU = False
    return found


# The cases that dot_general_test.cpp expects, with the same names.
APPLIES = {"rhs", "rhs of rank 3", "lhs"}


def main():
    tool, arguments = sys.argv[1], sys.argv[2:]
    if arguments[:1] == ["--vectors"]:
        numbers = inputs(8, 32, 3)
        results = dict(numbers)
        for kind in QUANTIZE:
            results |= theirs(kind, numbers)
        save_file({name: np.asarray(value, order="C") for name, value in results.items()}, arguments[1])
        return
    passed = failed = 0
    for seed, shape in enumerate([(8, 32), (16, 64), (8, 16), (32, 128), (8, 160), (64, 48)]):
        numbers = inputs(*shape, seed)
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder) / "in.safetensors", Path(folder) / "out.safetensors"
            save_file(numbers, source)
            subprocess.run([tool, source, out], check=True)
            ours = load_file(out)
        reference = {}
        for kind in QUANTIZE:
            reference |= theirs(kind, numbers)
        if set(ours) != set(reference):
            print("FAIL names:", sorted(set(ours) ^ set(reference)))
            failed += 1
        for name in sorted(set(ours) & set(reference)):
            wrong = same(name, ours[name], reference[name])
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print(f"FAIL {shape} {name}: {wrong}")
    for name, applies in kernel_conditions().items():
        good = applies == (name in APPLIES)
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"FAIL the seed's kernel path {'applies' if applies else 'does not apply'}: {name}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


with jax.disable_jit():  # with jit, XLA would fuse multiply and add of the decode
    main()
