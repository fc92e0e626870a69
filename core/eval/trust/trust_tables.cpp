// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/trust/trust_tables.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

namespace qs::eval {
namespace {

constexpr const char* kSameTopColumn = "top1"; ///< the one figure of a model that is better when it is larger
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct TensorFigure {
    const char *id, *title;
    bool isMeasured;
    std::optional<double> (*of)(const SensitivityRow&);
};

std::optional<double> meanOf(const std::optional<Estimate>& estimate) {
    return estimate ? std::optional(estimate->mean) : std::nullopt;
}

constexpr TensorFigure kTensorFigures[] = {
    {"nmse", "NMSE", false, [](const SensitivityRow& row) { return row.nmse; }},
    {"weighted_nmse", "Weighted NMSE", false, [](const SensitivityRow& row) { return meanOf(row.weightedNmse); }},
    {"output_nmse", "Layer output NMSE", false, [](const SensitivityRow& row) { return meanOf(row.outputNmse); }},
    {"predicted", "Slope × NMSE", false, [](const SensitivityRow& row) { return meanOf(row.predicted); }},
    {"alone", "KL alone", true,
     [](const SensitivityRow& row) { return isAlone(row) ? meanOf(row.divergence) : std::nullopt; }},
    {"gain", "Gain of sparing", true, [](const SensitivityRow& row) { return meanOf(row.gain); }},
};

bool hasAny(const TrustFigure& figure) {
    return std::ranges::any_of(figure.values, [](double v) { return std::isfinite(v); });
}

/// A spec of another program, "q4_K", as a spec of this one says it; else as it is.
std::string sameSpec(const std::string& text) {
    const std::string canonical = canonicalOfType(text);
    return canonical.empty() ? text : canonical;
}

/// Figures of whole models, one figure for each kind: the larger the worse.
void addWholeModels(std::span<const ImportedColumn> imported, TrustTable& table) {
    std::map<std::string, TrustFigure> figures;
    for (const ImportedColumn& column : imported) {
        if (!column.whole) continue;
        const bool isBetter = column.column == kSameTopColumn;
        auto& figure = figures[column.column];
        figure.id = column.column, figure.title = "Imported " + column.column;
        figure.values.resize(table.items.size(), kNone);
        for (std::size_t i = 0; i < table.items.size(); ++i)
            if (sameSpec(table.items[i]) == sameSpec(column.spec))
                figure.values[i] = isBetter ? -column.whole->mean : column.whole->mean;
    }
    for (auto& [id, figure] : figures)
        if (hasAny(figure)) table.proxies.push_back(std::move(figure));
}

} // namespace

bool isAlone(const SensitivityRow& row) { return row.divergence && !row.gain && row.reason.empty(); }

std::vector<TrustTable> tensorTrusts(std::span<const SensitivityRow> rows, std::span<const ImportedColumn> imported) {
    std::vector<TrustTable> out;
    std::set<std::string> specs;
    for (const SensitivityRow& row : rows)
        if (row.isTensor && !row.spec.empty() && specs.insert(row.spec).second)
            out.push_back(tensorTrust(rows, row.spec, imported));
    return out;
}

TrustTable tensorTrust(std::span<const SensitivityRow> rows, const std::string& spec,
                       std::span<const ImportedColumn> imported) {
    TrustTable table;
    table.of = fmt::format("tensors under {}", spec);
    std::map<std::string, std::size_t> place;
    for (const SensitivityRow& row : rows)
        if (row.isTensor && row.spec == spec && place.emplace(row.unit, table.items.size()).second)
            table.items.push_back(row.unit);
    for (const TensorFigure& kind : kTensorFigures) {
        TrustFigure figure{kind.id, kind.title, std::vector<double>(table.items.size(), kNone)};
        for (const SensitivityRow& row : rows) {
            if (!row.isTensor || row.spec != spec) continue;
            if (const auto value = kind.of(row)) figure.values[place[row.unit]] = *value;
        }
        if (hasAny(figure)) (kind.isMeasured ? table.measured : table.proxies).push_back(std::move(figure));
    }
    for (const ImportedColumn& column : imported) {
        TrustFigure figure{column.column, "Imported " + column.title(), {}};
        for (const std::string& tensor : table.items) {
            const auto found = column.tensors.find(tensor);
            figure.values.push_back(found == column.tensors.end() ? kNone : found->second);
        }
        if (hasAny(figure)) table.proxies.push_back(std::move(figure));
    }
    return table;
}

TrustTable specTrust(std::span<const SpecProxies> proxies, std::span<const EvaluationRow> rows,
                     std::span<const ImportedColumn> imported) {
    TrustTable table;
    table.of = "specs";
    std::vector<TrustFigure> all = {{"nmse", "NMSE", {}},
                                    {"weighted_nmse", "Weighted NMSE", {}},
                                    {"output_nmse", "Layer output NMSE", {}},
                                    {"bpw", "Fewer bits", {}},
                                    {"kl_mean", "Mean KL", {}},
                                    {"other_top", "Other top token", {}},
                                    {"ln_ppl_ratio", "ln PPL ratio", {}}};
    for (const EvaluationRow& row : rows) {
        const auto proxy = std::ranges::find_if(proxies, [&](const SpecProxies& one) { return one.spec == row.spec; });
        if (proxy == proxies.end() || !row.summary) continue;
        table.items.push_back(row.spec);
        const double values[] = {proxy->nmse.value_or(kNone),       proxy->weightedNmse.value_or(kNone),
                                 proxy->outputNmse.value_or(kNone), -proxy->bitsPerWeight.value_or(kNone),
                                 row.summary->divergence.mean,      1 - row.summary->sameTop.mean,
                                 row.summary->nllChange.mean};
        for (std::size_t i = 0; i < all.size(); ++i) all[i].values.push_back(values[i]);
    }
    constexpr std::size_t kProxies = 4;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (hasAny(all[i])) (i < kProxies ? table.proxies : table.measured).push_back(std::move(all[i]));
    addWholeModels(imported, table);
    return table;
}

} // namespace qs::eval
