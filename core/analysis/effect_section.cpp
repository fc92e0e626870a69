// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/effect_section.h"

#include "core/analysis/proxy_trust.h"

#include <algorithm>

namespace qs {
namespace {

/// Figures that are not of the weights alone.
bool isOfOutput(const Metric& metric) { return metric.onOutput || (metric.proxy && !metric.isOfWeights); }

/// Plots of the first figure that exists. A measured figure comes before an estimated one.
std::vector<Plot> effectPlots(const AnalysisPlan& plan, const RowsBySpec& specs) {
    for (const bool measured : {true, false})
        for (const Metric& metric : metrics())
            if (isOfOutput(metric) && metric.onOutput == measured)
                if (auto plots = rankings(plan, specs, metric); !plots.empty()) return plots;
    return {};
}

std::vector<ProxyTrust> trustsOf(const std::vector<AnalysisRow>& rows) {
    std::vector<ProxyTrust> out;
    for (const Metric& metric : metrics())
        if (auto trust = proxyTrust(metric, rows)) out.push_back(std::move(*trust));
    return out;
}

Table trustTable(const RowsBySpec& specs) {
    constexpr auto none = Direction::None;
    Table table{"Trust in proxies",
                {{"spec", "Spec", "", Show::Code, 0, none, "What the tensors were quantized as"},
                 {"proxy", "Proxy", "", Show::Text, 0, none, "A figure that is not of the model's output"},
                 {"measured", "Measured", "", Show::Text, 0, none, "A figure of the model's output"},
                 {"tau", "Kendall's tau", "", Show::Fixed, 2, Direction::HigherIsBetter, "1: the same order"},
                 {"tau_low", "from", "", Show::Fixed, 2, none, "Lower end of its 95 % interval"},
                 {"tau_high", "to", "", Show::Fixed, 2, none, "Upper end of it"},
                 {"items", "Tensors", "", Show::Integer, 0, none, "That have both figures"},
                 {"misjudged", "Misjudged most", "", Show::Text, 0, none, "Whose order is wrong most often"}},
                {}};
    for (const auto& rows : specs)
        for (const ProxyTrust& trust : trustsOf(rows)) {
            std::string names;
            for (const auto& name : trust.misjudged) names += (names.empty() ? "" : ", ") + name;
            const RankAgreement& a = trust.agreement;
            table.rows.push_back({rows.front()->specAsTyped, std::string(trust.proxy->title),
                                  std::string(trust.measured->title), a.tau, a.low, a.high, std::int64_t(a.items),
                                  names.empty() ? "none" : names});
        }
    return table;
}

} // namespace

std::optional<Section> effectSection(const AnalysisPlan& plan, const RowsBySpec& specs, const Table& data) {
    std::vector<std::string_view> ids = {"tensor", "spec"};
    for (const Metric& metric : metrics()) {
        const auto has = [&](const AnalysisRow& row) { return bool(metric.value(*row)); };
        const auto any = [&](const auto& rows) { return std::ranges::any_of(rows, has); };
        if (!isOfOutput(metric) || std::ranges::none_of(specs, any)) continue;
        ids.push_back(metric.id);
        for (const auto& column : data.columns)
            if (metric.error && column.id == metric.id + std::string("_se")) ids.push_back(column.id);
    }
    if (ids.size() == 2) return {};
    ids.push_back("nmse");
    Section section;
    section.title = "Effect on the output", section.brief = true;
    section.text =
        "What single tensors do to the model's output, as it was measured on a text, and how far proxies rank "
        "them in the same order. Two tensors differ where the difference is well above both errors.";
    section.plots = effectPlots(plan, specs);
    section.tables = {withColumns(data, ids)};
    if (auto trust = trustTable(specs); !trust.rows.empty()) section.tables.push_back(std::move(trust));
    return section;
}

} // namespace qs
