# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python module with the arrays and tables of others: torch, JAX, ml_dtypes, pandas, polars. What is not installed is skipped.

Usage: compare_python.py quantscope-cli, with PYTHONPATH at the module.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from checks import Checks, quantscope as cli

import quantscope

os.environ.setdefault("QS_CLI", sys.argv[1])  # for the support of the module's own tests
check = Checks()
SPECS = ("nf4:block=64", "int4:block=32:sym=no", "int8", "q4_k", "fp8_e4m3:scale=tensor", "ternary")
x = (np.random.default_rng(3).standard_normal((8, 512)) * 0.1).astype(np.float32)


def optional(name):
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        print(f"SKIP arrays or tables of {name}: it is not installed here")
        return None


def same(name, ours, expected):
    check(name, ours.tobytes() == expected.tobytes() and ours.shape == expected.shape)


def quantized_alike(name, array, values):
    """`values` are those of the array as f32."""
    for spec in SPECS:
        same(f"{name} {spec}", quantscope.quantize(array, spec).dequantize(), quantscope.quantize(values, spec).dequantize())


def refuses(name, work, words):
    try:
        work()
        check(name, False, "it was taken")
    except quantscope.Error as error:
        check(name, words in str(error), str(error))


def with_torch(torch):
    t = torch.from_numpy(x)
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        quantized_alike(f"torch {dtype}", t.to(dtype), t.to(dtype).to(torch.float32).numpy())
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        try:
            t.to(dtype).__dlpack__()
        except (RuntimeError, BufferError) as error:
            print(f"SKIP torch {dtype}: {error}")
            continue
        quantized_alike(f"torch {dtype}", t.to(dtype), t.to(dtype).to(torch.float32).numpy())
    quantized_alike("torch, transposed", t.T.contiguous().T, x)
    quantized_alike("torch bf16, transposed", t.bfloat16().T.contiguous().T, t.bfloat16().float().numpy())
    quantized_alike("torch parameter, detached", torch.nn.Parameter(t).detach(), x)
    refuses("torch with a gradient", lambda: quantscope.quantize(torch.nn.Parameter(t), "nf4"), "detach")
    refuses("torch int64", lambda: quantscope.quantize(torch.arange(64), "nf4"), "only floats of 8 to 64 bits")
    refuses("torch meta", lambda: quantscope.quantize(torch.empty(4, device="meta"), "nf4"), "")


def with_jax(jax):
    j = jax.numpy.asarray(x)
    names = ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
    for name in names:
        quantized_alike(f"jax {name}", j.astype(name), np.asarray(j.astype(name).astype("float32")))


def with_ml_dtypes(ml):
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
        array = x.astype(getattr(ml, name))
        quantized_alike(f"ml_dtypes {name}", array, array.astype(np.float32))
    every = {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz",
             "F8_E5M2FNUZ": "float8_e5m2fnuz", "BF16": "bfloat16"}  # fmt: skip
    sys.path.insert(0, str(Path(__file__).parent.parent / "app/python"))
    from support import write_safetensors

    with tempfile.TemporaryDirectory() as folder:
        raw = np.arange(65536, dtype=np.uint16).tobytes()
        path = write_safetensors(
            Path(folder) / "all.safetensors",
            {name: (name, (65536,) if name == "BF16" else (256,), raw if name == "BF16" else bytes(range(256))) for name in every},
        )
        model = quantscope.open(path)
        for name, theirs in every.items():
            values = model[name].numpy()
            check(f"{name} as {theirs}", values.dtype == getattr(ml, theirs) and not values.flags.owndata)
            expected, ours = values.astype(np.float32), model[name].float32()
            same_values = (ours.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(ours) & np.isnan(expected))
            check(f"every value of {name}", same_values.all())


def with_tables(library, convert):
    rows = quantscope.analyze("resources/samples/tiny-llama", ["nf4:block=32", "int8"], r"0\.mlp")
    table = convert(rows)
    check(f"{library}: columns", list(table.columns) == [column.id for column in rows.columns])
    check(f"{library}: rows", len(table) == len(rows))
    check(f"{library}: values", list(table["nmse"]) == rows.column("nmse"))
    check(f"{library}: what was not measured is missing", not any(value == 0 for value in table["kl_alone"]))
    check(f"{library}: no rows", len(convert(quantscope.diff(*["resources/samples/tiny-llama"] * 2, changed=True))) == 0)


if torch := optional("torch"):
    with_torch(torch)
if jax := optional("jax"):
    with_jax(jax)
if ml := optional("ml_dtypes"):
    with_ml_dtypes(ml)
if optional("pandas"):
    with_tables("pandas", lambda rows: rows.to_pandas())
if optional("polars"):
    with_tables("polars", lambda rows: rows.to_polars())
check("quantscope-cli is the same version", quantscope.__version__ in cli("--version"))
examples = subprocess.run([sys.executable, "tests/app/python/snippets_test.py"])
check("examples of docs/python.md", examples.returncode == 0)
check.finish()
