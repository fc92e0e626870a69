# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the scripts that write these checkpoints. Each checkpoint is a folder; values.json describes the values that the peer decodes."""
import hashlib
import json
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).parent
OUT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
sample = load_file(HERE.parents[2] / "resources/samples/tiny-llama/model.safetensors")


def weight(layer, part, rows=24, columns=None):
    """A tensor name of the sample model, and the first rows and columns of that tensor."""
    name = f"model.layers.{layer}.{part}.weight"
    return name, sample[name][:rows, :columns].contiguous()


def checkpoint(folder, tensors, values, quantization=None, extra=None, metadata=None):
    """`values`: the tensors as the peer decodes them. `metadata`: more of the file's."""
    folder = OUT / folder
    folder.mkdir(parents=True, exist_ok=True)
    tensors = dict(tensors, **{"model.norm.weight": sample["model.norm.weight"]})
    save_file({n: t.contiguous() for n, t in tensors.items()}, folder / "model.safetensors", metadata={"format": "pt"} | (metadata or {}))
    (folder / "model.safetensors").chmod(0o644)
    rows = {}
    for name, plain in values.items():
        plain = plain.detach().contiguous()
        rows[name] = {"dtype": str(plain.dtype).removeprefix("torch."), "shape": list(plain.shape),
                      "sha256": hashlib.sha256(plain.reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest()}
    (folder / "values.json").write_text(json.dumps(rows, indent=0) + "\n")
    if quantization is not None:
        config = {"architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", **(extra or {}),
                  "quantization_config": quantization}
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
