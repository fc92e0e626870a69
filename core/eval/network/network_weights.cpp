// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/network_weights.h"

#include "core/base/parallel.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"
#include "core/model/mapped_file.h"
#include "core/quant/encode/quantizer.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {
namespace {

using Shape = std::vector<std::int64_t>;

/// Shape of a weight as [outputs, inputs].
Shape shapeOf(WeightRole role, const Network& net) {
    const std::int64_t queries = net.heads * net.headSize, keys = net.keyValueHeads * net.headSize;
    const bool perHead = net.queryKeyNorm == QueryKeyNorm::PerHead;
    switch (role) {
    case WeightRole::Embedding:
    case WeightRole::Head: return {net.vocabulary, net.hidden};
    case WeightRole::PositionEmbedding: return {net.positions, net.hidden};
    case WeightRole::Query: return {queries, net.hidden};
    case WeightRole::Key:
    case WeightRole::Value: return {keys, net.hidden};
    case WeightRole::QueryKeyValue: return {queries + 2 * keys, net.hidden};
    case WeightRole::Output: return {net.hidden, queries};
    case WeightRole::QueryNorm: return {perHead ? net.headSize : queries};
    case WeightRole::KeyNorm: return {perHead ? net.headSize : keys};
    case WeightRole::Gate:
    case WeightRole::Up: return {net.intermediate, net.hidden};
    case WeightRole::GateUp: return {2 * net.intermediate, net.hidden};
    case WeightRole::Down: return {net.hidden, net.intermediate};
    case WeightRole::FinalNorm:
    case WeightRole::AttentionNorm:
    case WeightRole::AfterAttentionNorm:
    case WeightRole::MlpNorm:
    case WeightRole::AfterMlpNorm: break;
    }
    return {net.hidden};
}

std::string biasName(std::string_view weight) {
    constexpr std::string_view end = ".weight";
    return std::string(weight.substr(0, weight.size() - end.size())) + ".bias";
}

bool isMatrix(const TensorInfo& tensor) { return tensor.shape.size() == 2; }

bool changes(const WeightChange* change, const TensorInfo& tensor) {
    return change && change->touches && change->touches(tensor);
}

/// Whether a weight stays in 16 bits.
bool staysHalf(const TensorInfo& tensor, bool inputsFirst, const WeightChange* change) {
    const bool isHalf = tensor.dtype == DType::BF16 || tensor.dtype == DType::F16;
    return isHalf && !inputsFirst && !changes(change, tensor) && !(change && change->rearranged);
}

/// Frees the pages of a mapped file after a tensor was read.
void drop(const TensorView& view) {
    if (view.info->derived)
        view.info->derived->release();
    else if (view.file)
        view.file->dropPages(view.info->offset, view.info->bytes);
}

} // namespace

Result<void> NetworkWeights::find(std::span<const WeightName> names, const std::string& before, Weights& into) const {
    for (const WeightName& row : names) {
        const bool isHead = row.role == WeightRole::Head;
        const std::string name = isGguf_ ? before + row.gguf : isHead ? row.name : before + row.name;
        Found found;
        found.weight = model_->find(name);
        if (!found.weight && isHead && network_.tied) continue;
        if (!found.weight)
            return fail(fmt::format("{} has no tensor {}, which {} needs.", escapeForPeople(model_->path, 200),
                                    quotedName(name), network_.architecture->title),
                        model_->path);
        if (!info(found.weight->dtype).quantizable)
            return fail(fmt::format("The tensor {} is stored as {}, which has no values to compute with.",
                                    quotedName(name), found.weight->typeId()),
                        model_->path);
        Shape expected = shapeOf(row.role, network_);
        if (expected.size() == 2 && network_.architecture->weightsAreInputsFirst && !isGguf_ &&
            row.role != WeightRole::Embedding && row.role != WeightRole::PositionEmbedding && !isHead)
            std::swap(expected[0], expected[1]);
        if (!std::equal(expected.begin(), expected.end(), found.weight->shape.begin(), found.weight->shape.end()))
            return fail(fmt::format("The tensor {} has the shape {}; the configuration says {}.", quotedName(name),
                                    shapeText(found.weight->shape), shapeText(expected)),
                        model_->path);
        if (row.bias) {
            found.bias = model_->find(biasName(name));
            const std::int64_t outputs = shapeOf(row.role, network_).front();
            if (!found.bias || found.bias->shape.size() != 1 || found.bias->shape.front() != outputs ||
                !info(found.bias->dtype).quantizable)
                return fail(fmt::format("{} has no bias {} of {} values, which {} needs.",
                                        escapeForPeople(model_->path, 200), quotedName(biasName(name)), outputs,
                                        network_.architecture->title),
                            model_->path);
        }
        into[row.role] = found;
    }
    return {};
}

