# SPDX-License-Identifier: GPL-3.0-or-later
"""make_comfy.py [FOLDER]: writes comfy_kinds, comfy_metadata and comfy_scaled, layers that comfy-kitchen 0.2.40 packs and decodes on the CPU.
It packs no SVDQuant and no AWQ: those codes are made here, and it decodes them.
"""
import dataclasses
import json

import torch
from comfy_kitchen.tensor import QuantizedTensor, get_layout_class
from common import checkpoint, sample

torch.use_deterministic_algorithms(True)
plain = sample["model.layers.0.mlp.down_proj.weight"].to(torch.bfloat16)
random = torch.Generator().manual_seed(5)


def piece(rows, columns):
    """Rows of the sample, repeated to the size, with a large column."""
    flat = plain.reshape(-1)
    out = flat.repeat(rows * columns // flat.numel() + 1)[: rows * columns].reshape(rows, columns).clone()
    out[:, 3] *= 6
    return out


def marker(**settings):
    return torch.tensor(list(json.dumps(settings).encode()), dtype=torch.uint8)


def power(scale):
    """Powers of two: then a rotated row is a sum of whole numbers, which every order of adding them gives alike."""
    return torch.exp2(torch.round(torch.log2(scale)))


def layer(path, layout, rows, columns, settings, **how):
    quantized = QuantizedTensor.from_float(piece(rows, columns), layout, **how)
    params = quantized.params
    if settings["format"] == "asym_w4a8_int8":
        params = dataclasses.replace(params, s_channel=power(params.s_channel))
        if params.correction is not None:
            params = dataclasses.replace(params, correction=torch.round(params.correction * 1024) / 1024)
    elif "convrot" in json.dumps(settings):
        params = dataclasses.replace(params, scale=power(params.scale))
    quantized = QuantizedTensor(quantized._qdata, layout, params)
    stored = quantized.state_dict(f"{path}.weight")
    return stored | {f"{path}.comfy_quant": marker(**settings)}, {f"{path}.weight": quantized.dequantize()}


def numbers(*shape, scale=1.0, above=0.0):
    return (torch.rand(*shape, generator=random) * scale + above).to(torch.bfloat16)


tensors, values = {}, {}
for number, args in enumerate((
    ("TensorCoreFP8Layout", 24, 48, {"format": "float8_e4m3fn"}, {}),
    ("TensorCoreFP8Layout", 24, 48, {"format": "float8_e5m2"}, {"dtype": torch.float8_e5m2}),
    ("TensorCoreNVFP4Layout", 144, 160, {"format": "nvfp4"}, {}),
    ("TensorCoreMXFP8Layout", 160, 288, {"format": "mxfp8"}, {}),
    ("TensorWiseINT8Layout", 16, 24, {"format": "int8_tensorwise"}, {}),
    ("TensorWiseINT8Layout", 9, 24, {"format": "int8_tensorwise", "per_row": True}, {"per_channel": True}),
    ("TensorWiseINT8Layout", 8, 128, {"format": "int8_tensorwise", "convrot": True, "convrot_groupsize": 64},
     {"per_channel": True, "convrot": True, "convrot_groupsize": 64}),
    ("TensorWiseINT8Layout", 6, 512, {"format": "int8_tensorwise", "params": {"convrot": True}}, {"per_channel": True, "convrot": True}),
    ("TensorCoreConvRotW4A4Layout", 8, 256, {"format": "convrot_w4a4", "convrot_groupsize": 64}, {"convrot_groupsize": 64}),
    ("AsymW4A8Int8Layout", 8, 256, {"format": "asym_w4a8_int8", "group_size": 16, "convrot_groupsize": 256}, {}),
    ("AsymW4A8Int8Layout", 8, 128, {"format": "asym_w4a8_int8", "group_size": 16, "convrot_groupsize": 64},
     {"symmetric": False, "codebook": False, "convrot_groupsize": 64, "scale_dtype": torch.float32}),
    ("AsymW4A8Int8Layout", 8, 256, {"format": "asym_w4a8_int8", "group_size": 16}, {"bits": 6, "codebook": False}),
)):
    layout, rows, columns, settings, how = args
    stored, decoded = layer(f"blocks.{number}.proj", layout, rows, columns, settings, **how)
    tensors |= stored
    values |= decoded

svd, awq = get_layout_class("TensorCoreSVDQuantW4A4Layout"), get_layout_class("TensorCoreAWQW4A16Layout")


def put(path, cls, codes, settings, shape, **fields):
    """The layer of these codes; `fields` have the names of the layout's parameters."""
    params = cls.Params(orig_dtype=torch.bfloat16, orig_shape=shape, **fields)
    for end, tensor in cls.state_dict_tensors(codes, params).items():
        tensors[f"{path}.weight{end}"] = tensor
    tensors[f"{path}.comfy_quant"] = marker(**settings)
    values[f"{path}.weight"] = cls.dequantize(codes, params)


def codes(*shape):
    return torch.randint(-128, 128, shape, generator=random, dtype=torch.int8)


put("blocks.20.proj", svd, codes(24, 64), {"format": "svdquant_w4a4"}, (24, 128), scale=numbers(2, 24, scale=0.02),
    proj_down=numbers(128, 4), proj_up=numbers(24, 4, scale=0.1), smooth_factor=numbers(128, above=0.5))
put("blocks.21.proj", svd, codes(1, 2, 32, 128), {"format": "svdquant_w4a4", "layout": "kitchen_tile_packed_w4a4"}, (128, 128),
    scale=numbers(1, 2, 128, scale=0.02), proj_down=numbers(128, 4), proj_up=numbers(1, 4, 128, scale=0.1),
    smooth_factor=numbers(128, above=0.5))
put("blocks.22.proj", awq, codes(24, 64), {"format": "awq_w4a16", "group_size": 64}, (24, 128), scale=numbers(2, 24, scale=0.02),
    zeros=numbers(2, 24, scale=0.1))
checkpoint("comfy_kinds", tensors, values)

# The format in the metadata of the file, not in a tensor.
tensors, values = {}, {}
for number, (layout, format, rows, columns) in enumerate((("TensorCoreFP8Layout", "float8_e4m3fn", 24, 48),
                                                          ("TensorCoreNVFP4Layout", "nvfp4", 128, 64))):
    stored, decoded = layer(f"blocks.{number}.proj", layout, rows, columns, {"format": format})
    del stored[f"blocks.{number}.proj.comfy_quant"]
    tensors |= stored
    values |= decoded
layers = {"blocks.0.proj": {"format": "float8_e4m3fn"}, "blocks.1.proj": {"format": "nvfp4"}}
checkpoint("comfy_metadata", tensors, values, metadata={"_quantization_metadata": json.dumps({"format_version": "1.0", "layers": layers})})

# fp8_scaled, from before comfy-kitchen: the values are code times scale.
tensors, values = {"model.diffusion_model.scaled_fp8": torch.zeros(2, dtype=torch.float8_e4m3fn)}, {}
for number, dtype in enumerate((torch.float8_e4m3fn, torch.float8_e5m2)):
    path = f"model.diffusion_model.blocks.{number}.proj"
    weight = piece(24, 48).float()
    scale = weight.abs().max() / torch.finfo(dtype).max
    packed = (weight / scale).to(dtype)
    tensors |= {f"{path}.weight": packed, f"{path}.scale_weight": scale.reshape(()), f"{path}.scale_input": torch.tensor(1.0)}
    values[f"{path}.weight"] = packed.float() * scale
checkpoint("comfy_scaled", tensors, values)
