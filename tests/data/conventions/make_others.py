# SPDX-License-Identifier: GPL-3.0-or-later
"""make_others.py [FOLDER]: writes a layer or two of each of these:
quark_layers: AMD Quark 0.13 (unpacked in the folder QS_QUARK) packs and unpacks; scales are made here.
bitnet_offline, bitnet_auto: transformers' pack_weights and unpack_weights, and the outputs of its layers for the identity.
fbgemm_experts: Llama 4's experts as transformers quantizes them: each output of each expert by itself.
modelopt_blocks: nvidia-modelopt's FP8_PB_WO (its fp8_tensor.py: codes times scales of blocks, stored as [rows, 1, columns, 1]).
quanto_conv: optimum-quanto quantizes, stores and decodes a convolution.
"""
import importlib.util
import os
import sys
import types

import torch
from common import checkpoint, sample, weight
from optimum.quanto import freeze, qfloat8, qint8
from optimum.quanto import quantize as quantize_quanto
from transformers.integrations.bitnet import pack_weights, unpack_weights

F8 = torch.float8_e4m3fn

def quark_file(path, **needs):
    """A file of Quark by itself: its packages need more, which what is called here does not."""
    for module, names in needs.items():
        name = module.replace("__", ".")
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update({one: None for one in names.split()})
    spec = importlib.util.spec_from_file_location("quark_file", f"{os.environ['QS_QUARK']}/{path}")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


pack = quark_file("quark/torch/utils/pack.py", quark__torch__quantization__config__type="Dtype QSchemeType ZeroPointType",
                  quark__torch__quantization__constants="PER_GROUP_INT_TRANSPOSE_DTYPES",
                  quark__torch__quantization__utils="get_dtype_params", quark__torch__utils__numerics="safe_log2")


def quark(folder, kind, scheme, group, stored, value):
    name, plain = weight(0, "self_attn.q_proj", 8, 64)
    module = name.removesuffix(".weight")
    tensors, decoded = value(module, plain.float())
    weight_settings = {"dtype": kind, "qscheme": scheme, "group_size": group, "ch_axis": 0, "scale_format": "e8m0" if stored else "float"}
    checkpoint(folder, tensors, {name: decoded}, {"quant_method": "quark", "global_quant_config": {"weight": weight_settings},
               "layer_quant_config": {}, "export": {"pack_method": "reorder", "weight_format": "real_quantized"}})  # fmt: skip


def mxfp4(module, plain):
    method = pack.Pack_fp4("per_group", "fp4")
    blocks = plain.reshape(8, 2, 32)
    exponent = torch.floor(torch.log2(blocks.abs().amax(-1))) - 2
    level = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    scaled = blocks / torch.exp2(exponent)[..., None]
    rounded = level[(scaled.abs()[..., None] - level).abs().argmin(-1)] * torch.where(scaled < 0, -1, 1)
    packed = method.pack(rounded.reshape(8, 64), False)
    stored = {f"{module}.weight": packed, f"{module}.weight_scale": (exponent + 127).to(torch.uint8)}
    return stored, (method.unpack(packed, False).reshape(8, 2, 32) * torch.exp2(exponent)[..., None]).reshape(8, 64).bfloat16()


def int8(module, plain):
    method = pack.Pack_8_bits("per_channel", "int8")
    scale, zero = plain.abs().amax(1) / 127, torch.arange(8) - 4
    packed = method.pack(torch.clamp(torch.round(plain / scale[:, None]) + zero[:, None], -128, 127), False)
    stored = {f"{module}.weight": packed, f"{module}.weight_scale": scale, f"{module}.weight_zero_point": zero.to(torch.int8)}
    return stored, (method.unpack(packed, False) - zero[:, None]) * scale[:, None]


quark("quark_mxfp4", "fp4", "per_group", 32, True, mxfp4)
quark("quark_int8", "int8", "per_channel", None, False, int8)

for folder, linear in (("bitnet_offline", "bitlinear"), ("bitnet_auto", "autobitlinear")):
    name, plain = weight(0, "self_attn.q_proj", 16, 32)
    module = name.removesuffix(".weight")
    codes = torch.clamp(torch.round(plain.float() / plain.float().abs().mean()), -1, 1)
    packed = pack_weights(codes.clone())
    scale = torch.tensor([37.5 if linear == "bitlinear" else 0.03], dtype=torch.bfloat16)
    whole = unpack_weights._torchdynamo_orig_callable(packed, torch.float32)
    assert torch.equal(whole, codes)
    factor = 1 / scale.float() if linear == "bitlinear" else scale.float()
    checkpoint(folder, {name: packed, f"{module}.weight_scale": scale}, {name: whole * factor},
               {"quant_method": "bitnet", "linear_class": linear, "quantization_mode": "offline", "modules_to_not_convert": ["lm_head"]})  # fmt: skip

experts, inputs, outputs = 2, 8, 24
tensors, values = {}, {}
for part, up in (("gate_up_proj", True), ("down_proj", False)):
    name = f"model.layers.0.feed_forward.experts.{part}"
    plain = sample["model.layers.0.self_attn.q_proj.weight"].float().flatten()[: experts * inputs * outputs].reshape(experts, inputs, outputs)
    scale = plain.abs().amax(1, keepdim=True) / 448
    tensors[name] = (plain / scale).to(F8)
    tensors[f"{name}_scale"] = scale if up else scale.transpose(1, 2)
    values[name] = tensors[name].float() * scale
checkpoint("fbgemm_experts", tensors, values, {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0}, {"model_type": "llama4_text"})

name, plain = weight(0, "mlp.up_proj", 16, 64)
blocks = plain.float().reshape(4, 4, 2, 32)
scale = blocks.abs().amax((1, 3), keepdim=True) / 448
codes = (blocks / scale).to(F8)
checkpoint("modelopt_blocks", {name: codes.reshape(16, 64), name + "_scale": scale},
           {name: (codes.float() * scale).reshape(16, 64)}, {"quant_method": "modelopt", "quant_algo": "FP8_PB_WO"})  # fmt: skip

torch.manual_seed(3)
tensors, values = {}, {}
for part, kind in (("a", qint8), ("b", qfloat8)):
    network = torch.nn.Module()
    network.conv = torch.nn.Conv2d(3, 4, 3)
    quantize_quanto(network, weights=kind)
    freeze(network)
    tensors |= {f"{part}.{key}": value.contiguous() for key, value in network.state_dict().items()}
    values[f"{part}.conv.weight"] = network.conv.weight.dequantize()
checkpoint("quanto_conv", tensors, values)
