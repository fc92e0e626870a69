// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How an evaluation stays within a budget of memory. Chunks go through the network in groups. A group that does not keep
// the weights reads and quantizes them again: that costs little beside the products of some thousand tokens, while
// hidden states in a file would be read and written for every layer.

#include "core/eval/network/network_weights.h"

namespace qs::eval {

/// One network that goes forward beside others.
struct MemoryUser {
    const NetworkWeights* weights = nullptr;
    const WeightChange *inside = nullptr, *outside = nullptr; ///< of layers; of the head. Null: as they are stored
    bool sharesHead = false;                                  ///< with a network before
};

struct MemoryPlan {
    std::size_t chunksOfGroup = 1;
    bool keepsWeights = false; ///< between groups, ready for products
};

/// `context`, `chunks`: of the text. `roomBytes`: of the values between products. `budget`: bytes of the evaluation; 0:
/// half of what the machine has free. A layer (with one expert of a mixture), the head and a chunk are taken even where they are
/// larger.
MemoryPlan planMemory(std::span<const MemoryUser> users, const Network& network, std::size_t context,
                      std::size_t chunks, std::size_t roomBytes, std::uint64_t budget);

} // namespace qs::eval
