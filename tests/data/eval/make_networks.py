#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes small networks with random weights, and what transformers computes with them.

    python3 make_networks.py [FAMILY ...]

Each folder beside this script is a checkpoint of one family in BF16, tokens.npy (int32) and logits.npy (float32, [tokens,
vocabulary]). Of an encoder it is embeddings.npy (float32, [chunks, hidden]) instead: means over chunks of 10 tokens, the last
of 4, of the last hidden states. The logits are computed in float32 from the BF16 weights. Random numbers made the weights, so nobody has
rights to them. Made with torch 2 and transformers 5.
"""

import json
import pathlib
import sys

import numpy as np
import torch
import transformers as tf

TOKENS, VOCABULARY, CHUNK = 24, 96, 10
COMMON = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)

LLAMA3_ROPE = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                   original_max_position_embeddings=16, rope_theta=10000.0)

LONG_ROPE = dict(rope_type="longrope", short_factor=[1.0, 1.25, 1.5, 2.0], long_factor=[2.0, 3.0, 5.0, 8.0],
                 rope_theta=10000.0)

FAMILIES = {
    "llama": lambda: tf.LlamaConfig(**COMMON, head_dim=16),
    "llama3_tied": lambda: tf.LlamaConfig(**COMMON, tie_word_embeddings=True, rope_parameters=LLAMA3_ROPE),
    "mistral": lambda: tf.MistralConfig(**COMMON, sliding_window=7),
    "qwen2": lambda: tf.Qwen2Config(**COMMON),
    "qwen3": lambda: tf.Qwen3Config(**COMMON, head_dim=16),
    "smollm3": lambda: tf.SmolLM3Config(**{**COMMON, "num_hidden_layers": 5}),
    "olmo2": lambda: tf.Olmo2Config(**COMMON),
    "phi3": lambda: tf.Phi3Config(**COMMON, sliding_window=9),
    "phi3_long": lambda: tf.Phi3Config(**{**COMMON, "num_hidden_layers": 2}, original_max_position_embeddings=32,
                                       rope_parameters=LONG_ROPE),
    "phi3_longer": lambda: tf.Phi3Config(**{**COMMON, "num_hidden_layers": 2}, original_max_position_embeddings=16,
                                         rope_parameters=LONG_ROPE),
    # Language models beside a part for pictures, under both prefixes that files have.
    "gemma3_vision": lambda: tf.Gemma3Config(
        text_config=dict(**COMMON, head_dim=16, sliding_window=7, query_pre_attn_scalar=24),
        vision_config=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=8,
                           patch_size=4), mm_tokens_per_image=4, image_token_index=3, boi_token_index=4, eoi_token_index=5),
    "llava_vision": lambda: tf.LlavaConfig(
        text_config=tf.LlamaConfig(**COMMON), image_token_index=3,
        vision_config=tf.CLIPVisionConfig(hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
                                          image_size=8, patch_size=4, projection_dim=16)),
    "gemma": lambda: tf.GemmaConfig(**COMMON, head_dim=16),
    "gemma2": lambda: tf.Gemma2Config(**COMMON, head_dim=16, sliding_window=7, query_pre_attn_scalar=24),
    "gemma3": lambda: tf.Gemma3TextConfig(**{**COMMON, "num_hidden_layers": 7}, head_dim=16, sliding_window=7,
                                          query_pre_attn_scalar=24),
    "mixtral": lambda: tf.MixtralConfig(**COMMON, num_local_experts=4, num_experts_per_tok=2),
    "qwen3_moe": lambda: tf.Qwen3MoeConfig(**COMMON, head_dim=16, num_experts=6, num_experts_per_tok=3,
                                           moe_intermediate_size=16, norm_topk_prob=True),
    "qwen3_moe_fused": lambda: tf.Qwen3MoeConfig(**{**COMMON, "num_hidden_layers": 4}, head_dim=16, num_experts=4,
                                                 num_experts_per_tok=2, moe_intermediate_size=16,
                                                 decoder_sparse_step=2, mlp_only_layers=[1], norm_topk_prob=False),
    "bert": lambda: tf.BertConfig(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=3,
                                  num_attention_heads=4, max_position_embeddings=64, pad_token_id=0),
    "gpt2": lambda: tf.GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=3, n_head=4, n_positions=64,
                                  bos_token_id=1, eos_token_id=2),
}


def make(family, folder):
    torch.manual_seed(20260101 + sum(map(ord, family)))
    config = FAMILIES[family]()
    config._attn_implementation = "eager"
    kind = tf.AutoModel if family == "bert" else \
        tf.AutoModelForImageTextToText if family.endswith("_vision") else tf.AutoModelForCausalLM
    model = kind.from_config(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            is_norm = "norm" in name.lower() or ".ln_" in name
            if is_norm and weight.dim() == 1 and not name.endswith("bias"):
                weight.copy_(weight + 0.2 * torch.randn_like(weight))
            elif name.endswith("bias"):
                weight.copy_(0.3 * torch.randn_like(weight))
            else:
                weight.copy_(torch.randn_like(weight) * (1.0 if "embed" in name or "wte" in name else 0.25))
    model.to(torch.bfloat16)
    # All experts as one tensor, as transformers holds them, or a tensor for each, as most files have them.
    model.save_pretrained(folder, save_original_format=not family.endswith("_fused") and family != "llava_vision")
    (folder / "generation_config.json").unlink(missing_ok=True)
    config = json.loads((folder / "config.json").read_text())
    config.pop("transformers_version", None)
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    tokens = torch.randint(6 if family.endswith("_vision") else 3, VOCABULARY, (1, TOKENS), generator=torch.Generator().manual_seed(7))
    exact = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    np.save(folder / "tokens.npy", tokens[0].numpy().astype(np.int32))
    if family == "bert":
        with torch.no_grad():
            means = [exact(tokens[:, at:at + CHUNK]).last_hidden_state[0].mean(0) for at in range(0, TOKENS, CHUNK)]
        np.save(folder / "embeddings.npy", torch.stack(means).numpy())
        return
    with torch.no_grad():
        logits = exact(tokens).logits[0].numpy()
    np.save(folder / "logits.npy", logits.astype(np.float32))
    print(f"{family}: logits from {logits.min():.3f} to {logits.max():.3f}")


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    for family in sys.argv[1:] or FAMILIES:
        make(family, here / family)
