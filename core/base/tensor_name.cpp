// SPDX-License-Identifier: GPL-3.0-or-later
// What the name of a tensor says: its order, its layer, its role.
#include "core/base/tensor_name.h"

#include "core/base/text.h"
#include "core/model/model.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace qs {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

template<std::size_t N> bool isOneOf(std::string_view word, const std::array<std::string_view, N>& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

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
    if (part.empty() || part.size() > 6 || !std::all_of(part.begin(), part.end(), isDigit)) return -1;
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

bool naturalLess(std::string_view a, std::string_view b) {
    for (;;) {
        const std::size_t n = std::min(a.size(), b.size());
        const auto difference =
            std::size_t(std::mismatch(a.begin(), a.begin() + std::ptrdiff_t(n), b.begin()).first - a.begin());
        if (difference == n) return a.size() < b.size();
        // The difference may be inside a number: compare from the start of that number.
        std::size_t start = difference;
        while (start > 0 && isDigit(a[start - 1])) --start;
        if (!isDigit(a[start]) || !isDigit(b[start]))
            return static_cast<unsigned char>(a[difference]) < static_cast<unsigned char>(b[difference]);
        const auto number = [start](std::string_view s) {
            std::size_t end = start, begin = start;
            while (end < s.size() && isDigit(s[end])) ++end;
            while (begin < end && s[begin] == '0') ++begin;
            return std::pair(s.substr(begin, end - begin), s.substr(end));
        };
        const auto [x, restA] = number(a);
        const auto [y, restB] = number(b);
        if (x.size() != y.size()) return x.size() < y.size();
        if (x != y) return x < y;
        // Equal numbers with different leading zeros: the rest decides first, then the zeros.
        if (restA == restB) return a.size() < b.size();
        a = restA;
        b = restB;
    }
}

std::string quotedName(std::string_view name) { return "\"" + escapeForPeople(name, 100) + "\""; }

TensorPlace placeOf(std::string_view tensorName) {
    auto parts = partsOf(tensorName);
    std::string tail; // a bias is a different tensor than the weight of the same module
    if (parts.size() > 1 && (parts.back() == "weight" || parts.back() == "kernel" || parts.back() == "bias")) {
        if (parts.back() == "bias") tail = ".bias";
        parts.pop_back();
    }
    std::size_t wrappers = 0;
    while (wrappers + 1 < parts.size() && isOneOf(parts[wrappers], kWrappers)) ++wrappers;
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
    if (isOneOf(before.back(), kStacks)) before.pop_back();
    std::vector<std::string_view> after(middle + 1, parts.end());
    std::vector<std::string_view> role, inLayer;
    const bool keepAll = !after.empty() && isOneOf(after.back(), kGeneric);
    for (std::size_t i = 0; i < after.size(); ++i) {
        const bool expertNumber = i > 0 && after[i - 1] == "experts" && layerNumber(after[i]) >= 0;
        const bool isModule = !keepAll && i + 1 < after.size() && isOneOf(after[i], kModules);
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
