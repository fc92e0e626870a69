// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The forward pass of a capture, layer by layer.

#include "core/eval/capture/capture.h"
#include "core/eval/forward/hidden_states.h"
#include "core/eval/run/scored_text.h"

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace qs::eval {

/// Names the inputs that are gathered together: by layer, role and expert (-1: no expert, or all of them).
struct InputPlace {
    std::size_t layer = 0;
    WeightRole role{};
    int expert = -1;
    auto operator<=>(const InputPlace&) const = default;
};
/// The place of the inputs of a matrix.
inline InputPlace placeOf(const LayerMatrix& matrix) { return {matrix.layer, inputsOf(matrix.role), matrix.expert}; }

/// Inputs of a place in one chunk, some rows of [rows, width].
struct ChunkInputs {
    InputPlace place;
    std::size_t chunk = 0, width = 0;
    std::span<const float> values;
};

class InputPass {
public:
    /// Errors: the model is no network, the tokens do not fit its vocabulary, or the text is shorter than a chunk.
    static Result<InputPass> of(std::shared_ptr<const Model> model, const CapturePlan& plan);

    const Model& model() const { return *model_; }
    /// The matrices of all layers, in the order of the layers.
    const std::vector<LayerMatrix>& matrices() const { return matrices_; }
    /// The routers of the layers with experts.
    std::vector<LayerMatrix> routers() const { return weights_->routers(); }
    const Network& network() const { return *network_; }
    std::size_t tokens() const { return text_.inputs; }
    std::size_t chunks() const { return text_.chunks; }
    static std::size_t inputsOfMatrix(const LayerMatrix& matrix); ///< number of values in one input row
    /// The same of a place; nullopt: the network has no such place.
    std::optional<std::size_t> widthOf(const InputPlace& place) const;
    /// True if a chunk can have inputs at these places and no others: all that every token passes, and some experts.
    bool areOfChunk(const std::set<InputPlace>& places) const;

    using Sees = std::function<Result<void>(const ChunkInputs& inputs)>;
    using LayerDone = std::function<Result<void>(std::size_t layer)>;
    /// Passes some chunks, in their order. For each layer it calls `sees` with the inputs of its matrices and routers.
    /// Matrices with the same inputs are reported under one role (inputsOf()). The inputs of a role come in the order of
    /// the chunks; those of experts expert by expert, each in the order of the chunks. Then it calls `layerDone`.
    Result<void> run(std::span<const std::size_t> chunks, const Sees& sees, const LayerDone& layerDone,
                     const Job& job) const;

private:
    std::shared_ptr<const Model> model_;
    std::shared_ptr<Network> network_;
    std::shared_ptr<NetworkWeights> weights_;
    ScoredText text_;
    std::size_t context_ = 0;
    std::vector<LayerMatrix> matrices_;
    std::vector<std::int32_t> inputs_;
    std::map<std::pair<std::size_t, WeightRole>, std::size_t> widths_; ///< values of an input, by layer and role
};

} // namespace qs::eval
