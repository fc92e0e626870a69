// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The weights of a network as f32 matrices, one layer at a time. Every tensor and every shape is checked before anything
// is loaded.

#include "core/eval/network/architecture.h"
#include "core/eval/network/weight_change.h"

#include <map>
#include <memory>

namespace qs::eval {

/// A mixture of experts. Matrices as in LayerWeights; of every expert one.
struct ExpertWeights {
    std::vector<float> router;              ///< [experts, hidden]
    std::vector<std::vector<float>> gateUp; ///< rows: all of the gate, then up
    std::vector<std::vector<float>> down;   ///< [hidden, intermediate of an expert]
};

/// Matrices are [outputs, inputs], row after row. Empty where the family has none.
struct LayerWeights {
    std::vector<float> attentionNorm, attentionNormBias, afterAttentionNorm, afterAttentionNormBias;
    std::vector<float> queryKeyValue, queryKeyValueBias; ///< rows: all of the query, then key, then value
    std::vector<float> queryNorm, keyNorm;
    std::vector<float> output, outputBias;
    std::vector<float> mlpNorm, mlpNormBias, afterMlpNorm, afterMlpNormBias;
    std::vector<float> gateUp, gateUpBias; ///< rows: all of the gate, then up; without a gate: up
    std::vector<float> down, downBias;
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

    /// `change`: other values for some weights; null: all as they are stored. The same below.
    Result<LayerWeights> layer(std::size_t index, const WeightChange* change, const Job& job) const;
    /// [tokens, hidden]: rows of the embedding, scaled, of positions where they are learned and of the first token type;
    /// normalized where the family does. `tokens` are below the
    /// vocabulary; positions count from 0 anew every `context` tokens.
    Result<std::vector<float>> embed(std::span<const std::int32_t> tokens, std::size_t context,
                                     const WeightChange* change, const Job& job) const;
    Result<std::vector<float>> finalNorm(const Job& job) const;
    Result<std::vector<float>> finalNormBias(const Job& job) const;
    /// [vocabulary, hidden]; the embedding where the two are tied.
    Result<std::vector<float>> head(const WeightChange* change, const Job& job) const;

private:
    struct Found {
        const WeightName* name = nullptr;
        std::vector<const TensorInfo*> tensors; ///< one, or one for each expert
        const TensorInfo* bias = nullptr;
        const TensorInfo* weight() const { return tensors.front(); }
    };
    using Weights = std::map<WeightRole, Found>;
    Result<std::vector<float>> matrix(const TensorInfo& tensor, bool inputsFirst, const WeightChange* change,
                                      const Job& job) const;
    /// Appends the rows of a weight and its bias; nothing where the family has none.
    Result<void> append(const Weights& weights, WeightRole role, const WeightChange* change, const Job& job,
                        std::vector<float>& matrix, std::vector<float>* bias) const;
    /// Appends the rows of the matrix of every expert.
    Result<void> appendExperts(const Weights& weights, WeightRole role, const WeightChange* change, const Job& job,
                               std::vector<std::vector<float>>& into) const;
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
