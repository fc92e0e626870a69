// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/benchmark.h"

#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/bench/run/group.h"
#include "core/bench/run/host.h"
#include "core/report/report.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace qs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMostForRoofs = std::uint64_t(512) << 20; ///< bytes, more than caches hold

/// (N, K) with its Ms: weights are quantized once for all of them.
struct Matrix {
    BenchShape first;
    std::vector<std::int64_t> ms;
};

std::vector<Matrix> matricesOf(const BenchmarkPlan& plan) {
    std::vector<Matrix> out;
    for (const auto& shape : plan.shapes) {
        auto at = std::ranges::find_if(out, [&](const Matrix& m) {
            return m.first.n == shape.n && m.first.k == shape.k && m.first.tensor == shape.tensor;
        });
        if (at == out.end()) at = out.insert(out.end(), Matrix{shape, {}});
        addOnce(at->ms, shape.m);
    }
    return out;
}

std::uint64_t coldBytes(const BenchmarkPlan& plan) {
    // A virtual machine often sees only a part of the cache that it uses.
    constexpr std::uint64_t least = std::uint64_t(256) << 20;
    if (plan.cacheBytes) return 4 * plan.cacheBytes;
    return std::max(least, 4 * lastLevelCacheBytes());
}

/// Checks of a backend that compiles take at most as long as its timing, but at least half a second.
double checkSeconds(const BenchmarkPlan& plan) { return std::clamp(plan.secondsPerRow, 0.5, 4.0); }

std::string planText(const BenchmarkPlan& plan) {
    std::string caches;
    for (const auto cache : plan.caches) caches += (caches.empty() ? "" : ",") + std::string(cacheText(cache));
    return fmt::format("{} s a row, {} threads, cache {}, activations {}, operations {}{}{}", plan.secondsPerRow,
                       plan.threads ? std::to_string(plan.threads) : "all", caches, fmt::join(plan.acts, ","),
                       fmt::join(plan.ops, ","), plan.bias ? ", bias" : "",
                       plan.memoryBytes ? ", at most " + bytesText(plan.memoryBytes) + " of memory" : "");
}

class Runner {
public:
    Runner(const BenchmarkPlan& plan, const Job& job, const std::function<void(const BenchmarkRow&)>& onRow)
        : plan_(plan), job_(job), onRow_(onRow), state_{plan, job, {}, {}, {checkSeconds(plan)}, 0, 0, {}, {}} {
        state_.coldBytes = coldBytes(plan);
        const std::uint64_t memory = availableMemory();
        state_.memoryBytes = memory ? memory / 2 : std::uint64_t(2) << 30;
        if (plan.memoryBytes) {
            const std::uint64_t roofs = std::min(plan.memoryBytes / 4, kMostForRoofs);
            state_.roofs.limitMemory(roofs);
            state_.memoryBytes = std::min(state_.memoryBytes, plan.memoryBytes - roofs);
        }
        state_.emit = [this](BenchmarkRow row) {
            run_.rows.push_back(std::move(row));
            if (onRow_) onRow_(run_.rows.back());
        };
        state_.progress = [this](double share, const std::string& what) {
            job_.progress({groupsDone_ + share, groups_, what, run_.rows.size(), 0});
        };
    }

    Result<BenchmarkRun> run() {
        const auto start = Clock::now();
        if (auto fine = checkPlan(plan_); !fine) return tl::unexpected(fine.error());
        for (const auto& source : plan_.backends) {
            if (job_.cancelled()) return cancelledError();
            job_.progress({0, 0, "Opening " + source.id, 0, 0});
            state_.backends.push_back(openForBenchmark(plan_, source, job_));
        }
        const auto matrices = matricesOf(plan_);
        for (const auto& op : plan_.ops)
            for (const auto& matrix : matrices)
                groups_ += findBenchOp(op)->product ? double(matrix.ms.size() * plan_.acts.size()) : 1;
        for (const auto& op : plan_.ops)
            for (const auto& matrix : matrices)
                if (auto done = measure(*findBenchOp(op), matrix); !done) return tl::unexpected(done.error());
        if (job_.cancelled()) return cancelledError();
        run_.roofs = state_.roofs.list();
        if (plan_.model) run_.passes = modelPasses(modelShapes(*plan_.model), run_.rows);
        run_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
        if (auto done = provenance(); !done) return tl::unexpected(done.error());
        return std::move(run_);
    }

private:
    Result<void> measure(const BenchOp& op, const Matrix& matrix) {
        const BenchShape& first = matrix.first;
        const std::int64_t rows = op.wIsKn ? first.k : first.n, columns = op.wIsKn ? first.n : first.k;
        std::shared_ptr<const std::vector<float>> values;
        std::vector<std::pair<std::string, Result<std::shared_ptr<const BenchWeights>>>> made;
        const WeightsOf weights = [&](const QuantSpec& spec) -> Result<std::shared_ptr<const BenchWeights>> {
            const std::string key = canonicalText(spec);
            for (const auto& [known, result] : made)
                if (known == key) return result;
            if (!values) {
                auto got = valuesOf(first, rows, columns);
                if (!got) return tl::unexpected(got.error());
                values = *got;
            }
            made.emplace_back(key, makeWeights(spec, rows, columns, values, job_, op.wIsKn));
            return made.back().second;
        };
        const auto group = [&](const BenchAct& act, std::int64_t m) -> Result<void> {
            if (job_.cancelled()) return cancelledError();
            BenchShape shape = first;
            shape.m = m;
            auto done = runGroup(state_, op, act, shape, weights);
            ++groupsDone_;
            return done;
        };
        if (!op.product) return group(*findBenchAct("f32"), 1);
        for (const auto m : matrix.ms)
            for (const auto& act : plan_.acts)
                if (auto done = group(*findBenchAct(act), m); !done) return done;
        return {};
    }

