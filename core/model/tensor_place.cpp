// SPDX-License-Identifier: GPL-3.0-or-later
// What the name of a tensor says: its layer and its role.
#include "core/base/lists.h"
#include "core/model/model.h"

#include <array>
#include <charconv>

namespace qs {
namespace {

// Parts before the stack of layers that say nothing about the tensor.
constexpr auto kWrappers =
    std::to_array<std::string_view>({"model", "transformer", "base_model", "language_model", "module", "backbone",
                                     "bert", "roberta", "gpt_neox", "rwkv", "params", "net"});
// Names of the stack of layers in model code.
constexpr auto kStacks =
    std::to_array<std::string_view>({"layers", "layer", "h", "blocks", "block", "blk", "decoder_layers"});
// Modules that contain a projection. They are dropped if the name of the projection is clear enough.
constexpr auto kModules = std::to_array<std::string_view>(
    {"self_attn", "attn", "attention", "self_attention", "mlp", "feed_forward", "ffn", "block_sparse_moe", "self"});
// Last parts that several modules of one layer have in common.
constexpr auto kGeneric =
    std::to_array<std::string_view>({"dense", "output", "out", "c_proj", "proj", "linear", "lin", "fc", "norm", "in",
                                     "q", "k", "v", "o", "wi", "wo", "scale"});

std::vector<std::string_view> partsOf(std::string_view name) {
    std::vector<std::string_view> parts;
    constexpr std::size_t most = 32; // an untrusted name may have a million dots
    while (parts.size() < most) {
        const auto dot = name.find_first_of("./");
        parts.push_back(name.substr(0, dot));
        if (dot == std::string_view::npos) return parts;
        name.remove_prefix(dot + 1);
    }
    parts.push_back(name);
    return parts;
}

int layerNumber(std::string_view part) {
    int number = -1;
    if (part.empty() || part.size() > 6 || part.find_first_not_of("0123456789") != part.npos) return -1;
    std::from_chars(part.data(), part.data() + part.size(), number);
    return number;
}

std::string joined(const std::vector<std::string_view>& parts) {
    std::string text;
    for (const auto part : parts) {
        if (!text.empty()) text += '.';
        text += part;
    }
    return text;
}

} // namespace

TensorPlace placeOf(std::string_view tensorName) {
    auto parts = partsOf(tensorName);
    std::string tail; // a bias is a different tensor than the weight of the same module
    if (parts.size() > 1 && (parts.back() == "weight" || parts.back() == "kernel" || parts.back() == "bias")) {
        if (parts.back() == "bias") tail = ".bias";
        parts.pop_back();
    }
    std::size_t wrappers = 0;
    while (wrappers + 1 < parts.size() && contains(kWrappers, parts[wrappers])) ++wrappers;
    parts.erase(parts.begin(), parts.begin() + std::ptrdiff_t(wrappers));

    TensorPlace place;
    std::size_t at = 1;
    // Keras numbers the variables of a layer, as in "dense/vars/0". These numbers are no layers.
    while (at < parts.size() && (layerNumber(parts[at]) < 0 || parts[at - 1] == "vars")) ++at;
    if (at >= parts.size()) {
        place.role = place.inLayer = joined(parts) + tail;
        return place;
    }
    place.layer = layerNumber(parts[at]);
    const auto middle = parts.begin() + std::ptrdiff_t(at);
    place.group = joined({parts.begin(), middle + 1});

    // The role must differ between the tensors of one layer, and be the same in all layers.
    std::vector<std::string_view> before(parts.begin(), middle);
    if (contains(kStacks, before.back())) before.pop_back();
    std::vector<std::string_view> after(middle + 1, parts.end());
    std::vector<std::string_view> role, inLayer;
    const bool keepAll = !after.empty() && contains(kGeneric, after.back());
    for (std::size_t i = 0; i < after.size(); ++i) {
        const bool expertNumber = i > 0 && after[i - 1] == "experts" && layerNumber(after[i]) >= 0;
        const bool isModule = !keepAll && i + 1 < after.size() && contains(kModules, after[i]);
        if (!isModule) inLayer.push_back(after[i]);
        if (!expertNumber && !isModule) role.push_back(after[i]);
    }
    inLayer.insert(inLayer.begin(), before.begin(), before.end());
    role.insert(role.begin(), before.begin(), before.end());
    place.role = (role.empty() ? std::string(parts[at - 1]) : joined(role)) + tail;
    place.inLayer = inLayer.size() == role.size() ? place.role : joined(inLayer) + tail;
    return place;
}

} // namespace qs
