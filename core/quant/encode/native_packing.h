// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How the native layout packs codes: each row by itself from a whole byte on, the first code lowest. Code i takes the
// bits [i * bits, (i + 1) * bits) of its row; ternary takes a fifth of a byte, code i counting 3^(i mod 5) in byte i / 5;
// a float is its own bits. Unused bits are 0.

#include "core/quant/spec/spec.h"

namespace qs {

class NativePacking {
public:
    explicit NativePacking(const QuantSpec& spec);
    std::uint64_t rowBytes(std::uint64_t features) const;
    std::uint64_t byteOf(std::uint64_t column) const; ///< where the code of a column begins
    /// Adds the codes of columns [first, first + n) to the bytes from byteOf(first) on.
    void add(const std::uint8_t* codes, std::size_t n, std::uint64_t first, std::uint8_t* bytes) const;
    /// The values of columns [first, first + n), from the bytes from byteOf(first) on; `levels` decode.
    void values(const std::uint8_t* bytes, std::size_t n, std::uint64_t first, std::span<const float> levels,
                float* out) const;

private:
    const FormatTraits* format_;
    bool trits_;
    unsigned bits_;
    std::vector<float> floats_; ///< of bytes
};

} // namespace qs
