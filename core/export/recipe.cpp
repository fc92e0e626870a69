// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/recipe.h"

#include "core/base/text.h"

#include <QRegularExpression>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t(16) << 20;
constexpr std::string_view kKeep = "keep";

/// Nothing for "keep".
Result<std::optional<QuantSpec>> specOrKeep(const std::string& text) {
    if (text == kKeep) return std::optional<QuantSpec>();
    auto spec = parseSpec(text);
    if (!spec) return tl::unexpected(spec.error());
    return std::optional<QuantSpec>(std::move(*spec));
}

} // namespace

void Recipe::applyTo(QuantizeRequest& request) const {
    request.rules = rules;
    request.keepsRest = !rest;
    if (rest) request.spec = *rest;
}

Result<Recipe> parseRecipe(const std::string& text, const std::string& path) {
    const auto wrong = [&](const std::string& why) {
        return fail(fmt::format("{} is not a recipe: {}.", escapeForPeople(path, 200), why), path);
    };
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return wrong("it is not a JSON object");
    for (const auto& [key, value] : json.items())
        if (key != "version" && key != "default" && key != "rules")
            return wrong(fmt::format("it has an entry '{}', which no recipe has", escapeForPeople(key, 60)));
    if (!json.contains("version") || json["version"] != 1)
        return wrong("its version is not 1, the only one that is known");
    Recipe recipe;
    if (json.contains("default")) {
        if (!json["default"].is_string()) return wrong("its default is no text");
        auto rest = specOrKeep(json["default"].get<std::string>());
        if (!rest) return wrong("its default: " + rest.error().message);
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
        if (!spec) return wrong(fmt::format("rule {}: {}", number, spec.error().message));
        recipe.rules.push_back({row["tensor"].get<std::string>(), std::move(*spec)});
    }
    return recipe;
}

Result<Recipe> readRecipe(const std::string& path) {
    std::error_code failed;
    const auto size = std::filesystem::file_size(path, failed);
    if (failed) return fail(fmt::format("{} cannot be read: {}.", escapeForPeople(path, 200), failed.message()), path);
    if (size > kMostBytes)
        return fail(fmt::format("{} is not a recipe: it is longer than 16 MiB.", escapeForPeople(path, 200)), path);
    std::ifstream in(path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    if (!in) return fail(fmt::format("{} cannot be read.", escapeForPeople(path, 200)), path);
    return parseRecipe(text, path);
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
        // A regex may hold "=", and so does a spec: the first place after which a spec stands.
        bool found = false;
        for (std::size_t at = text.find('='); at != text.npos && !found; at = text.find('=', at + 1)) {
            auto spec = specOrKeep(text.substr(at + 1));
            if (!spec || at == 0) continue;
            recipe.rules.push_back({text.substr(0, at), std::move(*spec)});
            found = true;
        }
        if (!found) return tl::unexpected(whole.error());
    }
    return recipe;
}

std::vector<std::string> unmatchedRules(const Recipe& recipe, const Model& model) {
    std::vector<std::string> out;
    for (const TensorRule& rule : recipe.rules) {
        const QRegularExpression regex(QString::fromStdString(rule.regex));
        const bool matches = std::any_of(model.tensors.begin(), model.tensors.end(), [&](const TensorInfo& tensor) {
            return regex.match(QString::fromStdString(tensor.name)).hasMatch();
        });
        if (!matches) out.push_back(rule.regex);
    }
    return out;
}

} // namespace qs
