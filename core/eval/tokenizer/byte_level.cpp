// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/byte_level.h"

namespace qs::eval {

const std::array<std::string, 256>& byteCharacters() {
    static const std::array<std::string, 256> table = [] {
        std::array<std::string, 256> out;
        unsigned next = 0x100;
        for (unsigned byte = 0; byte < 256; ++byte) {
            const bool printable =
                (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
            const unsigned character = printable ? byte : next++;
            if (character < 0x80)
                out[byte] = {char(character)};
            else
                out[byte] = {char(0xC0 | character >> 6), char(0x80 | (character & 0x3F))};
        }
        return out;
    }();
    return table;
}

} // namespace qs::eval
