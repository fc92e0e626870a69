// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/network_weights.h"

#include "core/base/parallel.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/eval/forward/rows.h"
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
    case WeightRole::Router: return {net.mixture.experts, net.hidden};
    case WeightRole::ExpertGate:
    case WeightRole::ExpertUp: return {net.mixture.intermediate, net.hidden};
    case WeightRole::ExpertGateUp: return {2 * net.mixture.intermediate, net.hidden};
    case WeightRole::ExpertDown: return {net.hidden, net.mixture.intermediate};
    case WeightRole::TokenTypes: return {net.tokenTypes, net.hidden};
    case WeightRole::EmbeddingNorm:
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

/// Whether the configuration says that the weight has a bias.
bool announcesBias(const Network& net, WeightRole role) {
    switch (role) {
    case WeightRole::Query:
    case WeightRole::Key:
    case WeightRole::Value:
    case WeightRole::QueryKeyValue:
    case WeightRole::Output: return net.hasAttentionBiases;
    case WeightRole::Gate:
    case WeightRole::Up:
    case WeightRole::GateUp:
    case WeightRole::Down: return net.hasMlpBiases;
    default: return false;
    }
}

std::string withNumber(std::string_view name, std::int64_t number) {
    const auto at = name.find("{}");
    return fmt::format("{}{}{}", name.substr(0, at), number, name.substr(at + 2));
}

/// The first name of a role in files of one kind; "" where they have none.
std::string nameOf(std::span<const WeightName> names, WeightRole role, bool isGguf) {
    for (const WeightName& row : names)
        if (const char* name = isGguf ? row.gguf : row.name; row.role == role && name)
            return std::string_view(name).find("{}") == std::string_view::npos ? name : withNumber(name, 0);
    return "";
}

/// Whether a weight is there by itself, as part of a fused one, or by its parts.
template<class Weights> bool isThere(const Weights& weights, WeightRole role) {
    const auto has = [&](WeightRole each) { return weights.contains(each); };
    if (has(role)) return true;
    for (const FusedWeight& fused : fusedWeights()) {
        if (fused.whole == role) return std::all_of(fused.parts.begin(), fused.parts.end(), has);
        if (std::count(fused.parts.begin(), fused.parts.end(), role) > 0 && has(fused.whole)) return true;
    }
    return false;
}

bool changes(const WeightChange* change, const TensorInfo& tensor) {
    return change && change->touches && change->touches(tensor);
}

