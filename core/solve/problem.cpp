// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/solve/problem.h"

#include "core/base/text.h"
#include "core/model/output_axis.h"
#include "core/quant/encode/pass.h"
#include "core/value/product.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::solve {

Result<void> checkProblem(const Problem& problem) {
    const TensorInfo& tensor = *problem.weight.info;
    const std::string name = escapeForPeople(tensor.name, 80);
    if (auto ok = checkQuantizable(tensor); !ok) return ok;
    if (tensor.shape.size() < 2 || tensor.elements == 0)
        return fail(fmt::format("tensor '{}' of shape {} is no layer: solvers take rank 2 and more", name,
                                shapeText(tensor.shape)));
    const auto& x = problem.inputs;
    if (x.shape.size() != 2 || x.shape[1] != inputsOfLayer(tensor) || x.shape[0] < 1)
        return fail(fmt::format("inputs of shape {} do not fit tensor '{}' of shape {}: {}", shapeText(x.shape), name,
                                shapeText(tensor.shape),
                                isInputsFirst(tensor) ? "their last axis must be its first, which is that of the inputs"
                                                      : "the last axes must be equal"));
    const auto finite = [](float v) { return std::isfinite(v); };
    if (!std::ranges::all_of(x.values, finite))
        return fail(fmt::format("the inputs of tensor '{}' hold NaN or Inf", name));
    const auto found = countNotTaken(problem.weight, problem.spec, {});
    if (found && found->nan + found->inf > 0)
        return fail(fmt::format("tensor '{}' holds {} NaN and {} Inf: solvers need finite weights", name, found->nan,
                                found->inf));
    if (found && found->any()) return tl::unexpected(notTakenError(tensor, problem.spec, *found));
    if (problem.spec.effectiveCompute() == Compute::Input)
        return fail("compute=input is eformer's own arithmetic, which solvers do not follow: leave compute out");
    if (auto grid = scaleGrid(problem.spec, tensor); !grid)
        return failAt(fmt::format("tensor '{}'", name), grid.error());
    if (problem.spec.isFlat() && tensor.shape.size() > 2)
        return fail(fmt::format("tensor '{}' of shape {}: solvers look at blocks of the last axis: leave flat out",
                                name, shapeText(tensor.shape)));
    return {};
}

std::vector<float> weightsOf(const TensorView& weight) {
    std::vector<float> w(weight.info->elements);
    loadF32(weight, 0, w.size(), w.data());
    return w;
}

TensorInfo f32Info(const TensorInfo& like) {
    TensorInfo info;
    info.name = like.name, info.shape = like.shape, info.elements = like.elements, info.bytes = 4 * like.elements;
    info.outputLast = like.outputLast;
    return info;
}

Result<std::vector<float>> decodedOf(const Problem& problem, const Solved& solved, const Job& job) {
    const auto quantized = quantizeSolved(problem.weight, problem.plan, solved, job);
    if (!quantized) return tl::unexpected(quantized.error());
    std::vector<float> decoded = materialize(*quantized);
    applyColumnScales(solved.columnScales, 0, decoded.data(), decoded.size());
    return decoded;
}

namespace {

std::vector<float> transposed(const std::vector<float>& values, std::size_t rows, std::size_t columns) {
    std::vector<float> out(values.size());
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) out[c * rows + r] = values[r * columns + c];
    return out;
}

} // namespace

std::vector<float> outputsFirst(const TensorInfo& layer, std::vector<float> stored) {
    if (!isInputsFirst(layer) || stored.empty()) return stored;
    return transposed(stored, std::size_t(layer.shape.front()), std::size_t(layer.shape.back()));
}

std::vector<float> asStored(const TensorInfo& layer, std::vector<float> values) {
    if (!isInputsFirst(layer) || values.empty()) return values;
    return transposed(values, std::size_t(layer.shape.back()), std::size_t(layer.shape.front()));
}

std::optional<double> outputPower(const value::Tensor& inputs, std::span<const float> w, std::span<const float> decoded,
                                  const Job& job) {
    const auto k = std::size_t(inputs.shape[1]), m = std::size_t(inputs.shape[0]), rows = w.size() / k;
    const std::size_t slice = std::max<std::size_t>(1, (std::size_t(1) << 22) / std::max(m, k));
    std::vector<float> error, output;
    double power = 0;
    for (std::size_t row = 0; row < rows; row += slice) {
        const std::size_t n = std::min(slice, rows - row);
        error.assign(w.begin() + std::ptrdiff_t(row * k), w.begin() + std::ptrdiff_t((row + n) * k));
        for (std::size_t i = 0; i < error.size() && !decoded.empty(); ++i) error[i] -= decoded[row * k + i];
        // Products are f32, which neither the largest weights nor the smallest leave without digits.
        const float largest = bestKernels().absMax(error.data(), error.size(), true);
        const int exponent = largest > 0 ? std::ilogb(largest) : 0;
        const float first = std::ldexp(1.0f, -exponent / 2), second = std::ldexp(1.0f, -exponent - -exponent / 2);
        for (float& e : error) e = e * first * second;
        output.resize(n * m);
        if (!value::product(error.data(), inputs.values.data(), n, m, k, false, output.data(), job)) return {};
        double sum = 0;
        for (const float y : output) sum += double(y) * double(y);
        power += std::ldexp(sum, 2 * exponent);
    }
    return power;
}

std::vector<float> meanSquares(const value::Tensor& inputs) {
    const auto k = std::size_t(inputs.shape[1]), m = std::size_t(inputs.shape[0]);
    std::vector<double> sums(k);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < k; ++j) {
            const double x = double(inputs.values[i * k + j]);
            sums[j] += x * x;
        }
    std::vector<float> out(k);
    for (std::size_t j = 0; j < k; ++j) out[j] = float(sums[j] / double(std::max<std::size_t>(1, m)));
    return out;
}

Result<std::shared_ptr<const LearnedLevels>> weightedLevels(const TensorView& weight, const QuantSpec& spec,
                                                            std::span<const float> meanSquares, const Job& job) {
    if (!isLearned(spec)) return std::shared_ptr<const LearnedLevels>();
    const LearnSource source{weight, meanSquares};
    auto learned = learnLevels(std::span(&source, 1), spec, job);
    if (!learned) return tl::unexpected(learned.error());
    return std::make_shared<const LearnedLevels>(std::move(*learned));
}

} // namespace qs::solve
