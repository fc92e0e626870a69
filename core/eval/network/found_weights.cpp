// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/found_weights.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/quantized_source.h"
#include "core/quant/encode/quantizer.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {

std::vector<std::int64_t> shapeOf(WeightRole role, const Network& net) {
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

namespace {

using Shape = std::vector<std::int64_t>;

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

/// True if the weight exists: as a tensor, as a part of a fused one, or as several parts.
bool isThere(const FoundWeights& weights, WeightRole role) {
    const auto has = [&](WeightRole each) { return weights.contains(each); };
    if (has(role)) return true;
    for (const FusedWeight& fused : fusedWeights()) {
        if (fused.whole == role) return std::ranges::all_of(fused.parts, has);
        if (std::count(fused.parts.begin(), fused.parts.end(), role) > 0 && has(fused.whole)) return true;
    }
    return false;
}

/// Looks for weights by the names that a family gives them.
struct Finder {
    const Model& model;
    const Network& network;
    const bool isGguf;

    Result<void> check(const WeightName& row, const TensorInfo& tensor, bool isExpertOfMany) const;
    /// Finds and checks the tensors of one name, with their bias. Empty if there are none.
    Result<FoundWeight> lookUp(const WeightName& row, const std::string& before) const;
    Result<void> find(std::span<const WeightName> names, const std::string& before, bool hasExperts,
                      FoundWeights& into) const;
};

Result<void> Finder::check(const WeightName& row, const TensorInfo& tensor, bool isExpertOfMany) const {
    if (!info(tensor.dtype).quantizable)
        return fail(fmt::format("The tensor {} is stored as {}, which has no values to compute with.",
                                quotedName(tensor.name), tensor.typeId()),
                    model.path);
    Shape expected = shapeOf(row.role, network);
    const bool isOfLayer = row.role > WeightRole::Head;
    if (expected.size() == 2 && isOfLayer && isStoredInputsFirst(*network.architecture, isGguf, tensor))
        std::swap(expected[0], expected[1]);
    if (isOfExperts(row.role) && !isExpertOfMany) expected.insert(expected.begin(), network.mixture.experts);
    if (!std::equal(expected.begin(), expected.end(), tensor.shape.begin(), tensor.shape.end()))
        return fail(fmt::format("The tensor {} has the shape {}; the configuration says {}.", quotedName(tensor.name),
                                shapeText(tensor.shape), shapeText(expected)),
                    model.path);
    return {};
}

Result<FoundWeight> Finder::lookUp(const WeightName& row, const std::string& before) const {
    FoundWeight found;
    const char* end = isGguf ? row.gguf : row.name;
    if (!end) return found;
    const std::string name = !isGguf && row.role == WeightRole::Head ? end : before + end;
    const bool isOfMany = name.find("{}") != std::string::npos;
    for (std::int64_t i = 0; i < (isOfMany ? network.mixture.experts : 1); ++i) {
        const std::string each = isOfMany ? withNumber(name, i) : name;
        const TensorInfo* tensor = model.find(each);
        if (!tensor && i == 0) return found;
        if (!tensor)
            return fail(fmt::format("{} has no tensor {}, although it has other experts.", shownPath(model.path),
                                    quotedName(each)),
                        model.path);
        if (auto checked = check(row, *tensor, isOfMany); !checked) return tl::unexpected(checked.error());
        found.tensors.push_back(tensor);
    }
    if (!name.ends_with(".weight") || isOfExperts(row.role)) return found;
    found.bias = model.find(biasName(name));
    const std::int64_t outputs = shapeOf(row.role, network).front();
    const bool fits = found.bias && found.bias->shape.size() == 1 && found.bias->shape.front() == outputs &&
                      info(found.bias->dtype).quantizable;
    if (fits || (!found.bias && !row.bias && !announcesBias(network, row.role))) return found;
    return fail(fmt::format("{} has no bias {} of {} values, which {} needs.", shownPath(model.path),
                            quotedName(biasName(name)), outputs, network.architecture->title),
                model.path);
}

Result<void> Finder::find(std::span<const WeightName> names, const std::string& before, bool hasExperts,
                          FoundWeights& into) const {
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
        if (row.role == WeightRole::Head && network.tied) continue;
        const std::string name = nameOf(names, row.role, isGguf);
        return fail(fmt::format("{} has no tensor {}, which {} needs.", shownPath(model.path),
                                quotedName(!isGguf && row.role == WeightRole::Head ? name : before + name),
                                network.architecture->title),
                    model.path);
    }
    return {};
}

// Llama 3 and Phi-3: what the angles of a GGUF file are divided by are tensors there; Phi-3 has one for short contexts
// and one for long ones.
Result<std::vector<double>> dividedBy(const Model& model, const TensorInfo& divisors, const Rope& rope) {
    const auto view = model.view(divisors);
    if (!view) return tl::unexpected(view.error());
    if (divisors.elements != rope.frequency.size() || !info(divisors.dtype).quantizable)
        return fail(fmt::format("The tensor {} does not fit the head size.", quotedName(divisors.name)), model.path);
    std::vector<float> values(rope.frequency.size());
    loadF32(*view, 0, values.size(), values.data());
    std::vector<double> out = rope.frequency;
    for (std::size_t i = 0; i < values.size(); ++i) out[i] /= double(values[i]);
    return out;
}

Result<void> divideAngles(const Model& model, Network& network) {
    const TensorInfo* divisors = model.find("rope_freqs.weight");
    if (!divisors) divisors = model.find("rope_factors_short.weight");
    const TensorInfo* longer = model.find("rope_factors_long.weight");
    for (Rope& rope : network.ropes) {
        if (longer && rope.shortPositions > 0 && rope.shortPositions < network.positions) {
            auto frequency = dividedBy(model, *longer, rope);
            if (!frequency) return tl::unexpected(frequency.error());
            rope.longFrequency = std::move(*frequency);
        }
        if (!divisors) continue;
        auto frequency = dividedBy(model, *divisors, rope);
        if (!frequency) return tl::unexpected(frequency.error());
        rope.frequency = std::move(*frequency);
    }
    return {};
}

} // namespace

