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

/// Matrices of one expert, as in LayerWeights.
struct ExpertMatrices {
    WeightMatrix gateUp; ///< rows: all of the gate, then up
    WeightMatrix down;   ///< [hidden, intermediate of an expert]
};
/// A mixture of experts.
struct ExpertWeights {
    WeightMatrix router; ///< [experts, hidden]
    /// Loads those of one expert. The weights and the change that it comes from must live as long.
    std::function<Result<ExpertMatrices>(std::size_t expert, const Job& job)> load;
};

/// Matrices are [outputs, inputs], row after row. Empty where the family has none.
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
    ExpertWeights experts; ///< in place of gateUp and down, where LayerPlan::hasExperts
};

/// A matrix of a layer.
struct LayerMatrix {
    const TensorInfo* tensor = nullptr;
    std::size_t layer = 0;
    WeightRole role{};
    std::string gguf;         ///< its name in GGUF files: "blk.0.attn_q.weight"
    bool inputsFirst = false; ///< it is [inputs, outputs]; else [outputs, inputs]
    int expert = -1; ///< of which it is the matrix; -1: of none, or of all experts as [experts, outputs, inputs]
};

/// How many of them are stored quantized.
std::size_t quantizedOf(std::span<const LayerMatrix> matrices);

class NetworkWeights {
public:
    /// Finds every weight of the network and checks its shape. Sets what only the weights say: vocabulary where the
    /// configuration does not, a head of its own, and Llama 3's divisors of angles in GGUF files.
    static Result<NetworkWeights> of(std::shared_ptr<const Model> model, Network& network);

    /// The matrices of all layers, in the order of layers: what specs are for. Routers are none of them.
    std::vector<LayerMatrix> matrices() const;
    /// The routers of the layers with experts.
    std::vector<LayerMatrix> routers() const;

    /// `change`: other values for some weights; null: all as they are stored. The same below.
    Result<LayerWeights> layer(std::size_t index, const WeightChange* change, const Job& job) const;
    /// [tokens, hidden]: rows of the embedding, scaled, of positions where they are learned and of the first token type;
    /// normalized where the family does. `tokens` are below the vocabulary; positions count from 0 anew every `context`
    /// tokens.
    Result<std::vector<float>> embed(std::span<const std::int32_t> tokens, std::size_t context,
                                     const WeightChange* change, const Job& job) const;
    Result<std::vector<float>> finalNorm(const Job& job) const;
    Result<std::vector<float>> finalNormBias(const Job& job) const;
    /// [vocabulary, hidden]; the embedding where the two are tied.
    Result<WeightMatrix> head(const WeightChange* change, const Job& job) const;

    std::size_t layers() const { return tensors_.layers.size(); }
    /// Bytes of the values of layer(), with those of all experts, and of head().
    std::uint64_t layerBytes(std::size_t index, const WeightChange* change) const;
    /// The same with one expert, and with the tensors that must be whole to change one expert of theirs.
    std::uint64_t layerBytesAtOnce(std::size_t index, const WeightChange* change) const;
    std::uint64_t headBytes(const WeightChange* change) const;

private:
    /// Whether matrices of layers are [inputs, outputs] in the files.
    bool inputsFirst() const { return network_.architecture->weightsAreInputsFirst && !tensors_.isGguf; }
    /// The matrices of all layers whose role `takes`.
    std::vector<LayerMatrix> matricesOf(bool (*takes)(WeightRole role)) const;
    /// The values of a norm, and its bias; nothing where the family has none.
    Result<void> loadNorm(const FoundWeights& weights, WeightRole role, const WeightChange* change, const Job& job,
                          std::vector<float>& norm, std::vector<float>* bias) const;
    /// Appends the rows of a matrix, and its bias; nothing where the family has none.
    Result<void> append(const FoundWeights& weights, WeightRole role, const WeightChange* change, const Job& job,
                        WeightMatrix& matrix, std::vector<float>& bias) const;
    Result<void> appendBias(const FoundWeight& found, const Job& job, std::vector<float>& bias) const;
    /// Tensors of all experts whose changed values are kept while experts are loaded.
    using Changed = std::map<const TensorInfo*, std::vector<float>>;
    Result<ExpertMatrices> expert(std::size_t index, std::size_t expert, const WeightChange* change, Changed& changed,
                                  const Job& job) const;
    /// Appends the rows of the matrix of an expert.
    Result<void> appendExpert(const FoundWeights& weights, WeightRole role, std::size_t expert,
                              const WeightChange* change, Changed& changed, const Job& job, WeightMatrix& into) const;
    std::uint64_t bytesOf(WeightRole role, const TensorInfo& tensor, const WeightChange* change) const;
    const TensorInfo& headTensor() const;

    std::shared_ptr<const Model> model_;
    Network network_;
    NetworkTensors tensors_;
};

} // namespace qs::eval
