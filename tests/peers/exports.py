# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the scripts that load exports: writing them, their tensors, and logits computed by transformers."""
import json
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

os.environ["TORCHDYNAMO_DISABLE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from checks import Checks

cli = sys.argv[1]
sample = Path(sys.argv[2] if len(sys.argv) > 2 else Path(__file__).parents[2] / "resources/samples/tiny-llama")
check = Checks()
LINEAR = "(_proj|lm_head).weight$"
torch.manual_seed(7)
torch.set_num_threads(1)


def export(spec, layout, out, *more):
    done = subprocess.run([cli, "quantize", str(sample), "--spec", spec, "--layout", layout, "-o", str(out), *more], capture_output=True, text=True)
    if done.returncode:
        check(f"{layout} {spec} is written: {done.stderr}", False)
    return done.returncode == 0


def dequantize(folder, out):
    """The tensors that quantscope-cli decodes from an export."""
    done = subprocess.run([cli, "dequantize", str(folder), "-o", str(out)], capture_output=True, text=True)
    check(f"dequantize {folder}: {done.stderr}", done.returncode == 0)
    return load_file(out) if done.returncode == 0 else {}


def folder_tensors(folder):
    out = {}
    for file in sorted(Path(folder).glob("*.safetensors")):
        out.update(load_file(file))
    return out


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and bool(((a == b) | (a.isnan() & b.isnan())).all())


def quantized_names(plain_folder):
    with safe_open(next(Path(plain_folder).glob("*.safetensors")), "pt") as file:
        return {key[len("quantscope."):] for key in file.metadata() if key.startswith("quantscope.")}


def apart(ours, theirs):
    return ((ours - theirs).norm() / theirs.norm()).item()


def ids():
    return torch.arange(1, 65).reshape(1, -1) % 256


def logits_of(model):
    with torch.no_grad():
        return model(ids()).logits.float()


def load(folder, dtype=torch.bfloat16, **options):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **options).eval()


def edit_json(path, change):
    values = json.loads(Path(path).read_text())
    change(values)
    Path(path).write_text(json.dumps(values))


def versions(*packages):
    from importlib.metadata import version

    print(", ".join(f"{package} {version(package)}" for package in packages))
