// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/eval/trust/trust_tables.h"
#include "core/report/report.h"

namespace qs {
class UnitRun;
}

namespace qs::eval {

/// A section on trust in proxies and what was imported, and both as tables for programs. Nothing where there is neither.
void addTrust(const std::vector<TrustRow>& trust, std::span<const ImportedColumn> imported, Report& report);

/// What the weights say of each spec over the matrices of all layers: bits and NMSE. A spec that a matrix refuses has no
/// figures. `units` shares the units, a matrix under a spec; null: all are computed. Errors: those of readNetwork() and
/// NetworkWeights::of(); cancelled.
Result<std::vector<SpecProxies>> specProxies(const std::shared_ptr<const Model>& model,
                                             std::span<const QuantSpec> specs, UnitRun* units, const Job& job);

/// How far figures of the weights, and imported ones, rank specs as the output does. Rows of recipes, of other models and
/// of backends do not count. Nothing without proxies.
std::vector<TrustRow> specTrustRows(std::span<const SpecProxies> proxies, std::vector<EvaluationRow> rows,
                                    std::span<const ImportedColumn> imported);

} // namespace qs::eval
