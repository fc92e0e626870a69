// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/byte_level.h"

#include <algorithm>
#include <unordered_map>

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

bool isSpelling(std::string_view token) {
    std::string again;
    for (const char c : bytesSpelledBy(token)) again += byteCharacters()[static_cast<unsigned char>(c)];
    return again == token;
}

std::string bytesSpelledBy(std::string_view token) {
    static const std::unordered_map<std::string_view, char> byteOf = [] {
        std::unordered_map<std::string_view, char> out;
        for (std::size_t byte = 0; byte < 256; ++byte) out.emplace(byteCharacters()[byte], char(byte));
        return out;
    }();
    std::string out;
    for (std::size_t at = 0; at < token.size();) {
        const std::size_t length =
            std::min(token.size() - at, static_cast<unsigned char>(token[at]) < 0x80 ? 1 : std::size_t(2));
        if (const auto found = byteOf.find(token.substr(at, length)); found != byteOf.end()) {
            out += found->second;
            at += length;
        } else {
            out += token[at++];
        }
    }
    return out;
}

} // namespace qs::eval
