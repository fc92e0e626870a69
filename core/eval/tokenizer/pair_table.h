// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A hash table from pairs of tokens to merges, for quick look-ups.

#include <cstdint>
#include <vector>

namespace qs::eval {

struct Merge {
    std::int32_t rank = 0, id = -1; ///< id of the merged token; -1: there is no such merge
};

class PairTable {
public:
    /// If a pair is inserted twice, the last merge counts.
    void insert(std::int32_t left, std::int32_t right, Merge merge) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        Slot& slot = slots_[place(keyOf(left, right))];
        used_ += slot.merge.id < 0;
        slot = {keyOf(left, right), merge};
    }
    Merge find(std::int32_t left, std::int32_t right) const {
        return slots_.empty() ? Merge() : slots_[place(keyOf(left, right))].merge;
    }

private:
    struct Slot {
        std::uint64_t key = 0;
        Merge merge;
    };
    static std::uint64_t keyOf(std::int32_t left, std::int32_t right) {
        return std::uint64_t(std::uint32_t(left)) << 32 | std::uint32_t(right);
    }
    std::size_t place(std::uint64_t key) const {
        std::uint64_t hash = (key ^ key >> 29) * 0xBF58476D1CE4E5B9u;
        std::size_t at = (hash ^ hash >> 32) & (slots_.size() - 1);
        while (slots_[at].merge.id >= 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
        return at;
    }
    void grow() {
        std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.merge.id >= 0) slots_[place(slot.key)] = slot;
    }
    std::vector<Slot> slots_; ///< a power of two; half of them empty
    std::size_t used_ = 0;
};

} // namespace qs::eval
