// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/kept_sensitivity.h"

#include "core/session/kept_json.h"
#include "core/session/kept_scores.h"

namespace qs {
namespace kept {
namespace {

struct SensitivityKept {
    std::vector<eval::SensitivityRow> rows;
    std::vector<eval::Additivity> additivity;
    std::optional<std::size_t> chunks; ///< that all were measured on; none: of an earlier version, which did not say
};

} // namespace
} // namespace kept

namespace eval { // where the fields are looked for

template<class Io> static void fields(Io& io, SensitivityRow& row) {
    io("tensor", row.unit);
    io("layer", row.layer);
    io("role", row.role);
    io("spec", row.spec);
    io("how", row.how);
    io("nmse", row.nmse);
    io("kl", row.divergence);
    io("gain", row.gain);
    io("kl_max", row.largestDivergence);
    io("top1", row.sameTop);
    io("dlnppl", row.nllChange);
    io("slope", row.slope);
    io("bend", row.bend);
    io("predicted", row.predicted);
    io("output_nmse", row.outputNmse);
    io("weighted_nmse", row.weightedNmse);
    io("tokens", row.tokens);
    io("not_finite", row.notFinite);
    io("reason", row.reason);
}
template<class Io> static void fields(Io& io, Additivity& sum) {
    io("spec", sum.spec);
    io("how", sum.how);
    io("units", sum.units);
    io("missing", sum.missing);
    io("sum", sum.sum);
    io("all", sum.all);
    io("floor", sum.floor);
    io("ratio", sum.ratio);
    io("reason", sum.reason);
}

} // namespace eval

namespace kept {

template<class Io> static void fields(Io& io, SensitivityKept& all) {
    io("rows", all.rows);
    io("additivity", all.additivity);
    io("chunks", all.chunks);
}

} // namespace kept

std::string keptSensitivity(const eval::Sensitivity& known) {
    kept::SensitivityKept all{{}, known.additivity, known.chunks};
    for (const auto& row : known.rows)
        if (row.isTensor) all.rows.push_back(row);
    return kept::textOf(all);
}

Result<eval::Sensitivity> sensitivityKept(const std::string& text) {
    auto all = kept::fromText<kept::SensitivityKept>(text);
    if (!all) return fail("the kept effects of tensors are damaged: " + all.error());
    for (const auto& row : all->rows) {
        const bool figures = kept::areEstimates({&row.divergence, &row.gain, &row.nllChange, &row.slope, &row.predicted,
                                                 &row.outputNmse, &row.weightedNmse});
        if (!figures || !kept::areWords({&row.unit, &row.role, &row.spec, &row.how, &row.reason}))
            return fail("the kept effects of tensors are damaged: figures of a tensor");
    }
    for (const auto& sum : all->additivity)
        if (!kept::areEstimates({&sum.all}) || !kept::areWords({&sum.spec, &sum.how, &sum.reason}))
            return fail("the kept effects of tensors are damaged: a sum");
    eval::Sensitivity out;
    out.rows = std::move(all->rows), out.additivity = std::move(all->additivity);
    out.chunks = all->chunks.value_or(0);
    return out;
}

} // namespace qs
