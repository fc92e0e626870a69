// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Layers of committed checkpoints whose convention can be taken from them, so that only the user can say it.

#include "made_layer.h"

struct WithoutProof {
    const char *title, *folder, *layer;
    const char* itself;       ///< the convention by which it was written
    const char* another = ""; ///< one that fits too; "": none must
    Layer made() const {
        Layer out = layerOf(folder, layer);
        out.config.clear();
        std::erase_if(out.fields, [](const Stored& field) { return field.name.endsWith(".comfy_quant"); });
        return out;
    }
};
inline constexpr WithoutProof kWithoutProof[] = {
    {"ComfyUI mxfp8", "comfy_kinds", "blocks.3.proj.weight", "comfyui-mxfp8"},
    {"ComfyUI int8", "comfy_kinds", "blocks.5.proj.weight", "comfyui-int8", "compressed-tensors"},
    {"ComfyUI int8, rotated", "comfy_kinds", "blocks.7.proj.weight", "comfyui-int8-rotated", "comfyui-int8"},
    {"ComfyUI nvfp4 of whole tiles", "comfy_metadata", "blocks.1.proj.weight", "comfyui-nvfp4", "modelopt-nvfp4"},
    {"ModelOpt nvfp4", "modelopt_nvfp4", "model.layers.0.mlp.down_proj.weight", "modelopt-nvfp4"},
    {"GPTQ", "gptq_v1", "model.layers.2.self_attn.q_proj.weight", "gptq", "gptq-v2"},
    {"compressed-tensors int8", "ct_groups", "model.layers.0.self_attn.q_proj.weight", "compressed-tensors",
     "comfyui-int8"}};
