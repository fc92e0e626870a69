// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Exact conversions between f32 and small floats in IEEE 754 layout: 1 sign bit, E exponent bits, M mantissa bits.
// Rounds half to even, keeps denormals, overflows to infinity. A NaN keeps the upper bits of its payload and becomes
// quiet, as the F16C instructions do.

#include <bit>
#include <cstdint>

namespace qs {

/// Converts to and from a float with E exponent bits and M mantissa bits.
template<int E, int M> struct SmallFloat {
    static constexpr int kDrop = 23 - M;
    static constexpr int kBias = (1 << (E - 1)) - 1;
    static constexpr std::uint32_t kInfinity = ((1u << E) - 1) << M;
    static constexpr std::uint32_t kSign = 1u << (E + M);

    static constexpr std::uint32_t encode(float value) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t sign = (bits >> 31) * kSign;
        const std::uint32_t magnitude = bits & 0x7fffffffu;
        if (magnitude > 0x7f800000u) return sign | kInfinity | (1u << (M - 1)) | ((magnitude & 0x7fffffu) >> kDrop);
        if (magnitude == 0x7f800000u) return sign | kInfinity;
        const int exponent = int(magnitude >> 23);
        const std::uint32_t mantissa = (magnitude & 0x7fffffu) | (exponent ? 0x800000u : 0u);
        const int scaled = (exponent ? exponent : 1) - 127 + kBias; // exponent field of the small format
        // Below the smallest normal number the mantissa is shifted right further. A shift of 25 drops every bit and
        // leaves no tie.
        int drop = kDrop + (scaled < 1 ? 1 - scaled : 0);
        if (drop > 25) drop = 25;
        const std::uint32_t kept = mantissa >> drop;
        const std::uint32_t rest = mantissa & ((1u << drop) - 1), half = 1u << (drop - 1);
        const std::uint32_t rounded = kept + ((rest > half || (rest == half && (kept & 1u))) ? 1u : 0u);
        // The implicit bit of a normal number adds one to the exponent field. So a carry from rounding gives the right
        // result.
        const std::uint32_t result = rounded + (scaled > 1 ? std::uint32_t(scaled - 1) << M : 0u);
        return sign | (result < kInfinity ? result : kInfinity);
    }

    static constexpr float decode(std::uint32_t code) {
        const std::uint32_t sign = (code & kSign) ? 0x80000000u : 0u;
        const std::uint32_t exponent = (code >> M) & ((1u << E) - 1);
        const std::uint32_t mantissa = code & ((1u << M) - 1);
        if (exponent == (1u << E) - 1) {
            const std::uint32_t quiet = mantissa ? 0x400000u : 0u;
            return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << kDrop));
        }
        if constexpr (kBias == 127) return std::bit_cast<float>(sign | (exponent << 23) | (mantissa << kDrop));
        if (exponent) return std::bit_cast<float>(sign | ((exponent + 127 - kBias) << 23) | (mantissa << kDrop));
        // Denormal: mantissa * 2^(1 - bias - M), exact in f32.
        const float step = std::bit_cast<float>(std::uint32_t(127 + 1 - kBias - M) << 23);
        const float value = float(mantissa) * step;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
    }
};

using Half = SmallFloat<5, 10>;
using BFloat16 = SmallFloat<8, 7>;

constexpr std::uint16_t f32ToF16(float value) { return std::uint16_t(Half::encode(value)); }
constexpr std::uint16_t f32ToBf16(float value) { return std::uint16_t(BFloat16::encode(value)); }
constexpr float f16ToF32(std::uint16_t code) { return Half::decode(code); }
constexpr float bf16ToF32(std::uint16_t code) { return BFloat16::decode(code); }

} // namespace qs
