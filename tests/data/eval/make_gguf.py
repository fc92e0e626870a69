#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the networks beside this script as GGUF files, with the names and the order that llama.cpp's converter gives.

    python3 make_gguf.py [NETWORK ...]

gguf/NETWORK.gguf holds the weights of NETWORK/model.safetensors. A GGUF file cannot say all that a config.json says: where
its network is another one, gguf/NETWORK.npy holds the logits that transformers computes for it in float32, else those of
NETWORK/logits.npy hold. Names come from the gguf package; the order of rows and the keys from llama.cpp's conversion
scripts (conversion/llama.py, gemma.py, gpt2.py, phi.py, qwen.py). Made with gguf 0.19, torch 2 and transformers 5.
"""

import json
import math
import pathlib
import sys

import gguf
import numpy as np
import torch
import transformers as tf
from safetensors import safe_open

HERE = pathlib.Path(__file__).parent
LINEAR = dict(full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1e6),
              sliding_attention=dict(rope_type="default", rope_theta=1e4))

# Network: its architecture in GGUF, and what differs from its config.json there.
NETWORKS = {
    "llama": ("llama", {}),
    "llama3_tied": ("llama", {}),
    "mistral": ("llama", {"sliding_window": None}),
    "mixtral": ("llama", {}),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", {}),
    "qwen3_moe": ("qwen3moe", {}),
    "smollm3": ("smollm3", {}),
    "olmo2": ("olmo2", {}),
    "phi3": ("phi3", {"sliding_window": None}),
    "phi3_long": ("phi3", {}),
    "phi3_longer": ("phi3", {}),
    "gemma": ("gemma", {}),
    "gemma2": ("gemma2", {"query_pre_attn_scalar": 16}),
    "gemma3": ("gemma3", {"query_pre_attn_scalar": 16, "rope_parameters": LINEAR}),
    "gpt2": ("gpt2", {}),
    "bert": ("bert", {}),
}
FUSED_QKV, FUSED_EXPERTS = {"qwen2", "llama3_tied"}, {"qwen3_moe"}


def pairs_as_neighbours(weight, heads):
    """Rows of queries or keys in the order of architecture llama: pairs (i, i + half) of a head become neighbours."""
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def tensors_of(network, arch, config):
    """(name in GGUF, float32 values)"""
    with safe_open(HERE / network / "model.safetensors", "pt") as file:
        weights = {name: file.get_tensor(name).float() for name in file.keys()}
    if network == "gpt2":
        weights = {name.removeprefix("transformer."): weight for name, weight in weights.items()}
    names = gguf.get_tensor_name_map(next(k for k, v in gguf.MODEL_ARCH_NAMES.items() if v == arch),
                                     config.get("num_hidden_layers") or config["n_layer"])
    out, experts = {}, {}
    for name, weight in weights.items():
        if name.startswith("pooler."):
            continue
        if ".experts." in name:
            before, rest = name.split(".experts.")
            number, part = rest.split(".", 1)
            experts.setdefault(f"{before}.experts.{part}", {})[int(number)] = weight
            continue
        if arch in ("llama", "smollm3") and ("q_proj" in name or "k_proj" in name):
            heads = config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"]
            weight = pairs_as_neighbours(weight, heads)
        if arch.startswith("gemma") and name.endswith("norm.weight"):
            weight = weight + 1
        if arch == "gpt2" and weight.dim() == 2 and "wte" not in name and "wpe" not in name:
            weight = weight.T
        out[names.get_name(name, (".weight", ".bias"))] = weight
    for name, each in experts.items():
        out[names.get_name(name, (".weight",))] = torch.stack([each[i] for i in sorted(each)])
    if network in FUSED_QKV:
        fuse(out, ("attn_q", "attn_k", "attn_v"), "attn_qkv", 0)
    if network in FUSED_EXPERTS:
        fuse(out, ("ffn_gate_exps", "ffn_up_exps"), "ffn_gate_up_exps", 1)
    return out


def fuse(tensors, parts, whole, axis):
    for name in [name for name in tensors if f".{parts[0]}." in name]:
        pieces = [tensors.pop(name.replace(parts[0], part)) for part in parts]
        tensors[name.replace(parts[0], whole)] = torch.cat(pieces, axis)


def rope_divisors(config):
    """What llama.cpp's converter stores for Llama 3."""
    rope, size = config["rope_parameters"], config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    out = []
    for i in range(0, size, 2):
        frequency = 1 / rope["rope_theta"]**(i / size)
        wave = 2 * math.pi / frequency
        low = rope["original_max_position_embeddings"] / rope["low_freq_factor"]
        high = rope["original_max_position_embeddings"] / rope["high_freq_factor"]
        smooth = (rope["original_max_position_embeddings"] / wave - rope["low_freq_factor"]) / (
            rope["high_freq_factor"] - rope["low_freq_factor"])
        out.append(1 if wave < high else rope["factor"] if wave > low else 1 / ((1 - smooth) / rope["factor"] + smooth))
    return torch.tensor(out)


