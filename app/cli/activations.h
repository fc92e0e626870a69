// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Options --activations and --share-codebook: extra input for learned codebooks and for solvers.

#include "app/cli/selection.h"
#include "core/solve/codebooks.h"

namespace qs::cli {

struct Learning {
    std::string activations, share = "tensor";
    std::shared_ptr<const Model> file; ///< Calibration inputs; null if synthetic or not given
    bool synthetic() const { return activations == "synthetic"; }
    void declare(CLI::App& app);
    /// Checks the options and opens the file. It is an error if nothing uses the inputs. Users are: a learned codebook
    /// in `specs`, a solver, or the error columns (`measured`).
    Result<void> prepare(std::span<const QuantSpec> specs, bool solver, bool measured = false);
    bool hasEffect() const { return !activations.empty() || share != "tensor"; }
    Result<solve::Codebooks> codebooks(const Model& model, std::span<const TensorInfo* const> tensors,
                                       const QuantSpec& spec, const Job& job) const;
};

} // namespace qs::cli
