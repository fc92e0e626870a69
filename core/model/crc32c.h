// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// CRC-32C (Castagnoli polynomial): the checksum of zarr chunks and OCDBT nodes.

#include <cstddef>
#include <cstdint>
#include <span>

namespace qs {

std::uint32_t crc32c(std::span<const std::byte> bytes);

} // namespace qs
