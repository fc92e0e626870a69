// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Figures of evaluations as fields of kept texts.

#include "core/eval/scores/score_summary.h"
#include "core/session/kept_json.h"

namespace qs {
namespace eval { // the lists of fields must stand in the namespace of their structures

template<class Io> void fields(Io& io, Estimate& one) {
    io("mean", one.mean);
    io("independent", one.independent);
    io("by_chunk", one.byChunk);
}
template<class Io> void fields(Io& io, ScoreSummary& summary) {
    io("tokens", summary.tokens);
    io("not_finite", summary.notFinite);
    io("chunks", summary.chunks);
    io("kld", summary.divergence);
    io("median", summary.medianDivergence);
    io("p90", summary.divergence90);
    io("p95", summary.divergence95);
    io("p99", summary.divergence99);
    io("p99_9", summary.divergence999);
    io("max", summary.largestDivergence);
    io("ppl_reference", summary.referencePerplexity);
    io("ppl", summary.perplexity);
    io("ln_ppl_ratio", summary.nllChange);
    io("same_top", summary.sameTop);
    io("dp", summary.probabilityChange);
    io("rms_dp", summary.probabilityChangeRms);
}

} // namespace eval

namespace kept {

inline bool isEstimate(const eval::Estimate& one) {
    return std::isfinite(one.mean) && isMeasure(one.independent) && isMeasure(one.byChunk);
}
/// The values that exist.
inline bool areEstimates(std::initializer_list<const std::optional<eval::Estimate>*> all) {
    for (const auto* one : all)
        if (*one && !isEstimate(**one)) return false;
    return true;
}
inline bool isSummary(const eval::ScoreSummary& summary) {
    for (const double one : {summary.medianDivergence, summary.divergence90, summary.divergence95, summary.divergence99,
                             summary.divergence999, summary.largestDivergence, summary.referencePerplexity,
                             summary.perplexity, summary.probabilityChangeRms})
        if (!std::isfinite(one)) return false;
    return isEstimate(summary.divergence) && isEstimate(summary.nllChange) && isEstimate(summary.sameTop) &&
           isEstimate(summary.probabilityChange);
}

} // namespace kept
} // namespace qs
