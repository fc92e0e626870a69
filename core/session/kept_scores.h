// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Figures of an evaluation in a session file.

#include "core/eval/scores/score_summary.h"
#include "core/session/kept_json.h"

namespace qs::eval { // where the fields are looked for

template<class Io> void fields(Io& io, Estimate& one) {
    io("mean", one.mean);
    io("independent", one.independent);
    io("by_chunk", one.byChunk);
}

} // namespace qs::eval

namespace qs::kept {

inline bool isEstimate(const eval::Estimate& one) {
    return std::isfinite(one.mean) && isMeasure(one.independent) && isMeasure(one.byChunk);
}
/// Those that are there.
inline bool areEstimates(std::initializer_list<const std::optional<eval::Estimate>*> all) {
    for (const auto* one : all)
        if (*one && !isEstimate(**one)) return false;
    return true;
}

} // namespace qs::kept
