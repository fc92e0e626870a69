# SPDX-License-Identifier: GPL-3.0-or-later
"""make_hqq.py [FOLDER]: writes hqq_linear, layers of hqq 0.2.8.post1. hqq is on the path, or unpacked in the folder QS_HQQ; of its
dependencies only PyTorch is needed. Layers are stored by state_dict, as in safetensors, and decoded by hqq's dequantize on the CPU.
"""
import os
import sys
import types

import torch
from common import checkpoint, weight

if "QS_HQQ" in os.environ:
    sys.path.insert(0, os.environ["QS_HQQ"])
sys.modules["termcolor"] = types.SimpleNamespace(colored=lambda text, *_: text)  # used by hqq for messages only
from hqq.core.quantize import BaseQuantizeConfig, HQQLinear


def layer(plain, dtype, channel_wise=True, **config):
    """The stored fields of a layer by name, and its decoded values."""
    config = BaseQuantizeConfig(**config)
    config["weight_quant_params"]["channel_wise"] = channel_wise
    made = HQQLinear.from_weights(plain.float(), None, config, compute_dtype=dtype, device="cpu")
    return {key: value.data if isinstance(value, torch.nn.Parameter) else value for key, value in made.state_dict().items()}, made.dequantize()


if __name__ == "__main__":
    tensors, values = {}, {}
    settings = [(bits, axis, dtype, {}) for bits, dtype in ((8, torch.bfloat16), (4, torch.float16), (3, torch.float16), (2, torch.bfloat16), (1, torch.float32)) for axis in (0, 1)]
    settings += [(4, 1, torch.float16, {"view_as_float": True}), (3, 0, torch.bfloat16, {"view_as_float": True}), (4, 1, torch.bfloat16, {"channel_wise": False}),
                 (2, 0, torch.float16, {"group_size": None}), (4, 1, torch.float32, {"group_size": None})]
    for i, (bits, axis, dtype, more) in enumerate(settings):
        path = f"model.layers.{i}.mlp.down_proj"
        stored, plain = layer(weight(0, "mlp.down_proj", 24, 64)[1], dtype, **({"nbits": bits, "axis": axis, "group_size": 32} | more))
        tensors |= {f"{path}.{key}": value for key, value in stored.items()}
        values[f"{path}.weight"] = plain
    checkpoint("hqq_linear", tensors, values, {"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 32, "axis": 1}}})
