// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How many copies of the weights a contender needs so that they come from memory, and what they take.

#include "core/bench/run/group.h"

namespace qs {

/// Bytes of the weights that one run reads.
std::uint64_t copyBytes(const Contender& c);
/// Memory of one copy; small copies fill up pages.
std::uint64_t heldBytes(const Contender& c);
bool isHost(const Contender& c);

class Copies {
public:
    explicit Copies(const BenchState& state) : state_(state) {}
    /// Bytes that all copies must have together so that none stays in a cache.
    std::uint64_t coldBytesOf(const Contender& c) const;
    std::uint64_t setsOf(const Contender& c) const;
    /// The memory limit allows fewer copies than twice what caches hold.
    bool tooFew(const Contender& c) const;
    /// Memory of all copies and outputs.
    std::uint64_t memoryOf(const Contender& c) const;

private:
    const BenchState& state_;
};

} // namespace qs
