// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/busy_rows.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {

std::optional<BenchmarkPlan> busyPart(const BenchmarkPlan& plan, std::span<const BenchmarkRow> rows) {
    const auto busy = [&](const auto& matches) {
        return std::ranges::any_of(rows, [&](const auto& row) { return row.timing.busy && matches(row); });
    };
    if (!busy([](const auto&) { return true; })) return std::nullopt;
    BenchmarkPlan part = plan;
    std::erase_if(part.backends, [&](const BackendSource& source) {
        return !source.baseline && !busy([&](const auto& row) { return row.question.backend == source.id; });
    });
    std::erase_if(part.specs, [&](const auto& spec) {
        return !busy([&](const auto& row) { return row.question.spec == spec.first; });
    });
    std::erase_if(part.shapes, [&](const BenchShape& shape) {
        return !busy([&](const auto& row) {
            const auto* op = findBenchOp(row.question.op);
            return row.question.n == shape.n && row.question.k == shape.k &&
                   (row.question.m == shape.m || !(op && op->product));
        });
    });
    std::erase_if(part.caches, [&](CacheState cache) {
        return !busy([&](const auto& row) { return row.question.cache == cache; });
    });
    return part;
}

std::size_t replaceBusy(BenchmarkRun& run, const BenchmarkRun& again, std::span<const ModelShape> shapes) {
    std::size_t replaced = 0;
    for (auto& row : run.rows) {
        if (!row.timing.busy) continue;
        const auto fresh = std::ranges::find_if(again.rows, [&](const auto& one) {
            return one.timing.medianNs && !one.timing.busy && rowKey(one) == rowKey(row);
        });
        if (fresh == again.rows.end()) continue;
        row = *fresh;
        ++replaced;
    }
    for (const auto& roof : again.roofs) {
        const auto known = std::ranges::find_if(run.roofs, [&](const auto& one) {
            return one.backend == roof.backend && one.device == roof.device && one.kind == roof.kind;
        });
        if (known == run.roofs.end())
            run.roofs.push_back(roof);
        else if (roof.perSecond > known->perSecond)
            *known = roof;
    }
    if (!run.passes.empty()) run.passes = modelPasses(shapes, run.rows);
    run.seconds += again.seconds;
    if (replaced)
        run.provenance.emplace_back("timed_again",
                                    fmt::format("{} rows that had been timed on a busy machine", replaced));
    return replaced;
}

} // namespace qs
