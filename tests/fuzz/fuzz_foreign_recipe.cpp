// SPDX-License-Identifier: GPL-3.0-or-later
// Any text must give a recipe of some program or an error of one sentence. A recipe is resolved for a small model, in
// bounded time, and written in every format that can say it.
#include "core/recipes/convert.h"

#include <cstdlib>

namespace {

const qs::Model& smallModel() {
    static const qs::Model model = [] {
        qs::Model out;
        for (const char* name : {"lm_head.weight", "model.layers.0.mlp.down_proj.weight",
                                 "model.layers.0.self_attn.q_proj.weight", "model.layers.1.mlp.down_proj.weight"}) {
            qs::TensorInfo info;
            info.name = name, info.dtype = qs::DType::BF16, info.elements = 64 * 64, info.bytes = 2 * 64 * 64;
            info.shape = std::vector<std::int64_t>{64, 64};
            out.tensors.push_back(std::move(info));
        }
        return out;
    }();
    return model;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto recipe = qs::parseForeignRecipe(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    if (!recipe) {
        if (recipe.error().message.empty()) std::abort();
        return 0;
    }
    if (recipe->rules.size() > 200) return 0;
    const auto resolved = qs::resolveRecipe(*recipe, smallModel());
    if (!resolved && resolved.error().message.empty()) std::abort();
    if (!resolved) return 0;
    if (resolved->tensors.size() != smallModel().tensors.size()) std::abort();
    for (const qs::RecipeFormat* to : qs::recipeFormats())
        if (const auto written = qs::convertRecipe(*recipe, *to, &smallModel());
            !written && written.error().message.empty())
            std::abort();
    return 0;
}
