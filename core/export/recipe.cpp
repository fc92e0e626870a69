// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/recipe.h"

#include "core/base/text.h"
#include "core/base/wide_text.h"
#include "core/export/rule_book.h"
#include "core/model/companion.h"

#include <QRegularExpression>
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace qs {
namespace {

constexpr std::size_t kMostRecipe = std::size_t(16) << 20;
constexpr std::string_view kKeep = "keep";

/// The spec of a text; empty for "keep".
Result<std::optional<QuantSpec>> specOrKeep(const std::string& text) {
    if (text == kKeep) return std::optional<QuantSpec>();
    auto spec = parseSpec(text);
    if (!spec) return tl::unexpected(spec.error());
    return std::optional<QuantSpec>(std::move(*spec));
}

std::string specOrKeepText(const std::optional<QuantSpec>& spec) { return spec ? specText(*spec) : std::string(kKeep); }

/// REGEX=SPEC or REGEX=keep; nothing where no part of the text is a spec. A regex may hold "=", and so does a spec: the
/// first place after which a spec stands.
std::optional<TensorRule> ruleOf(const std::string& text) {
    for (std::size_t at = text.find('=', 1); at != text.npos; at = text.find('=', at + 1))
        if (auto spec = specOrKeep(text.substr(at + 1))) return TensorRule{text.substr(0, at), std::move(*spec)};
    return std::nullopt;
}

} // namespace

void Recipe::applyTo(QuantizeRequest& request) const {
    request.rules = rules;
    request.keepsRest = !rest;
    if (rest) request.spec = *rest;
}

Result<Recipe> parseRecipe(const std::string& text, const std::string& path) {
    const std::string isNoRecipe = shownPath(path) + " is not a recipe: ";
    const auto wrong = [&](const std::string& why) { return fail(isNoRecipe + why + ".", path); };
    const auto tree = readJsonTree(text, kMostRecipe);
    if (!tree && nlohmann::json::accept(text)) return wrong("it " + tree.error().sentence());
    if (!tree || !tree->is_object()) return wrong("it is not a JSON object");
    const auto& json = *tree;
    for (const auto& [key, value] : json.items())
        if (key != "version" && key != "default" && key != "rules")
            return wrong(fmt::format("it has an entry '{}', which no recipe has", escapeForPeople(key, 60)));
    if (!json.contains("version") || json["version"] != 1)
        return wrong("its version is not 1, the only one that is known");
    Recipe recipe;
    if (json.contains("default")) {
        if (!json["default"].is_string()) return wrong("its default is no text");
        auto rest = specOrKeep(json["default"].get<std::string>());
        if (!rest) return failAt(isNoRecipe + "its default", rest.error());
        recipe.rest = std::move(*rest);
    }
    if (!json.contains("rules")) return recipe;
    if (!json["rules"].is_array()) return wrong("its rules are no list");
    for (const auto& row : json["rules"]) {
        const std::size_t number = recipe.rules.size() + 1;
        if (!row.is_object() || row.size() != 2 || !row.contains("tensor") || !row["tensor"].is_string() ||
            !row.contains("spec") || !row["spec"].is_string())
            return wrong(fmt::format("rule {} is not {{\"tensor\": REGEX, \"spec\": SPEC or \"keep\"}}", number));
        auto spec = specOrKeep(row["spec"].get<std::string>());
        if (!spec) return failAt(fmt::format("{}rule {}", isNoRecipe, number), spec.error());
        recipe.rules.push_back({row["tensor"].get<std::string>(), std::move(*spec)});
    }
    return recipe;
}

Result<Recipe> readRecipe(const std::string& path) {
    const auto text = readCompanion(path, kMostRecipe);
    if (!text) return tl::unexpected(text.error());
    return parseRecipe(*text, path);
}

Result<Recipe> recipeOfSpecs(const std::vector<std::string>& specs) {
    Recipe recipe;
    bool given = false;
    for (const std::string& text : specs) {
        auto whole = parseSpec(text);
        if (whole) {
            if (given)
                return fail(fmt::format("--spec {} is the second for all tensors: say which it is for, as in "
                                        "--spec 'down_proj={}'",
                                        escapeForPeople(text, 80), escapeForPeople(text, 80)));
            recipe.rest = std::move(*whole);
            given = true;
            continue;
        }
        auto rule = ruleOf(text);
        if (!rule) return tl::unexpected(whole.error());
        recipe.rules.push_back(std::move(*rule));
    }
    return recipe;
}

std::string recipeText(const Recipe& recipe) {
    auto rules = nlohmann::ordered_json::array();
    for (const TensorRule& rule : recipe.rules)
        rules.push_back({{"tensor", rule.regex}, {"spec", specOrKeepText(rule.spec)}});
    const nlohmann::ordered_json all = {{"version", 1}, {"default", specOrKeepText(recipe.rest)}, {"rules", rules}};
    return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string recipeInWords(const Recipe& recipe) {
    const auto text = [](const std::optional<QuantSpec>& spec) { return spec ? canonicalText(*spec) : "keep"; };
    std::string out;
    for (const TensorRule& rule : recipe.rules) out += fmt::format("{}={}, ", rule.regex, text(rule.spec));
    return out + "else " + text(recipe.rest);
}

Result<std::vector<TensorRule>> parseRules(const std::string& lines) {
    std::vector<TensorRule> rules;
    std::istringstream in(lines);
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
        const auto begin = line.find_first_not_of(" \t\r");
        if (begin == line.npos || line[begin] == '#') continue;
        const auto wrong = [&](const std::string& why) { return fail(fmt::format("Line {}: {}.", number, why)); };
        auto rule = ruleOf(line);
        if (!rule) {
            if (parseSpec(line))
                return wrong("it does not say which tensors, as in down_proj=" + escapeForPeople(line, 80));
            const auto at = line.rfind('=');
            if (at == line.npos || at == 0) return wrong("it is not REGEX=SPEC or REGEX=keep");
            const auto spec = parseSpec(line.substr(at + 1));
            if (!spec) return failAt(fmt::format("Line {}", number), spec.error());
            return wrong("it is not REGEX=SPEC");
        }
        const QRegularExpression regex(wideText(rule->regex));
        if (!regex.isValid())
            return wrong(fmt::format("'{}' is not a regular expression: {} at character {}",
                                     escapeForPeople(rule->regex, 80), regex.errorString().toStdString(),
                                     regex.patternErrorOffset()));
        rules.push_back(std::move(*rule));
    }
    return rules;
}

Result<std::string> rulesText(const std::vector<TensorRule>& rules) {
    std::string text;
    for (const TensorRule& rule : rules) {
        const std::string line = rule.regex + '=' + specOrKeepText(rule.spec);
        const auto again = ruleOf(line);
        if (rule.regex.find_first_of("\r\n") != rule.regex.npos || rule.regex.starts_with('#') || !again ||
            again->regex != rule.regex)
            return fail(
                fmt::format("The rule '{}' does not fit in a line of its own; `quantscope-cli export` takes it.",
                            escapeForPeople(rule.regex, 80)));
        text += line + '\n';
    }
    return text;
}

const TensorRule* firstRule(const std::vector<TensorRule>& rules, const std::string& tensor) {
    const QString name = wideText(tensor);
    for (const TensorRule& rule : rules)
        if (QRegularExpression(wideText(rule.regex)).match(name).hasMatch()) return &rule;
    return nullptr;
}

const TensorRule* ruleFor(const std::vector<TensorRule>& rules, const std::string& tensor) {
    const std::string regex = regexOfName(tensor);
    for (const TensorRule& rule : rules)
        if (rule.regex == regex) return &rule;
    return nullptr;
}

std::vector<TensorRule> withRuleFor(std::vector<TensorRule> rules, const std::string& tensor,
                                    const std::optional<QuantSpec>& spec) {
    rules = withoutRuleFor(std::move(rules), tensor);
    rules.insert(rules.begin(), {regexOfName(tensor), spec});
    return rules;
}

std::vector<TensorRule> withoutRuleFor(std::vector<TensorRule> rules, const std::string& tensor) {
    std::erase_if(rules, [regex = regexOfName(tensor)](const TensorRule& rule) { return rule.regex == regex; });
    return rules;
}

std::vector<std::string> unmatchedRules(const Recipe& recipe, const Model& model) {
    std::vector<std::string> out;
    for (const TensorRule& rule : recipe.rules) {
        const QRegularExpression regex(wideText(rule.regex));
        const bool matches = std::ranges::any_of(model.tensors, [&](const TensorInfo& tensor) {
            return regex.match(wideText(tensor.name)).hasMatch();
        });
        if (!matches) out.push_back(rule.regex);
    }
    return out;
}

} // namespace qs
