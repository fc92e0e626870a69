// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string_view>

namespace qs {

/// Parses a number of bytes: "512MiB", "1.5 GiB", "2G", "800MB" or "65536". K, M, G and T, alone or with iB, are powers
/// of 1024; with B they are powers of 1000. Error: not such a text, negative, or 2^63 and more.
Result<std::uint64_t> parseByteCount(std::string_view text);

} // namespace qs
