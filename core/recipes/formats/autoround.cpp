// SPDX-License-Identifier: GPL-3.0-or-later
// quantization_config of AutoRound: a scheme for all, and extra_config for layers by name or regular expression
// (auto_round/inference/convert_model.py, get_layer_config() and _expand_regex_config(); schemes.py).
#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/recipes/matcher.h"
#include "core/recipes/recipe_specs.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr const char* kAutoRoundMethods[] = {"auto-round", "intel/auto-round"};

bool isAutoRoundRecipe(const RecipeSource& source) {
    const Json& settings = source.settings();
    const std::string method = textOf(settings, "quant_method");
    return std::find(std::begin(kAutoRoundMethods), std::end(kAutoRoundMethods), method) !=
               std::end(kAutoRoundMethods) ||
           entryOf(settings, "extra_config").is_object();
}

/// A scheme over the one for all.
RecipeRule ruleOfScheme(const std::string& pattern, Matching how, const Json& entry, const Json& otherwise) {
    RecipeRule rule{pattern, how, {}};
    const auto get = [&](std::string_view key) -> const Json& {
        return entry.contains(std::string(key)) ? entryOf(entry, key) : entryOf(otherwise, key);
    };
    const Json &bits = get("bits"), &group = get("group_size"), &sym = get("sym"), &type = get("data_type");
    const std::int64_t n = bits.is_number_integer() ? bits.get<std::int64_t>() : 4;
    if (n >= 16) return rule; // stays as it is
    const std::string said = shownValue(entry);
    const std::string data = type.is_string() ? type.get<std::string>() : "int";
    const std::int64_t size = group.is_number_integer() ? group.get<std::int64_t>() : 128;
    const bool isSymmetric = !sym.is_boolean() || sym.get<bool>();
    std::string spec;
    if (data.starts_with("int"))
        spec = size > 1 << 20 ? "" : integerSpec(n, size > 0 ? size : size == -1 ? 0 : -1, isSymmetric);
    else if (data.starts_with("nv_fp"))
        spec = n == 4 && size == 16 ? "nvfp4:block=16" : "";
    else if (data.starts_with("mx_fp"))
        spec = n == 4 && size == 32 ? "mxfp4:block=32" : n == 8 && size == 32 ? "mxfp8:block=32" : "";
    else if (data.starts_with("fp") && n == 8)
        spec = size == -1 ? "fp8_e4m3:scale=channel" : size == 0 ? "fp8_e4m3:scale=tensor" : "";
    setSpec(rule, spec, said);
    return rule;
}

/// A name with operators of regular expressions is one.
bool isAutoRoundRegex(const std::string& name) { return name.find_first_of("*+?^$()[]{}|\\") != name.npos; }

Result<ForeignRecipe> readAutoRoundRecipe(const RecipeSource& source) {
    const Json& settings = source.settings();
    ForeignRecipe out;
    RecipeRule rest = ruleOfScheme({}, Matching::Search, settings, {});
    const Json& extra = entryOf(settings, "extra_config");
    if (!extra.is_null() && !extra.is_object()) return source.wrong("its extra_config is no object");
    for (const auto& [name, entry] : extra.items()) {
        if (!entry.is_object())
            return source.wrong(fmt::format("extra_config of {} is no object", escapeForPeople(name, 60)));
        const bool isRegex = isAutoRoundRegex(name);
        RecipeRule rule = ruleOfScheme(name, isRegex ? Matching::Search : Matching::Exact, entry, settings);
        rule.rank = isRegex ? 1 : 0;
        out.rules.push_back(std::move(rule));
    }
    const bool hasHead =
        std::ranges::any_of(out.rules, [](const RecipeRule& rule) { return rule.pattern == "lm_head"; });
    if (!hasHead) out.rules.push_back({"lm_head", Matching::Exact, {}, 2}); // outside of the blocks
    out.rest = std::move(rest.spec), out.restProblem = std::move(rest.problem), out.restText = "the scheme for all";
    out.remarks.emplace_back("AutoRound learns how values are rounded; a spec here rounds to the nearest.");
    return out;
}

/// The scheme of a spec in AutoRound's words. Its packing holds 2, 3, 4 and 8 bits.
Result<Json> autoRoundScheme(const std::optional<QuantSpec>& spec) {
    if (!spec) return Json{{"bits", 16}, {"data_type", "float"}};
    const std::string works = integerSpec(4, 128, true);
    if (auto plain = hasPlainKeys(*spec, "AutoRound", works); !plain) return tl::unexpected(plain.error());
    const FormatTraits& format = spec->traits();
    if (format.ownScale != OwnScale::F32 && spec->scaleKind() == ScaleKind::Block && !spec->tiles)
        return Json{{"bits", format.bits},
                    {"group_size", spec->blockSize()},
                    {"sym", true},
                    {"data_type", format.ownScale == OwnScale::E4m3 ? "nv_fp" : "mx_fp"}};
    const auto facts = integerFacts(*spec, "AutoRound", works);
    if (!facts) return tl::unexpected(facts.error());
    if (facts->clip != 1) return advise(fmt::format("AutoRound has no word for calib of {}", specText(*spec)), {works});
    if (facts->bits != 2 && facts->bits != 3 && facts->bits != 4 && facts->bits != 8)
        return advise(fmt::format("AutoRound packs 2, 3, 4 and 8 bits, not {}", specText(*spec)), {works});
    return Json{{"bits", facts->bits},
                {"group_size", facts->group > 0    ? facts->group
                               : facts->group == 0 ? -1
                                                   : 0},
                {"sym", facts->isSymmetric},
                {"data_type", "int"}};
}

Result<WrittenRecipe> writeAutoRoundRecipe(const Assignment& assignment) {
    const QuantSpec* most = mostUsedSpec(assignment);
    const auto common = autoRoundScheme(*most);
    if (!common) return tl::unexpected(common.error());
    Json json = {{"quant_method", kAutoRoundMethods[0]}};
    for (const auto& [key, value] : common->items()) json[key] = value;
    Json extra = Json::object();
    for (const Assigned& one : assignment.tensors) {
        const auto scheme = autoRoundScheme(one.spec);
        if (!scheme) return tl::unexpected(scheme.error());
        const bool isHead = one.name == "lm_head"; // outside of the blocks: it needs an entry where it has a spec
        if (isHead ? !one.spec.has_value() : *scheme == *common) continue;
        Json own = Json::object();
        for (const auto& [key, value] : scheme->items())
            if (isHead || value != entryOf(*common, key)) own[key] = value;
        extra[one.name] = std::move(own);
    }
    if (!extra.empty()) json["extra_config"] = std::move(extra);
    return WrittenRecipe{Json{{"quantization_config", std::move(json)}}.dump(2) + "\n"};
}

} // namespace

const RecipeFormat kAutoRoundRecipes = {
    .id = "autoround",
    .title = "AutoRound",
    .summary = "quantization_config of AutoRound: a scheme for all layers, and extra_config for those that differ.",
    .matching =
        "names of modules, then regular expressions searched in them; what none matches gets the scheme for all",
    .names = NameSpace::Module,
    .wins = Wins::First,
    .ending = ".json",
    .recognises = isAutoRoundRecipe,
    .read = readAutoRoundRecipe,
    .write = writeAutoRoundRecipe,
    .takes = [](const TensorInfo& tensor, const std::string&) { return isTransformersLinear(tensor); },
};

} // namespace qs
