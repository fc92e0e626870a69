// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace qs {

/// Reads bytes [offset, offset + into.size()), which lie in the file.
using ReadBytes = std::function<void(std::uint64_t offset, std::span<std::byte> into)>;

} // namespace qs
