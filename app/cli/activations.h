// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// --activations and --share-codebook: what learned codebooks and solvers know beside the weights.

#include "app/cli/selection.h"
#include "core/solve/codebooks.h"

namespace qs::cli {

struct Learning {
    std::string activations, share = "tensor";
    std::shared_ptr<const Model> file; ///< null: synthetic, or none asked for
    bool synthetic() const { return activations == "synthetic"; }
    void declare(CLI::App& app);
    /// Opens the file; `specs` must have a use for what was asked, unless a solver has, or errors are `measured` on it.
    Result<void> prepare(std::span<const QuantSpec> specs, bool solver, bool measured = false);
    bool hasEffect() const { return !activations.empty() || share != "tensor"; }
    Result<solve::Codebooks> codebooks(const Model& model, std::span<const TensorInfo* const> tensors,
                                       const QuantSpec& spec, const Job& job) const;
};

} // namespace qs::cli