bool isServed(const WeightChange* change, const TensorInfo& tensor) {
    return changes(change, tensor) && change->server != nullptr;
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

Result<void> NetworkWeights::check(const WeightName& row, const TensorInfo& tensor, bool isExpertOfMany) const {
    if (!info(tensor.dtype).quantizable)
        return fail(fmt::format("The tensor {} is stored as {}, which has no values to compute with.",
                                quotedName(tensor.name), tensor.typeId()),
                    model_->path);
    Shape expected = shapeOf(row.role, network_);
    const bool isOfLayer = row.role > WeightRole::Head;
    if (expected.size() == 2 && network_.architecture->weightsAreInputsFirst && !isGguf_ && isOfLayer)
        std::swap(expected[0], expected[1]);
    if (isOfExperts(row.role) && !isExpertOfMany) expected.insert(expected.begin(), network_.mixture.experts);
    if (!std::equal(expected.begin(), expected.end(), tensor.shape.begin(), tensor.shape.end()))
        return fail(fmt::format("The tensor {} has the shape {}; the configuration says {}.", quotedName(tensor.name),
                                shapeText(tensor.shape), shapeText(expected)),
                    model_->path);
    return {};
}

Result<NetworkWeights::Found> NetworkWeights::lookUp(const WeightName& row, const std::string& before) const {
    Found found;
    const char* end = isGguf_ ? row.gguf : row.name;
    if (!end) return found;
    const std::string name = !isGguf_ && row.role == WeightRole::Head ? end : before + end;
    const bool isOfMany = name.find("{}") != std::string::npos;
    for (std::int64_t i = 0; i < (isOfMany ? network_.mixture.experts : 1); ++i) {
        const std::string each = isOfMany ? withNumber(name, i) : name;
        const TensorInfo* tensor = model_->find(each);
        if (!tensor && i == 0) return found;
        if (!tensor)
            return fail(fmt::format("{} has no tensor {}, although it has other experts.",
                                    escapeForPeople(model_->path, 200), quotedName(each)),
                        model_->path);
        if (auto checked = check(row, *tensor, isOfMany); !checked) return tl::unexpected(checked.error());
        found.tensors.push_back(tensor);
    }
    found.name = &row;
    if (!name.ends_with(".weight") || isOfExperts(row.role)) return found;
    found.bias = model_->find(biasName(name));
    const std::int64_t outputs = shapeOf(row.role, network_).front();
    const bool fits = found.bias && found.bias->shape.size() == 1 && found.bias->shape.front() == outputs &&
                      info(found.bias->dtype).quantizable;
    if (fits || (!found.bias && !row.bias && !announcesBias(network_, row.role))) return found;
    return fail(fmt::format("{} has no bias {} of {} values, which {} needs.", escapeForPeople(model_->path, 200),
                            quotedName(biasName(name)), outputs, network_.architecture->title),
                model_->path);
}

Result<void> NetworkWeights::find(std::span<const WeightName> names, const std::string& before, bool hasExperts,
                                  Weights& into) const {
    const auto isOfLayer = [&](const WeightName& row) {
        return row.layers == Layers::All || (row.layers == Layers::WithExperts) == hasExperts;
    };
    for (const WeightName& row : names) {
        if (!isOfLayer(row) || isThere(into, row.role)) continue;
        auto found = lookUp(row, before);
        if (!found) return tl::unexpected(found.error());
        if (!found->tensors.empty()) into[row.role] = std::move(*found);
    }
    for (const WeightName& row : names) {
        if (!isOfLayer(row) || row.mayLack || isThere(into, row.role)) continue;
        if (row.role == WeightRole::Head && network_.tied) continue;
        const std::string name = nameOf(names, row.role, isGguf_);
        return fail(fmt::format("{} has no tensor {}, which {} needs.", escapeForPeople(model_->path, 200),
                                quotedName(!isGguf_ && row.role == WeightRole::Head ? name : before + name),
                                network_.architecture->title),
                    model_->path);
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
    if (weights.isGguf_)
        if (auto done = weights.divideAngles(network); !done) return tl::unexpected(done.error());
    weights.network_ = network;
    if (auto found = weights.find(family.model, prefix, false, weights.outside_); !found)
        return tl::unexpected(found.error());
    weights.layers_.resize(network.layers.size());
    for (std::size_t i = 0; i < weights.layers_.size(); ++i) {
        const std::string before =
            weights.isGguf_ ? fmt::format("blk.{}.", i) : fmt::format("{}{}.{}.", prefix, family.layers, i);
        if (auto found = weights.find(family.layer, before, network.layers[i].hasExperts, weights.layers_[i]); !found)
            return tl::unexpected(found.error());
    }
    return weights;
}

// Llama 3 and Phi-3: what the angles of a GGUF file are divided by are tensors there; Phi-3 has one for short contexts and one
// for long ones.
Result<void> NetworkWeights::divideAngles(Network& network) const {
    const auto divided = [&](const TensorInfo& divisors, const Rope& rope) -> Result<std::vector<double>> {
        const auto view = model_->view(divisors);
        if (!view) return tl::unexpected(view.error());
        if (divisors.elements != rope.frequency.size() || !info(divisors.dtype).quantizable)
            return fail(fmt::format("The tensor {} does not fit the head size.", quotedName(divisors.name)),
                        model_->path);
        std::vector<float> values(rope.frequency.size());
        loadF32(*view, 0, values.size(), values.data());
        std::vector<double> out = rope.frequency;
        for (std::size_t i = 0; i < values.size(); ++i) out[i] /= double(values[i]);
        return out;
    };
    const TensorInfo* divisors = model_->find("rope_freqs.weight");
    if (!divisors) divisors = model_->find("rope_factors_short.weight");
    const TensorInfo* longer = model_->find("rope_factors_long.weight");
    for (Rope& rope : network.ropes) {
        if (longer && rope.shortPositions > 0 && rope.shortPositions < network.positions) {
            auto frequency = divided(*longer, rope);
            if (!frequency) return tl::unexpected(frequency.error());
            rope.longFrequency = std::move(*frequency);
        }
        if (!divisors) continue;
        auto frequency = divided(*divisors, rope);
        if (!frequency) return tl::unexpected(frequency.error());
        rope.frequency = std::move(*frequency);
    }
    return {};
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
    for (std::size_t i = 0; i < layers_.size(); ++i)
        for (const auto& [role, found] : layers_[i]) {
            if (found.weight()->shape.size() < 2 || !takes(role)) continue;
            const bool ofMany = isOfExperts(role) && found.weight()->shape.size() == 2;
            for (std::size_t e = 0; e < found.tensors.size(); ++e)
                out.push_back({found.tensors[e], i, role, fmt::format("blk.{}.{}", i, nameOf(family.layer, role, true)),
                               family.weightsAreInputsFirst && !isGguf_, ofMany ? int(e) : -1});
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
    if (!inputsFirst || tensor.shape.size() != 2) return values;
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

Result<WeightMatrix> NetworkWeights::served(const TensorInfo& tensor, WeightRole role, std::size_t begin,
                                            bool inputsFirst, const WeightChange& change, const Job& job) const {
    const auto view = model_->view(tensor);
    if (!view) return tl::unexpected(view.error());
    const Shape shape = shapeOf(role, network_);
    auto matrix = change.server->matrix({*view, std::size_t(shape[0]), std::size_t(shape[1]), inputsFirst, begin}, job);
    if (!matrix) return tl::unexpected(matrix.error());
    drop(*view);
    if (auto same = model_->unchanged(tensor); !same) return tl::unexpected(same.error());
    return WeightMatrix(std::move(*matrix));
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
    auto values = matrix(*found->second.weight(), false, change, job);
    if (!values) return tl::unexpected(values.error());
    norm = std::move(*values);
    return bias ? appendBias(found->second, job, *bias) : Result<void>();
}

Result<void> NetworkWeights::append(const Weights& weights, WeightRole role, const WeightChange* change, const Job& job,
                                    WeightMatrix& into, std::vector<float>& bias) const {
    const auto found = weights.find(role);
    if (found == weights.end()) return {};
    const bool inputsFirst = network_.architecture->weightsAreInputsFirst && !isGguf_ && &weights != &outside_;
    const TensorInfo& tensor = *found->second.weight();
    auto values = role != WeightRole::Router && isServed(change, tensor)
                      ? served(tensor, role, 0, inputsFirst, *change, job)
                      : stored(tensor, inputsFirst, change, job);
    if (!values) return tl::unexpected(values.error());
    into.append(std::move(*values));
    return appendBias(found->second, job, bias);
}

Result<void> NetworkWeights::appendExperts(const Weights& weights, WeightRole role, const WeightChange* change,
                                           const Job& job, std::vector<WeightMatrix>& into) const {
    const auto found = weights.find(role);
    if (found == weights.end()) return {};
    into.resize(std::size_t(network_.mixture.experts));
    const auto& tensors = found->second.tensors;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        const std::size_t share = into.size() / tensors.size(), size = tensors[t]->elements / share;
        for (std::size_t e = 0; e < share && isServed(change, *tensors[t]); ++e) {
            auto one = served(*tensors[t], role, e * size, false, *change, job);
            if (!one) return tl::unexpected(one.error());
            into[t * share + e].append(std::move(*one));
        }
        if (isServed(change, *tensors[t])) continue;
        auto values = stored(*tensors[t], false, change, job);
        if (!values) return tl::unexpected(values.error());
        for (std::size_t e = 0; e < share; ++e) into[t * share + e].append(values->part(e * size, size));
    }
    return {};
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
    auto found = embeddings(tokens, change, job);
    if (!found) return found;
    std::vector<float> positions;
    if (outside_.contains(WeightRole::PositionEmbedding)) {
        auto loaded = matrix(*outside_.at(WeightRole::PositionEmbedding).weight(), false, change, job);
        if (!loaded) return tl::unexpected(loaded.error());
        positions = std::move(*loaded);
    }
    const auto hidden = std::size_t(network_.hidden);
    std::vector<float> types, factor, bias;
    for (const auto& [role, into] : {std::pair{WeightRole::TokenTypes, &types}, {WeightRole::EmbeddingNorm, &factor}})
        if (auto done = loadNorm(outside_, role, change, job, *into, &bias); !done) return tl::unexpected(done.error());
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

Result<std::vector<float>> NetworkWeights::embeddings(std::span<const std::int32_t> tokens, const WeightChange* change,
                                                      const Job& job) const {
    const TensorInfo& table = *outside_.at(WeightRole::Embedding).weight();
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
    return matrix(*outside_.at(WeightRole::FinalNorm).weight(), false, nullptr, job);
}

Result<std::vector<float>> NetworkWeights::finalNormBias(const Job& job) const {
    const TensorInfo* bias = outside_.at(WeightRole::FinalNorm).bias;
    if (!bias) return std::vector<float>();
    return matrix(*bias, false, nullptr, job);
}

const TensorInfo& NetworkWeights::headTensor() const {
    const auto own = outside_.find(WeightRole::Head);
    const bool tied = own == outside_.end() || network_.tied;
    return *(tied ? outside_.at(WeightRole::Embedding).weight() : own->second.weight());
}

Result<WeightMatrix> NetworkWeights::head(const WeightChange* change, const Job& job) const {
    return stored(headTensor(), false, change, job);
}

std::uint64_t NetworkWeights::layerBytes(std::size_t index, const WeightChange* change) const {
    std::uint64_t bytes = 0;
    const bool inputsFirst = network_.architecture->weightsAreInputsFirst && !isGguf_;
    for (const auto& [role, found] : layers_[index])
        for (const TensorInfo* tensor : found.tensors)
            bytes += tensor->elements * (staysHalf(*tensor, inputsFirst && !isOfExperts(role), change) ? 2 : 4);
    return bytes;
}

std::uint64_t NetworkWeights::headBytes(const WeightChange* change) const {
    return headTensor().elements * (staysHalf(headTensor(), false, change) ? 2 : 4);
}

} // namespace qs::eval
