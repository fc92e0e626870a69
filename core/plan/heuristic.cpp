// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/heuristic.h"

#include <algorithm>

namespace qs::plan {
namespace {

/// llama.cpp, src/llama-quant.cpp, use_more_bits(): the first and the last eighth of the layers, and every third between.
bool hasMoreBits(const UnitPlace& place) {
    const int eighth = place.layers / 8;
    return place.layer < eighth || place.layer >= 7 * place.layers / 8 || (place.layer - eighth) % 3 == 2;
}

bool mediumMix(const UnitPlace& place) {
    if (place.isHead) return true;
    const bool isTaken = place.role.ends_with("v_proj") || place.role.ends_with("attn_v") ||
                         place.role.ends_with("down_proj") || place.role.ends_with("ffn_down");
    return isTaken && hasMoreBits(place);
}

bool isAtAnEnd(const UnitPlace& place) { return place.layer <= 0 || place.layer == place.layers - 1; }

constexpr Heuristic kHeuristics[] = {
    {"k_m", "llama.cpp's medium mix",
     "More bits for the value and down projections of the first and last eighth of the layers and every third between, "
     "and for the head, as Q4_K_M does.",
     mediumMix},
    {"ends", "First and last layer", "More bits for the first and the last layer, the embedding and the head.",
     isAtAnEnd}};

std::vector<UnitPlace> placesOf(const Options& options) {
    std::vector<UnitPlace> places;
    const auto isOwnHead = [](const TensorInfo& tensor) { return tensor.role == TensorRole::Head; };
    const bool isTied = std::ranges::none_of(options.model->tensors, isOwnHead); // then the embedding is the head
    int layers = 0;
    for (std::size_t u = 0; u < options.units.size(); ++u) {
        UnitPlace place;
        const auto tensors = options.units.tensors(u);
        for (const TensorInfo* tensor : tensors) {
            const TensorPlace one = placeOf(tensor->name);
            place.layer = tensors.front() == tensor || place.layer == one.layer ? one.layer : -1;
            place.role = one.role;
            place.isHead = tensor->role == (isTied ? TensorRole::Embedding : TensorRole::Head);
            layers = std::max(layers, one.layer + 1);
        }
        places.push_back(std::move(place));
    }
    for (UnitPlace& place : places) place.layers = layers;
    return places;
}

} // namespace

std::span<const Heuristic> heuristics() { return kHeuristics; }

std::vector<Mixture> uniformMixtures(const Options& options, const Budget& budget) {
    std::vector<Mixture> out;
    for (std::size_t s = 0; s < options.choices; ++s)
        if (auto mixture = uniformMixture(s, options); isWithin(mixture, budget) && options.isEverywhere(s))
            out.push_back(std::move(mixture));
    std::ranges::stable_sort(out, [](const Mixture& a, const Mixture& b) { return a.bytes > b.bytes; });
    return out;
}

std::optional<Mixture> heuristicMixture(const Heuristic& rule, const Options& options, const Budget& budget) {
    std::vector<Mixture> uniform;
    for (std::size_t s = 0; s < options.choices; ++s)
        if (options.isEverywhere(s)) uniform.push_back(uniformMixture(s, options));
    std::ranges::stable_sort(uniform, [](const Mixture& a, const Mixture& b) { return a.bytes > b.bytes; });
    const auto places = placesOf(options);
    for (std::size_t i = 1; i < uniform.size(); ++i) {
        auto picked = uniform[i].picked;
        for (std::size_t u = 0; u < picked.size(); ++u)
            if (rule.getsMore(places[u])) picked[u] = uniform[i - 1].picked[u];
        auto mixture = mixtureOf(rule.title, std::move(picked), options);
        if (isWithin(mixture, budget)) return mixture;
    }
    return {};
}

} // namespace qs::plan
