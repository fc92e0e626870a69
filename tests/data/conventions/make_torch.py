# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes torchao_linear, torchao_pickle, quanto_linear and ../undecoded/torchao_mx: small layers that torchao and optimum-quanto quantize, store and decode.

    python make_torch.py [FOLDER]   # torch, torchao, optimum-quanto, safetensors
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
from torchao.prototype.mx_formats.inference_workflow import NVFP4WeightOnlyConfig
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
from torchao.quantization import Float8WeightOnlyConfig, Int8WeightOnlyConfig, IntxWeightOnlyConfig, PerGroup, PerTensor, quantize_



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


def torchao_mx():
    """Classes that are not decoded: no values."""
    folder = root.parent / "undecoded" / "torchao_mx"
    folder.mkdir(parents=True, exist_ok=True)
    net = Net({"mx": (16, 64), "nv": (16, 64)}, torch.bfloat16, False)
    quantize_(net, NVFP4WeightOnlyConfig(), filter_fn=lambda module, path: path == "nv")
    net.mx.weight = torch.nn.Parameter(MXTensor.to_mx(net.mx.weight.detach(), torch.float8_e4m3fn, 32), requires_grad=False)
    tensors, metadata = flatten_tensor_state_dict(net.state_dict())
    tensors = {k: v.contiguous() for k, v in tensors.items()}
    save_file(tensors, folder / "model.safetensors", {k: v if isinstance(v, str) else json.dumps(v) for k, v in metadata.items()})


torchao()
quanto()
torchao_mx()
