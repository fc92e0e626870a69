// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The weights of a network as matrices, one layer at a time. Every tensor and every shape is checked before anything
// is loaded.

#include "core/eval/network/found_weights.h"
#include "core/eval/network/weight_change.h"
#include "core/eval/network/weight_matrix.h"

#include <functional>
#include <map>
#include <memory>

namespace qs::eval {

/// The matrices of one expert.
struct ExpertMatrices {
    WeightMatrix gateUp; ///< rows: all of the gate, then up
    WeightMatrix down;   ///< [hidden, intermediate of an expert]
};
/// A mixture of experts.
struct ExpertWeights {
    WeightMatrix router; ///< [experts, hidden]
    /// Loads the matrices of one expert. NetworkWeights and the change must live as long as this function.
    std::function<Result<ExpertMatrices>(std::size_t expert, const Job& job)> load;
};

/// The weights of a layer. Matrices are [outputs, inputs], row-major. A weight that the family does not have is empty.
struct LayerWeights {
    std::vector<float> attentionNorm, attentionNormBias, afterAttentionNorm, afterAttentionNormBias;
    WeightMatrix queryKeyValue; ///< rows: all of the query, then key, then value
    std::vector<float> queryKeyValueBias;
    std::vector<float> queryNorm, keyNorm;
    WeightMatrix output;
    std::vector<float> outputBias;
    std::vector<float> mlpNorm, mlpNormBias, afterMlpNorm, afterMlpNormBias;
    WeightMatrix gateUp; ///< rows: all of the gate, then up; without a gate: up
    std::vector<float> gateUpBias;
    WeightMatrix down;
    std::vector<float> downBias;
    ExpertWeights experts; ///< used in place of gateUp and down if LayerPlan::hasExperts
};

/// A matrix of a layer.
struct LayerMatrix {
    const TensorInfo* tensor = nullptr;
    std::size_t layer = 0;
    WeightRole role{};
    std::string gguf;         ///< its name in GGUF files: "blk.0.attn_q.weight"
    bool inputsFirst = false; ///< true: stored as [inputs, outputs]; false: [outputs, inputs]
    int expert = -1;          ///< number of its expert; -1: no expert, or all experts as [experts, outputs, inputs]
    /// The embedding, which is before layer 0, or the head, whose layer is one behind the last.
    bool isOutside() const { return role == WeightRole::Embedding || role == WeightRole::Head; }
};

/// How many of them are stored quantized.
std::size_t quantizedOf(std::span<const LayerMatrix> matrices);

class NetworkWeights {
public:
    /// Finds every weight of the network and checks its shape. Sets the fields of `network` that only the weights show:
    /// the vocabulary if the configuration lacks it, whether there is a head, and Llama 3's divisors of angles in GGUF
    /// files.
    static Result<NetworkWeights> of(std::shared_ptr<const Model> model, Network& network);

    /// The matrices that specs are for, of all layers, in the order of layers. Routers are not among them.
    std::vector<LayerMatrix> matrices() const;
    /// The routers of the layers with experts.
    std::vector<LayerMatrix> routers() const;
    /// The embedding and, if it is not tied to it, the head.
    std::vector<LayerMatrix> outside() const;
    bool isTied() const; ///< the head's matrix is that of the embedding

    /// The weights of a layer. `change` gives other values for some weights; null means all values as they are stored.
    /// It has this meaning in all functions below.
    Result<LayerWeights> layer(std::size_t index, const WeightChange* change, const Job& job) const;
    /// The input of layer 0, [tokens, hidden]: rows of the scaled embedding, plus rows of learned positions and of the
    /// first token type if the family has them, normalized if the family does that. `tokens` must be below the
    /// vocabulary. Positions start again at 0 every `context` tokens.
    Result<std::vector<float>> embed(std::span<const std::int32_t> tokens, std::size_t context,
                                     const WeightChange* change, const Job& job) const;
    Result<std::vector<float>> finalNorm(const Job& job) const;
    Result<std::vector<float>> finalNormBias(const Job& job) const;
    /// The head, [vocabulary, hidden]. If the two are tied, it is the embedding.
    Result<WeightMatrix> head(const WeightChange* change, const Job& job) const;

    std::size_t layers() const { return tensors_.layers.size(); }
    /// Size in bytes of the values of layer(), with all experts.
    std::uint64_t layerBytes(std::size_t index, const WeightChange* change) const;
    /// The same with one expert. A tensor of several experts that do not change one by one counts whole.
    std::uint64_t layerBytesAtOnce(std::size_t index, const WeightChange* change) const;
    std::uint64_t headBytes(const WeightChange* change) const;
    const TensorInfo& headTensor() const;

private:
    /// See isStoredInputsFirst().
    bool inputsFirst(const TensorInfo& tensor) const {
        return isStoredInputsFirst(*network_.architecture, tensors_.isGguf, tensor);
    }
    /// The matrices of all layers for whose role takes(role) is true.
    std::vector<LayerMatrix> matricesOf(bool (*takes)(WeightRole role)) const;
    /// Loads the values of a norm and its bias. Does nothing if the family has no such norm.
    Result<void> loadNorm(const FoundWeights& weights, WeightRole role, const WeightChange* change, const Job& job,
                          std::vector<float>& norm, std::vector<float>* bias) const;
    /// Appends the rows of a matrix and its bias. Does nothing if the family has no such matrix.
    Result<void> append(const FoundWeights& weights, WeightRole role, const WeightChange* change, const Job& job,
                        WeightMatrix& matrix, std::vector<float>& bias) const;
    Result<void> appendBias(const FoundWeight& found, const Job& job, std::vector<float>& bias) const;
    /// Changed values of tensors that hold all experts. They are kept while experts are loaded.
    using Changed = std::map<const TensorInfo*, std::vector<float>>;
    Result<ExpertMatrices> expert(std::size_t index, std::size_t expert, const WeightChange* change, Changed& changed,
                                  const Job& job) const;
    /// Appends the rows of a matrix of one expert.
    Result<void> appendExpert(const FoundWeights& weights, WeightRole role, std::size_t expert,
                              const WeightChange* change, Changed& changed, const Job& job, WeightMatrix& into) const;
    std::uint64_t bytesOf(WeightRole role, const TensorInfo& tensor, const WeightChange* change) const;

    std::shared_ptr<const Model> model_;
    Network network_;
    NetworkTensors tensors_;
};

} // namespace qs::eval
