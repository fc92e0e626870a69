# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes bnb_vectors.safetensors: the results of bitsandbytes for tensors on the CPU.

    python3 tests/data/formats/make_bnb_vectors.py [FILE]   # bitsandbytes 0.50.2, torch 2.15.0

`TENSOR` (F32) is the input. For each spec there are:

- `TENSOR/SPEC.codes` (U8): the position of each code among the sorted levels, because bitsandbytes orders the two zeros of fp4 by an
unstable sort;
- `.scale`: F32, or with double quantization U8, `.nested_scale` and `.nested_offset`;
- `.values` (F32): decoded by its decoder without AVX-512; its AVX-512 decoder uses wrong scales if blocks are longer than rows.

`map` (F32) has the 256 values of its 8-bit scales. For LLM.int8 there are `.codes` (U8, the code plus 127), `.scale` (F32, the maxima of
rows) and `.values` (F32). The values of `int8.half` and `int8.brain` are exact in F16 and BF16.
"""
import os
import sys
from pathlib import Path

os.environ["TORCHDYNAMO_DISABLE"] = "1"
import bitsandbytes.functional as F
import numpy as np
import torch
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute, _get_4bit_quantize_bounds
from bitsandbytes.backends.utils import _get_4bit_code
from safetensors.numpy import save_file

torch.set_num_threads(1)
cpu = torch.device("cpu")
r = np.random.default_rng(31)
n = lambda *shape: r.standard_normal(shape).astype(np.float32)
tensors = {
    "rows": n(6, 128) * np.float32(0.02),
    "crossing": n(5, 77),
    "short": n(1, 10) * np.float32(3),
    "many": n(40, 250) * (2.0 ** r.integers(-20, 20, (40, 1))).astype(np.float32),
    "zeros": np.concatenate([np.zeros((2, 96), np.float32), n(2, 96), np.zeros((1, 96), np.float32)]),
    "ties": (r.integers(-12, 13, (4, 64)) / 12).astype(np.float32),
    "tiny": n(3, 64) * np.float32(1e-39),
}
out = dict(tensors)
out["map"] = F.create_dynamic_map().numpy()
for name, x in tensors.items():
    for format in ("nf4", "fp4"):
        place = np.argsort(_get_4bit_quantize_bounds(format, cpu)[1].numpy())
        for block in (32, 64, 128):
            for nested in (False, True):
                packed, state = F.quantize_4bit(torch.from_numpy(x), blocksize=block, quant_type=format, compress_statistics=nested)
                key = f"{name}/{format}:dialect=bnb:block={block}" + (":scaletype=u8dq" if nested else "")
                bytes = packed.numpy().reshape(-1)
                out[key + ".codes"] = place[np.stack([bytes >> 4, bytes & 15], -1).reshape(-1)[: x.size]].astype(np.uint8)
                out[key + ".scale"] = state.absmax.numpy().reshape(-1)
                scales = state.absmax
                if nested:
                    out[key + ".nested_scale"] = state.state2.absmax.numpy()
                    out[key + ".nested_offset"] = np.float32([state.offset.item()])
                    scales = F.dequantize_blockwise(state.absmax, state.state2) + state.offset
                values = _dequantize_4bit_compute(packed.reshape(-1), scales, _get_4bit_code(format, cpu), block, x.shape, torch.float32)
                if name != "many":  # values of "many" would show nothing new and are large
                    out[key + ".values"] = values.numpy().reshape(x.shape)
weights = {
    "int8.single": n(24, 80) * (2.0 ** r.integers(-26, 14, (24, 1))).astype(np.float32),
    "int8.half": n(6, 96).astype(np.float16).astype(np.float32),
    "int8.brain": torch.from_numpy(n(6, 96) * np.float32(0.05)).bfloat16().float().numpy(),
    "int8.zeros": np.concatenate([np.zeros((2, 40), np.float32), n(2, 40), n(2, 40) * np.float32(1e-9)]),
    "int8.ties": (r.integers(-254, 255, (6, 64)) / 2 * np.where(np.arange(64) == 7, 0, 1) + np.where(np.arange(64) == 7, 127, 0)).astype(np.float32),
}
for name, x in weights.items():
    codes, maxima, _ = F.int8_vectorwise_quant(torch.from_numpy(x).to(torch.float16))
    key = f"{name}/int8:dialect=bnb"
    out[name], out[key + ".codes"], out[key + ".scale"] = x, (codes.numpy().astype(np.int32) + 127).astype(np.uint8), maxima.numpy()
    out[key + ".values"] = F.int8_vectorwise_dequant(codes, maxima).numpy()
save_file(out, sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "bnb_vectors.safetensors")
print(len(out), "tensors")
