// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/equal_values.h"

#include <cstdint>
#include <cstring>

namespace qs {
namespace {

template<class Bits> bool differ(Bits a, Bits b) { return a != b && Bits(Bits(a | b) << 1) != 0; }

/// Vectors of 64 bytes at a time, without a branch within.
template<class Bits> std::size_t equalBits(const std::byte* a, const std::byte* b, std::size_t n) {
    constexpr std::size_t kTogether = 64 / sizeof(Bits);
    std::size_t i = 0;
    for (; i + kTogether <= n; i += kTogether) {
        Bits x[kTogether], y[kTogether], wrong = 0;
        std::memcpy(x, a + i * sizeof(Bits), sizeof x);
        std::memcpy(y, b + i * sizeof(Bits), sizeof y);
        for (std::size_t k = 0; k < kTogether; ++k) {
            const auto both = Bits(Bits(x[k] | y[k]) << 1);
            wrong = Bits(wrong | (Bits(x[k] ^ y[k]) & Bits(both ? Bits(-1) : Bits(0))));
        }
        if (wrong != 0) break;
    }
    for (; i < n; ++i) {
        Bits x, y;
        std::memcpy(&x, a + i * sizeof(Bits), sizeof x);
        std::memcpy(&y, b + i * sizeof(Bits), sizeof y);
        if (differ(x, y)) break;
    }
    return i;
}

} // namespace

std::size_t equalValues(DType dtype, const std::byte* a, const std::byte* b, std::size_t n) {
    if (std::memcmp(a, b, n * std::size_t(info(dtype).bits) / 8) == 0) return n; // but for the sign of zeros always
    switch (dtype) {
    case DType::F16:
    case DType::BF16: return equalBits<std::uint16_t>(a, b, n);
    case DType::F32: return equalBits<std::uint32_t>(a, b, n);
    case DType::F64: return equalBits<std::uint64_t>(a, b, n);
    default: break;
    }
    const std::size_t size = std::size_t(info(dtype).bits) / 8;
    std::size_t i = 0;
    while (i < n && std::memcmp(a + i * size, b + i * size, size) == 0) ++i;
    return i;
}

} // namespace qs
