// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/network_weights.h"

#include "core/eval/forward/rows.h"
#include "core/eval/network/weight_values.h"

#include <fmt/format.h>

namespace qs::eval {

Result<NetworkWeights> NetworkWeights::of(std::shared_ptr<const Model> model, Network& network) {
    auto found = findWeights(*model, network);
    if (!found) return tl::unexpected(found.error());
    NetworkWeights weights;
    weights.model_ = std::move(model), weights.network_ = network, weights.tensors_ = std::move(*found);
    return weights;
}

std::vector<LayerMatrix> NetworkWeights::matrices() const {
    return matricesOf([](WeightRole role) { return role != WeightRole::Router; });
}

std::vector<LayerMatrix> NetworkWeights::routers() const {
    return matricesOf([](WeightRole role) { return role == WeightRole::Router; });
}

std::vector<LayerMatrix> NetworkWeights::matricesOf(bool (*takes)(WeightRole role)) const {
    const Architecture& family = *network_.architecture;
    std::vector<LayerMatrix> out;
    for (std::size_t i = 0; i < tensors_.layers.size(); ++i)
        for (const auto& [role, found] : tensors_.layers[i]) {
            if (found.weight()->shape.size() < 2 || !takes(role)) continue;
            const bool ofMany = isOfExperts(role) && found.weight()->shape.size() == 2;
            for (std::size_t e = 0; e < found.tensors.size(); ++e)
                out.push_back({found.tensors[e], i, role, fmt::format("blk.{}.{}", i, nameOf(family.layer, role, true)),
                               inputsFirst(), ofMany ? int(e) : -1});
        }
    return out;
}

Result<void> NetworkWeights::appendBias(const FoundWeight& found, const Job& job, std::vector<float>& bias) const {
    if (!found.bias) return {};
    auto more = loadMatrix(*model_, *found.bias, false, nullptr, job);
    if (!more) return tl::unexpected(more.error());
    bias.insert(bias.end(), more->begin(), more->end());
    return {};
}

Result<void> NetworkWeights::loadNorm(const FoundWeights& weights, WeightRole role, const WeightChange* change,
                                      const Job& job, std::vector<float>& norm, std::vector<float>* bias) const {
    const auto found = weights.find(role);
    if (found == weights.end()) return {};
    auto values = loadMatrix(*model_, *found->second.weight(), false, change, job);
    if (!values) return tl::unexpected(values.error());
    norm = std::move(*values);
    return bias ? appendBias(found->second, job, *bias) : Result<void>();
}

Result<void> NetworkWeights::append(const FoundWeights& weights, WeightRole role, const WeightChange* change,
                                    const Job& job, WeightMatrix& into, std::vector<float>& bias) const {
    const auto found = weights.find(role);
    if (found == weights.end()) return {};
    const TensorInfo& tensor = *found->second.weight();
    auto values = role != WeightRole::Router && isServed(change, tensor)
                      ? loadServed(*model_, tensor, shapeOf(role, network_), 0, inputsFirst(), *change, job)
                      : loadStored(*model_, tensor, inputsFirst(), change, job);
    if (!values) return tl::unexpected(values.error());
    into.append(std::move(*values));
    return appendBias(found->second, job, bias);
}

Result<void> NetworkWeights::appendExperts(const FoundWeights& weights, WeightRole role, const WeightChange* change,
                                           const Job& job, std::vector<WeightMatrix>& into) const {
    const auto found = weights.find(role);
    if (found == weights.end()) return {};
    into.resize(std::size_t(network_.mixture.experts));
    const auto& tensors = found->second.tensors;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        const std::size_t share = into.size() / tensors.size(), size = tensors[t]->elements / share;
        if (isServed(change, *tensors[t])) {
            for (std::size_t e = 0; e < share; ++e) {
                auto one = loadServed(*model_, *tensors[t], shapeOf(role, network_), e * size, false, *change, job);
                if (!one) return tl::unexpected(one.error());
                into[t * share + e].append(std::move(*one));
            }
            continue;
        }
        auto values = loadStored(*model_, *tensors[t], false, change, job);
        if (!values) return tl::unexpected(values.error());
        for (std::size_t e = 0; e < share; ++e) into[t * share + e].append(values->part(e * size, size));
    }
    return {};
}

