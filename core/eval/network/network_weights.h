// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The weights of a network as matrices, one layer at a time. Every tensor and every shape is checked before anything
// is loaded.

#include "core/eval/network/architecture.h"
#include "core/eval/network/weight_change.h"
#include "core/eval/network/weight_matrix.h"

#include <map>
#include <memory>

namespace qs::eval {

/// A mixture of experts. Matrices as in LayerWeights; of every expert one.
struct ExpertWeights {
    WeightMatrix router;              ///< [experts, hidden]
    std::vector<WeightMatrix> gateUp; ///< rows: all of the gate, then up
    std::vector<WeightMatrix> down;   ///< [hidden, intermediate of an expert]
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

    std::size_t layers() const { return layers_.size(); }
    /// Bytes of the values that layer() and head() return.
    std::uint64_t layerBytes(std::size_t index, const WeightChange* change) const;
    std::uint64_t headBytes(const WeightChange* change) const;

private:
    /// The matrices of all layers whose role `takes`.
    std::vector<LayerMatrix> matricesOf(bool (*takes)(WeightRole role)) const;
    struct Found {
        const WeightName* name = nullptr;
        std::vector<const TensorInfo*> tensors; ///< one, or one for each expert
        const TensorInfo* bias = nullptr;
        const TensorInfo* weight() const { return tensors.front(); }
    };
    using Weights = std::map<WeightRole, Found>;
    Result<std::vector<float>> matrix(const TensorInfo& tensor, bool inputsFirst, const WeightChange* change,
                                      const Job& job) const;
    /// [tokens, hidden]: rows of the embedding as they are stored, or changed.
    Result<std::vector<float>> embeddings(std::span<const std::int32_t> tokens, const WeightChange* change,
                                          const Job& job) const;
    /// The values of matrix(); f16 and bf16 stay what they are where no value changes.
    Result<WeightMatrix> stored(const TensorInfo& tensor, bool inputsFirst, const WeightChange* change,
                                const Job& job) const;
    /// A matrix of a layer that the change's server holds. `begin`: its first value in the tensor.
    Result<WeightMatrix> served(const TensorInfo& tensor, WeightRole role, std::size_t begin, bool inputsFirst,
                                const WeightChange& change, const Job& job) const;
    /// The values of a norm, and its bias; nothing where the family has none.
    Result<void> loadNorm(const Weights& weights, WeightRole role, const WeightChange* change, const Job& job,
                          std::vector<float>& norm, std::vector<float>* bias) const;
    /// Appends the rows of a matrix, and its bias; nothing where the family has none.
    Result<void> append(const Weights& weights, WeightRole role, const WeightChange* change, const Job& job,
                        WeightMatrix& matrix, std::vector<float>& bias) const;
    Result<void> appendBias(const Found& found, const Job& job, std::vector<float>& bias) const;
    /// Appends the rows of the matrix of every expert.
    Result<void> appendExperts(const Weights& weights, WeightRole role, const WeightChange* change, const Job& job,
                               std::vector<WeightMatrix>& into) const;
    const TensorInfo& headTensor() const;
    Result<void> find(std::span<const WeightName> names, const std::string& before, bool hasExperts,
                      Weights& into) const;
    /// The tensors of one name with their bias, checked; no tensors where there are none.
    Result<Found> lookUp(const WeightName& row, const std::string& before) const;
    Result<void> check(const WeightName& row, const TensorInfo& tensor, bool isExpertOfMany) const;
    Result<void> divideAngles(Network& network) const;

    std::shared_ptr<const Model> model_;
    Network network_;
    bool isGguf_ = false;
    Weights outside_;
    std::vector<Weights> layers_;
};

} // namespace qs::eval
