// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares a run with an earlier one that was written as JSON.

#include "core/bench/run/bench_row.h"

namespace qs {

/// The fields of an earlier row that a comparison needs.
struct BaselineRow {
    std::string key;                ///< rowKey()
    std::vector<std::string> parts; ///< rowParts()
    std::string status;
    std::optional<double> medianNs, nmse;
    std::optional<Interval> ciNs;
    std::optional<Interval> roundsNs; ///< roundInterval(); computed from the samples of older files
    std::optional<double> probeRead, probeF32;
    std::size_t samples = 0;
};
struct BenchBaseline {
    std::vector<BaselineRow> rows;
    /// The same rows as values, as far as the file tells: question, variant, status, median with its interval, busy.
    std::vector<BenchmarkRow> asRows;
    std::vector<MeasuredRoof> roofs;
    std::vector<std::pair<std::string, std::string>> provenance; ///< only entries that are text
};
Result<BenchBaseline> readBenchBaseline(const std::string& path);
Result<BenchBaseline> parseBenchBaseline(std::string_view json, const std::string& path);

struct ComparedRow {
    std::string key;                        ///< rowKey()
    std::vector<std::string> parts;         ///< rowParts()
    std::string oldStatus, status;          ///< empty: the row is not in that run
    std::optional<double> oldNs, ns, ratio; ///< ratio: old time / new time; above 1 is faster now
    /// range of the ratio by the rounds of both runs and the drift of the machine
    std::optional<Interval> ratioRange;
    std::optional<Interval> drift; ///< how much faster the machine itself was now, by its probes or roofs
    std::optional<double> oldNmse, nmse;
    std::string verdict; ///< "faster", "slower", "within noise", "no interval", "only now", "only before", "was wrong"
};
/// A change is reported only if it is larger than the spread of rounds in both runs and the drift of the machine
/// between them. What limits a variant is not known, so that the range covers a machine that did not drift, drifted as
/// its memory did, as its arithmetic did, or as the f32 product of another library in the same turns. `roofs` of this
/// run are used for rows without probes.
std::vector<ComparedRow> compareRuns(const BenchBaseline& before, std::span<const BenchmarkRow> rows,
                                     std::span<const MeasuredRoof> roofs = {});
const Columns<ComparedRow>& comparedColumns();

} // namespace qs
