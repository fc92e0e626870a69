// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/pre_tokenizer.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"
#include "core/eval/tokenizer/splitter.h"
#include "core/eval/tokenizer/unicode.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

using nlohmann::json;

/// Makes pieces from the matches and from the text between them, according to a Behavior.
class Joiner {
public:
    Joiner(Behavior behavior, std::string_view text, Callee<void(std::string_view)> piece)
        : behavior_(behavior), text_(text), piece_(piece) {}
    void take(std::size_t begin, std::size_t end, bool matched) {
        if (begin == end && behavior_ == Behavior::Contiguous) matched_ = matched; // cuts
        if (begin == end || (behavior_ == Behavior::Removed && matched)) return;
        const bool joins = has_ && ((behavior_ == Behavior::MergedWithPrevious && matched && !matched_) ||
                                    (behavior_ == Behavior::MergedWithNext && matched_ && !matched) ||
                                    (behavior_ == Behavior::Contiguous && matched == matched_));
        if (!joins) {
            finish();
            begin_ = begin;
        }
        end_ = end, matched_ = matched, has_ = true;
    }
    void finish() {
        if (has_) piece_(text_.substr(begin_, end_ - begin_));
        has_ = false;
    }

private:
    Behavior behavior_;
    std::string_view text_;
    Callee<void(std::string_view)> piece_;
    std::size_t begin_ = 0, end_ = 0;
    bool matched_ = false, has_ = false;
};

void push(PreTokenizer& into, PatternPtr pattern, Behavior behavior, bool invert = false) {
    into.steps.push_back({std::move(pattern), invert, behavior, {}});
}

Result<Behavior> behaviorOf(const json& step) {
    static constexpr std::pair<const char*, Behavior> kBehaviors[] = {
        {"Isolated", Behavior::Isolated},
        {"Removed", Behavior::Removed},
        {"MergedWithPrevious", Behavior::MergedWithPrevious},
        {"MergedWithNext", Behavior::MergedWithNext},
        {"Contiguous", Behavior::Contiguous}};
    const std::string name = textAt(step, "behavior");
    if (name.empty()) return Behavior::Isolated;
    for (const auto& [word, behavior] : kBehaviors)
        if (name == word) return behavior;
    return fail(
        fmt::format("has a {} with the behavior {}, which is not known", textAt(step, "type"), quotedName(name)));
}

Result<void> readSplit(const json& step, PreTokenizer& into) {
    auto pattern = readPattern(valueAt(step, "pattern"));
    if (!pattern) return tl::unexpected(pattern.error());
    const auto behavior = behaviorOf(step);
    if (!behavior) return tl::unexpected(behavior.error());
    push(into, std::move(*pattern), *behavior, flagAt(step, "invert", false));
    return {};
}

Result<void> readByteLevel(const json& step, PreTokenizer& into) {
    into.spellsBytes = true;
    if (flagAt(step, "add_prefix_space", true))
        into.steps.push_back({nullptr, false, Behavior::Isolated, [](std::string_view piece, bool, Rewriter& out) {
                                  if (!piece.starts_with(' ')) out.put(" ", 0, 0);
                                  out.keep(0, piece.size());
                              }});
    if (!flagAt(step, "use_regex", true)) return {};
    auto pattern = regexPattern(findSplitter("gpt2")->expression);
    if (!pattern) return tl::unexpected(pattern.error());
    push(into, std::move(*pattern), Behavior::Isolated);
    return {};
}

/// Replaces spaces by space marks, and puts a mark before the text.
Rewrite markSpaces(const std::string& mark, const std::string& scheme) {
    return [=](std::string_view piece, bool first, Rewriter& out) {
        const bool marked = piece.starts_with(' ') || piece.starts_with(mark);
        if (!marked && (scheme == "always" || (scheme == "first" && first))) out.put(mark, 0, 0);
        std::size_t kept = 0;
        for (std::size_t at = 0; (at = piece.find(' ', at)) != std::string_view::npos; kept = ++at) {
            out.keep(kept, at);
            out.put(mark, at, at + 1);
        }
        out.keep(kept, piece.size());
    };
}

