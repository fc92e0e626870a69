// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/pattern.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"
#include "core/base/wide_text.h"
#include "core/eval/tokenizer/splitter.h"
#include "core/eval/tokenizer/unicode.h"

#include <QRegularExpression>

#include <ctime>
#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr int kMostSteps = 10'000'000; ///< limit for one match in PCRE2
constexpr std::size_t kLongestExpression = 1 << 14;

class CharacterPattern final : public Pattern {
public:
    CharacterPattern(bool (*is)(std::uint16_t), bool single) : is_(is), single_(single) {}
    Result<void> matches(std::string_view text, Found found) const override {
        std::size_t begin = 0, end = 0; // the run that was found so far
        for (Character c; (c = characterAt(text, end)).bytes > 0;) {
            const bool matched = is_(flagsOf(c.value));
            if (end > begin && (!matched || single_)) found(begin, end);
            if (!matched || single_) begin = end;
            end += c.bytes;
            if (!matched) begin = end;
        }
        if (end > begin) found(begin, end);
        return {};
    }

private:
    bool (*is_)(std::uint16_t);
    bool single_;
};

class NumberPattern final : public Pattern {
public:
    explicit NumberPattern(std::size_t most) : most_(most) {}
    Result<void> matches(std::string_view text, Found found) const override {
        std::size_t begin = 0, end = 0, count = 0;
        for (Character c; (c = characterAt(text, end)).bytes > 0;) {
            const bool number = inSet(flagsOf(c.value), kNumbers);
            if (count > 0 && (!number || count == most_)) found(begin, end), count = 0;
            if (count == 0) begin = end;
            count += number;
            end += c.bytes;
        }
        if (count > 0) found(begin, end);
        return {};
    }

private:
    std::size_t most_;
};

class LiteralPattern final : public Pattern {
public:
    explicit LiteralPattern(std::string text) : text_(std::move(text)) {}
    Result<void> matches(std::string_view text, Found found) const override {
        if (text_.empty()) return {};
        for (std::size_t at = 0; (at = text.find(text_, at)) != std::string_view::npos; at += text_.size())
            found(at, at + text_.size());
        return {};
    }

private:
    std::string text_;
};

class SplitterPattern final : public Pattern {
public:
    explicit SplitterPattern(const Splitter& rule) : rule_(rule) {}
    Result<void> matches(std::string_view text, Found found) const override {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = rule_.endOf(text, at);
            found(at, end);
            at = end;
        }
        return {};
    }

private:
    const Splitter& rule_;
};

/// What the engine of the tokenizers package (Oniguruma) reads in another way than PCRE2; null: nothing. `text`: an
/// expression.
const char* readOtherwise(std::string_view text) {
    bool inClass = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::string_view rest = text.substr(at);
        if (rest[0] == '\\' && rest.size() > 1) {
            if (rest[1] == 'h' || rest[1] == 'H')
                return "\\h, which is a hexadecimal digit in one engine and a space in another";
            ++at;
        } else if (inClass && rest.starts_with("&&")) {
            return "an intersection of classes (&&)";
        } else if (inClass && rest[0] == '[' && !rest.starts_with("[:")) {
            return "a class within a class";
        } else if (!inClass && rest.starts_with("(?m")) {
            return "the option (?m), which lets a dot match a line end in one engine only";
        } else if (rest.starts_with("[:") && inClass) {
            const std::size_t end = text.find(":]", at);
            if (end != std::string_view::npos) at = end + 1;
        } else if (!inClass && rest[0] == '[') {
            inClass = true;
            if (rest.substr(1).starts_with('^')) ++at;
            if (text.substr(at + 1).starts_with(']')) ++at; // here "]" is a normal character
        } else if (rest[0] == ']') {
            inClass = false;
        }
    }
    return nullptr;
}

