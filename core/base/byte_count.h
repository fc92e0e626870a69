// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string_view>

namespace qs {

/// "512MiB", "1.5 GiB", "2G", "800MB" or "65536": bytes. K, M, G, T alone and with iB are powers of 1024, with B of 1000.
Result<std::uint64_t> parseByteCount(std::string_view text);

} // namespace qs