Result<void> readMetaspace(const json& step, PreTokenizer& into) {
    const std::string mark = textAt(step, "replacement");
    std::string scheme = textAt(step, "prepend_scheme");
    if (scheme.empty()) scheme = flagAt(step, "add_prefix_space", true) ? "always" : "never";
    into.steps.push_back({nullptr, false, Behavior::Isolated, markSpaces(mark, scheme)});
    if (flagAt(step, "split", true)) push(into, literalPattern(mark), Behavior::MergedWithNext);
    return {};
}

Result<void> readDigits(const json& step, PreTokenizer& into) {
    const bool single = flagAt(step, "individual_digits", false);
    push(into, characterPattern([](std::uint16_t flags) { return is(flags, kNumeric); }, single), Behavior::Isolated);
    return {};
}

PatternPtr spaces() {
    return characterPattern([](std::uint16_t flags) { return is(flags, kSpace); }, false);
}
PatternPtr punctuation() {
    return characterPattern([](std::uint16_t flags) { return is(flags, kPunctuation); }, true);
}

Result<void> readPunctuation(const json& step, PreTokenizer& into) {
    const auto behavior = behaviorOf(step);
    if (!behavior) return tl::unexpected(behavior.error());
    push(into, punctuation(), *behavior);
    return {};
}

Result<void> readBert(const json&, PreTokenizer& into) {
    push(into, spaces(), Behavior::Removed);
    push(into, punctuation(), Behavior::Isolated);
    return {};
}

Result<void> readWhitespaceSplit(const json&, PreTokenizer& into) {
    push(into, spaces(), Behavior::Removed);
    return {};
}

/// "\w+|[^\w\s]+"
Result<void> readWhitespace(const json&, PreTokenizer& into) {
    push(into, spaces(), Behavior::Removed);
    push(into, characterPattern([](std::uint16_t flags) { return is(flags, kWord); }, false), Behavior::Isolated);
    return {};
}

Result<void> readDelimiter(const json& step, PreTokenizer& into) {
    push(into, literalPattern(textAt(step, "delimiter")), Behavior::Removed);
    return {};
}

Result<void> readCutSequence(const json& step, PreTokenizer& into) {
    for (const json& inner : valueAt(step, "pretokenizers"))
        if (auto read = readPreTokenizer(inner, into); !read) return read;
    return {};
}

constexpr PreTokenizerRow kPreTokenizers[] = {
    {"BertPreTokenizer", readBert},        {"ByteLevel", readByteLevel},
    {"CharDelimiterSplit", readDelimiter}, {"Digits", readDigits},
    {"Metaspace", readMetaspace},          {"Punctuation", readPunctuation},
    {"Sequence", readCutSequence},         {"Split", readSplit},
    {"Whitespace", readWhitespace},        {"WhitespaceSplit", readWhitespaceSplit},
};

} // namespace

Result<void> cutBy(const Cut& cut, std::string_view text, Callee<void(std::string_view)> piece) {
    Joiner joiner(cut.behavior, text, piece);
    std::size_t at = 0;
    auto done = cut.pattern->matches(text, [&](std::size_t begin, std::size_t end) {
        if (begin > at) joiner.take(at, begin, cut.invert);
        joiner.take(begin, end, !cut.invert);
        at = end;
    });
    if (at < text.size()) joiner.take(at, text.size(), cut.invert);
    joiner.finish();
    return done;
}

std::span<const PreTokenizerRow> preTokenizers() { return kPreTokenizers; }

Result<void> readPreTokenizer(const json& step, PreTokenizer& into) {
    if (step.is_null()) return {};
    const std::string type = textAt(step, "type");
    for (const PreTokenizerRow& row : kPreTokenizers)
        if (type == row.id) return row.read(step, into);
    return fail(fmt::format("has the pre-tokenizer {}, which is not known", quotedName(type)));
}

} // namespace qs::eval
