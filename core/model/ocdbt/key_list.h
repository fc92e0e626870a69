// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The keys of an OCDBT database in order, with the places of their values.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace qs::ocdbt {

struct KeyList {
    /// One key and the place of its value. Offsets and sizes in bytes.
    struct Slot {
        std::uint64_t key = 0, offset = 0, size = 0;
        std::uint32_t keySize = 0, at = 0; ///< `at`: index of the file times 2, or index of the block times 2 plus 1
    };
    /// Values that were stored in a leaf.
    struct Block {
        std::shared_ptr<const std::vector<std::byte>> bytes;
        std::uint32_t file = 0; ///< index of the file that contains the leaf
    };
    std::vector<Slot> slots;
    std::string text; ///< all keys, one after another
    std::vector<Block> blocks;

    std::string_view key(std::size_t i) const { return keyOf(slots[i]); }
    /// slots.size() if the key does not exist.
    std::size_t find(std::string_view wanted) const {
        const auto at = std::lower_bound(slots.begin(), slots.end(), wanted,
                                         [&](const Slot& slot, std::string_view key) { return keyOf(slot) < key; });
        return at != slots.end() && keyOf(*at) == wanted ? std::size_t(at - slots.begin()) : slots.size();
    }

private:
    std::string_view keyOf(const Slot& slot) const { return {text.data() + slot.key, slot.keySize}; }
};

} // namespace qs::ocdbt
