#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what an importance matrix of the small networks must hold: imatrix.json in the folders of some families.

    python3 make_imatrix.py [FAMILY ...]

Hooks on the linear layers of transformers see their inputs in float32; numpy adds up the squares in float64. Chunks have 8
tokens, and all positions of all whole chunks count, as in llama.cpp's tools/imatrix. Of mixtures of experts the routing is
done again here from the hidden states that a hook sees before the block; sums and counts of the experts are under the names of
GGUF files. Made with torch 2 and transformers 5.
"""

import json
import pathlib
import sys

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


def squares(x):
    x = x.numpy().astype(np.float64)
    return (x * x).sum(axis=0)


def expert_sums_of(folder):
    """Of the blocks with experts: {GGUF name: {counts: [experts], sums: [experts][inputs]}}."""
    model = tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    config, out = model.config, {}

    def add(name, expert, experts, x):
        entry = out.setdefault(name, {"counts": [0] * experts, "sums": [np.zeros(x.shape[-1])] * experts})
        entry["counts"][expert] += len(x)
        entry["sums"][expert] = entry["sums"][expert] + squares(x)

    def hook(layer, block):
        def see(_, inputs):
            x = inputs[0].detach().reshape(-1, inputs[0].shape[-1])
            router, experts = block.gate.weight.detach(), block.experts
            gate_up, down = experts.gate_up_proj.detach(), experts.down_proj.detach()
            shares = torch.softmax(x @ router.T, dim=-1)
            chosen = torch.topk(shares, config.num_experts_per_tok, dim=-1).indices
            add(f"blk.{layer}.ffn_gate_inp.weight", 0, 1, x)
            for expert in range(len(router)):
                rows = x[(chosen == expert).any(dim=-1)]
                gate, up = (rows @ gate_up[expert].T).chunk(2, dim=-1)
                for name in ("gate", "up"):
                    add(f"blk.{layer}.ffn_{name}_exps.weight", expert, len(router), rows)
                add(f"blk.{layer}.ffn_down_exps.weight", expert, len(router), torch.nn.functional.silu(gate) * up)
        return see

    for layer, module in enumerate(model.model.layers):
        if hasattr(module.mlp, "experts"):
            module.mlp.register_forward_pre_hook(hook(layer, module.mlp))
    tokens = np.load(folder / "tokens.npy")
    with torch.no_grad():
        for begin in range(0, len(tokens) // CONTEXT * CONTEXT, CONTEXT):
            model(torch.tensor(tokens[None, begin:begin + CONTEXT].astype(np.int64)), use_cache=False)
    for entry in out.values():
        entry["sums"] = [[float(f"{v:.9g}") for v in sums] for sums in entry["sums"]]
    return out


def main():
    here = pathlib.Path(__file__).parent
    makers = {"llama": sums_of, "phi3": sums_of, "gpt2": sums_of, "mixtral": expert_sums_of, "qwen3_moe": expert_sums_of,
              "qwen3_moe_fused": expert_sums_of}
    for family in sys.argv[1:] or makers:
        (here / family / "imatrix.json").write_text(json.dumps(makers[family](here / family)) + "\n")


main()