Result<LayerWeights> NetworkWeights::layer(std::size_t index, const WeightChange* change, const Job& job) const {
    const FoundWeights& weights = tensors_.layers[index];
    LayerWeights out;
    using enum WeightRole;
    struct Norm {
        WeightRole role;
        std::vector<float>* values;
        std::vector<float>* bias;
    };
    const Norm norms[] = {{AttentionNorm, &out.attentionNorm, &out.attentionNormBias},
                          {QueryNorm, &out.queryNorm, nullptr},
                          {KeyNorm, &out.keyNorm, nullptr},
                          {AfterAttentionNorm, &out.afterAttentionNorm, &out.afterAttentionNormBias},
                          {MlpNorm, &out.mlpNorm, &out.mlpNormBias},
                          {AfterMlpNorm, &out.afterMlpNorm, &out.afterMlpNormBias}};
    for (const Norm& norm : norms)
        if (auto done = loadNorm(weights, norm.role, change, job, *norm.values, norm.bias); !done)
            return tl::unexpected(done.error());
    const WeightChange* changeOfRouter = change && change->everywhere ? change : nullptr;
    std::vector<float> noBias;
    struct Matrix {
        WeightRole role;
        WeightMatrix& matrix;
        std::vector<float>& bias;
        const WeightChange* change;
    };
    const Matrix matrices[] = {
        {QueryKeyValue, out.queryKeyValue, out.queryKeyValueBias, change},
        {Query, out.queryKeyValue, out.queryKeyValueBias, change},
        {Key, out.queryKeyValue, out.queryKeyValueBias, change},
        {Value, out.queryKeyValue, out.queryKeyValueBias, change},
        {Output, out.output, out.outputBias, change},
        {GateUp, out.gateUp, out.gateUpBias, change},
        {Gate, out.gateUp, out.gateUpBias, change},
        {Up, out.gateUp, out.gateUpBias, change},
        {Down, out.down, out.downBias, change},
        {Router, out.experts.router, noBias, changeOfRouter},
    };
    for (const Matrix& part : matrices)
        if (auto done = append(weights, part.role, part.change, job, part.matrix, part.bias); !done)
            return tl::unexpected(done.error());
    for (const WeightRole role : {ExpertGateUp, ExpertGate, ExpertUp})
        if (auto done = appendExperts(weights, role, change, job, out.experts.gateUp); !done)
            return tl::unexpected(done.error());
    if (auto done = appendExperts(weights, ExpertDown, change, job, out.experts.down); !done)
        return tl::unexpected(done.error());
    if (change && change->rearranged) change->rearranged(network_, out);
    return out;
}

Result<std::vector<float>> NetworkWeights::embed(std::span<const std::int32_t> tokens, std::size_t context,
                                                 const WeightChange* change, const Job& job) const {
    auto found = loadRows(*model_, *tensors_.outside.at(WeightRole::Embedding).weight(), tokens, change, job);
    if (!found) return found;
    std::vector<float> positions;
    if (tensors_.outside.contains(WeightRole::PositionEmbedding)) {
        auto loaded =
            loadMatrix(*model_, *tensors_.outside.at(WeightRole::PositionEmbedding).weight(), false, change, job);
        if (!loaded) return tl::unexpected(loaded.error());
        positions = std::move(*loaded);
    }
    const auto hidden = std::size_t(network_.hidden);
    std::vector<float> types, factor, bias;
    for (const auto& [role, into] : {std::pair{WeightRole::TokenTypes, &types}, {WeightRole::EmbeddingNorm, &factor}})
        if (auto done = loadNorm(tensors_.outside, role, change, job, *into, &bias); !done)
            return tl::unexpected(done.error());
    types.resize(hidden);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        float* row = found->data() + t * hidden;
        const float* at = positions.empty() ? nullptr : positions.data() + t % context * hidden;
        for (std::size_t i = 0; i < hidden; ++i)
            row[i] = row[i] * network_.embeddingScale + types[i] + (at ? at[i] : 0.0f);
    }
    if (!factor.empty()) normalize(network_, *found, hidden, factor, bias, found->data());
    return found;
}

Result<std::vector<float>> NetworkWeights::finalNorm(const Job& job) const {
    return loadMatrix(*model_, *tensors_.outside.at(WeightRole::FinalNorm).weight(), false, nullptr, job);
}

Result<std::vector<float>> NetworkWeights::finalNormBias(const Job& job) const {
    const TensorInfo* bias = tensors_.outside.at(WeightRole::FinalNorm).bias;
    if (!bias) return std::vector<float>();
    return loadMatrix(*model_, *bias, false, nullptr, job);
}

const TensorInfo& NetworkWeights::headTensor() const {
    const auto own = tensors_.outside.find(WeightRole::Head);
    const bool tied = own == tensors_.outside.end() || network_.tied;
    return *(tied ? tensors_.outside.at(WeightRole::Embedding).weight() : own->second.weight());
}

Result<WeightMatrix> NetworkWeights::head(const WeightChange* change, const Job& job) const {
    return loadStored(*model_, headTensor(), false, change, job);
}

std::uint64_t NetworkWeights::layerBytes(std::size_t index, const WeightChange* change) const {
    std::uint64_t bytes = 0;
    for (const auto& [role, found] : tensors_.layers[index])
        for (const TensorInfo* tensor : found.tensors)
            bytes += tensor->elements * (staysHalf(*tensor, inputsFirst() && !isOfExperts(role), change) ? 2 : 4);
    return bytes;
}

std::uint64_t NetworkWeights::headBytes(const WeightChange* change) const {
    return headTensor().elements * (staysHalf(headTensor(), false, change) ? 2 : 4);
}

} // namespace qs::eval
