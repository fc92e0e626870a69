// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/splitter.h"

#include "core/base/rows.h"
#include "core/eval/tokenizer/unicode.h"

namespace qs::eval {
namespace {

using Words = Splitter::Words;
using Contractions = Splitter::Contractions;

#define QS_CONTRACTIONS "'s|'t|'re|'ve|'m|'ll|'d"
#define QS_ANY_CASE "(?i:" QS_CONTRACTIONS ")"
#define QS_SPACES R"(|\s+(?!\S)|\s+)"
#define QS_SIGN R"([^\r\n\p{L}\p{N}]?)"
#define QS_CAPITAL R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define QS_SMALL R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define QS_SIGNS R"(| ?[^\s\p{L}\p{N}]+[\r\n]*)"
#define QS_SIGNS_SLASH R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)"
#define QS_LINES R"(|\s*[\r\n]+)"
#define QS_BY_CASE(TAIL) QS_SIGN QS_CAPITAL "*" QS_SMALL "+" TAIL "|" QS_SIGN QS_CAPITAL "+" QS_SMALL "*" TAIL

constexpr Splitter kSplitters[] = {
    {"gpt2", QS_CONTRACTIONS R"(| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)" QS_SPACES, Contractions::Small,
     Words::AfterSpace, 0, "", false},
    {"llama3", QS_ANY_CASE "|" QS_SIGN R"(\p{L}+|\p{N}{1,3})" QS_SIGNS QS_LINES QS_SPACES, Contractions::AnyCase,
     Words::AfterSign, 3, "\r\n", true},
    {"cl100k",
     R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n])" QS_SPACES,
     Contractions::AnyCase, Words::AfterSign, 3, "\r\n", true},
    {"bailing",
     R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n])" QS_SPACES,
     Contractions::AnyCase, Words::AfterSign, 1, "\r\n", true},
    {"qwen2", QS_ANY_CASE "|" QS_SIGN R"(\p{L}+|\p{N})" QS_SIGNS QS_LINES QS_SPACES, Contractions::AnyCase,
     Words::AfterSign, 1, "\r\n", true},
    {"qwen35", QS_ANY_CASE "|" QS_SIGN R"([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" QS_LINES QS_SPACES,
     Contractions::AnyCase, Words::WithMarks, 1, "\r\n", true},
    {"o200k", QS_BY_CASE(QS_ANY_CASE "?") R"(|\p{N}{1,3})" QS_SIGNS_SLASH QS_LINES QS_SPACES, Contractions::BehindWords,
     Words::ByCase, 3, "\r\n/", true},
    {"tekken", QS_BY_CASE("") R"(|\p{N})" QS_SIGNS_SLASH QS_LINES QS_SPACES, Contractions::None, Words::ByCase, 1,
     "\r\n/", true},
};

constexpr std::uint32_t kCapital = setOf(Category::Lu, Category::Lt, Category::Lm, Category::Lo) | kMarks;
constexpr std::uint32_t kSmall = setOf(Category::Ll, Category::Lm, Category::Lo) | kMarks;

/// A character with its flags.
struct Next {
    char32_t value;
    std::uint32_t bytes;
    std::uint16_t flags;
};
Next nextAt(std::string_view text, std::size_t at) {
    const Character c = characterAt(text, at);
    return {c.value, c.bytes, c.bytes ? flagsOf(c.value) : std::uint16_t(0)};
}

std::size_t runOf(std::string_view text, std::size_t at, std::uint32_t categories) {
    for (Next c = nextAt(text, at); c.bytes && inSet(c.flags, categories); c = nextAt(text, at)) at += c.bytes;
    return at;
}

