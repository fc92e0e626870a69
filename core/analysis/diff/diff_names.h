// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Maps tensor names of different ecosystems to one canonical name, the one that GGUF uses.

#include "core/model/model.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

/// The name of one matrix of a tensor that holds those of several experts: "NAME[3]".
std::string nameOfExpert(std::string_view tensor, std::int64_t expert);
/// "NAME" for "NAME[3]"; nullopt for other names.
std::optional<std::string_view> tensorOfExpert(std::string_view name);

/// The canonical name: "blk.3.attn_q.weight" for "model.layers.3.self_attn.q_proj.weight",
/// "transformer.h.3.attn.q.weight", "/model/layers.3/attn/q_proj/MatMul.weight" and itself. Words of an unknown role
/// are kept. The matrix of an expert has the same name in all forms: "blk.3.expert.5.ffn_up.weight".
std::string canonicalTensorName(std::string_view name);

/// A role whose tensor combines others, in the order of its rows: attn_qkv is attn_q, attn_k, attn_v.
struct FusedRole {
    std::string_view fused;
    std::vector<std::string_view> parts;
};
const std::vector<FusedRole>& fusedRoles();
/// The canonical name with `role` replaced by `other`; "" if the name has another role.
std::string withRole(const std::string& canonical, std::string_view role, std::string_view other);

} // namespace qs