Result<NetworkWeights> NetworkWeights::of(std::shared_ptr<const Model> model, Network& network) {
    NetworkWeights weights;
    weights.model_ = std::move(model);
    const Model& files = *weights.model_;
    const Architecture& family = *network.architecture;
    weights.isGguf_ = !files.files.empty() && files.files.front().metadata.contains("general.architecture");
    std::string prefix;
    const WeightName& embedding = family.model.front();
    if (!weights.isGguf_) {
        for (const std::string_view candidate : family.prefixes)
            if (files.find(std::string(candidate) + embedding.name)) {
                prefix = candidate;
                break;
            }
    }
    const TensorInfo* tokens = files.find(weights.isGguf_ ? std::string(embedding.gguf) : prefix + embedding.name);
    if (tokens && tokens->shape.size() == 2 && network.vocabulary == 0) network.vocabulary = tokens->shape.front();
    if (weights.isGguf_) network.tied = files.find("output.weight") == nullptr;
    if (const TensorInfo* divisors = files.find("rope_freqs.weight"); weights.isGguf_ && divisors) {
        const auto view = files.view(*divisors);
        if (!view) return tl::unexpected(view.error());
        for (Rope& rope : network.ropes) {
            if (divisors->elements != rope.frequency.size() || !info(divisors->dtype).quantizable)
                return fail("The tensor rope_freqs.weight does not fit the head size.", files.path);
            std::vector<float> values(rope.frequency.size());
            loadF32(*view, 0, values.size(), values.data());
            for (std::size_t i = 0; i < values.size(); ++i) rope.frequency[i] /= double(values[i]);
        }
    }
    weights.network_ = network;
    if (auto found = weights.find(family.model, prefix, weights.outside_); !found) return tl::unexpected(found.error());
    weights.layers_.resize(network.layers.size());
    for (std::size_t i = 0; i < weights.layers_.size(); ++i) {
        const std::string before =
            weights.isGguf_ ? fmt::format("blk.{}.", i) : fmt::format("{}{}.{}.", prefix, family.layers, i);
        if (auto found = weights.find(family.layer, before, weights.layers_[i]); !found)
            return tl::unexpected(found.error());
    }
    return weights;
}

std::vector<LayerMatrix> NetworkWeights::matrices() const {
    const Architecture& family = *network_.architecture;
    std::vector<LayerMatrix> out;
    for (std::size_t i = 0; i < layers_.size(); ++i)
        for (const WeightName& row : family.layer) {
            const auto found = layers_[i].find(row.role);
            if (found == layers_[i].end() || !isMatrix(*found->second.weight)) continue;
            out.push_back({found->second.weight, i, row.role, fmt::format("blk.{}.{}", i, row.gguf),
                           family.weightsAreInputsFirst && !isGguf_});
        }
    return out;
}

Result<std::vector<float>> NetworkWeights::matrix(const TensorInfo& tensor, bool inputsFirst,
                                                  const WeightChange* change, const Job& job) const {
    const auto view = model_->view(tensor);
    if (!view) return tl::unexpected(view.error());
    std::vector<float> values;
    if (changes(change, tensor)) {
        auto changed = change->values(tensor, *view, job);
        if (!changed) return changed;
        values = std::move(*changed);
    } else {
        values.resize(tensor.elements);
        parallelFor(values.size(), 1u << 18, [&](std::size_t begin, std::size_t end, unsigned) {
            if (!job.cancelled()) loadF32(*view, begin, end - begin, values.data() + begin);
        });
    }
    if (job.cancelled()) return cancelledError();
    drop(*view);
    if (auto same = model_->unchanged(tensor); !same) return tl::unexpected(same.error());
    if (!inputsFirst || !isMatrix(tensor)) return values;
    const auto inputs = std::size_t(tensor.shape.front()), outputs = std::size_t(tensor.shape.back());
    std::vector<float> turned(values.size());
    parallelFor(outputs, 16, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t o = begin; o < end; ++o)
            for (std::size_t i = 0; i < inputs; ++i) turned[o * inputs + i] = values[i * outputs + o];
    });
    return turned;
}

