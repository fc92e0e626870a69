// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/copies.h"

#include "core/base/lists.h"
#include "plugins/abi/quantscope_backend.h"

#include <algorithm>

namespace qs {

/// Four times the largest cache of a device known to us
constexpr std::uint64_t kDeviceCold = std::uint64_t(512) << 20;
constexpr std::uint64_t kMostSets = 16384;
std::uint64_t copyBytes(const Contender& c) {
    std::uint64_t bytes = 0;
    for (const auto& tensor : c.checked->operands().inputs) bytes += tensor.bytes;
    return std::max<std::uint64_t>(1, std::max(bytes, std::uint64_t(c.row.answer.kernel.weightBytes.value_or(0))));
}

std::uint64_t heldBytes(const Contender& c) {
    constexpr std::uint64_t ofACopy = 4096; // for backends that do not report it
    return c.copyBytes ? std::max(c.copyBytes, copyBytes(c)) : copyBytes(c) + ofACopy;
}

bool isHost(const Contender& c) { return c.opened->devices[c.device].kind == QS_DEVICE_CPU; }

std::uint64_t Copies::coldBytesOf(const Contender& c) const { return isHost(c) ? state_.coldBytes : kDeviceCold; }

std::uint64_t Copies::setsOf(const Contender& c) const {
    const std::uint64_t bytes = copyBytes(c), wanted = coldBytesOf(c), least = state_.plan.memoryBytes ? 1 : 2;
    const std::uint64_t most = std::min(kMostSets, std::max(least, state_.memoryBytes / 2 / heldBytes(c)));
    return std::clamp<std::uint64_t>((wanted + bytes - 1) / bytes, least, std::max<std::uint64_t>(least, most));
}

bool Copies::tooFew(const Contender& c) const {
    return state_.plan.memoryBytes && setsOf(c) < kMostSets && 2 * setsOf(c) * copyBytes(c) < coldBytesOf(c);
}

std::uint64_t Copies::memoryOf(const Contender& c) const {
    const auto& caches = state_.plan.caches;
    const bool cold = contains(caches, CacheState::Cold);
    std::uint64_t bytes = (cold ? setsOf(c) : 1) * heldBytes(c);
    for (const auto& tensor : c.checked->operands().outs) bytes += 2 * tensor.bytes;
    return bytes;
}

} // namespace qs
