// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace qs {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint32_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> kValues = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(kNoDigit);
    for (std::size_t i = 0; i < kDigits.size(); ++i) values[std::uint8_t(kDigits[i])] = std::uint8_t(i);
    return values;
}();

} // namespace

std::string base64Of(std::span<const std::byte> bytes) {
    std::string text(base64Length(bytes.size()), '=');
    char* to = text.data();
    for (std::size_t at = 0; at < bytes.size(); at += 3, to += 4) {
        const std::size_t n = std::min<std::size_t>(3, bytes.size() - at);
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < n; ++i) group |= std::uint32_t(bytes[at + i]) << (16 - 8 * i);
        for (std::size_t i = 0; i <= n; ++i) to[i] = kDigits[(group >> (18 - 6 * i)) & 63];
    }
    return text;
}

bool bytesOfBase64(std::string_view text, std::span<std::byte> into) {
    if (text.size() != base64Length(into.size())) return false;
    const char* from = text.data();
    for (std::size_t at = 0; at < into.size(); at += 3, from += 4) {
        const std::size_t n = std::min<std::size_t>(3, into.size() - at);
        std::uint32_t group = 0, wrong = 0;
        for (std::size_t i = 0; i <= n; ++i) {
            const std::uint32_t value = kValues[std::uint8_t(from[i])];
            wrong |= value & kNoDigit;
            group |= (value & 63) << (18 - 6 * i);
        }
        for (std::size_t i = n + 1; i < 4; ++i) wrong |= from[i] != '=';
        wrong |= group & (0xffffffu >> (8 * n)); // bits that belong to no byte must be 0
        if (wrong) return false;
        for (std::size_t i = 0; i < n; ++i) into[at + i] = std::byte(group >> (16 - 8 * i));
    }
    return true;
}

} // namespace qs
