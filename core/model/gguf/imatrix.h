// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// llama.cpp's importance matrices of before GGUF (those in GGUF are GGUF files): i32 entries | per entry: i32 length,
// name, i32 calls, i32 columns, f32[columns] | what nobody needs: i32 chunks, i32 length, name of the text.
// A column's number is the sum over calls of E[x^2]. Format: llama.cpp tools/imatrix, save_imatrix_legacy.

#include "core/model/model.h"
#include "core/model/read_bytes.h"

namespace qs {

/// Two tensors an entry, called as in GGUF: NAME.in_sum2, F32 [columns], and NAME.counts, I32 [1]. `path` only names
/// the place in errors.
Result<std::vector<TensorInfo>> parseImatrix(std::uint64_t fileSize, const ReadBytes& read, const std::string& path);
/// The format has no magic number: a count, and an entry that can be one.
bool looksLikeImatrix(std::span<const std::byte> head);
Result<std::shared_ptr<Model>> openImatrix(const std::string& path);

/// "blk.0.attn_q.weight" for "model.layers.0.self_attn.q_proj.weight": names of the Llama family; "" for others.
std::string ggufNameOf(std::string_view huggingFaceName);

} // namespace qs
