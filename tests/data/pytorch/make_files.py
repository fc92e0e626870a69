#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# Writes the checkpoints of this folder with the installed PyTorch and NumPy; see README.md.
import collections
import hashlib
import json
import pathlib
import struct
import sys

import numpy
import torch

here = pathlib.Path(__file__).parent
suffix = sys.argv[1]  # "1", "2": the major version of PyTorch in the file names
torch.manual_seed(5)


def sample(name):
    """A tensor of the trained sample model. Its safetensors file is parsed here."""
    path = here / "../../../resources/samples/tiny-llama/model.safetensors"
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        entry = json.loads(file.read(size))[name]
        file.seek(8 + size + entry["data_offsets"][0])
        raw = bytearray(file.read(entry["data_offsets"][1] - entry["data_offsets"][0]))
    assert entry["dtype"] == "BF16"
    return torch.frombuffer(raw, dtype=torch.bfloat16).reshape(entry["shape"])


def raw(tensor):
    tensor = tensor.detach().resolve_conj().contiguous()
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


trained = sample("model.layers.0.self_attn.k_proj.weight")[:24].clone()
norm = sample("model.layers.1.input_layernorm.weight")
base = torch.randn(4, 6)
shown = collections.OrderedDict(
    [
        ("layer.0.weight", trained),
        ("layer.0.weight_t", trained.t()),
        ("layer.0.columns", trained[1:9:2, 3:100:7]),
        ("layer.0.rows", trained[4:8]),
        ("layer.1.norm", norm),
        ("layer.1.expanded", norm[:5].expand(3, 5)),
        ("permuted", torch.randn(2, 3, 4).permute(2, 0, 1)),
        ("f16", base.half()),
        ("f32", base),
        ("f64", base.double()),
        ("i8", torch.arange(-5, 5, dtype=torch.int8)),
        ("i16", torch.arange(-5, 5, dtype=torch.int16)),
        ("i32", torch.arange(-5, 5, dtype=torch.int32)),
        ("i64", torch.arange(-5, 5)),
        ("u8", torch.arange(10, dtype=torch.uint8)),
        ("bool", torch.tensor([True, False, True])),
        ("complex", torch.randn(3, dtype=torch.complex64)),
        ("scalar", torch.tensor(3.5)),
        ("empty", torch.empty(0, 3)),
        ("parameter", torch.nn.Parameter(torch.randn(3, 3))),
    ]
)
if int(suffix) >= 2:
    for name in ("float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"):
        shown[name] = torch.arange(6, dtype=torch.float32).to(getattr(torch, name))
nested = {"epoch": 3, "model": shown, "optimizer": {"state": {0: {"step": torch.tensor(7.0), "lr": 0.1}}}}
values = {"model." + name: tensor for name, tensor in shown.items()}
values["optimizer.state.0.step"] = torch.tensor(7.0)

torch.save(nested, here / f"zip_{suffix}.pt")
files = {f"zip_{suffix}.pt": values}
legacy = collections.OrderedDict((n, t) for n, t in shown.items() if not n.startswith(("float8", "uint")))
torch.save(legacy, here / f"legacy_{suffix}.pt", _use_new_zipfile_serialization=False)
files[f"legacy_{suffix}.pt"] = legacy
if int(suffix) >= 2:
    torch.save(nested, here / "zip_protocol4.pt", pickle_protocol=4)
    files["zip_protocol4.pt"] = values


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(6, 5)
        self.norm = torch.nn.BatchNorm1d(5)
        self.rest = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(5, 2, bias=False))

    def forward(self, x):
        return self.rest(self.norm(self.first(x)))


net = Net()
torch.jit.script(net).save(str(here / f"script_{suffix}.pt"))
files[f"script_{suffix}.pt"] = net.state_dict()
if int(suffix) == 1:
    torch.save(net, here / "module_1.pt")
    files["module_1.pt"] = net.state_dict()
    arrays = {
        "a": base.numpy(),
        "layer/w": numpy.asfortranarray(base.double().numpy()),
        "i": numpy.arange(5),
        "h": base.half().numpy(),
    }
    for name, save in (("arrays.npz", numpy.savez), ("arrays_compressed.npz", numpy.savez_compressed)):
        save(here / name, **arrays)
        files[name] = {key: torch.from_numpy(numpy.ascontiguousarray(array)) for key, array in arrays.items()}

expected = {
    file: {
        name: {"shape": list(t.shape), "dtype": str(t.dtype)[6:], "sha256": hashlib.sha256(raw(t)).hexdigest()}
        for name, t in tensors.items()
    }
    for file, tensors in files.items()
}
(here / f"values_{suffix}.json").write_text(json.dumps(expected, indent=0, sort_keys=True) + "\n")