std::string nameOf(std::span<const WeightName> names, WeightRole role, bool isGguf) {
    for (const WeightName& row : names)
        if (const char* name = isGguf ? row.gguf : row.name; row.role == role && name)
            return std::string_view(name).find("{}") == std::string_view::npos ? name : withNumber(name, 0);
    return "";
}

bool isStoredInputsFirst(const Architecture& family, bool isGguf, const TensorInfo& tensor) {
    return family.weightsAreInputsFirst && !isGguf && (tensor.outputLast || !isStoredQuantized(tensor));
}

Result<NetworkTensors> findWeights(const Model& files, Network& network) {
    NetworkTensors weights;
    const Architecture& family = *network.architecture;
    weights.isGguf = !files.files.empty() && files.files.front().metadata.contains("general.architecture");
    std::string prefix;
    const WeightName& embedding = family.model.front();
    if (!weights.isGguf) {
        for (const std::string_view candidate : family.prefixes)
            if (files.find(std::string(candidate) + embedding.name)) {
                prefix = candidate;
                break;
            }
    }
    const TensorInfo* tokens = files.find(weights.isGguf ? std::string(embedding.gguf) : prefix + embedding.name);
    if (tokens && tokens->shape.size() == 2 && network.vocabulary == 0) network.vocabulary = tokens->shape.front();
    if (weights.isGguf) network.tied = files.find("output.weight") == nullptr;
    if (weights.isGguf)
        if (auto done = divideAngles(files, network); !done) return tl::unexpected(done.error());
    const Finder finder{files, network, weights.isGguf};
    if (auto found = finder.find(family.model, prefix, false, weights.outside); !found)
        return tl::unexpected(found.error());
    weights.layers.resize(network.layers.size());
    for (std::size_t i = 0; i < weights.layers.size(); ++i) {
        const std::string before =
            weights.isGguf ? fmt::format("blk.{}.", i) : fmt::format("{}{}.{}.", prefix, family.layers, i);
        if (auto found = finder.find(family.layer, before, network.layers[i].hasExperts, weights.layers[i]); !found)
            return tl::unexpected(found.error());
    }
    return weights;
}

} // namespace qs::eval
