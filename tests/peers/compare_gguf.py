# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantizes the same tensors with quantscope-cli, gguf and libgguf (ggml's own encoders). Compares the bytes of simple formats and the
values decoded from our bytes. For formats whose encoders search, our error may be at most 1 % above that of the reference.
"""
import sys
import tempfile
from pathlib import Path

import gguf
import libgguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from safetensors.numpy import load_file, save_file

from checks import Checks, quantscope

formats = "q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs tq1_0 tq2_0 mxfp4:dialect=ggml nvfp4:dialect=ggml".split()
searched = {"q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_xs"}  # gguf only decodes these and iq4_nl; it does not have nvfp4
check = Checks()
worst, same = {}, {}


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
            kind = GGMLQuantizationType[format.split(":")[0].upper()]
            elements, size = GGML_QUANT_SIZES[kind]
            for path in (out, back):
                path.unlink(missing_ok=True)
            quantscope("quantize", source, "--spec", format, "--layout", "native", "-o", out)
            quantscope("dequantize", out, "-o", back)
            ours, values = load_file(out), load_file(back)
            for name, x in tensors.items():
                codes = ours[name + ".codes"]
                check(f"{format} {name} bytes", codes.nbytes == x.size // elements * size)
                theirs = libgguf.quantize_rows(x, libgguf.GGMLQuantizationType[kind.name]).reshape(codes.shape)
                decode = (lambda b: libgguf.dequantize_rows(b, libgguf.GGMLQuantizationType.NVFP4, x.shape[-1])) if kind.name == "NVFP4" else (lambda b: gguf.dequantize(b, kind))
                check(f"{format} {name} decodes", (decode(codes).reshape(x.shape) == values[name]).all())
                if format in searched:
                    error, least = (float(((v - x).astype(np.float64) ** 2).sum()) for v in (values[name], decode(theirs).reshape(x.shape)))
                    worst[format] = max(worst.get(format, 0), error / least if least else 1.0)
                    check(f"{format} {name} error {error:.6g} against {least:.6g}", error <= 1.0201 * least)
                    same.setdefault(format, []).append((codes == theirs).mean())
                    continue
                if kind.name not in ("NVFP4", "IQ4_NL"):
                    check(f"{format} {name} encodes", (gguf.quantize(x, kind).reshape(codes.shape) == codes).all())
                check(f"{format} {name} ggml encodes", (theirs == codes).all())
    for format, ratio in worst.items():
        print(f"{format}: RMSE at most {ratio ** 0.5:.6f} of ggml's, {100 * np.mean(same[format]):.2f} % of bytes equal")
    check.finish()


main()
