// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/crc32c.h"

#include <array>

namespace qs {
namespace {

constexpr auto makeTable() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0u);
        table[i] = value;
    }
    return table;
}
constexpr auto kTable = makeTable();

} // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
    std::uint32_t sum = ~0u;
    for (const auto byte : bytes) sum = sum >> 8 ^ kTable[(sum ^ std::uint32_t(byte)) & 255];
    return ~sum;
}

} // namespace qs
