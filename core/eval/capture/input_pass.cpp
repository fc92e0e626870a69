// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/capture/input_pass.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::eval {

Result<InputPass> InputPass::of(std::shared_ptr<const Model> model, const CapturePlan& plan) {
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
    out.inputs_ = eval::inputsOf(plan.text, out.text_.inputs, plan.context);
    if (auto fine = checkTokens(out.inputs_, plan.context, *out.network_); !fine) return tl::unexpected(fine.error());
    for (const auto& matrices : {out.matrices_, out.routers()})
        for (const LayerMatrix& matrix : matrices)
            out.widths_[{matrix.layer, eval::inputsOf(matrix.role)}] = inputsOfMatrix(matrix);
    return out;
}

std::size_t InputPass::inputsOfMatrix(const LayerMatrix& matrix) {
    return std::size_t(matrix.inputsFirst ? matrix.tensor->shape.front() : matrix.tensor->shape.back());
}

std::optional<std::size_t> InputPass::widthOf(const InputPlace& place) const {
    const auto width = widths_.find({place.layer, place.role});
    const int experts = isOfExperts(place.role) ? int(network_->mixture.experts) : 0;
    const bool isThere = experts > 0 ? place.expert >= 0 && place.expert < experts : place.expert == -1;
    return width == widths_.end() || !isThere ? std::nullopt : std::optional(width->second);
}

bool InputPass::areOfChunk(const std::set<InputPlace>& places) const {
    const bool areThere = std::ranges::all_of(places, [&](const InputPlace& place) { return widthOf(place).has_value(); });
    return areThere && std::ranges::all_of(widths_, [&](const auto& one) {
               return isOfExperts(one.first.second) || places.contains({one.first.first, one.first.second, -1});
           });
}

Result<void> InputPass::run(std::span<const std::size_t> chunks, const Sees& sees, const LayerDone& layerDone,
                            const Job& job) const {
    std::vector<std::int32_t> tokens;
    for (const std::size_t chunk : chunks)
        tokens.insert(tokens.end(), inputs_.begin() + std::ptrdiff_t(chunk * context_),
                      inputs_.begin() + std::ptrdiff_t((chunk + 1) * context_));
    auto embedded = weights_->embed(tokens, context_, nullptr, job);
    if (!embedded) return tl::unexpected(embedded.error());
    HiddenStates states(*network_, std::move(*embedded), context_);
    const std::size_t layers = network_->layers.size();
    for (std::size_t layer = 0; layer < layers; ++layer) {
        job.progress(
            {double(layer), double(layers), fmt::format("Capturing inputs of layer {}", layer), layer + 1, layers});
        auto loaded = weights_->layer(layer, nullptr, job);
        if (!loaded) return tl::unexpected(loaded.error());
        Result<void> seen;
        std::map<WeightRole, std::size_t> before; // rows that every role has had
        std::size_t routed = 0;                   // tokens before the last call for the router
        const InputTap tap = [&](const TappedInputs& inputs) {
            const auto width = widths_.find({layer, inputs.role});
            if (width == widths_.end() || !seen) return;
            const std::size_t rows = inputs.values.size() / width->second;
            std::size_t& first = before[inputs.role];
            if (inputs.role == WeightRole::Router) routed = first;
            const auto chunkOf = [&](std::size_t row) {
                return (inputs.expert < 0 ? first + row : routed + inputs.tokens[row].token) / context_;
            };
            for (std::size_t begin = 0, end = 0; begin < rows && seen; begin = end) {
                const std::size_t chunk = chunkOf(begin);
                while (end < rows && chunkOf(end) == chunk) ++end;
                const auto values = inputs.values.subspan(begin * width->second, (end - begin) * width->second);
                seen = std::ranges::all_of(values, [](float x) { return std::isfinite(x); })
                           ? sees({{layer, inputs.role, inputs.expert}, chunks[chunk], width->second, values})
                           : fail(fmt::format("Inputs of layer {} are NaN or Inf in chunk {} of the text, so nothing was "
                                              "written: `audit` shows weights that are not finite.",
                                              layer, chunks[chunk]),
                                  model_->path);
            }
            first += rows;
        };
        if (auto done = states.pass(std::move(*loaded), network_->layers[layer], job, tap); !done) return done;
        if (!seen) return seen;
        if (auto done = layerDone(layer); !done) return done;
    }
    return {};
}

} // namespace qs::eval
