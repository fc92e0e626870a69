// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// llama.cpp's importance matrices in the format before GGUF: i32 number of entries | per entry: i32 length, name, i32
// calls, i32 columns, f32[columns] | i32 chunks, i32 length, name of the text (these are not read).
// Value of a column of x: the sum of E[x^2] over all calls. Source: llama.cpp, tools/imatrix, save_imatrix_legacy.
// Newer importance matrices are GGUF files.

#include "core/model/model.h"
#include "core/model/read_bytes.h"

namespace qs {

/// Each entry becomes two tensors, with the names that GGUF files use: NAME.in_sum2, F32 [columns], and NAME.counts,
/// I32 [1]. `path` is used only in messages.
Result<std::vector<TensorInfo>> parseImatrix(std::uint64_t fileSize, const ReadBytes& read, const std::string& path);
/// True if the file can be an importance matrix. There is no magic number; a count and a plausible first entry are
/// checked.
bool looksLikeImatrix(std::span<const std::byte> head);
Result<std::shared_ptr<Model>> openImatrix(const std::string& path);

/// The place in GGUF files of a tensor of the Llama, Phi-3, GPT-2, Mixtral and Qwen3-MoE families.
struct GgufPlace {
    std::string name; ///< "blk.0.attn_q.weight" for "model.layers.0.self_attn.q_proj.weight"; "" for unknown names
    int expert = -1;  ///< number of the expert, if the GGUF tensor holds all experts; -1: no expert, or all of them
};
GgufPlace ggufPlaceOf(std::string_view huggingFaceName);
std::string ggufNameOf(std::string_view huggingFaceName); ///< its name

} // namespace qs
