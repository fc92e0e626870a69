// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The header, the compression and the check sum that manifests and nodes of an OCDBT database have in common.
// Source: the TensorStore manual, "ocdbt Key-Value Store driver", storage format.

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qs::ocdbt {

enum class Kind : std::uint32_t { Manifest = 0x0cdb3a2a, Node = 0x0cdb20de };

/// Bytes of a body: Orbax splits nodes at 100,000,000.
inline constexpr std::size_t kMostBody = std::size_t(128) << 20;
/// Bytes of one as it is stored: a header of at least 14, a body, a check sum.
inline constexpr std::size_t kLeastStored = 18, kMostStored = kMostBody + 64;

/// What lies between header and check sum: of `stored`, or in `room` where that is compressed. An error is the end of a
/// sentence.
Result<std::span<const std::byte>> bodyOf(std::span<const std::byte> stored, Kind kind, std::vector<std::byte>& room);

} // namespace qs::ocdbt
