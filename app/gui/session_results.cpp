// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session_results.h"

#include "app/gui/spec_edit.h"
#include "core/base/lists.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::gui {
namespace {

struct Column {
    const char* id;
    double (*get)(const TensorAnalysis&);
    void (*set)(TensorAnalysis&, double);
};

#define QS_FIELD(id, field)                                                                                            \
    Column {                                                                                                           \
        id, [](const TensorAnalysis& t) { return double(t.field); },                                                   \
            [](TensorAnalysis& t, double v) { t.field = decltype(t.field)(v); }                                        \
    }
const Column kColumns[] = {
    QS_FIELD("elements", elements),
    QS_FIELD("bytes_before", bytesBefore),
    QS_FIELD("bytes_after", bytesAfter),
    QS_FIELD("bpw", bpw),
    QS_FIELD("n", sums.n),
    QS_FIELD("sum_e", sums.se),
    QS_FIELD("sum_e2", sums.se2),
    QS_FIELD("sum_abs_e", sums.sae),
    QS_FIELD("sum_w2", sums.sw2),
    QS_FIELD("sum_wv", sums.swv),
    QS_FIELD("sum_v2", sums.sv2),
    QS_FIELD("max_abs_e", sums.maxAbs),
    QS_FIELD("clipped", sums.clipped),
    QS_FIELD("zeros", sums.zeros),
    QS_FIELD("sign_flips", sums.signFlips),
    QS_FIELD("nan", nan),
    QS_FIELD("inf", inf),
    QS_FIELD("p50", p50),
    QS_FIELD("p95", p95),
    QS_FIELD("p99", p99),
    {"lloyd_gap_db", [](const TensorAnalysis& t) { return t.lloydGapDb.value_or(std::nan("")); },
     [](TensorAnalysis& t, double v) {
         if (!std::isnan(v)) t.lloydGapDb = v;
     }},
};
#undef QS_FIELD

/// Checks values from a file before they are converted to counts: they must be finite and not negative.
bool isPossible(const TensorAnalysis& was, std::span<const double> values) {
    for (std::size_t c = 0; c + 1 < std::size(kColumns); ++c)
        if (!std::isfinite(values[c]) || std::fabs(values[c]) > 1e300) return false;
    const auto isCount = [](double v) { return v >= 0 && v < 9e15; };
    for (const std::size_t c : {0, 1, 2, 12, 13, 14, 15, 16})
        if (!isCount(values[c])) return false;
    return values[0] == double(was.elements) && std::fabs(values[11]) <= double(std::numeric_limits<float>::max());
}

} // namespace

SessionResults resultsOf(const QuantSpec& spec, const ModelRows& rows, std::size_t weights) {
    SessionResults results;
    results.spec = specText(spec);
    results.metrics = idsOf(kColumns);
    for (std::size_t i = 0; i < weights; ++i) {
        const auto row = rows.at(i);
        if (!row || row->status != Status::Ok || row->decodedAs != DType::F32) continue;
        results.tensors.push_back(row->tensor);
        for (const auto& column : kColumns) results.values.push_back(column.get(*row));
    }
    return results;
}

std::vector<AnalysisRow> rowsOf(const SessionResults& results, const Model& model) {
    std::vector<AnalysisRow> rows;
    const auto spec = savedSpec(results.spec);
    const auto ids = idsOf(kColumns);
    if (!spec || results.metrics != ids) return rows;
    for (std::size_t i = 0; i < results.tensors.size(); ++i) {
        const auto* tensor = model.find(results.tensors[i]);
        if (!tensor) continue;
        auto row = std::make_shared<TensorAnalysis>();
        row->tensor = tensor->name;
        row->dtype = tensor->dtype;
        row->shape = tensor->shape;
        row->elements = tensor->elements;
        row->spec = *spec;
        row->specAsTyped = specText(*spec);
        const std::span values(results.values.data() + i * ids.size(), ids.size());
        if (!isPossible(*row, values)) continue;
        for (std::size_t c = 0; c < ids.size(); ++c) kColumns[c].set(*row, values[c]);
        rows.push_back(std::move(row));
    }
    return rows;
}

} // namespace qs::gui
