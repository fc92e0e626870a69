# SPDX-License-Identifier: GPL-3.0-or-later
"""make_blocks.py [FOLDER]: writes fp8_blocks (the layout of DeepSeek) and gptoss_mxfp4, with the values that transformers dequantizes."""
import torch
from common import checkpoint, sample, weight
from transformers.integrations.finegrained_fp8 import Fp8Dequantize
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

tensors, values = {}, {}
for part, rows, columns in (("mlp.up_proj", 64, 96), ("mlp.down_proj", 32, 160)):
    name, plain = weight(0, part, rows, columns)
    blocks = plain.float().reshape(rows // 16, 16, columns // 32, 32)
    scale = blocks.abs().amax((1, 3)) / 448
    codes = (blocks / scale[:, None, :, None]).to(torch.float8_e4m3fn).reshape(rows, columns)
    tensors |= {name: codes, f"{name}_scale_inv": scale}
    values[name] = Fp8Dequantize(None)._dequantize_one(codes, scale, torch.bfloat16)
# Blocks that extend beyond the tensor: computed by the formula, because transformers refuses them.
name, plain = weight(1, "mlp.up_proj", 40, 80)
scale = torch.rand(3, 3, generator=torch.Generator().manual_seed(3)) / 448
whole = scale.repeat_interleave(16, 0).repeat_interleave(32, 1)[:40, :80]
codes = (plain.float() / whole).clamp(-448, 448).to(torch.float8_e4m3fn)
tensors |= {name: codes, f"{name}_scale_inv": scale}
values[name] = (codes.float() * whole).to(torch.bfloat16)
checkpoint("fp8_blocks", tensors, values, {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
                                           "weight_block_size": [16, 32]})

random = torch.Generator().manual_seed(7)
tensors, values = {}, {}
for name, shape in (("model.layers.0.mlp.experts.gate_up_proj", (3, 24, 2)), ("model.layers.0.mlp.experts.down_proj", (3, 10, 3))):
    blocks = torch.randint(0, 256, (*shape, 16), generator=random, dtype=torch.uint8)
    scales = torch.randint(110, 135, shape, generator=random, dtype=torch.uint8)
    tensors |= {f"{name}_blocks": blocks, f"{name}_scales": scales}
    values[name] = convert_moe_packed_tensors(blocks, scales)
# With OpenAI's own names and order.
blocks, scales = tensors["model.layers.0.mlp.experts.down_proj_blocks"], tensors["model.layers.0.mlp.experts.down_proj_scales"]
tensors |= {"block.0.mlp.mlp2_weight.blocks": blocks + 0, "block.0.mlp.mlp2_weight.scales": scales + 0}
values["block.0.mlp.mlp2_weight"] = convert_moe_packed_tensors(blocks, scales).transpose(1, 2)
checkpoint("gptoss_mxfp4", tensors, values, {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]})

# One scale for the tensor (weight_block_size null), beside one for its inputs: Ministral 3 and others. Values by the formula.
tensors, values = {}, {}
for layer, (shape, dtype, scale_dtype) in enumerate((((), torch.float8_e4m3fn, torch.bfloat16), ((1,), torch.float8_e5m2, torch.float32))):
    name, plain = weight(layer, "mlp.up_proj", 24, 48)
    scale = (plain.abs().max().float() / torch.finfo(dtype).max).to(scale_dtype)
    codes = (plain.float() / scale.float()).clamp(-torch.finfo(dtype).max, torch.finfo(dtype).max).to(dtype)
    tensors |= {name: codes, f"{name}_scale_inv": scale.reshape(shape), name.replace("weight", "activation_scale"): torch.tensor(0.01).to(scale_dtype)}
    values[name] = (codes.float() * scale.float()).to(torch.bfloat16)
checkpoint("fp8_tensor", tensors, values, {"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None})

# DeepSeek-V4: powers of two under MODULE.scale; 4-bit floats in pairs, the first in the low bits, in its experts.
tensors, values = {}, {}
name, plain = weight(0, "mlp.down_proj", 32, 160)
blocks = plain.float().reshape(2, 16, 5, 32)
scale = torch.exp2(torch.ceil(torch.log2(blocks.abs().amax((1, 3)) / 448)))
codes = (blocks / scale[:, None, :, None]).to(torch.float8_e4m3fn).reshape(32, 160)
path = "layers.0.attn.wq_a"
tensors |= {f"{path}.weight": codes, f"{path}.scale": scale.to(torch.float8_e8m0fnu)}
values[f"{path}.weight"] = (codes.float().reshape(2, 16, 5, 32) * scale[:, None, :, None]).reshape(32, 160).to(torch.bfloat16)
levels = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
codes = torch.randint(0, 16, (24, 96), generator=random, dtype=torch.uint8)
scale = torch.exp2(torch.randint(-12, 0, (24, 3), generator=random).float())
path = "layers.0.ffn.experts.0.w1"
tensors |= {f"{path}.weight": (codes[:, ::2] | codes[:, 1::2] << 4).view(torch.int8), f"{path}.scale": scale.to(torch.float8_e8m0fnu)}
values[f"{path}.weight"] = (levels[codes.long()].reshape(24, 3, 32) * scale[..., None]).reshape(24, 96).to(torch.bfloat16)
checkpoint("deepseek_v4", tensors, values, {"quant_method": "fp8", "fmt": "e4m3", "scale_fmt": "ue8m0", "activation_scheme": "dynamic",
                                            "weight_block_size": [16, 32]}, {"expert_dtype": "fp4"})