    /// A tensor is stored [N,K]; for y = x W its values are used as [K,N].
    Result<std::shared_ptr<const std::vector<float>>> valuesOf(const BenchShape& shape, std::int64_t rows,
                                                               std::int64_t columns) {
        if (shape.tensor.empty() || !plan_.model) return weightValues(rows, columns, plan_.seed, nullptr);
        const auto* tensor = plan_.model->find(shape.tensor);
        if (!tensor) return fail(fmt::format("The model has no tensor '{}'.", escapeForPeople(shape.tensor)));
        auto view = plan_.model->view(*tensor);
        if (!view) return tl::unexpected(view.error());
        auto stored = weightValues(shape.n, shape.k, plan_.seed, &*view);
        if (!stored || rows == shape.n) return stored;
        auto turned = std::make_shared<std::vector<float>>((*stored)->size());
        for (std::int64_t n = 0; n < shape.n; ++n)
            for (std::int64_t k = 0; k < shape.k; ++k)
                (*turned)[std::size_t(k * shape.n + n)] = (**stored)[std::size_t(n * shape.k + k)];
        return turned;
    }

    Result<void> provenance() {
        auto& out = run_.provenance;
        out = machineProvenance();
        for (auto& line : hostProvenance()) out.push_back(std::move(line));
        out.emplace_back("seed", std::to_string(plan_.seed));
        out.emplace_back("options", planText(plan_));
        out.emplace_back("cold_copies", bytesText(state_.coldBytes));
        for (const auto& opened : state_.backends) {
            const std::string id = opened.source.id;
            out.emplace_back("backend_" + id, opened.description.empty() ? opened.failure.reason : opened.description);
            std::string options;
            for (const auto& [key, value] : opened.source.options)
                options += fmt::format("{}{}={}", options.empty() ? "" : ", ", key, value);
            if (!options.empty()) out.emplace_back("options_" + id, options);
            for (const auto& [key, value] : opened.source.options)
                if (key == "path" && opened.backend)
                    if (const auto hash = sha256OfFile(value, job_)) out.emplace_back("path_sha256_" + id, *hash);
            if (opened.source.path.empty()) continue;
            out.emplace_back("plugin_" + id, opened.source.path);
            if (const auto hash = sha256OfFile(opened.source.path, job_))
                out.emplace_back("plugin_sha256_" + id, *hash);
        }
        if (plan_.model) out.emplace_back("model", plan_.model->path);
        if (!plan_.commandLine.empty()) out.emplace_back("command_line", plan_.commandLine);
        if (job_.cancelled()) return cancelledError();
        return {};
    }

    const BenchmarkPlan& plan_;
    const Job& job_;
    const std::function<void(const BenchmarkRow&)>& onRow_;
    BenchmarkRun run_;
    BenchState state_;
    double groups_ = 0, groupsDone_ = 0;
};

} // namespace

std::vector<std::pair<std::string, std::string>> incompleteProvenance() {
    auto out = machineProvenance();
    for (auto& line : hostProvenance()) out.push_back(std::move(line));
    out.emplace_back("incomplete", "the run was cancelled: rows, roofs and sums over the model are missing");
    return out;
}

Result<BenchmarkRun> runBenchmark(const BenchmarkPlan& plan, const Job& job,
                                  const std::function<void(const BenchmarkRow&)>& onRow) {
    return Runner(plan, job, onRow).run();
}

} // namespace qs
