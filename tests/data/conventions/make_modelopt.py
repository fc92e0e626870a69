# SPDX-License-Identifier: GPL-3.0-or-later
"""make_modelopt.py [FOLDER]: writes modelopt_nvfp4, tensors of nvidia-modelopt 0.47.0 (unpacked in the folder QS_MODELOPT). Its
nvfp4_tensor.py packs and decodes them. The maxima it would import from other modules are computed here.
"""
import importlib.util
import os
import sys
import types

import torch
from common import checkpoint, weight

source = f"{os.environ['QS_MODELOPT']}/modelopt/torch/quantization"
for name in ("mo", "mo.qtensor", "mo.backends", "mo.utils"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []


def module(name, path=None, **contents):
    if path:
        spec = importlib.util.spec_from_file_location(name, f"{source}/{path}")
        made = importlib.util.module_from_spec(spec)
        sys.modules[name] = made
        spec.loader.exec_module(made)
    else:
        made = sys.modules[name] = types.ModuleType(name)
    vars(made).update(contents)
    return made


class Base:  # replaces its BaseQuantizedTensor, which needs distributed PyTorch
    def __init__(self, shape, dtype, data):
        self.metadata, self._quantized_data = {"shape": shape, "dtype": dtype}, data


module("mo.backends.utils", fp4_compatible=lambda: False)
module("mo.qtensor.base_qtensor", BaseQuantizedTensor=Base)
module("mo.utils.numeric_utils", "utils/numeric_utils.py", fp8_max_for_normalization=lambda *_: 448.0)
vars(sys.modules["mo.utils"]).update(reduce_amax=lambda x: x.abs().max(), reduce_block_padding=lambda x, **_: x,
                                     reduce_block_amax=lambda x, block_sizes: x.reshape(*x.shape[:-1], -1, block_sizes[-1]).abs().amax(-1))
NVFP4QTensor = module("mo.qtensor.nvfp4_tensor", "qtensor/nvfp4_tensor.py").NVFP4QTensor


def layer(plain):
    """The stored fields of a layer by name, and its decoded values."""
    packed, scale, global_scale = NVFP4QTensor.quantize(plain.clone(), 16)
    stored = {"weight": packed._quantized_data, "weight_scale": scale, "weight_scale_2": global_scale.reshape(())}
    return stored, packed.dequantize(scale=scale, double_scale=global_scale, block_sizes={-1: 16})


if __name__ == "__main__":
    tensors, values = {}, {}
    for i, (rows, columns) in enumerate(((24, 64), (1, 16), (9, 80))):
        plain = weight(0, "mlp.down_proj", rows, columns)[1].to(torch.bfloat16)
        if i == 2:
            plain[1, 16:32] = 0
            plain[2, 0] = -1e-9  # rounds to negative zero
        path = f"model.layers.{i}.mlp.down_proj"
        stored, decoded = layer(plain)
        tensors |= {f"{path}.{key}": value for key, value in stored.items()}
        if i == 0:
            tensors[f"{path}.input_scale"] = torch.tensor(0.01)
        values[f"{path}.weight"] = decoded
    checkpoint("modelopt_nvfp4", tensors, values, {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "ignore": ["lm_head"]})
