# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes torchao_linear, torchao_pickle, torchao_blocks, torchao_blocks_pickle, quanto_linear and ../undecoded/torchao_later: small layers that
torchao and optimum-quanto quantize, store and decode.

    python make_torch.py [FOLDER [FUNCTION...]]   # torch, torchao, optimum-quanto, safetensors
"""
import hashlib
import json
import sys
from pathlib import Path

import torch
from optimum.quanto import freeze, qfloat8, qint2, qint4, qint8
from optimum.quanto import quantize as quantize_quanto
from optimum.quanto import quantization_map
from optimum.quanto.tensor.packed import PackedTensor
from safetensors.torch import save_file
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
from torchao.quantization import Float8WeightOnlyConfig, Int4Tensor, Int8WeightOnlyConfig, IntxWeightOnlyConfig, PerGroup, PerTensor, quantize_



def unpacked(tensor):
    """What the package's function unpack() says; its compiled one needs a compiler at run time."""
    parts = [tensor._data >> (tensor._bits * i) & (2**tensor._bits - 1) for i in range(8 // tensor._bits)]
    return torch.cat(parts)[: tensor.shape[0]]


PackedTensor.unpack = unpacked
root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent)
torch.manual_seed(7)


def row(value):
    value = value.detach().contiguous()
    text = hashlib.sha256(value.view(torch.uint8).numpy().tobytes()).hexdigest()
    return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "sha256": text}


def write_values(folder, values):
    (folder / "values.json").write_text(json.dumps({name: row(value) for name, value in values.items()}, indent=1) + "\n")


class Net(torch.nn.Module):
    def __init__(self, sizes, dtype, bias):
        super().__init__()
        for name, (outputs, inputs) in sizes.items():
            setattr(self, name, torch.nn.Linear(inputs, outputs, bias=bias).to(dtype))
        self.norm = torch.nn.RMSNorm(8).to(dtype)


def torchao():
    net = Net({"rows": (24, 64), "groups": (24, 64), "one": (24, 64), "floats": (24, 64), "bytes": (24, 64)}, torch.bfloat16, False)
    configs = {
        "rows": IntxWeightOnlyConfig(),
        "groups": IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)),
        "one": Int8WeightOnlyConfig(granularity=PerTensor()),
        "floats": Float8WeightOnlyConfig(),
        "bytes": Int8WeightOnlyConfig(),
    }
    for name, config in configs.items():
        quantize_(net, config, filter_fn=lambda module, path, name=name: path == name)
    values = {f"{name}.weight": getattr(net, name).weight.dequantize() for name in configs}
    for folder in (root / "torchao_linear", root / "torchao_pickle"):
        folder.mkdir(exist_ok=True)
        write_values(folder, values)
    tensors, metadata = flatten_tensor_state_dict(net.state_dict())
    save_file(tensors, root / "torchao_linear" / "model.safetensors", {k: v if isinstance(v, str) else json.dumps(v) for k, v in metadata.items()})
    torch.save(net.state_dict(), root / "torchao_pickle" / "pytorch_model.bin")


def quanto():
    folder = root / "quanto_linear"
    folder.mkdir(exist_ok=True)
    values, tensors, types = {}, {}, {}
    for prefix, dtype, bias in (("a", torch.float32, True), ("b", torch.bfloat16, False)):
        for kind in (qint8, qint4, qint2, qfloat8):
            name = f"{prefix}_{kind.name}"
            net = torch.nn.ModuleDict({name: torch.nn.Linear(128, 24, bias=bias).to(dtype)})
            quantize_quanto(net, weights=kind)
            freeze(net)
            values[f"{name}.weight"] = net[name].weight.dequantize()
            state = net.state_dict()
            state = {k: v for k, v in state.items() if not k.endswith(("input_scale", "output_scale", ".bias")) or k.endswith(".bias")}
            tensors |= {k: v.contiguous() for k, v in state.items() if not k.endswith(".bias") or kind in (qint4, qint2)}
            types |= quantization_map(net)
    tensors["norm.weight"] = torch.ones(8)
    save_file(tensors, folder / "model.safetensors")
    (folder / "quanto_qmap.json").write_text(json.dumps(types, indent=1) + "\n")
    write_values(folder, values)
    print({k: (str(v.dtype), tuple(v.shape)) for k, v in tensors.items()})


