// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/capture/input_pass.h"

#include <fmt/format.h>

namespace qs::eval {

Result<InputPass> InputPass::of(std::shared_ptr<const Model> model, const CapturePlan& plan, const Job& job) {
    InputPass out;
    out.model_ = model, out.context_ = plan.context;
    auto network = readNetwork(*model);
    if (!network) return tl::unexpected(network.error());
    out.network_ = std::make_shared<Network>(std::move(*network));
    auto weights = NetworkWeights::of(model, *out.network_);
    if (!weights) return tl::unexpected(weights.error());
    out.weights_ = std::make_shared<NetworkWeights>(std::move(*weights));
    auto text = scoredText(plan.text.tokens, plan.context, plan.chunks, Scored::SecondHalf, *out.network_);
    if (!text) return tl::unexpected(text.error());
    out.text_ = std::move(*text);
    out.matrices_ = out.weights_->matrices();
    const auto inputs = eval::inputsOf(plan.text, out.text_.inputs, plan.context);
    if (auto fine = checkTokens(inputs, plan.context, *out.network_); !fine) return tl::unexpected(fine.error());
    auto embedded = out.weights_->embed(inputs, plan.context, nullptr, job);
    if (!embedded) return tl::unexpected(embedded.error());
    out.embedded_ = std::move(*embedded);
    return out;
}

std::size_t InputPass::inputsOfMatrix(const LayerMatrix& matrix) {
    return std::size_t(matrix.inputsFirst ? matrix.tensor->shape.front() : matrix.tensor->shape.back());
}

Result<void> InputPass::run(const std::function<void(std::size_t, const TappedInputs&)>& sees,
                            const std::function<Result<void>(std::size_t)>& layerDone, const Job& job) {
    HiddenStates states(*network_, std::move(embedded_), context_);
    const std::size_t layers = network_->layers.size();
    for (std::size_t layer = 0; layer < layers; ++layer) {
        job.progress(
            {double(layer), double(layers), fmt::format("Capturing inputs of layer {}", layer), layer + 1, layers});
        auto loaded = weights_->layer(layer, nullptr, job);
        if (!loaded) return tl::unexpected(loaded.error());
        const InputTap tap = [&](const TappedInputs& inputs) { sees(layer, inputs); };
        if (auto done = states.pass(std::move(*loaded), network_->layers[layer], job, tap); !done) return done;
        if (auto done = layerDone(layer); !done) return done;
    }
    return {};
}

} // namespace qs::eval
