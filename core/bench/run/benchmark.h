// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The benchmark: asks, checks, then times in turns. A wrong variant is never timed. A backend that is absent, declines,
// crashes or hangs gives a row with its reason, and the others continue.

#include "core/bench/run/bench_row.h"
#include "core/bench/run/shapes.h"

namespace qs {

struct BenchmarkRun {
    std::vector<BenchmarkRow> rows;
    std::vector<MeasuredRoof> roofs;
    std::vector<ModelPassRow> passes; ///< sums per token, if the plan has a model
    std::vector<std::pair<std::string, std::string>> provenance;
    double seconds = 0;
};

/// Provenance of rows of a cancelled run: the machine, and that rows are missing.
std::vector<std::pair<std::string, std::string>> incompleteProvenance();

/// `onRow` gets each row once, in its final state, on the calling thread. A cancelled job is an error; rows given
/// before remain valid.
Result<BenchmarkRun> runBenchmark(const BenchmarkPlan& plan, const Job& job,
                                  const std::function<void(const BenchmarkRow&)>& onRow = {});

} // namespace qs
