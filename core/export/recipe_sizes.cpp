// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/recipe_sizes.h"

#include "core/export/export_plan.h"
#include "core/layouts/taken_tensors.h"

#include <algorithm>

namespace qs {

const Layout& countedLayout(const Model& model, const TensorInfo* example, std::span<const QuantSpec> specs) {
    if (const Layout* first = specs.empty() ? nullptr : followedLayout(model, specs.front()))
        if (std::ranges::all_of(specs, [&](const QuantSpec& spec) { return followedLayout(model, spec) == first; }))
            return *first;
    const auto all = layouts();
    if (!example) return all.front();
    const auto taken = [&](const Layout& layout) {
        return std::ranges::count_if(
            specs, [&](const QuantSpec& spec) { return layout.accepts(spec, example->shape).has_value(); });
    };
    return *std::ranges::max_element(all, [&](const Layout& a, const Layout& b) { return taken(a) < taken(b); });
}

Result<RecipeSizes> recipeSizes(const Model& model, const Recipe& recipe, const Layout& layout, const Job& job) {
    RecipeSizes out;
    out.layout = &layout;
    out.bytes.reserve(model.tensors.size());
    QuantizeRequest request;
    request.layout = layout.id, request.skipRefused = true;
    recipe.applyTo(request);
    const auto done = eachPlanned(
        model, request,
        [&](const PlannedTensor& row) {
            out.bytes.push_back(row.bytes);
            out.all += row.bytes;
        },
        job);
    return done ? Result<RecipeSizes>(std::move(out)) : tl::unexpected(done.error());
}

std::optional<std::uint64_t> tensorBytes(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                         const Layout& layout) {
    QuantizeRequest request;
    request.layout = layout.id, request.spec = spec, request.skipRefused = true;
    std::optional<std::uint64_t> out;
    const auto take = [&](const PlannedTensor& row) {
        if (row.becomes == Becomes::Quantized) out = row.bytes;
    };
    const auto done = eachPlanned(model, request, take, Job(), &tensor);
    return done ? out : std::nullopt;
}

} // namespace qs
