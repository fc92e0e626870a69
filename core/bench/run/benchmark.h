// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The benchmark: ask, check, then time in turns. A wrong answer is never timed; a backend that is absent, declines,
// crashes or hangs is a row with its reason, and the others go on.

#include "core/bench/run/bench_row.h"
#include "core/bench/run/shapes.h"

namespace qs {

struct BenchmarkRun {
    std::vector<BenchmarkRow> rows;
    std::vector<MeasuredRoof> roofs;
    std::vector<ModelPassRow> passes; ///< per token sums, when the plan has a model
    std::vector<std::pair<std::string, std::string>> provenance;
    double seconds = 0;
};

/// Of rows whose run was cancelled: the machine, and that rows are missing.
std::vector<std::pair<std::string, std::string>> incompleteProvenance();

/// `onRow` sees each row once, when nothing in it will change any more, from the calling thread. A cancelled job is an
/// error; the rows handed out before remain true.
Result<BenchmarkRun> runBenchmark(const BenchmarkPlan& plan, const Job& job,
                                  const std::function<void(const BenchmarkRow&)>& onRow = {});

} // namespace qs
