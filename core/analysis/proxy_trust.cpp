// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/proxy_trust.h"

#include "core/base/tensor_name.h"

#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::size_t kMostSpecsNamed = 6;

/// The larger the worse; NaN: not measured.
std::vector<double> losses(const Metric& metric, std::span<const AnalysisRow> rows) {
    const double sign = metric.better == Direction::HigherIsBetter ? -1 : 1;
    std::vector<double> out;
    for (const AnalysisRow& row : rows) {
        const auto value = row && row->status == Status::Ok ? metric.value(*row) : std::nullopt;
        out.push_back(value ? sign * *value : std::nan(""));
    }
    return out;
}

std::string whatItIs(const Metric& proxy) {
    return proxy.onOutput || !proxy.proxy ? std::string()
           : proxy.isOfWeights            ? "Weight-space error: a screening proxy, not accuracy."
                                          : fmt::format("{}: an estimate, not measured here.", proxy.title);
}

} // namespace

std::optional<ProxyTrust> proxyTrust(const Metric& proxy, std::span<const AnalysisRow> rows) {
    if (!proxy.proxy || proxy.better == Direction::None) return {};
    const auto guesses = losses(proxy, rows);
    for (const Metric& measured : metrics()) {
        if (!measured.onOutput) continue;
        const auto truth = losses(measured, rows);
        const auto agreement = rankAgreement(guesses, truth);
        if (!agreement) continue;
        ProxyTrust out{&proxy, &measured, *agreement, {}};
        for (const Misjudged& one : misjudged(guesses, truth, kMostMisjudged))
            out.misjudged.push_back(rows[one.item]->tensor);
        return out;
    }
    return {};
}

std::string trustText(const ProxyTrust& trust, bool naming) {
    const RankAgreement& a = trust.agreement;
    std::string text = fmt::format("{} ranks {} tensors as {} does with Kendall's tau {:.2f} [{:.2f}, {:.2f}]",
                                   trust.proxy->title, a.items, trust.measured->title, a.tau, a.low, a.high);
    for (std::size_t i = 0; naming && i < trust.misjudged.size(); ++i)
        text += (i ? ", " : "; it misjudges ") + quotedName(trust.misjudged[i]);
    return text;
}

std::string proxyRemark(const Metric& proxy, const std::optional<ProxyTrust>& trust, bool naming) {
    const std::string what = whatItIs(proxy);
    if (what.empty()) return what;
    return what + " " +
           (trust ? trustText(*trust, naming) + "." : "How far it ranks as the model's output does is not measured.");
}

std::string proxyRemark(const Metric& proxy, std::span<const AnalysisRow> rows, bool naming) {
    std::vector<std::pair<std::string, std::vector<AnalysisRow>>> specs;
    for (const AnalysisRow& row : rows) {
        std::size_t at = 0;
        while (at < specs.size() && specs[at].first != row->specAsTyped) ++at;
        if (at == specs.size()) specs.push_back({row->specAsTyped, {}});
        specs[at].second.push_back(row);
    }
    std::string text;
    for (std::size_t s = 0; s < std::min(specs.size(), kMostSpecsNamed); ++s)
        if (const auto trust = proxyTrust(proxy, specs[s].second))
            text += fmt::format(" Under {} {}.", specs[s].first, trustText(*trust, naming));
    return text.empty() ? proxyRemark(proxy, std::nullopt) : whatItIs(proxy) + text;
}

} // namespace qs
