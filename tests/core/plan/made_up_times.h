// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Rows of a benchmark with invented times.

#include "core/bench/run/bench_row.h"

#include <string>
#include <vector>

namespace plantest {

inline qs::BenchmarkRow timedRow(const std::string& backend, const std::string& spec, std::int64_t m, std::int64_t n,
                                 std::int64_t k, double ns) {
    qs::BenchmarkRow row;
    row.question.backend = backend, row.question.device = backend + ":0", row.question.spec = spec;
    row.question.op = qs::benchOps().front().id, row.question.act = qs::benchActs().front().id;
    row.question.m = m, row.question.n = n, row.question.k = k;
    row.answer.variant.id = "made_up";
    row.verdict.status = qs::RowState::Ok;
    row.timing.medianNs = ns, row.timing.ciNs = qs::Interval{0.99 * ns, 1.01 * ns};
    return row;
}

/// Every shape of the model: `perWeight` nanoseconds a weight, so that sums are known.
inline void addTimes(std::vector<qs::BenchmarkRow>& rows,
                     const std::vector<std::pair<std::int64_t, std::int64_t>>& shapes, const std::string& backend,
                     const std::string& spec, std::int64_t m, double perWeight) {
    for (const auto& [n, k] : shapes)
        rows.push_back(timedRow(backend, spec, m, n, k, perWeight * double(n) * double(k)));
}

} // namespace plantest
