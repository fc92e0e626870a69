// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/charsmap.h"

#include "core/base/wide_text.h"
#include "core/eval/tokenizer/unicode.h"

#include <QByteArray>
#include <QTextBoundaryFinder>

#include <cstring>

namespace qs::eval {
namespace {

constexpr std::size_t kMostCharsmap = std::size_t(16) << 20;

// A unit of the double array: bit 8 says that a value follows, bits 10 to 30 are the offset, bit 9 widens it.
bool hasValue(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::uint32_t valueOf(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
std::uint32_t labelOf(std::uint32_t unit) { return unit & 0x800000FF; }
std::uint32_t offsetOf(std::uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }

} // namespace

Result<Charsmap> Charsmap::read(std::string_view blob) {
    std::uint32_t bytes = 0;
    if (blob.size() > kMostCharsmap) return fail("has a table of characters of over 16 MiB");
    if (blob.size() < 8) return fail("has a table of characters that is cut short");
    std::memcpy(&bytes, blob.data(), 4);
    if (bytes % 4 != 0 || bytes < 4 || bytes > blob.size() - 4)
        return fail("has a table of characters that is cut short");
    Charsmap out;
    out.trie_.resize(bytes / 4);
    std::memcpy(out.trie_.data(), blob.data() + 4, bytes);
    out.replacements_ = blob.substr(4 + bytes);
    return out;
}

Result<Charsmap> Charsmap::fromBase64(const std::string& text) {
    const auto decoded =
        QByteArray::fromBase64Encoding(QByteArray::fromStdString(text), QByteArray::AbortOnBase64DecodingErrors);
    if (!decoded) return fail("has a table of characters that is not base64");
    return read({(*decoded).constData(), std::size_t((*decoded).size())});
}

Charsmap::Match Charsmap::match(std::string_view text, bool longest) const {
    Match out;
    std::size_t node = offsetOf(trie_[0]);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto label = std::uint32_t(static_cast<unsigned char>(text[i]));
        node ^= label;
        if (label == 0 || node >= trie_.size() || labelOf(trie_[node]) != label) break;
        const std::uint32_t unit = trie_[node];
        node ^= offsetOf(unit);
        if (!hasValue(unit)) continue;
        if (node >= trie_.size()) break;
        const std::size_t begin = valueOf(trie_[node]);
        if (begin >= replacements_.size()) break;
        const std::size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
        out = {i + 1, std::string_view(replacements_).substr(begin, end - begin)};
        if (!longest) break;
    }
    return out;
}

void Charsmap::byLongest(std::string_view text, Rewriter& into) const {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Match found = match(text.substr(at), true);
        if (found.bytes == 0) {
            at += characterAt(text, at).bytes;
            continue;
        }
        into.keep(kept, at);
        into.put(found.instead, at, at + found.bytes);
        kept = at = at + found.bytes;
    }
    into.keep(kept, text.size());
}

void Charsmap::byGrapheme(std::string_view text, Rewriter& into) const {
    const QString wide = wideText(text);
    QTextBoundaryFinder finder(QTextBoundaryFinder::Grapheme, wide);
    std::size_t at = 0;
    qsizetype unit = 0;
    const auto rewrite = [&](std::size_t begin, std::size_t end) {
        const Match found = match(text.substr(begin, end - begin), false);
        if (found.bytes > 0) into.put(found.instead, begin, end);
        return found.bytes > 0;
    };
    while (unit < wide.size()) {
        const qsizetype next = finder.toNextBoundary();
        std::size_t end = at;
        for (; unit < (next < 0 ? wide.size() : next) && end < text.size();) {
            const Character c = characterAt(text, end);
            end += c.bytes, unit += c.value >= 0x10000 ? 2 : 1;
        }
        if (end - at >= 6 || !rewrite(at, end))
            for (std::size_t begin = at; begin < end;) {
                const std::size_t behind = begin + characterAt(text, begin).bytes;
                if (!rewrite(begin, behind)) into.keep(begin, behind);
                begin = behind;
            }
        at = end;
    }
}

} // namespace qs::eval
