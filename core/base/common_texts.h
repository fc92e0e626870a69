// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Texts that many rows have in common. Each is kept once, and a row keeps its number.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace qs {

class CommonTexts {
public:
    /// The number of a text, which is added if it is not there. That of "" is 0.
    std::uint32_t idOf(const std::string& text) {
        const auto [found, isNew] = ids_.emplace(text, std::uint32_t(texts_.size()));
        if (isNew) texts_.push_back(text);
        return found->second;
    }
    const std::string& text(std::uint32_t id) const { return texts_[id]; }

private:
    std::vector<std::string> texts_{""};
    std::unordered_map<std::string, std::uint32_t> ids_{{"", 0}};
};

} // namespace qs
