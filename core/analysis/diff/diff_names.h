// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One name for a tensor that ecosystems call differently: that of GGUF.

#include "core/model/model.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

/// "blk.3.attn_q.weight" of "model.layers.3.self_attn.q_proj.weight", "transformer.h.3.attn.q.weight",
/// "/model/layers.3/attn/q_proj/MatMul.weight" and of itself. A role that is not known keeps its words.
std::string canonicalTensorName(std::string_view name);

/// Roles that are parts of a fused one, in the order of its rows: attn_qkv is attn_q, attn_k, attn_v.
struct FusedRole {
    std::string_view fused;
    std::vector<std::string_view> parts;
};
const std::vector<FusedRole>& fusedRoles();
/// The name with its role exchanged, or "": it has another one.
std::string withRole(const std::string& canonical, std::string_view role, std::string_view other);

} // namespace qs
