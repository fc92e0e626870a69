// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/network_weights.h"

#include "core/eval/forward/rows.h"
#include "core/eval/network/weight_values.h"
#include "core/model/derived_tensor.h"
#include "core/model/quantized_source.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {

std::size_t quantizedOf(std::span<const LayerMatrix> matrices) {
    return std::size_t(
        std::ranges::count_if(matrices, [](const LayerMatrix& matrix) { return isStoredQuantized(*matrix.tensor); }));
}

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

bool NetworkWeights::isTied() const { return &headTensor() == tensors_.outside.at(WeightRole::Embedding).weight(); }

std::vector<LayerMatrix> NetworkWeights::outside() const {
    const Architecture& family = *network_.architecture;
    const TensorInfo* embedding = tensors_.outside.at(WeightRole::Embedding).weight();
    std::vector<LayerMatrix> out{
        {embedding, 0, WeightRole::Embedding, nameOf(family.model, WeightRole::Embedding, true)}};
    if (!network_.isEncoder && !isTied())
        out.push_back(
            {&headTensor(), tensors_.layers.size(), WeightRole::Head, nameOf(family.model, WeightRole::Head, true)});
    return out;
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
                               inputsFirst(*found.tensors[e]), ofMany ? int(e) : -1});
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
                      ? loadServed(*model_, tensor, shapeOf(role, network_), 0, inputsFirst(tensor), *change, job)
                      : loadStored(*model_, tensor, inputsFirst(tensor), change, job);
    if (!values) return tl::unexpected(values.error());
    into.append(std::move(*values));
    return appendBias(found->second, job, bias);
}

Result<void> NetworkWeights::appendExpert(const FoundWeights& weights, WeightRole role, std::size_t expert,
                                          const WeightChange* change, Changed& changed, const Job& job,
                                          WeightMatrix& into) const {
    const auto found = weights.find(role);
    if (found == weights.end()) return {};
    const auto& tensors = found->second.tensors;
    const std::size_t share = std::size_t(network_.mixture.experts) / tensors.size(); // experts of a tensor
    const TensorInfo& tensor = *tensors[expert / share];
    const std::size_t size = tensor.elements / share, begin = expert % share * size;
    if (isServed(change, tensor)) {
        auto one = loadServed(*model_, tensor, shapeOf(role, network_), begin, false, *change, job);
        if (!one) return tl::unexpected(one.error());
        into.append(std::move(*one));
    } else if (share > 1 && changesByExpert(change, tensor)) {
        auto one = loadChangedExpert(*model_, tensor, expert % share, *change, job);
        if (!one) return tl::unexpected(one.error());
        into.append(std::move(*one));
    } else if (share > 1 && isChanged(change, tensor)) {
        auto whole = changed.find(&tensor);
        if (whole == changed.end()) {
            auto values = loadMatrix(*model_, tensor, false, change, job);
            if (!values) return tl::unexpected(values.error());
            whole = changed.emplace(&tensor, std::move(*values)).first;
        }
        const auto first = whole->second.begin() + std::ptrdiff_t(begin);
        into.append(std::vector<float>(first, first + std::ptrdiff_t(size)));
    } else {
        auto one = share > 1 ? loadPart(*model_, tensor, begin, size, change, job)
                             : loadStored(*model_, tensor, false, change, job);
        if (!one) return tl::unexpected(one.error());
        into.append(std::move(*one));
    }
    return {};
}

Result<ExpertMatrices> NetworkWeights::expert(std::size_t index, std::size_t expert, const WeightChange* change,
                                              Changed& changed, const Job& job) const {
    const FoundWeights& weights = tensors_.layers[index];
    ExpertMatrices out;
    using enum WeightRole;
    for (const auto& [role, into] : {std::pair{ExpertGateUp, &out.gateUp},
                                     {ExpertGate, &out.gateUp},
                                     {ExpertUp, &out.gateUp},
                                     {ExpertDown, &out.down}})
        if (auto done = appendExpert(weights, role, expert, change, changed, job, *into); !done)
            return tl::unexpected(done.error());
    return out;
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
        {Router, out.experts.router, noBias, change},
    };
    for (const Matrix& part : matrices)
        if (auto done = append(weights, part.role, part.change, job, part.matrix, part.bias); !done)
            return tl::unexpected(done.error());
    if (network_.layers[index].hasExperts)
        out.experts.load = [this, index, change, changed = std::make_shared<Changed>()](std::size_t one,
                                                                                        const Job& loading) {
            return expert(index, one, change, *changed, loading);
        };
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

std::uint64_t NetworkWeights::bytesOf(WeightRole role, const TensorInfo& tensor, const WeightChange* change) const {
    return tensor.elements * (staysHalf(tensor, inputsFirst(tensor) && !isOfExperts(role), change) ? 2 : 4);
}

std::uint64_t NetworkWeights::layerBytes(std::size_t index, const WeightChange* change) const {
    std::uint64_t bytes = 0;
    for (const auto& [role, found] : tensors_.layers[index])
        for (const TensorInfo* tensor : found.tensors) bytes += bytesOf(role, *tensor, change);
    return bytes;
}

std::uint64_t NetworkWeights::layerBytesAtOnce(std::size_t index, const WeightChange* change) const {
    std::uint64_t bytes = 0;
    for (const auto& [role, found] : tensors_.layers[index]) {
        const bool mustBeWhole = found.tensors.size() == 1 && isChanged(change, *found.weight()) &&
                                 !changesByExpert(change, *found.weight());
        for (const TensorInfo* tensor : found.tensors) {
            const std::uint64_t all = bytesOf(role, *tensor, change);
            bytes += !isOfExperts(role) || mustBeWhole ? all : all / std::uint64_t(network_.mixture.experts);
        }
    }
    return bytes;
}

std::uint64_t NetworkWeights::headBytes(const WeightChange* change) const {
    return headTensor().elements * (staysHalf(headTensor(), false, change) ? 2 : 4);
}

} // namespace qs::eval