Result<WeightMatrix> NetworkWeights::stored(const TensorInfo& tensor, bool inputsFirst, const WeightChange* change,
                                            const Job& job) const {
    if (!staysHalf(tensor, inputsFirst, change)) {
        auto values = matrix(tensor, inputsFirst, change, job);
        if (!values) return tl::unexpected(values.error());
        return WeightMatrix(std::move(*values));
    }
    const auto view = model_->view(tensor);
    if (!view) return tl::unexpected(view.error());
    std::vector<std::uint16_t> values(tensor.elements);
    parallelFor(values.size(), 1u << 20, [&](std::size_t begin, std::size_t end, unsigned) {
        if (!job.cancelled())
            view->readInto(begin * sizeof(std::uint16_t),
                           std::as_writable_bytes(std::span(values).subspan(begin, end - begin)));
    });
    if (job.cancelled()) return cancelledError();
    drop(*view);
    if (auto same = model_->unchanged(tensor); !same) return tl::unexpected(same.error());
    return WeightMatrix(std::move(values), tensor.dtype == DType::BF16 ? NumberType::Bf16 : NumberType::F16);
}

Result<void> NetworkWeights::appendBias(const Found& found, const Job& job, std::vector<float>& bias) const {
    if (!found.bias) return {};
    auto more = matrix(*found.bias, false, nullptr, job);
    if (!more) return tl::unexpected(more.error());
    bias.insert(bias.end(), more->begin(), more->end());
    return {};
}

Result<void> NetworkWeights::loadNorm(const Weights& weights, WeightRole role, const WeightChange* change,
                                      const Job& job, std::vector<float>& norm, std::vector<float>* bias) const {
    const auto found = weights.find(role);
    if (found == weights.end()) return {};
    auto values = matrix(*found->second.weight, false, change, job);
    if (!values) return tl::unexpected(values.error());
    norm = std::move(*values);
    return bias ? appendBias(found->second, job, *bias) : Result<void>();
}

Result<void> NetworkWeights::append(const Weights& weights, WeightRole role, const WeightChange* change, const Job& job,
                                    WeightMatrix& into, std::vector<float>& bias) const {
    const auto found = weights.find(role);
    if (found == weights.end()) return {};
    const bool inputsFirst = network_.architecture->weightsAreInputsFirst && !isGguf_ && &weights != &outside_;
    auto values = stored(*found->second.weight, inputsFirst, change, job);
    if (!values) return tl::unexpected(values.error());
    into.append(std::move(*values));
    return appendBias(found->second, job, bias);
}

Result<LayerWeights> NetworkWeights::layer(std::size_t index, const WeightChange* change, const Job& job) const {
    const Weights& weights = layers_[index];
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
                          {AfterAttentionNorm, &out.afterAttentionNorm, nullptr},
                          {MlpNorm, &out.mlpNorm, &out.mlpNormBias},
                          {AfterMlpNorm, &out.afterMlpNorm, nullptr}};
    for (const Norm& norm : norms)
        if (auto done = loadNorm(weights, norm.role, change, job, *norm.values, norm.bias); !done)
            return tl::unexpected(done.error());
    struct Matrix {
        WeightRole role;
        WeightMatrix& matrix;
        std::vector<float>& bias;
    };
    const Matrix matrices[] = {
        {QueryKeyValue, out.queryKeyValue, out.queryKeyValueBias},
        {Query, out.queryKeyValue, out.queryKeyValueBias},
        {Key, out.queryKeyValue, out.queryKeyValueBias},
        {Value, out.queryKeyValue, out.queryKeyValueBias},
        {Output, out.output, out.outputBias},
        {GateUp, out.gateUp, out.gateUpBias},
        {Gate, out.gateUp, out.gateUpBias},
        {Up, out.gateUp, out.gateUpBias},
        {Down, out.down, out.downBias},
    };
    for (const Matrix& part : matrices)
        if (auto done = append(weights, part.role, change, job, part.matrix, part.bias); !done)
            return tl::unexpected(done.error());
    if (change && change->rearranged) change->rearranged(network_, out);
    return out;
}

