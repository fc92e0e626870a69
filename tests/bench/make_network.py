#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a Llama network with random weights for the benchmarks of `eval`: config.json, model.safetensors and tokens.txt.

    make_network.py OUT bf16|f32 [TOKENS]    1.1 billion parameters of TinyLlama's shapes; TOKENS random ids (default 2048)

Weights are normal with a standard deviation of 0.02, norms are 1. 2^20 different values are used; each row starts at another of them.
"""
import json
import os
import random
import struct
import sys

HIDDEN, INNER, LAYERS, HEADS, KEY_HEADS, VOCABULARY, CONTEXT = 2048, 5632, 22, 32, 4, 32000, 2048
KEYS = HIDDEN // HEADS * KEY_HEADS


def shapes():
    out = {"model.embed_tokens.weight": [VOCABULARY, HIDDEN]}
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        for part, shape in (
            ("input_layernorm", [HIDDEN]),
            ("self_attn.q_proj", [HIDDEN, HIDDEN]),
            ("self_attn.k_proj", [KEYS, HIDDEN]),
            ("self_attn.v_proj", [KEYS, HIDDEN]),
            ("self_attn.o_proj", [HIDDEN, HIDDEN]),
            ("post_attention_layernorm", [HIDDEN]),
            ("mlp.gate_proj", [INNER, HIDDEN]),
            ("mlp.up_proj", [INNER, HIDDEN]),
            ("mlp.down_proj", [HIDDEN, INNER]),
        ):
            out[f"{name}{part}.weight"] = shape
    return out | {"model.norm.weight": [HIDDEN], "lm_head.weight": [VOCABULARY, HIDDEN]}


def stored(value, dtype):
    bits = struct.pack("<f", value)
    return bits[2:] if dtype == "bf16" else bits


def write(folder, dtype, tokens):
    random.seed(7)
    os.makedirs(folder, exist_ok=True)
    size, header, at = 2 if dtype == "bf16" else 4, {}, 0
    for name, shape in shapes().items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": dtype.upper(), "shape": shape, "data_offsets": [at, at + count * size]}
        at += count * size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    normal = b"".join(stored(random.gauss(0, 0.02), dtype) for _ in range(1 << 20))
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for shape in shapes().values():
            if len(shape) == 1:
                file.write(stored(1.0, dtype) * shape[0])
                continue
            for _ in range(shape[0]):
                start = random.randrange(len(normal) // size - shape[1]) * size
                file.write(normal[start : start + shape[1] * size])
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
                   "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS, "vocab_size": VOCABULARY,
                   "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
                   "tie_word_embeddings": False}, file)
    with open(os.path.join(folder, "tokens.txt"), "w") as file:
        file.write("\n".join(str(random.randrange(VOCABULARY)) for _ in range(tokens)) + "\n")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in ("bf16", "f32"):
        sys.exit(__doc__)
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 2048)
