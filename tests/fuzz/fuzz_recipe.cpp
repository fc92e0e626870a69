// SPDX-License-Identifier: GPL-3.0-or-later
// Any text must give a recipe or an error. Each line is also parsed as a --spec of the command line: SPEC or
// REGEX=SPEC.
#include "core/export/recipe.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto recipe = qs::parseRecipe(text, "fuzz");
    if (!recipe && recipe.error().message.empty()) std::abort();
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin <= text.size() && lines.size() < 20;) {
        const auto end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    const auto given = qs::recipeOfSpecs(lines);
    if (!given) {
        if (given.error().message.empty()) std::abort();
        return 0;
    }
    if (given->rules.size() + (given->rest ? 1 : 0) > lines.size()) std::abort();
    for (const auto& rule : given->rules)
        if (rule.regex.empty()) std::abort();
    return 0;
}
