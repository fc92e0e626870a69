# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantizes the same tensors with quantscope-cli (dialect=bnb) and with bitsandbytes on the CPU. Must be equal bit for bit: codes, scales,
double quantization and decoded values of its 4-bit types; codes and maxima of LLM.int8 from F32, F16 and BF16.

bitsandbytes orders the two zeros of fp4 by an unstable sort, so codes are compared as positions among the sorted levels. Its mean is that
of PyTorch, whose order depends on the number of threads: one here. Its AVX-512 decoder uses a scale per row if blocks are longer than rows
(seen in 0.50.2: an error of 0.5 in values of N(0, 1)). Its other decoder is correct there and is used for the comparison.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["TORCHDYNAMO_DISABLE"] = "1"
import bitsandbytes.functional as F
import numpy as np
import torch
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute, _get_4bit_quantize_bounds
from bitsandbytes.backends.utils import _get_4bit_code
from safetensors.numpy import load_file, save_file

cli = sys.argv[1]
passed = failed = 0
torch.set_num_threads(1)


def check(name, same):
    global passed, failed
    passed, failed = passed + bool(same), failed + (not same)
    if not same:
        print(f"FAIL {name}")


def quantscope(*arguments):
    done = subprocess.run([cli, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"quantscope-cli {' '.join(map(str, arguments))}: {done.stderr}")


def nibbles(packed, high_first, n):
    pair = (packed >> 4, packed & 15) if high_first else (packed & 15, packed >> 4)
    return np.stack(pair, -1).reshape(*packed.shape[:-1], -1)[..., :n]


def tensors():
    r = np.random.default_rng(23)
    out = {}
    # Shapes whose blocks lie within rows or cross rows, with one short block, less than one block, odd sizes, and more than 256 blocks.
    for shape in ((8, 256), (5, 100), (3, 7, 11), (1, 10), (257, 256), (300, 257), (64, 4096)):
        x = r.standard_normal(shape).astype(np.float32)
        name = "x".join(map(str, shape))
        out[f"normal.{name}"] = x
        out[f"small.{name}"] = x * np.float32(0.003)
        out[f"outliers.{name}"] = np.where(r.random(shape) < 0.01, x * 60, x).astype(np.float32)
        flat = x.reshape(-1).copy()
        flat[: flat.size // 2] = 0
        out[f"zeros.{name}"] = flat.reshape(shape)
        out[f"ties.{name}"] = (r.integers(-12, 13, shape) / 12).astype(np.float32)
        out[f"tiny.{name}"] = x * np.float32(1e-37)
        out[f"wide.{name}"] = (x * 2.0 ** r.integers(-30, 30, shape)).astype(np.float32)
    return out


def compare(spec, name, x, ours, values):
    format = spec.split(":")[0]
    block = int(spec.split("block=")[1].split(":")[0]) if "block=" in spec else 64
    nested = "u8dq" in spec
    packed, state = F.quantize_4bit(torch.from_numpy(x), blocksize=block, quant_type=format, compress_statistics=nested)
    theirs = nibbles(packed.numpy().reshape(-1), True, x.size)
    codes = ours[name + ".codes"]
    codes = nibbles(codes, False, x.shape[-1] if codes.ndim == x.ndim and codes.shape[:-1] == x.shape[:-1] else x.size).reshape(-1)
    if format == "fp4":
        place = np.argsort(_get_4bit_quantize_bounds("fp4", torch.device("cpu"))[1].numpy())
        ordered = np.array([11, 10, 13, 12, 15, 14, 9, 8, 0, 1, 6, 7, 4, 5, 2, 3])  # our bit patterns, ordered by level
        theirs, codes = place[theirs], np.argsort(ordered)[codes]
    check(f"{spec} {name} codes", (codes == theirs).all())
    scale = ours[name + ".scale"].reshape(-1)
    if nested:
        check(f"{spec} {name} 8-bit scales", (scale == state.absmax.numpy().reshape(-1)).all())
        check(f"{spec} {name} nested", (ours[name + ".nested_scale"] == state.state2.absmax.numpy()).all())
        check(f"{spec} {name} offset", ours[name + ".nested_offset"][0] == state.offset.item())
    else:
        check(f"{spec} {name} scales", (scale == state.absmax.numpy().reshape(-1)).all())
    scales = torch.from_numpy(np.asarray(state.absmax.numpy().reshape(-1)))
    if nested:
        scales = F.dequantize_blockwise(state.absmax, state.state2) + state.offset
    code = _get_4bit_code(format, torch.device("cpu"))
    back = _dequantize_4bit_compute(packed.reshape(-1), scales, code, block, x.shape, torch.float32).numpy().reshape(x.shape)
    if block <= x.shape[-1]:
        check(f"{spec} {name} CPU kernel", (F.dequantize_4bit(packed, state).numpy().reshape(x.shape) == values[name]).all())
    check(f"{spec} {name} decodes", (back == values[name]).all())


def llm_int8(folder, made):
    """int8_vectorwise_quant of the values that Int8Params casts to f16. QuantScope refuses values that f16 cannot hold."""
    from safetensors.torch import load_file as load, save_file as save

    weights = {}
    for name, x in made.items():
        if x.ndim == 2 and np.abs(x).max() < 65520:
            for kind in (torch.float32, torch.float16, torch.bfloat16):
                weights[f"{name}.{str(kind)[6:]}.weight"] = torch.from_numpy(x).to(kind)
    source, out = folder / "weights.safetensors", folder / "int8.safetensors"
    save(weights, source)
    quantscope("quantize", source, "--spec", "int8:dialect=bnb", "--layout", "llm-int8", "-o", out)
    ours = load(out)
    for name, x in weights.items():
        codes, maxima, _ = F.int8_vectorwise_quant(x.to(torch.float16))
        check(f"int8:dialect=bnb {name} codes", torch.equal(ours[name], codes))
        check(f"int8:dialect=bnb {name} maxima", torch.equal(ours[name[: -len("weight")] + "SCB"], maxima))


def main():
    made = tensors()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        source, out, back = (folder / f"{name}.safetensors" for name in ("source", "out", "back"))
        save_file(made, source)
        for format in ("nf4", "fp4"):
            for keys in ("", ":block=32", ":block=128", ":block=1024", ":scaletype=u8dq", ":block=32:scaletype=u8dq", ":block=128:scaletype=u8dq"):
                spec = f"{format}:dialect=bnb{keys}"
                for path in (out, back):
                    path.unlink(missing_ok=True)
                quantscope("quantize", source, "--spec", spec, "--layout", "native", "-o", out)
                quantscope("dequantize", out, "-o", back)
                ours, values = load_file(out), load_file(back)
                for name, x in made.items():
                    compare(spec, name, x, ours, values)
        llm_int8(folder, made)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