/// PCRE2 through Qt, which counts in UTF-16.
class RegexPattern final : public Pattern {
public:
    RegexPattern(QRegularExpression expression, std::string text)
        : expression_(std::move(expression)), text_(std::move(text)) {}
    Result<void> matches(std::string_view text, Found found) const override {
        const QString wide = wideText(text);
        qsizetype units = 0, last = -1;
        std::size_t bytes = 0;
        const auto bytesAt = [&](qsizetype unit) {
            while (units < unit) {
                const Character c = characterAt(text, bytes);
                bytes += c.bytes;
                units += c.value >= 0x10000 ? 2 : 1;
            }
            return bytes;
        };
        for (qsizetype at = 0; at <= wide.size();) {
            const auto match = expression_.match(wide, at, QRegularExpression::NormalMatch,
                                                 QRegularExpression::DontCheckSubjectStringMatchOption);
            if (!match.isValid())
                return fail(fmt::format("The tokenizer's pattern {} takes more than {} steps on this text.",
                                        quotedName(text_), kMostSteps));
            if (const double seconds = PatternTime::passed(); seconds > 0)
                return fail(fmt::format("The tokenizer's pattern {} takes more than {:.3g} s on this text.",
                                        quotedName(text_), seconds));
            if (!match.hasMatch()) break;
            // An empty match cuts the text, except at the end of the match before it.
            const bool isEmpty = match.capturedLength() == 0;
            at = match.capturedEnd();
            if (!isEmpty || at != last) {
                const std::size_t begin = bytesAt(match.capturedStart());
                found(begin, bytesAt(at));
            }
            last = at;
            if (isEmpty) at += at < wide.size() && wide[at].isHighSurrogate() ? 2 : 1;
        }
        return {};
    }

private:
    QRegularExpression expression_;
    std::string text_;
};

thread_local const PatternTime* timeOfText = nullptr;

double cpuOfThread() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return double(used.tv_sec) + double(used.tv_nsec) * 1e-9;
}

} // namespace

PatternTime::PatternTime(std::size_t textBytes)
    : limit_(limit(textBytes)), cpuAtStart_(cpuOfThread()), outer_(timeOfText) {
    timeOfText = this;
}

PatternTime::~PatternTime() { timeOfText = outer_; }

double PatternTime::passed() {
    if (!timeOfText) return 0;
    // The clock of the wall is read without a system call. While it is within the limit, the processor is too.
    const std::chrono::duration<double> sinceStart = std::chrono::steady_clock::now() - timeOfText->start_;
    const bool isOver =
        sinceStart.count() > timeOfText->limit_ && cpuOfThread() - timeOfText->cpuAtStart_ > timeOfText->limit_;
    return isOver ? timeOfText->limit_ : 0;
}

PatternPtr characterPattern(bool (*is)(std::uint16_t flags), bool single) {
    return std::make_shared<CharacterPattern>(is, single);
}

PatternPtr numberPattern(std::size_t most) { return std::make_shared<NumberPattern>(most); }

PatternPtr literalPattern(std::string text) { return std::make_shared<LiteralPattern>(std::move(text)); }

Result<PatternPtr> regexPattern(const std::string& text) {
    if (const Splitter* known = findSplitterFor(text)) return std::make_shared<SplitterPattern>(*known);
    if (text == R"(\p{N})") return numberPattern(1);
    if (text == R"(\p{N}{1,3})") return numberPattern(3);
    if (text.size() > kLongestExpression)
        return fail(fmt::format("has a pattern of {} bytes, more than {}", text.size(), kLongestExpression));
    if (const char* gap = readOtherwise(text))
        return fail(fmt::format("has the pattern {} with {}, which is not known", quotedName(text), gap));
    // In Oniguruma ^ and $ are the begin and the end of every line.
    QRegularExpression expression(QStringLiteral("(*LIMIT_MATCH=%1)").arg(kMostSteps) + wideText(text),
                                  QRegularExpression::UseUnicodePropertiesOption | QRegularExpression::MultilineOption);
    if (!expression.isValid())
        return fail(fmt::format("has the pattern {}, which is no regular expression", quotedName(text)));
    expression.optimize();
    return std::make_shared<RegexPattern>(std::move(expression), text);
}

Result<PatternPtr> readPattern(const nlohmann::json& pattern) {
    if (const std::string regex = textAt(pattern, "Regex"); !regex.empty()) return regexPattern(regex);
    return literalPattern(textAt(pattern, "String"));
}

} // namespace qs::eval
