// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Vectors of 16 values, for loops that do not need a kernel of their own. Compilers turn them into the vectors of the
// target at any optimization level. Each lane rounds like a scalar.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace qs {

inline constexpr std::size_t kLanes = 16;
using FloatLanes = float __attribute__((vector_size(64)));
using IntLanes = std::int32_t __attribute__((vector_size(64)));
using ByteLanes = std::uint8_t __attribute__((vector_size(16)));
using SignedByteLanes = std::int8_t __attribute__((vector_size(16)));

template<class Lanes, class T> inline void load(Lanes& lanes, const T* from) {
    static_assert(sizeof(Lanes) == kLanes * sizeof(T));
    std::memcpy(&lanes, from, sizeof lanes);
}
template<class Lanes, class T> inline void store(const Lanes& lanes, T* to) {
    static_assert(sizeof(Lanes) == kLanes * sizeof(T));
    std::memcpy(to, &lanes, sizeof lanes);
}

} // namespace qs
