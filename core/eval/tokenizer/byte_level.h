// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// GPT-2's spelling of bytes as printable characters: bytes that are printable in Latin-1 stay, the others become U+0100
// and following, in their order.

#include <array>
#include <string>

namespace qs::eval {

/// The character of each byte, as UTF-8.
const std::array<std::string, 256>& byteCharacters();

} // namespace qs::eval
