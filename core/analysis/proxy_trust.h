// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A text that stands beside every proxy: how well it ranks the tensors of this model in the same order as their
// measured effect on the output, and which tensors it misjudges.

#include "core/analysis/analysis.h"
#include "core/analysis/rank_agreement.h"

namespace qs {

struct ProxyTrust {
    const Metric* proxy = nullptr;
    const Metric* measured = nullptr; ///< one with Metric::onOutput
    RankAgreement agreement;
    std::vector<std::string> misjudged; ///< names of tensors, the worst first; at most kMostMisjudged
};
constexpr std::size_t kMostMisjudged = 5;

/// `rows`: tensors under one spec; null ones are left out. None where the metric is no proxy with a direction, or fewer
/// than kLeastItems tensors have both figures.
std::optional<ProxyTrust> proxyTrust(const Metric& proxy, std::span<const AnalysisRow> rows);

/// "SQNR ranks 28 tensors as KL alone does with Kendall's tau 0.62 [0.45, 0.75]"; and, `naming`, those that it
/// misjudges.
std::string trustText(const ProxyTrust& trust, bool naming = false);
/// What a proxy is, and how far it can be trusted: sentences. Empty for a metric that is no proxy.
std::string proxyRemark(const Metric& proxy, const std::optional<ProxyTrust>& trust, bool naming = false);
/// The same for rows under several specs, one sentence for each spec.
std::string proxyRemark(const Metric& proxy, std::span<const AnalysisRow> rows, bool naming = false);

} // namespace qs
