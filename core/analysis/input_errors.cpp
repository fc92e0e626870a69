// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/input_errors.h"

#include "core/base/text.h"
#include "core/quant/encode/solved.h"
#include "core/solve/inputs.h"
#include "core/solve/problem.h"

#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

std::optional<double> ratio(double error, double whole) {
    return whole > 0 ? std::optional(error / whole) : std::nullopt;
}

} // namespace

Result<InputErrors> errorsOnInputs(const TensorView& view, const SharedPlan& plan, std::span<const float> decoded,
                                   const LayerInputs& inputs, const AnalysisOptions& options, const Job& job) {
    std::vector<float> w(view.info->elements), v(decoded.begin(), decoded.end());
    loadF32(view, 0, w.size(), w.data());
    if (v.empty()) {
        Solved own;
        own.levels = options.levels;
        auto codes = quantizeSolved(view, plan, own, job);
        if (!codes) return tl::unexpected(codes.error());
        v = materialize(*codes);
        if (options.decodedAs == DecodedAs::Source) roundTo(view.info->dtype, v.data(), v.size());
    }
    // Rows of values are outputs from here on.
    w = solve::outputsFirst(*view.info, std::move(w)), v = solve::outputsFirst(*view.info, std::move(v));
    const std::size_t columns = inputs.columnWeights.size();
    double error = 0, weightedError = 0, weightedWhole = 0, weights = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
        if (!std::isfinite(w[i])) w[i] = v[i] = 0;
        const double e = double(v[i]) - double(w[i]), x = double(w[i]), a = double(inputs.columnWeights[i % columns]);
        error += e * e;
        weightedError += a * e * e, weightedWhole += a * x * x;
    }
    for (const float a : inputs.columnWeights) weights += double(a);
    InputErrors out;
    out.weightedNmse = ratio(weightedError, weightedWhole);
    out.hessianTrace = 2 * weights / double(columns) * error;
    if (!inputs.rows) return out;
    const auto power = solve::outputPower(*inputs.rows, w, {}, job), lost = solve::outputPower(*inputs.rows, w, v, job);
    if (!power || !lost) return cancelledError();
    out.outputNmse = ratio(*lost, *power);
    return out;
}

Result<std::shared_ptr<const LayerInputs>> layerInputs(const Model* file, const TensorInfo& layer) {
    auto out = std::make_shared<LayerInputs>();
    if (file) {
        auto weights = solve::columnWeightsOf(*file, layer);
        if (!weights) return tl::unexpected(weights.error());
        if (!*weights) return std::shared_ptr<const LayerInputs>();
        out->columnWeights = std::move(**weights);
    }
    auto rows = solve::inputsOf(file, layer);
    if (rows) { // else column weights alone
        if (!file) out->columnWeights = solve::meanSquares(*rows);
        out->rows = std::make_shared<const value::Tensor>(std::move(*rows));
    }
    return std::shared_ptr<const LayerInputs>(std::move(out));
}

decltype(AnalysisOptions::inputs) layerInputsFrom(std::shared_ptr<const Model> file) {
    return [file = std::move(file)](const TensorInfo& layer) { return layerInputs(file.get(), layer); };
}

decltype(AnalysisOptions::solve) solvedFrom(std::shared_ptr<const Model> file, solve::Settings settings,
                                            const Job& job) {
    return [file = std::move(file), settings = std::move(settings),
            &job](const TensorView& view, const QuantSpec& spec) -> Result<std::shared_ptr<const Solved>> {
        const auto inputs = layerInputs(file.get(), *view.info);
        if (!inputs) return tl::unexpected(inputs.error());
        if (!*inputs || !(*inputs)->rows)
            return fail(fmt::format("the activations hold no inputs [..., K] for tensor '{}', which solver {} needs",
                                    escapeForPeople(view.info->name, 80), settings.solver));
        auto solution = solve::solve({view, spec, settings, *(*inputs)->rows}, job);
        if (!solution) return tl::unexpected(solution.error());
        return solution->solved;
    };
}

} // namespace qs