/// The end of a contraction that begins at `at`; returns `at` if there is none.
std::size_t contractionEnd(std::string_view text, std::size_t at, bool anyCase) {
    if (at >= text.size() || text[at] != '\'') return at;
    const auto small = [&](const Character& c) {
        return !anyCase ? c.value : c.value == 0x17F ? char32_t('s') : lowerOf(c.value); // the long s folds to s
    };
    const Character first = characterAt(text, at + 1);
    const char32_t a = small(first);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 1 + first.bytes;
    const Character second = characterAt(text, at + 1 + first.bytes);
    const char32_t b = small(second);
    const bool known = (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l');
    return known ? at + 1 + first.bytes + second.bytes : at;
}

bool isLineEnd(char32_t c) { return c == '\r' || c == '\n'; }

/// The end of a match of "[capital]*[small]+", as a backtracking engine finds it; returns `at` if it does not match.
std::size_t smallEnd(std::string_view text, std::size_t at) {
    std::size_t end = at, shared = at; // behind the last one that counts as both
    for (Next c = nextAt(text, end); c.bytes && inSet(c.flags, kCapital); c = nextAt(text, end)) {
        end += c.bytes;
        if (inSet(c.flags, kSmall)) shared = end;
    }
    const std::size_t small = runOf(text, end, kSmall);
    return small > end ? small : shared;
}

/// The end of a match of "[capital]+[small]*".
std::size_t capitalEnd(std::string_view text, std::size_t at) {
    const std::size_t end = runOf(text, at, kCapital);
    return end > at ? runOf(text, end, kSmall) : at;
}

/// The end of a word that begins at `at`; returns `at` if there is none.
std::size_t wordEnd(const Splitter& rule, std::string_view text, std::size_t at, const Next& first) {
    const bool mayLead = rule.words == Words::AfterSpace
                             ? first.value == ' '
                             : !isLineEnd(first.value) && !inSet(first.flags, kLetters | kNumbers);
    const auto led = [&](auto&& endOf) { // with a leading character, else without
        if (const std::size_t begin = at + first.bytes; mayLead)
            if (const std::size_t end = endOf(text, begin); end > begin) return end;
        return endOf(text, at);
    };
    if (rule.words != Words::ByCase)
        return led([&](std::string_view whole, std::size_t from) {
            return runOf(whole, from, rule.words == Words::WithMarks ? kLetters | kMarks : kLetters);
        });
    std::size_t end = led(smallEnd);
    if (end == at) end = led(capitalEnd);
    if (end > at && rule.contractions == Contractions::BehindWords) end = contractionEnd(text, end, true);
    return end;
}

std::size_t numberEnd(const Splitter& rule, std::string_view text, std::size_t at, const Next& first) {
    std::size_t end = at + (rule.words == Words::AfterSpace && first.value == ' ' ? 1 : 0);
    const std::size_t begin = end;
    unsigned count = 0;
    for (Next c = nextAt(text, end);
         c.bytes && inSet(c.flags, kNumbers) && (!rule.mostDigits || count < rule.mostDigits);
         c = nextAt(text, end), ++count)
        end += c.bytes;
    return end > begin ? end : at;
}

std::size_t signsEnd(const Splitter& rule, std::string_view text, std::size_t at, const Next& first) {
    const std::uint32_t others = kLetters | kNumbers | (rule.words == Words::WithMarks ? kMarks : 0);
    std::size_t end = at + (first.value == ' ' ? 1 : 0);
    const std::size_t begin = end;
    for (Next c = nextAt(text, end); c.bytes && !is(c.flags, kSpace) && !inSet(c.flags, others); c = nextAt(text, end))
        end += c.bytes;
    if (end == begin) return at;
    while (end < text.size() && std::string_view(rule.signsTail).find(text[end]) != std::string_view::npos) ++end;
    return end;
}

/// Line ends with the spaces before them, else spaces but the last before a word, else spaces.
std::size_t spacesEnd(const Splitter& rule, std::string_view text, std::size_t at) {
    std::size_t end = at, last = at, line = at;
    for (Next c = nextAt(text, end); c.bytes && is(c.flags, kSpace); c = nextAt(text, end)) {
        last = end;
        end += c.bytes;
        if (isLineEnd(c.value)) line = end;
    }
    if (rule.cutsLines && line > at) return line;
    return end == text.size() || last == at ? end : last;
}

} // namespace

std::size_t Splitter::endOf(std::string_view text, std::size_t at) const {
    const bool begins = contractions == Contractions::Small || contractions == Contractions::AnyCase;
    if (begins && text[at] == '\'')
        if (const auto end = contractionEnd(text, at, contractions == Contractions::AnyCase); end > at) return end;
    const Next first = nextAt(text, at);
    if (const auto end = wordEnd(*this, text, at, first); end > at) return end;
    if (const auto end = numberEnd(*this, text, at, first); end > at) return end;
    if (const auto end = signsEnd(*this, text, at, first); end > at) return end;
    const auto end = spacesEnd(*this, text, at);
    return end > at ? end : at + first.bytes;
}

std::span<const Splitter> splitters() { return kSplitters; }

const Splitter* findSplitter(std::string_view id) { return rowOf(kSplitters, id); }

const Splitter* findSplitterFor(std::string_view expression) {
    for (const Splitter& row : kSplitters)
        if (expression == row.expression) return &row;
    return nullptr;
}

} // namespace qs::eval
