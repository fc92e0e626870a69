// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/tensor_arrangement.h"
#include "core/model/derived_tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::gui {
namespace {

constexpr double kNoRow = std::numeric_limits<double>::quiet_NaN();

bool flagged(const TensorAnalysis& row) {
    return row.status != Status::Ok || row.nan || row.inf || !row.warnings.empty() || row.isLarger() ||
           (row.statistics && row.statistics->outlierChannels + row.statistics->outlierColumns > 0);
}

double metricOf(const AnalysisRow& row, const Metric* metric) {
    return row && metric && row->status == Status::Ok ? metric->value(*row).value_or(kNoRow) : kNoRow;
}

void sortBy(std::vector<int>::iterator begin, std::vector<int>::iterator end, const std::vector<double>& keys,
            bool descending) {
    std::stable_sort(begin, end, [&](int a, int b) {
        const double x = keys[std::size_t(a)], y = keys[std::size_t(b)];
        if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
        return descending ? x > y : x < y;
    });
}

} // namespace

double sortKey(const TensorInfo& tensor, const AnalysisRow& row, const Metric* metric, ArrangementWish::Key key) {
    switch (key) {
    case ArrangementWish::ByBytes: return double(storedBytes(tensor));
    case ArrangementWish::ByBpw: return row && row->status == Status::Ok ? row->bpw : kNoRow;
    case ArrangementWish::ByMetric: return metricOf(row, metric);
    case ArrangementWish::ByFlags: return row ? double(flagsOf(row, false).size()) : 0;
    case ArrangementWish::ByName: break;
    }
    return kNoRow;
}

QString flagsOf(const AnalysisRow& row, bool sentence) {
    if (!row || !flagged(*row)) return {};
    if (row->status != Status::Ok)
        return sentence ? QString::fromStdString(row->reason) : QString::fromLatin1(statusId(row->status));
    QStringList flags;
    if (row->nan) flags << (sentence ? QStringLiteral("%1 NaN").arg(row->nan) : QStringLiteral("NaN"));
    if (row->inf) flags << (sentence ? QStringLiteral("%1 Inf").arg(row->inf) : QStringLiteral("Inf"));
    if (row->statistics && row->statistics->outlierChannels > 0)
        flags << (sentence ? QStringLiteral("%1 outlier rows").arg(row->statistics->outlierChannels)
                           : QStringLiteral("outlier rows"));
    if (row->statistics && row->statistics->outlierColumns > 0)
        flags << (sentence ? QStringLiteral("%1 outlier columns").arg(row->statistics->outlierColumns)
                           : QStringLiteral("outlier columns"));
    if (row->isLarger())
        flags << (sentence
                      ? QString::fromStdString(row->larger.empty() ? "stores more bits than the source" : row->larger)
                      : QStringLiteral("larger than the source"));
    if (!row->warnings.empty()) {
        if (sentence)
            for (const auto& warning : row->warnings) flags << QString::fromStdString(warning);
        else
            flags << QStringLiteral("warning");
    }
    return flags.join(QStringLiteral(", "));
}

TensorArrangement arrange(const Model& model, const TensorOutline& outline, const ModelRows& rows, const Metric* metric,
                          const ArrangementWish& wish, const Job& job) {
    TensorArrangement out;
    out.flat = wish.flat;
    out.isList = wish.flat || outline.groups.empty();
    const auto count = outline.count;
    std::vector<bool> taken(count, true);
    if (!wish.filter.pattern().isEmpty())
        for (std::size_t i = 0; i < count && !job.cancelled(); ++i)
            taken[i] = wish.filter.match(TensorOutline::name(model.tensors[i])).hasMatch();

    std::vector<double> keys;
    if (wish.key != ArrangementWish::ByName)
        for (std::size_t i = 0; i < count && !job.cancelled(); ++i)
            keys.push_back(sortKey(model.tensors[i], rows.at(std::size_t(outline.weightOf(int(i)))), metric, wish.key));
    if (job.cancelled()) return {};
    const auto order = [&](std::vector<int>::iterator begin, std::vector<int>::iterator end) {
        if (!keys.empty())
            sortBy(begin, end, keys, wish.descending);
        else if (wish.descending)
            std::reverse(begin, end);
    };

    out.tensors.reserve(std::size_t(std::count(taken.begin(), taken.end(), true)));
    if (out.isList) {
        for (std::size_t i = 0; i < count; ++i)
            if (taken[i]) out.tensors.push_back(int(i));
        order(out.tensors.begin(), out.tensors.end());
    } else {
        const auto all = outline.order.size();
        out.rowOf.assign(all, -1);
        for (std::size_t i = 0; i < all; ++i) {
            const auto row = keys.empty() && wish.descending ? all - 1 - i : i;
            const int what = outline.order[row];
            const auto begin = out.tensors.size();
            if (what < 0) {
                for (const int tensor : outline.groups[std::size_t(~what)].tensors)
                    if (taken[std::size_t(tensor)]) out.tensors.push_back(tensor);
            } else if (taken[std::size_t(what)])
                out.tensors.push_back(what);
            if (out.tensors.size() == begin) continue;
            order(out.tensors.begin() + std::ptrdiff_t(begin), out.tensors.end());
            out.rowOf[row] = int(out.rows.size());
            out.rows.push_back(int(row));
            out.begin.push_back(int(begin));
        }
        out.begin.push_back(int(out.tensors.size()));
    }
    out.shown = int(out.tensors.size());
    if (out.tensors.size() == count && std::ranges::is_sorted(out.tensors)) return out;
    out.placeOf.assign(count, -1);
    for (std::size_t i = 0; i < out.tensors.size(); ++i) out.placeOf[std::size_t(out.tensors[i])] = int(i);
    return out;
}

TensorSurvey survey(const ModelRows& rows, std::size_t weights, const Metric* metric, const Job& job) {
    TensorSurvey out;
    for (std::size_t i = 0; i < weights && !job.cancelled(); ++i) {
        const auto& row = rows.at(i);
        if (!row) continue;
        out.anyFlags = out.anyFlags || flagged(*row);
        const double value = metricOf(row, metric);
        if (std::isfinite(value)) out.largest = std::max(out.largest, std::abs(value));
    }
    return out;
}

} // namespace qs::gui
