# SPDX-License-Identifier: GPL-3.0-or-later
"""make_gptqmodel.py [FOLDER]: writes gptqmodel_fp8 with GPTQModel, whose scales divide, a layer for each way of scaling that config.json can say
(row), with the values of its dequantize_weight(); and gptqmodel_embedding, tables of GPTQ, with the rows that they give."""
import json

import torch
from common import checkpoint, sample, weight
from gptqmodel.nn_modules.qlinear.fp8 import TorchFP8Linear
from gptqmodel.nn_modules.qlinear.torch import TorchQuantEmbeddings
from gptqmodel.quantization.config import FP8Config

tensors, values = {}, {}
for i, part in enumerate(("self_attn.q_proj", "mlp.up_proj")):
    name, plain = weight(i, part, 16, 64)
    module = name.removesuffix(".weight")
    linear = torch.nn.Linear(64, 16, bias=False)
    linear.weight.data = plain.float()
    layer = TorchFP8Linear(bits=8, group_size=-1, sym=True, desc_act=False, in_features=64, out_features=16, format="float8_e4m3fn",
                           weight_scale_method="row", weight_block_size=None)
    layer.pack_original(linear, None, None)
    tensors |= {f"{module}.{field}": value.contiguous() for field, value in layer.state_dict().items()}
    values[name] = layer.dequantize_weight(dtype=torch.float32).t().contiguous()
config = json.loads(json.dumps(FP8Config(format="float8_e4m3fn", weight_scale_method="row").to_dict(), default=str))
config.pop("meta", None)
checkpoint("gptqmodel_fp8", tensors, values, config, {"torch_dtype": "float32"})

# An embedding: its rows are the inputs, in an order of their own groups too.
tensors, values = {}, {}
for name, rows, columns, bits, group in (("model.embed_tokens.weight", 72, 32, 4, 32), ("model.wpe.weight", 64, 32, 8, 16)):
    plain = sample["model.embed_tokens.weight"][:rows, :columns].float()
    table = torch.nn.Embedding(rows, columns)
    table.weight.data = plain
    groups = -(-rows // group)
    order = torch.arange(rows, dtype=torch.int32) // group
    parts = [plain[order == g] for g in range(groups)]
    scales = torch.stack([part.abs().amax(0) / (2 ** (bits - 1) - 0.5) for part in parts], 1).half().float()
    zeros = torch.full_like(scales, 2 ** (bits - 1))
    layer = TorchQuantEmbeddings(bits=bits, group_size=group, sym=True, desc_act=False, in_features=rows, out_features=columns, bias=False,
                                 register_buffers=True)
    layer.pack_original(table, scales, zeros, order)
    module = name.removesuffix(".weight")
    tensors |= {f"{module}.{field}": value.contiguous() for field, value in layer.state_dict().items()}
    layer.post_init()
    values[name] = layer.forward(torch.arange(rows)).contiguous()
config = {"quant_method": "gptq", "checkpoint_format": "gptq_v2", "bits": 4, "group_size": 32, "sym": True, "desc_act": False,
          "dynamic": {"+:model.wpe": {"bits": 8, "group_size": 16}}}  # fmt: skip
checkpoint("gptqmodel_embedding", tensors, values, config, {"torch_dtype": "float16", "vocab_size": 72})
