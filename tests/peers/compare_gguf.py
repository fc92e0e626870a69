# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantizes the same tensors with quantscope-cli and with gguf: bytes where gguf has an encoder, values from our bytes everywhere."""
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from safetensors.numpy import load_file, save_file

cli = sys.argv[1]
formats = "q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs tq1_0 tq2_0".split()
searched = {"q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs"}  # gguf decodes them only
passed = failed = 0


def check(name, same):
    global passed, failed
    passed, failed = passed + bool(same), failed + (not same)
    if not same:
        print(f"FAIL {name}")


def quantscope(*arguments):
    done = subprocess.run([cli, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"quantscope-cli {' '.join(map(str, arguments))}: {done.stderr}")


def main():
    r = np.random.default_rng(17)
    tensors = {}
    for shape in ((8, 256), (3, 5, 512), (64, 4096)):
        x = r.standard_normal(shape).astype(np.float32)
        name = "x".join(map(str, shape))
        tensors[f"normal.{name}"] = x
        tensors[f"small.{name}"] = x * np.float32(0.003)
        tensors[f"outliers.{name}"] = np.where(r.random(shape) < 0.01, x * 60, x).astype(np.float32)
        tensors[f"positive.{name}"] = np.abs(x)
        tensors[f"ties.{name}"] = (r.integers(-8, 9, shape) / 2).astype(np.float32)
        tensors[f"zeros.{name}"] = np.where(np.arange(shape[-1]) < 256, 0, x).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        source, out, back = (folder / f"{name}.safetensors" for name in ("source", "out", "back"))
        save_file(tensors, source)
        for format in formats:
            kind = GGMLQuantizationType[format.upper()]
            elements, size = GGML_QUANT_SIZES[kind]
            for path in (out, back):
                path.unlink(missing_ok=True)
            quantscope("quantize", source, "--spec", format, "--layout", "native", "-o", out)
            quantscope("dequantize", out, "-o", back)
            ours, values = load_file(out), load_file(back)
            for name, x in tensors.items():
                codes = ours[name + ".codes"]
                check(f"{format} {name} bytes", codes.nbytes == x.size // elements * size)
                check(f"{format} {name} decodes", (gguf.dequantize(codes, kind).reshape(x.shape) == values[name]).all())
                if format not in searched:
                    check(f"{format} {name} encodes", (gguf.quantize(x, kind).reshape(codes.shape) == codes).all())
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
