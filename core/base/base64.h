// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Bytes as text (RFC 4648, with padding), for values that lie in JSON.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace qs {

/// Length of the text of so many bytes.
constexpr std::size_t base64Length(std::size_t bytes) { return (bytes + 2) / 3 * 4; }
std::string base64Of(std::span<const std::byte> bytes);
/// Fills `into`; false where the text is not the one that base64Of() makes of some bytes of that length.
bool bytesOfBase64(std::string_view text, std::span<std::byte> into);

} // namespace qs