def torchao_blocks():
    """Int4Tensor, MXTensor and NVFP4Tensor. torchao quantizes to Int4Tensor on GPUs alone, so its parts are made here, as
    int4_row_quantize_zp() of mslk makes them."""
    torch.manual_seed(9)
    weight = torch.randn(136, 96, dtype=torch.bfloat16) / 8
    stack = torch.randn(3, 8, 64, dtype=torch.bfloat16)
    scale = (weight.abs().max() / (448 * 6)).float()
    tensors = {
        "int4.weight": int4(weight, 32),
        "int4_stack.weight": int4(stack, 16),
        "mx8.weight": MXTensor.to_mx(weight, torch.float8_e4m3fn, 32),
        "mx8_tiles.weight": MXTensor.to_mx(weight, torch.float8_e5m2, 32, is_swizzled_scales=True),
        "mx4.weight": MXTensor.to_mx(weight, torch.float4_e2m1fn_x2, 32),
        "mx4_tiles.weight": MXTensor.to_mx(weight.float(), torch.float4_e2m1fn_x2, 32, is_swizzled_scales=True),
        "nv.weight": NVFP4Tensor.to_nvfp4(weight),
        "nv_tiles.weight": NVFP4Tensor.to_nvfp4(weight, per_tensor_scale=scale, is_swizzled_scales=True),
        "nv_stack.weight": NVFP4Tensor.to_nvfp4(stack, per_tensor_scale=torch.rand(3, 1, 1) / 500 + 1e-3),
    }
    norm = {"norm.weight": torch.ones(8)}
    values = {name: plain_int4(t) if isinstance(t, Int4Tensor) else t.dequantize() for name, t in tensors.items()}
    for folder in (root / "torchao_blocks", root / "torchao_blocks_pickle"):
        folder.mkdir(exist_ok=True)
        write_values(folder, values)
    write_flat(tensors | norm, root / "torchao_blocks")
    torch.save(tensors | norm, root / "torchao_blocks_pickle" / "pytorch_model.bin")
    later = {name: tensors[name] for name in ("mx8.weight", "nv_tiles.weight")}
    write_flat(later, root.parent / "undecoded" / "torchao_later", "Later")


def int4(weight, group):
    values = weight.float().unflatten(-1, (-1, group))
    least = values.amin(-1, keepdim=True)
    scale = (values.amax(-1, keepdim=True) - least).clamp(min=1e-6) / 15
    codes = (((values - least) / scale).round().clamp(0, 15) - 8).to(torch.int8).flatten(-2)
    packed = codes[..., ::2] & 15 | codes[..., 1::2] << 4
    parts = [part.squeeze(-1).transpose(-2, -1).contiguous().to(weight.dtype) for part in (scale, least + scale * 8)]
    return Int4Tensor(packed, *parts, [1] * (weight.ndim - 1) + [group], weight.shape)


def plain_int4(tensor):
    """The class has no dequantize(): its product is one of a GPU."""
    codes = torch.stack([tensor.qdata << 4 >> 4, tensor.qdata >> 4], -1).flatten(-2).float()
    scale, zero = (part.float().transpose(-2, -1).repeat_interleave(tensor.block_size[-1], -1) for part in (tensor.scale, tensor.zero_point))
    return (codes * scale + zero).to(tensor.dtype)


def write_flat(state, folder, prefix=""):
    """`prefix`: before the names of the classes, as if they were of a later torchao."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors, metadata = flatten_tensor_state_dict(state)
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in metadata.items()}
    texts = {k: v.replace('{"_type": "', '{"_type": "' + prefix, 1) for k, v in texts.items()}
    save_file({k: v.contiguous() for k, v in tensors.items()}, folder / "model.safetensors", texts)


made = sys.argv[2:] or ["torchao", "quanto", "torchao_blocks"]
for name in made:
    globals()[name]()
