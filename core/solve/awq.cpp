// SPDX-License-Identifier: GPL-3.0-or-later
// AWQ over any spec: W diag(s) is rounded and X diag(1/s) multiplied by it, s a power of the mean |x| of each column.
#include "core/base/text.h"
#include "core/quant/encode/block_encoder.h"
#include "core/quant/encode/double_quant.h"
#include "core/quant/spec/dialect.h"
#include "core/quant/spec/scale_type.h"
#include "core/solve/problem.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace qs::solve {
namespace {

std::vector<double> meanMagnitudes(const value::Tensor& x) {
    const auto k = std::size_t(x.shape[1]), m = std::size_t(x.shape[0]);
    std::vector<double> out(k);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < k; ++j) out[j] += std::fabs(double(x.values[i * k + j])) / double(m);
    return out;
}

/// Mean over the rows of |w| relative to the largest of its scale group.
std::vector<double> relativeMagnitudes(const std::vector<float>& w, std::size_t k, std::size_t group) {
    std::vector<double> out(k);
    const std::size_t rows = w.size() / k;
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t begin = 0; begin < k; begin += group) {
            const std::size_t end = std::min(k, begin + group);
            double most = 0;
            for (std::size_t j = begin; j < end; ++j) most = std::max(most, std::fabs(double(w[row * k + j])));
            for (std::size_t j = begin; j < end; ++j)
                out[j] += std::fabs(double(w[row * k + j])) / (most + 1e-6) / double(rows);
        }
    return out;
}

/// Scales around 1: the geometric mean of the least and the largest is 1.
std::vector<float> scalesOf(const std::vector<double>& x, const std::vector<double>& w, double exponent) {
    std::vector<double> s(x.size());
    for (std::size_t j = 0; j < s.size(); ++j) {
        const double strength = std::pow(x[j], exponent);
        s[j] = std::max(1e-4, w.empty() ? strength : strength / (std::pow(w[j], 1 - exponent) + 1e-4));
    }
    const auto [least, most] = std::minmax_element(s.begin(), s.end());
    const double middle = std::sqrt(*least * *most);
    std::vector<float> out(s.size());
    for (std::size_t j = 0; j < s.size(); ++j) {
        out[j] = float(s[j] / middle);
        if (!std::isfinite(out[j]) || !(out[j] > 0)) out[j] = 1;
    }
    return out;
}

std::vector<float> scaled(const std::vector<float>& w, const std::vector<float>& scales) {
    std::vector<float> out(w);
    for (std::size_t i = 0; i < w.size(); ++i) out[i] *= scales[i % scales.size()];
    return out;
}

} // namespace

Result<void> awqAccepts(const QuantSpec& spec, const Settings& settings) {
    if (spec.traits().kind == FormatKind::Identity)
        return advise(fmt::format("awq scales columns for their codes, and {} has none", spec.format),
                      {"int4:block=128"});
    if (!settings.clip.value_or(false)) return {};
    const bool groups = spec.scaleKind() == ScaleKind::Block && !spec.tiles && !codecOf(spec);
    const bool rows = spec.hasScalePerRow();
    if ((!groups && !rows) || hasTensorScale(spec) || blocksCrossRows(spec) || spec.randomSeed() || spec.sparsity)
        return fail(fmt::format("awq:clip=yes chooses a clip for each block or row by itself, which {} does not have: "
                                "use clip=no, or int4:block=128",
                                specText(spec)));
    return {};
}

Result<Solved> runAwq(const Problem& problem, std::string& remark, const Job& job) {
    const std::vector<float> w = weightsOf(problem.weight);
    const auto k = std::size_t(problem.inputs.shape[1]);
    const auto strengths = meanMagnitudes(problem.inputs);
    const bool duo = problem.settings.duo.value_or(false);
    const auto block = std::size_t(problem.spec.blockSize());
    const auto relative = duo ? relativeMagnitudes(w, k, block ? block : k) : std::vector<double>();

    const std::vector<float> squares = meanSquares(problem.inputs);
    const int grid = problem.settings.grid.value_or(20);
    double least = std::numeric_limits<double>::infinity();
    int chosen = 0;
    Solved best;
    for (int i = 0; i < grid; ++i) {
        job.progress({double(i), double(grid), "AWQ of " + escapeForPeople(problem.weight.info->name), std::uint64_t(i),
                      std::uint64_t(grid)});
        Solved trial;
        trial.columnScales = scalesOf(strengths, relative, double(i) / grid);
        trial.info = f32Info(*problem.weight.info);
        trial.values = scaled(w, trial.columnScales);
        std::vector<float> weights(squares); // of columns that the inputs are divided by
        for (std::size_t j = 0; j < k; ++j) weights[j] /= trial.columnScales[j] * trial.columnScales[j];
        auto levels = weightedLevels(trial.view(), problem.spec, weights, job);
        if (!levels) return tl::unexpected(levels.error());
        trial.levels = std::move(*levels);
        const auto decoded = decodedOf(problem, trial, job);
        if (!decoded) return tl::unexpected(decoded.error());
        const auto power = outputPower(problem.inputs, w, *decoded, job);
        if (!power) return cancelledError();
        if (*power < least) least = *power, chosen = i, best = std::move(trial);
    }
    if (best.values.empty()) return fail("no exponent of awq gives a finite output: use another spec");
    remark = fmt::format("exponent {}", double(chosen) / grid);
    if (problem.settings.clip.value_or(false)) {
        auto params = clippedParams(problem, best.values, best.columnScales, best.levels, job);
        if (!params) return tl::unexpected(params.error());
        best.params = std::move(*params);
    }
    return best;
}

} // namespace qs::solve
