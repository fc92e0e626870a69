// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The common frame of manifests and nodes of an OCDBT database: a header, a body that may be compressed, and a
// checksum.
// Source: the TensorStore manual, "ocdbt Key-Value Store driver", storage format.

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qs::ocdbt {

/// Magic numbers, read as big-endian.
enum class Kind : std::uint32_t { Manifest = 0x0cdb3a2a, Node = 0x0cdb20de };

/// Most bytes of a body. Orbax splits nodes at 100,000,000 bytes.
inline constexpr std::size_t kMostBody = std::size_t(128) << 20;
/// Least and most stored bytes: a header of at least 14 bytes, a body, a checksum of 4 bytes.
inline constexpr std::size_t kLeastStored = 18, kMostStored = kMostBody + 64;

/// Checks header and checksum and returns the body: a part of `stored`, or of `room` if it was compressed. The error is
/// the end of a sentence.
Result<std::span<const std::byte>> bodyOf(std::span<const std::byte> stored, Kind kind, std::vector<std::byte>& room);

} // namespace qs::ocdbt
