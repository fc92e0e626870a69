// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/rule_book.h"

#include "core/base/text.h"
#include "core/base/wide_text.h"
#include "core/export/recipe.h"

#include <QRegularExpression>
#include <fmt/format.h>
#include <unordered_map>

namespace qs {
namespace {

constexpr std::string_view kPlanLine = "# plan: ";

/// The inverse of regexOfName(). Nullopt if the expression was not made by it.
std::optional<std::string> nameOf(const std::string& regex) {
    if (regex.size() < 2 || regex.front() != '^' || regex.back() != '$') return {};
    std::string name;
    for (std::size_t i = 1; i + 1 < regex.size(); ++i) {
        if (regex[i] == '\\' && ++i + 1 >= regex.size()) return {};
        name += regex[i];
    }
    if (regexOfName(name) != regex) return {};
    return name;
}

} // namespace

struct RuleBook::Pages {
    std::vector<TensorRule> rules;
    std::unordered_map<std::string, std::size_t> byName;            ///< the first rule of each name
    std::vector<std::pair<std::size_t, QRegularExpression>> others; ///< in the order of the recipe
};

std::string regexOfName(const std::string& tensor) {
    return '^' + QRegularExpression::escape(wideText(tensor)).toStdString() + '$';
}

Result<RuleBook> RuleBook::of(std::vector<TensorRule> rules) {
    auto pages = std::make_shared<Pages>();
    pages->rules = std::move(rules);
    for (std::size_t i = 0; i < pages->rules.size(); ++i) {
        const std::string& text = pages->rules[i].regex;
        if (auto name = nameOf(text)) {
            pages->byName.emplace(std::move(*name), i);
            continue;
        }
        QRegularExpression regex(wideText(text));
        if (!regex.isValid())
            return fail(fmt::format("The rule '{}' is not a regular expression: {} at character {}.",
                                    escapeForPeople(text, 80), regex.errorString().toStdString(),
                                    regex.patternErrorOffset()));
        pages->others.emplace_back(i, std::move(regex));
    }
    RuleBook book;
    book.pages_ = std::move(pages);
    return book;
}

const TensorRule* RuleBook::first(const std::string& tensor) const {
    if (!pages_) return nullptr;
    const auto named = pages_->byName.find(tensor);
    const std::size_t byName = named == pages_->byName.end() ? pages_->rules.size() : named->second;
    const QString name = pages_->others.empty() ? QString() : wideText(tensor);
    for (const auto& [at, regex] : pages_->others) {
        if (at > byName) break;
        if (regex.match(name).hasMatch()) return &pages_->rules[at];
    }
    return byName < pages_->rules.size() ? &pages_->rules[byName] : nullptr;
}

const std::vector<TensorRule>& RuleBook::rules() const {
    static const std::vector<TensorRule> none;
    return pages_ ? pages_->rules : none;
}

std::vector<TensorRule> RuleLines::all() const {
    auto out = own;
    out.insert(out.end(), planned.begin(), planned.end());
    return out;
}

Result<RuleLines> parseRuleLines(const std::string& lines) {
    RuleLines out;
    const auto at = lines.starts_with(kPlanLine) ? 0 : lines.find("\n" + std::string(kPlanLine));
    const bool isPlanned = at != lines.npos;
    auto rules = parseRules(lines); // parse the whole text first, so that errors name the right line
    if (!rules) return tl::unexpected(rules.error());
    out.own = std::move(*rules);
    if (!isPlanned) return out;
    const auto own = parseRules(lines.substr(0, at));
    if (!own) return tl::unexpected(own.error());
    out.planned.assign(out.own.begin() + std::ptrdiff_t(own->size()), out.own.end());
    out.own.resize(own->size());
    const auto begin = at + (at > 0 || lines.front() == '\n') + kPlanLine.size();
    out.note = lines.substr(begin, lines.find('\n', begin) - begin);
    return out;
}

Result<std::string> ruleLinesText(const RuleLines& lines) {
    auto own = rulesText(lines.own);
    if (!own || lines.planned.empty()) return own;
    const auto planned = rulesText(lines.planned);
    if (!planned) return planned;
    return *own + std::string(kPlanLine) + lines.note + '\n' + *planned;
}

} // namespace qs
