// SPDX-License-Identifier: GPL-3.0-or-later
// Recipes of Thireus' GGUF-Tool-Suite (docs/quant_assign.md): lines ^REGEX$=TYPE, comments behind #.
#include "core/base/text.h"
#include "core/recipes/formats/ggml_types.h"
#include "core/recipes/matcher.h"
#include "core/recipes/recipe_specs.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace qs {
namespace {

/// Lines that are neither empty nor comments, with their numbers.
std::vector<std::pair<int, std::string>> thireusLines(const std::string& text) {
    std::vector<std::pair<int, std::string>> lines;
    std::istringstream in(text);
    std::string line;
    for (int number = 1; std::getline(in, line) && lines.size() <= kMostRules; ++number) {
        while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
        const auto first = line.find_first_not_of(" \t");
        if (first != line.npos && line[first] != '#') lines.emplace_back(number, line.substr(first));
    }
    return lines;
}

/// Its files have comments; without one such lines are a file of llama-quantize.
bool isThireusRecipe(const RecipeSource& source) {
    const auto lines = thireusLines(source.text);
    if (lines.empty() || source.text.find('#') == source.text.npos) return false;
    return std::ranges::all_of(lines, [](const auto& line) {
        const auto at = line.second.rfind("$=");
        return line.second.starts_with('^') && at != std::string::npos && at + 2 < line.second.size() &&
               line.second.find_first_of(" \t", at) == std::string::npos;
    });
}

Result<ForeignRecipe> readThireusRecipe(const RecipeSource& source) {
    ForeignRecipe out;
    for (const auto& [number, line] : thireusLines(source.text)) {
        const auto at = line.rfind("$=");
        RecipeRule rule{line.substr(0, at + 1), Matching::Full, {}};
        setGgmlType(rule, line.substr(at + 2));
        out.rules.push_back(std::move(rule));
    }
    out.restText = "no rule: it stays as it is";
    return out;
}

Result<WrittenRecipe> writeThireusRecipe(const Assignment& assignment) {
    WrittenRecipe out;
    out.text = "## Tensor types, written by QuantScope\n";
    for (const LayerRule& rule : layerRules(assignment)) {
        if (!rule.spec()) continue;
        const auto type = ggmlTypeOf(*rule.spec(), "GGUF-Tool-Suite");
        if (!type) return tl::unexpected(type.error());
        out.text += rule.regex("[0-9]+") + "=" + *type + "\n";
    }
    return out;
}

} // namespace

const RecipeFormat kThireusRecipes = {
    .id = "thireus",
    .title = "Thireus' GGUF-Tool-Suite",
    .summary = "^REGEX$=TYPE lines of quant_assign.py, for its own llama.cpp and that of ikawrakow.",
    .matching = "regular expressions for whole names of GGUF files; the first rule that matches wins",
    .names = NameSpace::Gguf,
    .wins = Wins::First,
    .ending = ".recipe",
    .recognises = isThireusRecipe,
    .read = readThireusRecipe,
    .write = writeThireusRecipe,
    .takes = isQuantizedByLlama,
};

} // namespace qs
