// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The list of tensors of a small Llama, without values: recipes ask for names and shapes alone.

#include "core/model/file_set.h"
#include "core/recipes/convert.h"

#include <memory>

namespace qs::test {

inline void addTensor(Model& model, std::string name, std::vector<std::int64_t> shape) {
    TensorInfo info;
    info.name = std::move(name), info.dtype = DType::BF16, info.elements = 1;
    for (const auto size : shape) info.elements *= std::uint64_t(size);
    info.shape = shape, info.bytes = 2 * info.elements;
    model.tensors.push_back(std::move(info));
}

/// Twelve layers, so that 1 and 11 are two of them; rows of down_proj are 544 columns.
inline std::shared_ptr<const Model> llama(int layers = 12) {
    auto model = std::make_shared<Model>();
    model->path = model->title = "llama";
    for (int i = 0; i < layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i) + ".";
        for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"})
            addTensor(*model, layer + name + ".weight", {256, 256});
        for (const char* name : {"mlp.gate_proj", "mlp.up_proj"})
            addTensor(*model, layer + name + ".weight", {544, 256});
        addTensor(*model, layer + "mlp.down_proj.weight", {256, 544});
        addTensor(*model, layer + "input_layernorm.weight", {256});
    }
    addTensor(*model, "model.embed_tokens.weight", {512, 256});
    addTensor(*model, "lm_head.weight", {512, 256});
    sortByName(*model);
    assignRoles(*model);
    return model;
}

/// The spec of a tensor by a recipe, as text; "": there is no such tensor.
inline std::string specOf(const ResolvedRecipe& resolved, const std::string& tensor) {
    for (const ResolvedTensor& row : resolved.tensors)
        if (row.tensor->name == tensor) return askedText(row.spec, row.problem);
    return {};
}
/// Whether two texts of askedText() mean the same, whatever the order and spelling of the keys.
inline bool meansSame(const std::string& a, const std::string& b) {
    const auto x = parseSpec(a), y = parseSpec(b);
    return x && y ? canonicalText(*x) == canonicalText(*y) : a == b;
}
inline std::string ruleOf(const ResolvedRecipe& resolved, const std::string& tensor) {
    for (const ResolvedTensor& row : resolved.tensors)
        if (row.tensor->name == tensor) return row.matchedBy;
    return {};
}

} // namespace qs::test
