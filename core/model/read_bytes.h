// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace qs {

/// Copies bytes [offset, offset + into.size()) of a file; the range must lie in it.
using ReadBytes = std::function<void(std::uint64_t offset, std::span<std::byte> into)>;

} // namespace qs
