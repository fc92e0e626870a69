#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a Llama network with random weights for the benchmarks of `eval`: config.json, model.safetensors and tokens.txt.

    make_network.py OUT bf16|f32 [TOKENS]    1.1 billion parameters of TinyLlama's shapes; TOKENS random ids (default 2048)
    make_network.py OUT mixture|fused        two layers of Qwen3-30B-A3B's shapes in bf16, 1.3 billion parameters; `fused`: all experts
                                             of a layer in one tensor
    make_network.py OUT.gguf f32 [LAYERS]    the dense one, or its first LAYERS of 22 layers, as GGUF without a tokenizer

Weights are normal with a standard deviation of 0.02, norms are 1. 2^20 different values are used; each row starts at another of them.
"""
import json
import math
import os
import random
import struct
import sys

HIDDEN, INNER, LAYERS, HEADS, KEY_HEADS, VOCABULARY, CONTEXT = 2048, 5632, 22, 32, 4, 32000, 2048
KEYS = HIDDEN // HEADS * KEY_HEADS


def shapes(layers=LAYERS):
    out = {"model.embed_tokens.weight": [VOCABULARY, HIDDEN]}
    for layer in range(layers):
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


def write_values(file, shape, normal, one):
    """One tensor: a norm of ones, or a matrix whose rows begin at random places of `normal`."""
    size = len(one)
    if len(shape) == 1:
        file.write(one * shape[0])
        return
    for _ in range(math.prod(shape[:-1])):
        start = random.randrange(len(normal) // size - shape[-1]) * size
        file.write(normal[start : start + shape[-1] * size])


GGUF_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "model.layers.": "blk.",
              "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
              "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
              "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def write_gguf(path, layers):
    """GGUF version 3, all tensors f32, alignment 32; every size here is a multiple of it."""
    random.seed(7)

    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def key(name, kind, value):
        return text(name) + struct.pack("<I", kind) + value

    count, real, word = (lambda v: (4, struct.pack("<I", v))), (lambda v: (6, struct.pack("<f", v))), (lambda v: (8, text(v)))
    keys = {"general.architecture": word("llama"), "general.name": word("random weights"), "llama.context_length": count(CONTEXT),
            "llama.embedding_length": count(HIDDEN), "llama.block_count": count(layers), "llama.feed_forward_length": count(INNER),
            "llama.attention.head_count": count(HEADS), "llama.attention.head_count_kv": count(KEY_HEADS),
            "llama.attention.layer_norm_rms_epsilon": real(1e-5), "llama.rope.dimension_count": count(HIDDEN // HEADS),
            "llama.vocab_size": count(VOCABULARY), "tokenizer.ggml.model": word("no_vocab")}
    header = b"GGUF" + struct.pack("<IQQ", 3, len(shapes(layers)), len(keys))
    header += b"".join(key(name, *value) for name, value in keys.items())
    at = 0
    for name, shape in shapes(layers).items():
        for long, short in GGUF_NAMES.items():
            name = name.replace(long, short)
        header += text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", n) for n in reversed(shape))
        header += struct.pack("<IQ", 0, at)
        at += 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
    normal = b"".join(stored(random.gauss(0, 0.02), "f32") for _ in range(1 << 20))
    with open(path, "wb") as file:
        file.write(header + b"\0" * (-len(header) % 32))
        for shape in shapes(layers).values():
            write_values(file, shape, normal, stored(1.0, "f32"))


EXPERTS, OF_EXPERT, HEAD = 128, 768, 128


def mixture_shapes(fused):
    keys, out = KEY_HEADS * HEAD, {"model.embed_tokens.weight": [VOCABULARY, HIDDEN]}
    for layer in range(2):
        parts = {"input_layernorm": [HIDDEN], "self_attn.q_proj": [HEADS * HEAD, HIDDEN], "self_attn.k_proj": [keys, HIDDEN],
                 "self_attn.v_proj": [keys, HIDDEN], "self_attn.o_proj": [HIDDEN, HEADS * HEAD], "self_attn.q_norm": [HEAD],
                 "self_attn.k_norm": [HEAD], "post_attention_layernorm": [HIDDEN], "mlp.gate": [EXPERTS, HIDDEN]}
        for expert in range(0 if fused else EXPERTS):
            parts |= {f"mlp.experts.{expert}.{name}_proj": [OF_EXPERT, HIDDEN] for name in ("gate", "up")}
            parts[f"mlp.experts.{expert}.down_proj"] = [HIDDEN, OF_EXPERT]
        out |= {f"model.layers.{layer}.{part}.weight": shape for part, shape in parts.items()}
        if fused:
            out[f"model.layers.{layer}.mlp.experts.gate_up_proj"] = [EXPERTS, 2 * OF_EXPERT, HIDDEN]
            out[f"model.layers.{layer}.mlp.experts.down_proj"] = [EXPERTS, HIDDEN, OF_EXPERT]
    return out | {"model.norm.weight": [HIDDEN], "lm_head.weight": [VOCABULARY, HIDDEN]}


CONFIG = {"model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
          "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS, "vocab_size": VOCABULARY,
          "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
          "tie_word_embeddings": False}
MIXTURE = CONFIG | {"model_type": "qwen3_moe", "num_hidden_layers": 2, "head_dim": HEAD, "num_experts": EXPERTS,
                    "num_experts_per_tok": 8, "moe_intermediate_size": OF_EXPERT, "norm_topk_prob": True, "decoder_sparse_step": 1}


def write(folder, dtype, tokens, tensors, config):
    random.seed(7)
    os.makedirs(folder, exist_ok=True)
    size, header, at = 2 if dtype == "bf16" else 4, {}, 0
    for name, shape in tensors.items():
        count = math.prod(shape)
        header[name] = {"dtype": dtype.upper(), "shape": shape, "data_offsets": [at, at + count * size]}
        at += count * size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    normal = b"".join(stored(random.gauss(0, 0.02), dtype) for _ in range(1 << 20))
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for shape in tensors.values():
            write_values(file, shape, normal, stored(1.0, dtype))
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    with open(os.path.join(folder, "tokens.txt"), "w") as file:
        file.write("\n".join(str(random.randrange(VOCABULARY)) for _ in range(tokens)) + "\n")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in ("bf16", "f32", "mixture", "fused"):
        sys.exit(__doc__)
    number = int(sys.argv[3]) if len(sys.argv) > 3 else None
    if sys.argv[1].endswith(".gguf"):
        if sys.argv[2] != "f32":
            sys.exit(__doc__)
        write_gguf(sys.argv[1], number or LAYERS)
    elif sys.argv[2] in ("mixture", "fused"):
        write(sys.argv[1], "bf16", number or 2048, mixture_shapes(sys.argv[2] == "fused"), MIXTURE)
    else:
        write(sys.argv[1], sys.argv[2], number or 2048, shapes(), CONFIG)
