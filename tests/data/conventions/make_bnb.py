# SPDX-License-Identifier: GPL-3.0-or-later
"""make_bnb.py [FOLDER]: writes bnb_4bit and bnb_int8 as bitsandbytes saves layers, with the values that it dequantizes."""
import warnings

warnings.filterwarnings("ignore")
import bitsandbytes as bnb
import torch
from common import DTYPES, checkpoint, weight

tensors, values = {}, {}
# Rows hold whole blocks or have odd length: the CPU kernel of bitsandbytes 0.50.2 uses wrong maxima where blocks cross even rows.
odd = torch.linspace(-1.7, 2.3, 7 * 35).reshape(7, 35) ** 3
for (name, plain), kind, block, nested, dtype in [
    (weight(0, "self_attn.k_proj"), "nf4", 64, False, "float32"),
    (weight(0, "self_attn.v_proj", 96, 128), "nf4", 128, True, "bfloat16"),
    (weight(1, "self_attn.k_proj"), "fp4", 64, False, "float16"),
    (("model.layers.2.odd.weight", odd), "fp4", 64, True, "bfloat16"),
    (("model.layers.3.odd.weight", odd), "nf4", 32, True, "float32"),
]:
    codes, state = bnb.functional.quantize_4bit(plain.to(DTYPES[dtype]), blocksize=block, quant_type=kind,
                                                compress_statistics=nested)
    tensors[name] = codes
    for key, value in state.as_dict(packed=True).items():
        tensors[f"{name}.{key}"] = value
    values[name] = bnb.functional.dequantize_4bit(codes, state)
checkpoint("bnb_4bit", tensors, values)

tensors, values = {}, {}
for name, plain in (weight(0, "self_attn.k_proj"), weight(0, "self_attn.v_proj")):
    module = name.removesuffix(".weight")
    codes, scb, _ = bnb.functional.int8_vectorwise_quant(plain.to(torch.float16))
    tensors |= {name: codes, f"{module}.SCB": scb, f"{module}.weight_format": torch.tensor(0, dtype=torch.uint8)}
    values[name] = bnb.functional.int8_vectorwise_dequant(codes, scb)
checkpoint("bnb_int8", tensors, values)
