// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How an evaluation stays within a budget of memory. Chunks go through the network in groups. A group that does not
// keep the weights reads and quantizes them again: that costs little beside the products of some thousand tokens, while
// hidden states in a file would be read and written for every layer.

#include "core/eval/network/network_weights.h"

namespace qs::eval {

/// One of the networks that are evaluated at the same time.
struct MemoryUser {
    const NetworkWeights* weights = nullptr;
    const WeightChange *inside = nullptr, *outside = nullptr; ///< change of layers; change of the head; null: none
    bool sharesHead = false;                                  ///< true: it uses the head of an earlier network
};

struct MemoryPlan {
    std::size_t chunksOfGroup = 1;
    bool keepsWeights = false; ///< true: prepared weights stay in memory between groups
};

/// `context` and `chunks` are those of the text. `roomBytes` is the size of the values between products. `budget` is
/// the memory of the evaluation in bytes; 0 means half of the free memory. One layer (with one expert of a mixture),
/// the head and one chunk are always held in memory, even if they are larger.
MemoryPlan planMemory(std::span<const MemoryUser> users, const Network& network, std::size_t context,
                      std::size_t chunks, std::size_t roomBytes, std::uint64_t budget);

} // namespace qs::eval
