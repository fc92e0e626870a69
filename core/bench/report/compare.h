// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A run against an earlier one that was written as JSON.

#include "core/bench/run/bench_row.h"

namespace qs {

/// What an earlier run says of a row; only what a comparison needs.
struct BaselineRow {
    std::string key;                ///< rowKey()
    std::vector<std::string> parts; ///< rowParts()
    std::string status;
    std::optional<double> medianNs, nmse;
    std::optional<Interval> ciNs;
    std::optional<Interval> roundsNs; ///< roundInterval(); of older files from the samples
    std::optional<double> probeRead, probeF32;
    std::size_t samples = 0;
};
struct BenchBaseline {
    std::vector<BaselineRow> rows;
    std::vector<MeasuredRoof> roofs;
    std::vector<std::pair<std::string, std::string>> provenance; ///< texts only
};
Result<BenchBaseline> readBenchBaseline(const std::string& path);
Result<BenchBaseline> parseBenchBaseline(std::string_view json, const std::string& path);

struct ComparedRow {
    std::string key;                        ///< rowKey()
    std::vector<std::string> parts;         ///< rowParts()
    std::string oldStatus, status;          ///< empty: not in that run
    std::optional<double> oldNs, ns, ratio; ///< ratio: old time / new time, above 1 is faster now
    std::optional<Interval> ratioRange;     ///< where it lies by the rounds of both runs and by the machine's drift
    std::optional<Interval> drift;          ///< how much faster the machine itself was now, by its probes or roofs
    std::optional<double> oldNmse, nmse;
    std::string verdict; ///< "faster", "slower", "within noise", "no interval", "only now", "only before", "was wrong"
};
/// A change is named only when it is larger than what both runs show of their own: the spread of their rounds, and the
/// machine's drift from run to run. As nobody knows what binds a variant, the range holds for a machine that drifted
/// not at all, as its memory did, as its arithmetic did, or as the f32 product of another library in the same turns.
/// `roofs` of this run stand in where a row has no probes.
std::vector<ComparedRow> compareRuns(const BenchBaseline& before, std::span<const BenchmarkRow> rows,
                                     std::span<const MeasuredRoof> roofs = {});
const Columns<ComparedRow>& comparedColumns();

} // namespace qs
