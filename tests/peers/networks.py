# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny networks of the families that people quantize, as rows: name, model type of transformers, task, what differs from the sizes of
its kind. Where a program takes a size for granted, the network has it: as many key heads as heads, an inner size of four times the hidden
size, layers up to the first of full attention. make() writes a network as save_pretrained does. Weights are drawn at random, biases too, so that
a lost one shows.
"""
import inspect

import torch

LM, MASKED, SEQ2SEQ, MODEL = "AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoModelForSeq2SeqLM", "AutoModel"
ENCODERS = (MASKED, MODEL)  # llama.cpp says their last hidden states alone
BASE = dict(vocab_size=128, bos_token_id=1, eos_token_id=2, pad_token_id=0)
TEXT = dict(BASE, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
            tie_word_embeddings=False)
ENCODER = dict(BASE, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=130)
IMAGE = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=64)
DEEPSEEK = dict(n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=64, first_k_dense_replace=1, n_group=2, topk_group=1,
                q_lora_rank=32, kv_lora_rank=32, qk_nope_head_dim=32, qk_rope_head_dim=16, v_head_dim=32, num_key_value_heads=4)
GATED_DELTA = dict(linear_conv_kernel_dim=4, linear_key_head_dim=16, linear_value_head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4, head_dim=16)
ODD = dict(hidden_size=80, intermediate_size=112, num_attention_heads=5, num_key_value_heads=1, head_dim=16)
GPT = dict(BASE, n_embd=64, n_layer=2, n_head=4, n_positions=128)

NETWORKS = [
    # decoders
    ("llama", "llama", LM, TEXT),
    ("llama, tied", "llama", LM, dict(TEXT, tie_word_embeddings=True)),
    ("llama, tied, head stored", "llama", LM, dict(TEXT, tie_word_embeddings=True)),
    ("llama, biases, odd sizes", "llama", LM, dict(TEXT, **ODD, attention_bias=True, mlp_bias=True)),
    ("mistral", "mistral", LM, dict(TEXT, head_dim=16)),
    ("qwen2, tied", "qwen2", LM, dict(TEXT, tie_word_embeddings=True)),
    ("qwen3", "qwen3", LM, dict(TEXT, head_dim=16)),
    ("gemma2", "gemma2", LM, dict(TEXT, head_dim=16, tie_word_embeddings=True)),
    ("gemma3", "gemma3_text", LM, dict(TEXT, num_hidden_layers=6, head_dim=16, tie_word_embeddings=True)),
    ("phi", "phi", LM, dict(TEXT, num_key_value_heads=4, intermediate_size=256)),
    ("phi3", "phi3", LM, TEXT),
    ("gpt2", "gpt2", LM, GPT),
    ("gpt_neo", "gpt_neo", LM, dict(BASE, hidden_size=64, num_layers=2, attention_types=[[["global", "local"], 1]], num_heads=4, max_position_embeddings=128)),
    ("gptj", "gptj", LM, dict(GPT, rotary_dim=8, tie_word_embeddings=False)),
    ("gpt_neox", "gpt_neox", LM, dict(TEXT, intermediate_size=256)),
    ("opt", "opt", LM, dict(TEXT, ffn_dim=128, word_embed_proj_dim=64, tie_word_embeddings=True)),
    ("bloom", "bloom", LM, dict(BASE, hidden_size=64, n_layer=2, n_head=4)),
    ("falcon", "falcon", LM, dict(TEXT, new_decoder_architecture=True, num_kv_heads=2, alibi=False)),
    ("mpt", "mpt", LM, dict(BASE, d_model=64, n_layers=2, n_heads=4, expansion_ratio=2, max_seq_len=128)),
    ("starcoder2", "starcoder2", LM, TEXT),
    ("stablelm", "stablelm", LM, dict(TEXT, use_qkv_bias=True)),
    ("olmo2", "olmo2", LM, TEXT),
    ("cohere2", "cohere2", LM, dict(TEXT, num_hidden_layers=4, head_dim=16, tie_word_embeddings=True, logit_scale=1.0)),
    ("granite", "granite", LM, TEXT),
    ("glm4", "glm4", LM, dict(TEXT, head_dim=16)),
    ("smollm3", "smollm3", LM, TEXT),
    # mixtures
    ("mixtral", "mixtral", LM, dict(TEXT, num_local_experts=4, num_experts_per_tok=2)),
    ("qwen2_moe", "qwen2_moe", LM, dict(TEXT, **EXPERTS, shared_expert_intermediate_size=64)),
    ("qwen3_moe", "qwen3_moe", LM, dict(TEXT, **EXPERTS, head_dim=16)),
    ("olmoe", "olmoe", LM, dict(TEXT, num_key_value_heads=4, num_experts=4, num_experts_per_tok=2)),
    ("deepseek_v2", "deepseek_v2", LM, dict(TEXT, **DEEPSEEK)),
    ("deepseek_v3", "deepseek_v3", LM, dict(TEXT, **DEEPSEEK)),
    ("gpt_oss", "gpt_oss", LM, dict(TEXT, head_dim=16, num_local_experts=4, num_experts_per_tok=2)),
    ("granitemoe", "granitemoe", LM, dict(TEXT, num_local_experts=4, num_experts_per_tok=2)),
    ("phimoe", "phimoe", LM, dict(TEXT, num_local_experts=4, num_experts_per_tok=2, attention_bias=True, lm_head_bias=True)),
    # state spaces and convolutions beside attention
    ("mamba", "mamba", LM, dict(BASE, hidden_size=64, num_hidden_layers=2, state_size=16, time_step_rank=32)),
    ("mamba2", "mamba2", LM, dict(BASE, hidden_size=64, num_hidden_layers=2, state_size=16, num_heads=8, head_dim=16, n_groups=2, chunk_size=8)),
    ("qwen3_next", "qwen3_next", LM, dict(TEXT, **EXPERTS, **GATED_DELTA, shared_expert_intermediate_size=64, layer_types=["linear_attention", "full_attention"])),
    ("lfm2", "lfm2", LM, dict(TEXT, tie_word_embeddings=True, block_multiple_of=32, conv_L_cache=3, layer_types=["conv", "full_attention"])),
    # encoders and seq2seq
    ("bert", "bert", MODEL, ENCODER),
    ("bert with its head", "bert", MASKED, ENCODER),
    ("roberta", "roberta", MODEL, ENCODER),
    ("distilbert", "distilbert", MODEL, dict(BASE, dim=64, hidden_dim=128, n_layers=2, n_heads=4, max_position_embeddings=128)),
    ("mpnet", "mpnet", MODEL, ENCODER),
    ("modernbert", "modernbert", MASKED, dict(ENCODER, cls_token_id=1, sep_token_id=2)),
    ("modernbert without its head", "modernbert", MODEL, dict(ENCODER, cls_token_id=1, sep_token_id=2)),
    ("t5", "t5", SEQ2SEQ, dict(BASE, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, decoder_start_token_id=0)),
    ("t5 1.1", "t5", SEQ2SEQ, dict(BASE, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, decoder_start_token_id=0, feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
    ("bart", "bart", SEQ2SEQ, dict(BASE, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128,
                                   decoder_ffn_dim=128, max_position_embeddings=128, decoder_start_token_id=2)),
    ("whisper", "whisper", MODEL, dict(BASE, num_mel_bins=32, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                                       encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=64, max_target_positions=64, decoder_start_token_id=1)),
    # images
    ("vit", "vit", MODEL, IMAGE),
    ("dinov2", "dinov2", MODEL, IMAGE),
    ("clip", "clip", MODEL, dict(text_config=dict(ENCODER, projection_dim=64), vision_config=dict(IMAGE, projection_dim=64), projection_dim=64)),
    ("siglip", "siglip", MODEL, dict(text_config=dict(ENCODER, projection_size=64), vision_config=IMAGE)),
    ("swin", "swin", MODEL, dict(image_size=32, patch_size=4, embed_dim=32, depths=[2, 2], num_heads=[2, 4], window_size=4)),
]


def inputs(model):
    """Arguments of model(), by what the model asks for."""
    draw = torch.Generator().manual_seed(7)
    ids = torch.randint(3, 120, (1, 24), generator=draw)
    names, config, out = inspect.signature(model.forward).parameters, model.config, {}
    if "input_features" in names:
        return dict(input_features=torch.randn(1, config.num_mel_bins, 2 * config.max_source_positions, generator=draw), decoder_input_ids=ids[:, :8])
    if "pixel_values" in names:
        size = getattr(config, "image_size", None) or config.vision_config.image_size
        out["pixel_values"] = torch.randn(1, 3, size, size, generator=draw)
    if "input_ids" in names or "pixel_values" not in names:
        out["input_ids"] = ids
    if config.is_encoder_decoder:
        out["decoder_input_ids"] = ids[:, :8]
    return out


def make(name, folder):
    """Writes the network and returns its row and its inputs."""
    import transformers

    row = next(row for row in NETWORKS if row[0] == name)
    _, kind, task, sizes = row
    torch.manual_seed(0)
    model = getattr(transformers, task).from_config(transformers.AutoConfig.for_model(kind, **sizes)).float().eval()
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for tensor, value in model.named_parameters():
            if "A_log" in tensor or tensor.endswith((".D", "dt_bias", "sinks")):
                continue
            if value.ndim >= 2:
                value.copy_(torch.randn(value.shape, generator=draw) * 0.15)
            elif tensor.endswith("bias"):
                value.add_(torch.randn(value.shape, generator=draw) * 0.1)
            else:
                value.mul_(1 + torch.randn(value.shape, generator=draw) * 0.1)
    model.save_pretrained(folder)
    if name.endswith("head stored"):
        store_head(folder)
    return row, inputs(model)


def store_head(folder):
    """Some programs store the head of a tied network too, with the values of the embedding."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone()
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
