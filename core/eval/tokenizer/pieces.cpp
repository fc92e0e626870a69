// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/pieces.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"

#include <QRegularExpression>

#include <fmt/format.h>

namespace qs::eval {
namespace {

using nlohmann::json;

constexpr auto kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

QString textOf(const json& object, const char* key) { return QString::fromStdString(textAt(object, key)); }

Result<QRegularExpression> compiled(const std::string& pattern) {
    QRegularExpression expression(QString::fromStdString(pattern), QRegularExpression::UseUnicodePropertiesOption);
    if (!expression.isValid())
        return fail(fmt::format("has the pattern {}, which is no regular expression", quotedName(pattern)));
    expression.optimize();
    return expression;
}

/// What happens to what a pattern matches.
enum class Behavior { Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous };

/// Cuts by a pattern: ranges that match and ranges between them, put together as `behavior` says.
void cutBy(const QRegularExpression& pattern, bool invert, Behavior behavior, const QString& piece,
           std::vector<QString>& into) {
    struct Range {
        qsizetype begin, end;
        bool matched;
    };
    std::vector<Range> ranges;
    qsizetype at = 0;
    for (auto match = pattern.globalMatch(piece); match.hasNext();) {
        const auto found = match.next();
        if (found.capturedLength() == 0) continue;
        if (found.capturedStart() > at) ranges.push_back({at, found.capturedStart(), invert});
        ranges.push_back({found.capturedStart(), found.capturedEnd(), !invert});
        at = found.capturedEnd();
    }
    if (at < piece.size()) ranges.push_back({at, piece.size(), invert});
    std::vector<Range> kept;
    for (const Range& range : ranges) {
        const bool after = !kept.empty();
        if (behavior == Behavior::Removed && range.matched) continue;
        if (after && behavior == Behavior::MergedWithPrevious && range.matched && !kept.back().matched)
            kept.back().end = range.end, kept.back().matched = true;
        else if (after && behavior == Behavior::MergedWithNext && kept.back().matched && !range.matched)
            kept.back().end = range.end, kept.back().matched = false;
        else if (after && behavior == Behavior::Contiguous && kept.back().matched == range.matched)
            kept.back().end = range.end;
        else
            kept.push_back(range);
    }
    for (const Range& range : kept) into.push_back(piece.mid(range.begin, range.end - range.begin));
}

Result<Cut> readSplit(const json& step) {
    static constexpr std::pair<const char*, Behavior> kBehaviors[] = {
        {"Isolated", Behavior::Isolated},
        {"Removed", Behavior::Removed},
        {"MergedWithPrevious", Behavior::MergedWithPrevious},
        {"MergedWithNext", Behavior::MergedWithNext},
        {"Contiguous", Behavior::Contiguous}};
    const json& pattern = valueAt(step, "pattern");
    std::string text = textAt(pattern, "Regex");
    if (text.empty()) text = QRegularExpression::escape(textOf(pattern, "String")).toStdString();
    const auto expression = compiled(text);
    if (!expression) return tl::unexpected(expression.error());
    const std::string name = textAt(step, "behavior");
    for (const auto& [word, behavior] : kBehaviors)
        if (name == word) {
            const bool invert = flagAt(step, "invert", false);
            return Cut([=, kind = behavior](const QString& piece, bool, std::vector<QString>& into) {
                cutBy(*expression, invert, kind, piece, into);
            });
        }
    return fail(fmt::format("has a Split with the behavior {}, which is not known", quotedName(name)));
}

Result<void> readCuts(const json& step, PreTokenizer& into) {
    if (step.is_null()) return {};
    const std::string type = textAt(step, "type");
    if (type == "Sequence") {
        for (const json& inner : valueAt(step, "pretokenizers"))
            if (auto read = readCuts(inner, into); !read) return read;
        return {};
    }
    if (type == "ByteLevel") {
        into.spellsBytes = true;
        const bool space = flagAt(step, "add_prefix_space", true), cuts = flagAt(step, "use_regex", true);
        const auto pattern = compiled(kGpt2Pattern);
        into.steps.push_back([=](const QString& piece, bool, std::vector<QString>& out) {
            const bool add = space && !piece.startsWith(QLatin1Char(' '));
            const QString whole = add ? QLatin1Char(' ') + piece : piece;
            if (cuts)
                cutBy(*pattern, false, Behavior::Isolated, whole, out);
            else
                out.push_back(whole);
        });
        return {};
    }
    if (type == "Digits") {
        const bool single = flagAt(step, "individual_digits", false);
        const auto pattern = compiled(R"(\p{N})");
        into.steps.push_back([=](const QString& piece, bool, std::vector<QString>& out) {
            cutBy(*pattern, false, single ? Behavior::Isolated : Behavior::Contiguous, piece, out);
        });
        return {};
    }
    if (type == "Split") {
        auto cut = readSplit(step);
        if (!cut) return tl::unexpected(cut.error());
        into.steps.push_back(std::move(*cut));
        return {};
    }
    if (type == "Metaspace") {
        const QString mark = textOf(step, "replacement");
        const std::string scheme = textAt(step, "prepend_scheme");
        const bool splits = flagAt(step, "split", true);
        const auto pattern = compiled(QRegularExpression::escape(mark).toStdString());
        if (!pattern) return tl::unexpected(pattern.error());
        into.steps.push_back([=](const QString& piece, bool first, std::vector<QString>& out) {
            QString whole = piece;
            whole.replace(QLatin1Char(' '), mark);
            const bool add = scheme.empty() || scheme == "always" || (scheme == "first" && first);
            if (add && !whole.startsWith(mark)) whole.prepend(mark);
            if (splits)
                cutBy(*pattern, false, Behavior::MergedWithNext, whole, out);
            else
                out.push_back(whole);
        });
        return {};
    }
    return fail(fmt::format("has the pre-tokenizer {}, which is not known", quotedName(type)));
}

} // namespace

Result<Normalize> readNormalizer(const json& step) {
    if (step.is_null()) return Normalize([](const QString& text) { return text; });
    const std::string type = textAt(step, "type");
    if (type == "Sequence") {
        std::vector<Normalize> steps;
        for (const json& inner : valueAt(step, "normalizers")) {
            auto read = readNormalizer(inner);
            if (!read) return read;
            steps.push_back(std::move(*read));
        }
        return Normalize([steps](const QString& text) {
            QString out = text;
            for (const auto& one : steps) out = one(out);
            return out;
        });
    }
    static constexpr std::pair<const char*, QString::NormalizationForm> kForms[] = {
        {"NFC", QString::NormalizationForm_C},
        {"NFD", QString::NormalizationForm_D},
        {"NFKC", QString::NormalizationForm_KC},
        {"NFKD", QString::NormalizationForm_KD}};
    for (const auto& [word, form] : kForms)
        if (type == word) return Normalize([form = form](const QString& text) { return text.normalized(form); });
    if (type == "Lowercase") return Normalize([](const QString& text) { return text.toLower(); });
    if (type == "Prepend")
        return Normalize(
            [mark = textOf(step, "prepend")](const QString& text) { return text.isEmpty() ? text : mark + text; });
    if (type == "Replace") {
        const std::string regex = textAt(valueAt(step, "pattern"), "Regex");
        const QString content = textOf(step, "content");
        if (regex.empty())
            return Normalize([from = textOf(valueAt(step, "pattern"), "String"), content](const QString& text) {
                return QString(text).replace(from, content);
            });
        const auto pattern = compiled(regex);
        if (!pattern) return tl::unexpected(pattern.error());
        // `content` is literal there: a backslash means nothing.
        return Normalize(
            [pattern = *pattern, literal = QString(content).replace(QLatin1String("\\"), QLatin1String("\\\\"))](
                const QString& text) { return QString(text).replace(pattern, literal); });
    }
    return fail(fmt::format("has the normalizer {}, which is not known", quotedName(type)));
}

Result<PreTokenizer> readPreTokenizer(const json& step) {
    PreTokenizer out;
    if (auto read = readCuts(step, out); !read) return tl::unexpected(read.error());
    return out;
}

} // namespace qs::eval
