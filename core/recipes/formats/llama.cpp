// SPDX-License-Identifier: GPL-3.0-or-later
// llama-quantize --tensor-type-file: words PATTERN=TYPE (tools/quantize/quantize.cpp, parse_tensor_type; the shape's
// fallback: src/llama-quant.cpp, tensor_type_fallback()).
#include "core/base/text.h"
#include "core/recipes/formats/ggml_types.h"
#include "core/recipes/matcher.h"
#include "core/recipes/recipe_specs.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace qs {
namespace {

std::vector<std::string> wordsOfText(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word && words.size() <= kMostRules;) words.push_back(std::move(word));
    return words;
}

/// Every word has a "=", and behind the first of them a type and nothing else.
bool isLlamaRecipe(const RecipeSource& source) {
    const auto words = wordsOfText(source.text);
    return !words.empty() && std::ranges::all_of(words, [](const std::string& word) {
        const auto at = word.find('=');
        return at != word.npos && at > 0 && at + 1 < word.size() &&
               word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at + 1) ==
                   word.npos;
    });
}

Result<ForeignRecipe> readLlamaRecipe(const RecipeSource& source) {
    ForeignRecipe out;
    bool isLowered = false;
    for (const std::string& word : wordsOfText(source.text)) {
        const auto at = word.find('=');
        RecipeRule rule{word.substr(0, at), Matching::Search, {}};
        std::transform(rule.pattern.begin(), rule.pattern.end(), rule.pattern.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
        isLowered |= word.compare(0, at, rule.pattern) != 0;
        setGgmlType(rule, word.substr(at + 1));
        out.rules.push_back(std::move(rule));
    }
    out.restText = "no rule: the type on llama-quantize's command line";
    if (isLowered)
        out.remarks.emplace_back("llama-quantize reads patterns in lower case: \\D becomes \\d, and \\S becomes \\s.");
    return out;
}

/// What llama-quantize takes where rows are no whole blocks.
QuantSpec fallbackOfShape(const QuantSpec& spec, const TensorInfo& tensor, std::string& why) {
    const std::int64_t columns = tensor.lastAxis();
    const auto blockOf = [](const FormatTraits& format) {
        return format.codec ? std::int64_t(format.codec->elements) : std::int64_t(1);
    };
    QuantSpec now = spec;
    const auto replace = [&](std::string_view text) {
        if (auto other = parseSpec(text)) now = std::move(*other);
    };
    if (columns % blockOf(now.traits()) != 0) {
        // From types with blocks of 256 to types with blocks of 32 and about as many bits.
        static constexpr std::pair<std::string_view, std::string_view> kSmaller[] = {
            {"q2_k", "q4_0"}, {"q3_k", "q4_0"},  {"q4_k", "q5_0"},  {"q5_k", "q5_1"},
            {"q6_k", "q8_0"}, {"tq1_0", "q4_0"}, {"tq2_0", "q4_0"}, {"iq4_xs", "iq4_nl"}};
        for (const auto& [from, to] : kSmaller)
            if (now.format == from) {
                replace(to);
                break;
            }
    }
    if (columns % blockOf(now.traits()) != 0) replace("f16");
    if (now.format != spec.format)
        why = fmt::format("{} in the place of {}: {} columns are no whole blocks", now.format, spec.format, columns);
    return now;
}

Result<WrittenRecipe> writeLlamaRecipe(const Assignment& assignment) {
    WrittenRecipe out;
    for (const LayerRule& rule : layerRules(assignment)) {
        if (!rule.spec()) {
            out.remarks.push_back(
                fmt::format("No rule says that {} stays as it is: llama-quantize gives it the type on "
                            "its command line.",
                            escapeForPeople(rule.tensors.front()->name, 80)));
            continue;
        }
        const auto type = ggmlTypeOf(*rule.spec(), "llama-quantize");
        if (!type) return tl::unexpected(type.error());
        out.text += rule.regex("\\d+") + "=" + *type + "\n";
    }
    return out;
}

} // namespace

const RecipeFormat kLlamaRecipes = {
    .id = "llama.cpp",
    .title = "llama.cpp tensor types",
    .summary = "PATTERN=TYPE words for llama-quantize --tensor-type-file.",
    .matching = "regular expressions in lower case, searched in names of GGUF files; the first rule that matches wins",
    .names = NameSpace::Gguf,
    .wins = Wins::First,
    .ending = ".txt",
    .recognises = isLlamaRecipe,
    .read = readLlamaRecipe,
    .write = writeLlamaRecipe,
    .forShape = fallbackOfShape,
    .takes = isQuantizedByLlama,
};

} // namespace qs
