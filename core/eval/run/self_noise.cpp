// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/self_noise.h"

#include <algorithm>

namespace qs::eval {
namespace {

/// Reverses the order of rows.
void reverseRows(std::span<float> values, std::size_t rows) {
    const std::size_t width = values.size() / rows;
    for (std::size_t i = 0; i < rows / 2; ++i)
        std::swap_ranges(values.begin() + std::ptrdiff_t(i * width), values.begin() + std::ptrdiff_t((i + 1) * width),
                         values.begin() + std::ptrdiff_t((rows - 1 - i) * width));
}

void reverseHeadValues(const Network& net, LayerWeights& weights) {
    const auto size = std::size_t(net.headSize), heads = std::size_t(net.heads);
    const auto sharedHeads = std::size_t(net.keyValueHeads);
    const auto reverseValues = [&](std::vector<float>& rows) {
        const std::size_t all = (heads + 2 * sharedHeads) * size, width = rows.size() / all;
        for (std::size_t head = 0; head < sharedHeads; ++head)
            reverseRows(std::span(rows).subspan((heads + sharedHeads + head) * size * width, size * width), size);
    };
    reverseValues(weights.queryKeyValue.singles());
    if (!weights.queryKeyValueBias.empty()) reverseValues(weights.queryKeyValueBias);
    std::vector<float>& output = weights.output.singles();
    for (std::size_t at = 0; at < output.size(); at += size)
        std::reverse(output.begin() + std::ptrdiff_t(at), output.begin() + std::ptrdiff_t(at + size));
}

} // namespace

WeightChange inAnotherOrder() {
    WeightChange change;
    change.name = "the reference in another order of sums";
    change.detail = "values of every head in reverse order";
    change.rearranged = reverseHeadValues;
    return change;
}

Result<std::optional<double>> selfNoise(std::shared_ptr<const Model> model, const EvaluationPlan& plan,
                                        const Job& job) {
    EvaluationPlan own;
    own.text = plan.text, own.context = plan.context, own.scored = plan.scored, own.reference = plan.reference;
    own.memory = plan.memory, own.units = plan.units;
    own.chunks = plan.chunks == 0 ? kFloorChunks : std::min(plan.chunks, kFloorChunks);
    own.changes.push_back(inAnotherOrder());
    const auto result = evaluate(std::move(model), own, job);
    if (!result) return tl::unexpected(result.error());
    if (!result->reasons.front().empty()) return fail(result->reasons.front());
    const auto summary = summarize(result->scores.front());
    if (!summary) return std::optional<double>();
    return std::optional<double>(std::max(0.0, summary->divergence.mean));
}

} // namespace qs::eval
