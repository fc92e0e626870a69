# SPDX-License-Identifier: GPL-3.0-or-later
"""Tensors of the sample model as other programs store them, written by PyTorch 1.13.1 (torch.save, torch.onnx):

    fused.pt    layer 0 with the modules of Phi-3: qkv_proj, gate_up_proj (names of transformers)
    conv1d.pt   q, k and v of layer 0 as c_attn of GPT-2, a Conv1D, which is stored as [inputs, outputs]
    layer0.onnx k and v of layer 0 as torch.onnx exports them: x @ W^T, where the initializer W^T has lost its name

    python3 tests/data/diff/make_torch.py tests/data/diff
"""
import sys
from pathlib import Path

import torch

folder = Path(sys.argv[1])
root = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(root / "tests/peers"))
from bf16 import load  # noqa: E402

sample = load(root / "resources/samples/tiny-llama/model.safetensors")
at = "model.layers.0."


def weight(name):
    return torch.from_numpy(sample[at + name + ".weight"].copy())


q, k, v = (weight(f"self_attn.{p}_proj") for p in "qkv")
fused = {at + "self_attn.qkv_proj.weight": torch.cat([q, k, v]), at + "mlp.gate_up_proj.weight": torch.cat([weight("mlp.gate_proj"), weight("mlp.up_proj")])}
torch.save({name: x.to(torch.bfloat16) for name, x in fused.items()}, folder / "fused.pt")

conv = {"transformer.h.0.attn.c_attn.weight": torch.cat([q, k, v]).t()}
torch.save({name: x.contiguous().to(torch.bfloat16) for name, x in conv.items()}, folder / "conv1d.pt")


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("k_proj", "v_proj"):
            w = weight("self_attn." + name)
            linear = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
            linear.weight.data = w
            setattr(self, name, linear)

    def forward(self, x):
        return self.k_proj(x), self.v_proj(x)


torch.onnx.export(Layer(), torch.zeros(1, 2, k.shape[1]), folder / "layer0.onnx", opset_version=13, do_constant_folding=True)
