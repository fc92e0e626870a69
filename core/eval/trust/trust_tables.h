// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the trust meter compares: tensors under one spec, and specs over one text.

#include "core/eval/files/imports/imported_columns.h"
#include "core/eval/sensitivity/sensitivity_row.h"
#include "core/eval/trust/trust.h"

#include <span>

namespace qs::eval {

/// Whether its KL is that of this unit alone, and not what is left without it.
bool isAlone(const SensitivityRow& row);

/// Tensors under `spec`, of rows of any ways to measure. Proxies: NMSE, weighted NMSE, layer output NMSE, the prediction
/// of the slope, and what was imported; measured: KL alone and the gain of sparing. A figure that no tensor has is left
/// out.
TrustTable tensorTrust(std::span<const SensitivityRow> rows, const std::string& spec,
                       std::span<const ImportedColumn> imported = {});

/// What is known of the weights under a spec, as proxies of what it does to the output.
struct SpecProxies {
    std::string spec;
    std::optional<double> bitsPerWeight, nmse;      ///< over all weights
    std::optional<double> weightedNmse, outputNmse; ///< means over tensors
};
/// Specs that are in both lists; figures of whole models that were imported are proxies too. Measured: mean KL, tokens
/// with another top, ln of the ratio of perplexities.
TrustTable specTrust(std::span<const SpecProxies> proxies, std::span<const EvaluationRow> rows,
                     std::span<const ImportedColumn> imported = {});

/// A table for each spec that rows of tensors have.
std::vector<TrustTable> tensorTrusts(std::span<const SensitivityRow> rows,
                                     std::span<const ImportedColumn> imported = {});

} // namespace qs::eval
