// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Bytes as text (base64, RFC 4648, with padding), for binary values in JSON.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace qs {

/// Number of characters for a number of bytes.
constexpr std::size_t base64Length(std::size_t bytes) { return (bytes + 2) / 3 * 4; }
std::string base64Of(std::span<const std::byte> bytes);
/// Decodes into `into`, whose size must match. Returns false if the text is not exactly what base64Of() makes of some
/// bytes of that size.
bool bytesOfBase64(std::string_view text, std::span<std::byte> into);

} // namespace qs
