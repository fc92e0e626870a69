// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/normalizer.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"
#include "core/eval/tokenizer/charsmap.h"
#include "core/eval/tokenizer/normal_form.h"
#include "core/eval/tokenizer/pattern.h"
#include "core/eval/tokenizer/unicode.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

using nlohmann::json;

/// How many times as long a text may become: the longest compatibility forms are 18 times as long. And what any text
/// may have more.
constexpr std::size_t kMostGrowth = 64, kLeastRoom = 4096;

/// A step that rewrites each character: `write` appends its replacement.
template<class Write> Rewrite eachCharacter(Write write) {
    return [write](std::string_view text, bool, Rewriter& into) {
        std::string instead;
        std::size_t kept = 0;
        for (std::size_t at = 0; at < text.size();) {
            const Character c = characterAt(text, at);
            instead.clear();
            if (write(c.value, instead)) {
                into.keep(kept, at);
                into.put(instead, at, at + c.bytes);
                kept = at + c.bytes;
            }
            at += c.bytes;
        }
        into.keep(kept, text.size());
    };
}

bool writeLower(char32_t c, std::string& into) {
    const char32_t small = lowerOf(c);
    if (small == c) return false;
    appendUtf8(small, into);
    if (c == 0x130) appendUtf8(0x307, into);
    return true;
}

bool writeClean(char32_t c, std::string& into) {
    const std::uint16_t flags = flagsOf(c);
    const bool line = c == '\t' || c == '\n' || c == '\r';
    if (!line && is(flags, kControl)) return true;
    if (!line && !is(flags, kSpace)) return false;
    into += ' ';
    return true;
}

bool isChinese(char32_t c) {
    static constexpr char32_t kRanges[][2] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                              {0x20000, 0x2A6DF}, {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF},
                                              {0x2F800, 0x2FA1F}};
    for (const auto& [first, last] : kRanges)
        if (c >= first && c <= last) return true;
    return false;
}

bool writeApart(char32_t c, std::string& into) {
    if (!isChinese(c)) return false;
    into += ' ';
    appendUtf8(c, into);
    into += ' ';
    return true;
}

/// sentencepiece's own rule for control characters and spaces.
bool writeNmt(char32_t c, std::string& into) {
    if ((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) return true;
    static constexpr char32_t kSpaces[] = {0x9,    0xA,    0xC,    0xD,    0x1680, 0x200B, 0x200C, 0x200D,
                                           0x200E, 0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD};
    for (const char32_t space : kSpaces)
        if (c == space) {
            into += ' ';
            return true;
        }
    return false;
}

template<CharacterClass what> bool writeWithout(char32_t c, std::string&) { return is(flagsOf(c), what); }

template<NormalForm form> Result<void> readForm(const json&, Normalizers& into) {
    into.push_back([](std::string_view text, bool, Rewriter& out) { toNormalForm(form, text, out); });
    return {};
}

template<bool (*write)(char32_t, std::string&)> Result<void> readEach(const json&, Normalizers& into) {
    into.push_back(eachCharacter(write));
    return {};
}

Result<void> readBert(const json& step, Normalizers& into) {
    const bool lower = flagAt(step, "lowercase", true);
    if (flagAt(step, "clean_text", true)) into.push_back(eachCharacter(writeClean));
    if (flagAt(step, "handle_chinese_chars", true)) into.push_back(eachCharacter(writeApart));
    if (flagAt(step, "strip_accents", lower)) {
        if (auto done = readForm<NormalForm::D>(step, into); !done) return done;
        into.push_back(eachCharacter(writeWithout<kBertAccent>));
    }
    if (lower) into.push_back(eachCharacter(writeLower));
    return {};
}

Result<void> readStrip(const json& step, Normalizers& into) {
    into.push_back([left = flagAt(step, "strip_left", true),
                    right = flagAt(step, "strip_right", true)](std::string_view text, bool, Rewriter& out) {
        std::size_t begin = 0, end = 0;
        bool within = !left;
        for (std::size_t at = 0; at < text.size();) {
            const Character c = characterAt(text, at);
            const bool space = is(flagsOf(c.value), kSpace);
            if (!within && !space) begin = at, within = true;
            at += c.bytes;
            if (!space || !right) end = at;
        }
        if (within && end > begin) out.keep(begin, end);
    });
    return {};
}

Result<void> readPrepend(const json& step, Normalizers& into) {
    into.push_back([mark = textAt(step, "prepend")](std::string_view text, bool, Rewriter& out) {
        if (!text.empty()) out.put(mark, 0, 0);
        out.keep(0, text.size());
    });
    return {};
}

Result<void> readReplace(const json& step, Normalizers& into) {
    const auto pattern = readPattern(valueAt(step, "pattern"));
    if (!pattern) return tl::unexpected(pattern.error());
    into.push_back([pattern = *pattern, content = textAt(step, "content")](std::string_view text, bool, Rewriter& out) {
        std::size_t kept = 0;
        const auto done = pattern->matches(text, [&](std::size_t begin, std::size_t end) {
            out.keep(kept, begin);
            out.put(content, begin, end);
            kept = end;
        });
        if (!done) out.refuse(done.error());
        out.keep(kept, text.size());
    });
    return {};
}

Result<void> readSequence(const json& step, Normalizers& into) {
    for (const json& inner : valueAt(step, "normalizers"))
        if (auto read = readNormalizer(inner, into); !read) return read;
    return {};
}

Result<void> readPrecompiled(const json& step, Normalizers& into) {
    auto map = Charsmap::fromBase64(textAt(step, "precompiled_charsmap"));
    if (!map) return tl::unexpected(map.error());
    into.push_back([map = std::make_shared<const Charsmap>(std::move(*map))](
                       std::string_view text, bool, Rewriter& out) { map->byGrapheme(text, out); });
    return {};
}

constexpr NormalizerRow kNormalizers[] = {
    {"BertNormalizer", readBert},
    {"Lowercase", readEach<writeLower>},
    {"NFC", readForm<NormalForm::C>},
    {"NFD", readForm<NormalForm::D>},
    {"NFKC", readForm<NormalForm::KC>},
    {"NFKD", readForm<NormalForm::KD>},
    {"Nmt", readEach<writeNmt>},
    {"Precompiled", readPrecompiled},
    {"Prepend", readPrepend},
    {"Replace", readReplace},
    {"Sequence", readSequence},
    {"Strip", readStrip},
    {"StripAccents", readEach<writeWithout<kAccent>>},
};

} // namespace

std::span<const NormalizerRow> normalizers() { return kNormalizers; }

Result<void> readNormalizer(const json& step, Normalizers& into) {
    if (step.is_null()) return {};
    const std::string type = textAt(step, "type");
    for (const NormalizerRow& row : kNormalizers)
        if (type == row.id) return row.read(step, into);
    return fail(fmt::format("has the normalizer {}, which is not known", quotedName(type)));
}

Result<void> normalize(const Normalizers& steps, TrackedText& text) {
    const std::size_t most = text.bytes.size() * kMostGrowth + kLeastRoom;
    for (const Rewrite& step : steps) {
        TrackedText next;
        next.bytes.reserve(text.bytes.size() + text.bytes.size() / 8);
        Rewriter out(text, text.bytes, next);
        out.limitTo(most);
        step(text.bytes, true, out);
        if (out.error()) return tl::unexpected(*out.error());
        text = std::move(next);
    }
    return {};
}

} // namespace qs::eval
