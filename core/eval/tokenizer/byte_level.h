// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// GPT-2's spelling of bytes as printable characters: bytes that are printable in Latin-1 stay, the others become U+0100
// and following, in their order.

#include <array>
#include <string>
#include <string_view>

namespace qs::eval {

/// The character of each byte, as UTF-8.
const std::array<std::string, 256>& byteCharacters();
/// Whether a token has no character outside of this spelling.
bool isSpelling(std::string_view token);
/// The bytes that a token in this spelling stands for. A character outside the spelling stays as it is.
std::string bytesSpelledBy(std::string_view token);

} // namespace qs::eval
