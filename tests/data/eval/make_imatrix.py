#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what an importance matrix of the small networks must hold: imatrix.json in the folders of some families.

    python3 make_imatrix.py

Hooks on the linear layers of transformers see their inputs in float32; numpy adds up the squares in float64. Chunks have 8
tokens, and all positions of all whole chunks count, as in llama.cpp's tools/imatrix. Made with torch 2 and
transformers 5.
"""

import json
import pathlib

import numpy as np
import torch
import transformers as tf

CONTEXT = 8


def sums_of(folder):
    model = tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    sums, counts = {}, {}

    def hook(name):
        def see(_, inputs, __):
            x = inputs[0].detach().numpy().astype(np.float64).reshape(-1, inputs[0].shape[-1])
            sums[name] = sums.get(name, 0) + (x * x).sum(axis=0)
            counts[name] = counts.get(name, 0) + len(x)
        return see

    for name, module in model.named_modules():
        if isinstance(module, (torch.nn.Linear, tf.pytorch_utils.Conv1D)) and name != "lm_head":
            module.register_forward_hook(hook(name + ".weight"))
    tokens = np.load(folder / "tokens.npy")
    with torch.no_grad():
        for begin in range(0, len(tokens) // CONTEXT * CONTEXT, CONTEXT):
            model(torch.tensor(tokens[None, begin:begin + CONTEXT].astype(np.int64)), use_cache=False)
    return {name: {"count": counts[name], "sums": [float(f"{v:.9g}") for v in sums[name]]} for name in sorted(sums)}


def main():
    here = pathlib.Path(__file__).parent
    for family in ("llama", "phi3", "gpt2"):
        (here / family / "imatrix.json").write_text(json.dumps(sums_of(here / family)) + "\n")


main()
