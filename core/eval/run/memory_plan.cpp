// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/memory_plan.h"

#include "core/base/machine_memory.h"
#include "core/eval/forward/head.h"

#include <algorithm>

namespace qs::eval {
namespace {

/// Tokens of a group: with the weights kept, few, so that scores come early; else enough that to quantize the weights
/// again is a small part of the products.
constexpr std::size_t kTokensWithKept = 2048, kTokensWithout = 16384;
constexpr std::uint64_t kUnknownMachine = std::uint64_t(4) << 30;
/// A program without a network, and small things.
constexpr std::uint64_t kProgram = std::uint64_t(64) << 20;

} // namespace

MemoryPlan planMemory(std::span<const MemoryUser> users, const Network& network, std::size_t context,
                      std::size_t chunks, std::size_t roomBytes, std::uint64_t budget) {
    if (budget == 0) budget = availableMemory() > 0 ? availableMemory() / 2 : kUnknownMachine;
    std::uint64_t kept = 0, working = 0;
    for (const MemoryUser& user : users) {
        for (std::size_t layer = 0; layer < user.weights->layers(); ++layer) {
            const std::uint64_t bytes = user.weights->layerBytes(layer, user.inside);
            kept += bytes;
            // Counts the loaded values, the repacked values, and the memory for quantizing a matrix.
            working = std::max(working, (user.inside ? 3 : 2) * user.weights->layerBytesAtOnce(layer, user.inside));
        }
        const std::uint64_t head = user.weights->headBytes(user.outside);
        if (!user.sharesHead) kept += head;
        working = std::max(working, (user.outside ? 3 : 2) * head);
    }
    const std::uint64_t logits = 2 * sizeof(float) * kLogitRows * std::uint64_t(network.vocabulary);
    const std::uint64_t fixed = kProgram + working + logits + 2 * roomBytes; // the products pack their inputs
    // A mixture takes its inputs and results over all chunks, too.
    const std::uint64_t sets = users.size() + (network.mixture.experts > 0 ? 2 : 0);
    const std::uint64_t chunk = sizeof(float) * context * std::uint64_t(network.hidden) * sets;
    MemoryPlan plan;
    const auto groupOf = [&](std::uint64_t taken, std::size_t tokens) {
        const std::uint64_t fit = budget > taken ? (budget - taken) / std::max<std::uint64_t>(chunk, 1) : 0;
        return std::clamp<std::size_t>(std::size_t(std::min<std::uint64_t>(fit, tokens / context)), 1, chunks);
    };
    plan.keepsWeights = fixed + kept + chunk <= budget;
    plan.chunksOfGroup = plan.keepsWeights ? groupOf(fixed + kept, kTokensWithKept) : groupOf(fixed, kTokensWithout);
    return plan;
}

} // namespace qs::eval