Result<std::vector<float>> NetworkWeights::embed(std::span<const std::int32_t> tokens, std::size_t context,
                                                 const WeightChange* change, const Job& job) const {
    auto found = embeddings(tokens, change, job);
    if (!found) return found;
    std::vector<float> positions;
    if (outside_.contains(WeightRole::PositionEmbedding)) {
        auto loaded = matrix(*outside_.at(WeightRole::PositionEmbedding).weight, false, change, job);
        if (!loaded) return tl::unexpected(loaded.error());
        positions = std::move(*loaded);
    }
    const auto hidden = std::size_t(network_.hidden);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        float* row = found->data() + t * hidden;
        const float* at = positions.empty() ? nullptr : positions.data() + t % context * hidden;
        for (std::size_t i = 0; i < hidden; ++i) row[i] = row[i] * network_.embeddingScale + (at ? at[i] : 0.0f);
    }
    return found;
}

Result<std::vector<float>> NetworkWeights::embeddings(std::span<const std::int32_t> tokens, const WeightChange* change,
                                                      const Job& job) const {
    const TensorInfo& table = *outside_.at(WeightRole::Embedding).weight;
    const auto hidden = std::size_t(network_.hidden);
    std::vector<float> out(tokens.size() * hidden);
    if (changes(change, table)) {
        const auto values = matrix(table, false, change, job);
        if (!values) return values;
        for (std::size_t t = 0; t < tokens.size(); ++t)
            std::copy_n(values->data() + std::size_t(tokens[t]) * hidden, hidden, out.data() + t * hidden);
        return out;
    }
    const auto view = model_->view(table);
    if (!view) return tl::unexpected(view.error());
    parallelFor(tokens.size(), 64, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t t = begin; t < end && !job.cancelled(); ++t)
            loadF32(*view, std::size_t(tokens[t]) * hidden, hidden, out.data() + t * hidden);
    });
    if (job.cancelled()) return cancelledError();
    drop(*view);
    if (auto same = model_->unchanged(table); !same) return tl::unexpected(same.error());
    return out;
}

Result<std::vector<float>> NetworkWeights::finalNorm(const Job& job) const {
    return matrix(*outside_.at(WeightRole::FinalNorm).weight, false, nullptr, job);
}

Result<std::vector<float>> NetworkWeights::finalNormBias(const Job& job) const {
    const TensorInfo* bias = outside_.at(WeightRole::FinalNorm).bias;
    if (!bias) return std::vector<float>();
    return matrix(*bias, false, nullptr, job);
}

const TensorInfo& NetworkWeights::headTensor() const {
    const auto own = outside_.find(WeightRole::Head);
    const bool tied = own == outside_.end() || network_.tied;
    return *(tied ? outside_.at(WeightRole::Embedding).weight : own->second.weight);
}

Result<WeightMatrix> NetworkWeights::head(const WeightChange* change, const Job& job) const {
    return stored(headTensor(), false, change, job);
}

std::uint64_t NetworkWeights::layerBytes(std::size_t index, const WeightChange* change) const {
    std::uint64_t bytes = 0;
    const bool inputsFirst = network_.architecture->weightsAreInputsFirst && !isGguf_;
    for (const auto& [role, found] : layers_[index])
        bytes += found.weight->elements * (staysHalf(*found.weight, inputsFirst, change) ? 2 : 4);
    return bytes;
}

std::uint64_t NetworkWeights::headBytes(const WeightChange* change) const {
    return headTensor().elements * (staysHalf(headTensor(), false, change) ? 2 : 4);
}

} // namespace qs::eval