def write_keys(writer, arch, config):
    get = lambda *keys: next(config[key] for key in keys if config.get(key) is not None)
    heads, hidden = get("num_attention_heads", "n_head"), get("hidden_size", "n_embd")
    writer.add_block_count(get("num_hidden_layers", "n_layer"))
    writer.add_context_length(get("max_position_embeddings", "n_positions"))
    writer.add_embedding_length(hidden)
    writer.add_head_count(heads)
    if arch == "gpt2":
        writer.add_feed_forward_length(4 * hidden)
        writer.add_layer_norm_eps(config["layer_norm_epsilon"])
        return
    if arch == "bert":
        writer.add_feed_forward_length(config["intermediate_size"])
        writer.add_layer_norm_eps(config["layer_norm_eps"])
        writer.add_causal_attention(False)
        writer.add_pooling_type(gguf.PoolingType.MEAN)
        return
    size = config.get("head_dim") or hidden // heads
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    if config.get("head_dim"):
        writer.add_key_length(size)
        writer.add_value_length(size)
    writer.add_vocab_size(config["vocab_size"])
    rope = config["rope_parameters"]
    writer.add_rope_freq_base(rope.get("full_attention", rope)["rope_theta"])
    if not arch.startswith("gemma") and arch != "qwen3":
        writer.add_rope_dimension_count(int(size * rope.get("partial_rotary_factor", 1)))
    if rope.get("full_attention", {}).get("rope_type") == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["full_attention"]["factor"])
    if arch == "phi3":
        original = config.get("original_max_position_embeddings") or config["max_position_embeddings"]
        writer.add_rope_scaling_orig_ctx_len(original)
        if rope["rope_type"] == "longrope":
            ratio = config["max_position_embeddings"] / original
            writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(ratio) / math.log(original)))
        writer.add_sliding_window(config.get("sliding_window") or 0)
    if arch in ("gemma2", "gemma3"):
        writer.add_sliding_window(config["sliding_window"])
    if arch == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if config.get("num_local_experts"):
        writer.add_expert_count(config["num_local_experts"])
        writer.add_expert_used_count(config["num_experts_per_tok"])
    if config.get("moe_intermediate_size"):
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])


def write(network):
    arch, changes = NETWORKS[network]
    config = json.loads((HERE / network / "config.json").read_text())
    path = HERE / "gguf" / f"{network}.gguf"
    path.parent.mkdir(exist_ok=True)
    writer = gguf.GGUFWriter(path, arch)
    config.update(changes)
    write_keys(writer, arch, config)
    tensors = tensors_of(network, arch, config)
    rope = config.get("rope_parameters", {})
    if rope.get("rope_type") == "llama3":
        tensors["rope_freqs.weight"] = rope_divisors(config)
    if rope.get("rope_type") == "longrope":
        tensors["rope_factors_short.weight"] = torch.tensor(rope["short_factor"])
        tensors["rope_factors_long.weight"] = torch.tensor(rope["long_factor"])
    for name, values in tensors.items():
        if values.dim() == 1 or "norm" in name:
            writer.add_tensor(name, values.numpy().astype(np.float32))
        else:
            bits = values.to(torch.bfloat16).contiguous().view(torch.int16).numpy()
            writer.add_tensor(name, bits.view(np.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if changes:
        save_logits(network, changes)


def save_logits(network, changes):
    config = tf.AutoConfig.from_pretrained(HERE / network)
    for key, value in changes.items():
        setattr(config, key, value)
    model = tf.AutoModelForCausalLM.from_pretrained(HERE / network, config=config, dtype=torch.float32,
                                                    attn_implementation="eager").eval()
    tokens = torch.tensor(np.load(HERE / network / "tokens.npy"), dtype=torch.int64)[None]
    with torch.no_grad():
        np.save(HERE / "gguf" / f"{network}.npy", model(tokens).logits[0].numpy())


if __name__ == "__main__":
    for network in sys.argv[1:] or NETWORKS:
        write(network)
