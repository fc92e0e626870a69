// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/activations.h"

#include "core/base/lists.h"
#include "core/quant/codebook/learn.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::cli {

void Learning::declare(CLI::App& app) {
    option(app, "--activations", activations,
           "Calibration inputs: tensors named as the layers, [..., K], or [K] for\n"
           "column weights; an importance matrix of llama.cpp; `synthetic` makes some up")
        .type("F")
        .reads("synthetic");
    option(app, "--share-codebook", share, "Learn a codebook per tensor, per role, or for the model (default: tensor)")
        .oneOf(idsOf(solve::shares()))
        .type("tensor|role|model");
}

Result<void> Learning::prepare(std::span<const QuantSpec> specs, bool solver, bool measured) {
    if (!hasEffect()) return {};
    const bool learned = std::ranges::any_of(specs, [](const auto& spec) { return isLearned(spec); });
    if (!learned && share != "tensor")
        return fail(fmt::format("--share-codebook {} needs a spec that learns one: use codebook:bits=4.", share));
    if (!learned && !solver && !measured)
        return fail(
            "--activations weigh learned codebooks and are what solvers need: use a codebook spec or --solver.");
    if (solver && share != "tensor")
        return fail("a solver learns its codebook from the layer that it solves: leave --share-codebook out.");
    if (synthetic() && !solver && (learned || !measured))
        return fail("synthetic activations say nothing of columns: name a file of inputs.");
    if (activations.empty() || synthetic()) return {};
    auto opened = open(activations);
    if (!opened) return tl::unexpected(opened.error());
    file = std::move(*opened);
    return {};
}

Result<solve::Codebooks> Learning::codebooks(const Model& model, std::span<const TensorInfo* const> tensors,
                                             const QuantSpec& spec, const Job& job) const {
    const auto asked =
        std::find_if(solve::shares().begin(), solve::shares().end(), [&](const auto& row) { return share == row.id; });
    return solve::learnCodebooks(model, tensors, spec, asked->share, file.get(), job);
}

} // namespace qs::cli
