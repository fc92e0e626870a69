// SPDX-License-Identifier: GPL-3.0-or-later
// AWQ's second search: how far the values of a scale group may reach. What counts is the group's part of the output.
#include "core/base/parallel.h"
#include "core/quant/encode/encode.h"
#include "core/solve/gram.h"
#include "core/solve/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::solve {
namespace {

constexpr int kSteps = 10, kGrid = 20; ///< 1, 0.95 ... 0.55 of the largest magnitude

/// e^T G e, G symmetric, its lower triangle given.
double power(const std::vector<double>& g, const std::vector<float>& e) {
    const std::size_t n = e.size();
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double row = 0;
        for (std::size_t j = 0; j < i; ++j) row += g[i * n + j] * double(e[j]);
        sum += double(e[i]) * (2 * row + g[i * n + i] * double(e[i]));
    }
    return sum;
}

} // namespace

Result<std::vector<GroupParams>> clippedParams(const Problem& problem, const std::vector<float>& values,
                                               const std::vector<float>& columnScales,
                                               const std::shared_ptr<const LearnedLevels>& levels, const Job& job) {
    const QuantSpec& spec = problem.spec;
    const auto k = std::size_t(problem.inputs.shape[1]), rows = values.size() / k;
    const std::size_t block = std::min<std::size_t>(spec.blockSize() ? spec.blockSize() : k, k);
    const std::size_t perRow = (k + block - 1) / block;
    std::vector<GroupParams> out(rows * perRow);
    std::vector<RunEncoder> encoders(workerCount(), RunEncoder(problem.plan, DType::F32));
    Run plain = problem.plan->run();
    if (levels) useLevels(plain, *levels);
    for (std::size_t group = 0; group < perRow; ++group) {
        if (job.cancelled()) return cancelledError();
        const std::size_t first = group * block, n = std::min(block, k - first);
        auto g = gram(problem.inputs, first, n, job);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j)
                g[i * n + j] /= double(columnScales[first + i]) * double(columnScales[first + j]);
        parallelFor(rows, 16, [&](std::size_t from, std::size_t to, unsigned worker) {
            std::vector<float> clipped(n), decoded(n), error(n);
            for (std::size_t row = from; row < to && !job.cancelled(); ++row) {
                const float* x = &values[row * k + first];
                float most = 0;
                for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::fabs(x[i]));
                double least = std::numeric_limits<double>::infinity();
                for (int step = 0; step < kSteps; ++step) {
                    const float bound = most * (1 - float(step) / kGrid);
                    for (std::size_t i = 0; i < n; ++i) clipped[i] = std::clamp(x[i], -bound, bound);
                    const GroupParams params = encoders[worker].params(plain, clipped.data(), n);
                    Run run = plain;
                    run.x = x, run.n = n, run.group = n, run.given = &params;
                    RunOut wanted;
                    wanted.decoded = decoded.data();
                    encoders[worker](run, wanted);
                    for (std::size_t i = 0; i < n; ++i) error[i] = decoded[i] - x[i];
                    const double p = power(g, error);
                    if (p < least) least = p, out[row * perRow + group] = params;
                }
            }
        });
    }
    if (job.cancelled()) return cancelledError();
    return out;
}

} // namespace qs::solve
