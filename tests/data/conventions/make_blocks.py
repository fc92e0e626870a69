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
