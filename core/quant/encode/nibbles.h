// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Codes of four bits, two to a byte.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace qs {

enum class FirstNibble { Low, High };

/// `n` codes below 16, one a byte, into n / 2 bytes; n is even. Eight codes at a time are words.
template<FirstNibble first> void packNibbles(const std::uint8_t* codes, std::size_t n, std::uint8_t* bytes) {
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        std::uint64_t x;
        std::memcpy(&x, codes + i, 8); // little-endian: the first code is the lowest byte
        x = first == FirstNibble::Low ? x | x >> 4 : x << 4 | x >> 8;
        x &= 0x00ff00ff00ff00ffu;
        x = (x | x >> 8) & 0x0000ffff0000ffffu;
        const auto packed = std::uint32_t(x | x >> 16);
        std::memcpy(bytes + i / 2, &packed, 4);
    }
    for (; i + 1 < n; i += 2)
        bytes[i / 2] = first == FirstNibble::Low ? std::uint8_t(codes[i] | codes[i + 1] << 4)
                                                 : std::uint8_t(codes[i] << 4 | codes[i + 1]);
}

} // namespace qs
