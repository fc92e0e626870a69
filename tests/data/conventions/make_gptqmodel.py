# SPDX-License-Identifier: GPL-3.0-or-later
"""make_gptqmodel.py [FOLDER]: writes gptqmodel_fp8 with GPTQModel, whose scales divide, a layer for each way of scaling that config.json can say
(row), with the values of its dequantize_weight()."""
import json

import torch
from common import checkpoint, weight
from gptqmodel.nn_modules.qlinear.fp8 import TorchFP8Linear
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
