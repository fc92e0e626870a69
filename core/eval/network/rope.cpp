// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/rope.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>

namespace qs::eval {
namespace {

using nlohmann::json;

constexpr NumberRange kFactors{1, 1e6}, kPositions{1, 0x1p24};

double numberOf(Config& config, const json& scaling, const char* key, double otherwise, NumberRange range) {
    return config.number(scaling, "rope scaling", key, otherwise, range);
}

/// Llama 3: long waves are stretched by the factor, short ones do not change, and those between are mixed.
void stretchLongWaves(Config& config, const json& scaling, Rope& rope) {
    const double factor = numberOf(config, scaling, "factor", 0, kFactors),
                 low = numberOf(config, scaling, "low_freq_factor", 0, kAbove0),
                 high = numberOf(config, scaling, "high_freq_factor", 0, kAbove0),
                 original = numberOf(config, scaling, "original_max_position_embeddings", 0, kPositions);
    if (!(factor >= 1) || !(low > 0) || !(high > low) || !(original > 0))
        return config.refuse("has a rope scaling of type llama3 without its four numbers");
    for (double& frequency : rope.frequency) {
        const double wave = 2 * std::numbers::pi / frequency;
        const double share = (original / wave - low) / (high - low);
        if (wave > original / low)
            frequency /= factor;
        else if (wave >= original / high)
            frequency = (1 - share) * frequency / factor + share * frequency;
    }
}

/// All waves are stretched by the factor.
void stretchAllWaves(Config& config, const json& scaling, Rope& rope) {
    const double factor = numberOf(config, scaling, "factor", 0, kFactors);
    if (!(factor >= 1)) return config.refuse("has a linear rope scaling without a factor of at least 1");
    for (double& frequency : rope.frequency) frequency /= factor;
}

/// The frequencies divided by the divisors under a key of longrope. If these do not fit, refuses the config and returns
/// an empty list.
std::vector<double> dividedBy(Config& config, const json& scaling, const char* key,
                              const std::vector<double>& frequency) {
    const auto found = scaling.find(key);
    if (found == scaling.end() || !found->is_array() || found->size() != frequency.size()) {
        config.refuse(fmt::format("has a rope scaling of type longrope whose {} does not fit the head size", key));
        return {};
    }
    std::vector<double> out = frequency;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const json& divisor = (*found)[i];
        if (!divisor.is_number() || !(divisor.get<double>() > 0) || !(divisor.get<double>() < 1e9))
            config.refuse("has a rope scaling of type longrope with a factor that is not above 0");
        else
            out[i] /= divisor.get<double>();
    }
    return out;
}

/// longrope: a divisor for each frequency, one set for contexts up to the original one and another for longer ones. In
/// GGUF files the divisors are tensors and the factor on sines is a key.
void divideEach(Config& config, const json& scaling, Rope& rope) {
    const double longest = double(config.count("max_position_embeddings", 1));
    constexpr const char* kOriginal = "original_max_position_embeddings";
    constexpr NumberRange kAbove1{2, 0x1p24};
    const double original =
        config.number(kOriginal, numberOf(config, scaling, kOriginal, longest, kAbove1), kAbove1);
    if (!(original > 1)) return config.refuse("has no positions above 1 for a rope scaling of type longrope");
    rope.shortPositions = std::int64_t(original);
    const double ratio = numberOf(config, scaling, "factor", longest / original, kAbove0);
    rope.scale = numberOf(config, scaling, "attention_factor",
                          ratio > 1 ? std::sqrt(1 + std::log(ratio) / std::log(original)) : 1.0, kAbove0);
    if (config.isGguf()) return;
    if (longest > original) rope.longFrequency = dividedBy(config, scaling, "long_factor", rope.frequency);
    rope.frequency = dividedBy(config, scaling, "short_factor", rope.frequency);
}

/// Ways in which angles differ from theta^(-2i / dimensions).
struct RopeType {
    std::span<const std::string_view> names; ///< rope_type or type
    void (*apply)(Config& config, const json& scaling, Rope& rope);
};
void leave(Config&, const json&, Rope&) {}
constexpr std::string_view kPlainNames[] = {"", "default", "none"}, kLinearNames[] = {"linear"},
                           kLlama3Names[] = {"llama3"}, kLongNames[] = {"longrope", "su"};
constexpr RopeType kRopeTypes[] = {
    {kPlainNames, leave}, {kLinearNames, stretchAllWaves}, {kLlama3Names, stretchLongWaves}, {kLongNames, divideEach}};

} // namespace

Rope plainRope(std::int64_t dimensions, double theta) {
    Rope rope;
    for (std::int64_t i = 0; i < dimensions / 2; ++i)
        rope.frequency.push_back(std::pow(theta, -2.0 * double(i) / double(dimensions)));
    return rope;
}

const json& ropeObject(Config& config) {
    static const json kNone = json::object();
    const json* found = &kNone;
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        const json& value = config.value(key);
        if (value.is_null()) continue;
        if (!value.is_object())
            config.refuse(fmt::format("has a {} that is not an object", key));
        else if (!value.empty())
            found = &value;
    }
    return *found;
}

bool hasWindowRope(Config& config) { return ropeObject(config).contains("sliding_attention"); }

Rope readRope(Config& config, std::int64_t dimensions, double theta, const char* layers) {
    const json* scaling = &ropeObject(config);
    const bool isApart = scaling->contains(layers) && (*scaling)[layers].is_object();
    if (isApart) scaling = &(*scaling)[layers];
    theta = numberOf(config, *scaling, "rope_theta", isApart ? theta : config.number("rope_theta", theta, kThetas),
                     kThetas);
    Rope rope = plainRope(dimensions, theta);
    const auto named = [&](const char* key) { return scaling->contains(key) ? textAt(*scaling, key) : std::string(); };
    std::string type = named("rope_type");
    if (type.empty()) type = named("type");
    for (const RopeType& row : kRopeTypes)
        if (std::count(row.names.begin(), row.names.end(), type) > 0) {
            row.apply(config, *scaling, rope);
            return rope;
        }
    config.refuse(fmt::format("has a rope scaling of type {}, which is not known", quotedName(type)));
    return rope;
}

void turn(float* values, const float* sines, const float* cosines, std::size_t frequencies, bool pairsAreNeighbours) {
    for (std::size_t i = 0; i < frequencies; ++i) {
        float& a = values[pairsAreNeighbours ? 2 * i : i];
        float& b = values[pairsAreNeighbours ? 2 * i + 1 : i + frequencies];
        const float first = a, second = b;
        a = first * cosines[i] - second * sines[i];
        b = second * cosines[i] + first * sines[i];
    }
}

} // namespace qs::eval
