// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The forward pass of a capture, layer by layer.

#include "core/eval/capture/capture.h"
#include "core/eval/forward/hidden_states.h"
#include "core/eval/run/scored_text.h"

#include <functional>
#include <map>

namespace qs::eval {

/// Inputs that are gathered together: of a role in a layer, and of an expert (-1: of no expert, or of all).
struct InputPlace {
    std::size_t layer = 0;
    WeightRole role{};
    int expert = -1;
    auto operator<=>(const InputPlace&) const = default;
};
/// Those of a matrix.
inline InputPlace placeOf(const LayerMatrix& matrix) { return {matrix.layer, inputsOf(matrix.role), matrix.expert}; }

class InputPass {
public:
    /// Errors: no network, tokens that do not fit, a text shorter than a chunk.
    static Result<InputPass> of(std::shared_ptr<const Model> model, const CapturePlan& plan, const Job& job);

    /// Matrices of all layers, in their order.
    const std::vector<LayerMatrix>& matrices() const { return matrices_; }
    /// Routers of the layers with experts.
    std::vector<LayerMatrix> routers() const { return weights_->routers(); }
    const Network& network() const { return *network_; }
    std::size_t tokens() const { return text_.inputs; }
    std::size_t chunks() const { return text_.chunks; }
    static std::size_t inputsOfMatrix(const LayerMatrix& matrix); ///< values of one of its inputs

    /// `sees` gets the inputs of some chunks or less, in the order of the text, for each role that stands for matrices with
    /// the same inputs (inputsOf()), and of every expert apart; then `layerDone` is called. May be called once.
    Result<void> run(const std::function<void(std::size_t layer, const TappedInputs& inputs)>& sees,
                     const std::function<Result<void>(std::size_t layer)>& layerDone, const Job& job);

private:
    std::shared_ptr<const Model> model_;
    std::shared_ptr<Network> network_;
    std::shared_ptr<NetworkWeights> weights_;
    ScoredText text_;
    std::size_t context_ = 0;
    std::vector<LayerMatrix> matrices_;
    std::vector<float> embedded_;
};

} // namespace qs::eval
