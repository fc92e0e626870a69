// SPDX-License-Identifier: GPL-3.0-or-later
// quantization_config of compressed-tensors: config_groups with targets, and ignore (utils/match.py, match_targets();
// quantization/quant_scheme.py, PRESET_SCHEMES).
#include "core/layouts/layouts.h"
#include "core/layouts/linear_weights.h"
#include "core/quant/spec/dialects/rows.h"
#include "core/recipes/recipe_specs.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr const char* kCtMethod = "compressed-tensors";

bool isCtRecipe(const RecipeSource& source) {
    const Json& settings = source.settings();
    return entryOf(settings, "config_groups").is_object() || textOf(settings, "quant_method") == kCtMethod;
}

std::string ctSpec(const std::string& format, const std::string& rest) {
    return fmt::format("{}:dialect={}{}", format, kCompressedTensorsDialect.id, rest);
}

/// The spec of "weights"; "" of what has none.
std::string specOfCtWeights(const Json& weights) {
    const std::int64_t bits = wholeOf(weights, "num_bits").value_or(8);
    const bool isFloat = textOf(weights, "type") == "float";
    const bool isSymmetric = flagOf(weights, "symmetric", true);
    const std::int64_t group = wholeOf(weights, "group_size").value_or(-1);
    std::string strategy = textOf(weights, "strategy");
    if (strategy.empty()) strategy = group > 0 ? "group" : group == -1 ? "channel" : "tensor";
    if (!isFloat) {
        if (strategy == "group" && group > 0)
            return integerSpec(bits, group, isSymmetric, kCompressedTensorsDialect.id);
        if (strategy == "channel") return integerSpec(bits, 0, isSymmetric, kCompressedTensorsDialect.id);
        if (strategy == "tensor") return integerSpec(bits, -1, isSymmetric, kCompressedTensorsDialect.id);
        return {};
    }
    if (!isSymmetric) return {};
    if (bits == 4 && strategy == "tensor_group" && group == 16) return ctSpec("nvfp4", {});
    if (bits == 4 && strategy == "group" && group == 32) return ctSpec("mxfp4", {});
    if (bits != 8) return {};
    if (strategy == "tensor") return "fp8_e4m3:scale=tensor";
    if (strategy == "channel") return "fp8_e4m3:scale=channel";
    if (strategy == "group" && group == 32 && textOf(weights, "scale_dtype").ends_with("uint8"))
        return ctSpec("mxfp8", {});
    const Json& block = entryOf(weights, "block_structure");
    if (strategy == "block" && block.is_array() && block.size() == 2 && block[0].is_number_unsigned() &&
        block[1].is_number_unsigned())
        return fmt::format("fp8_e4m3:tile=0x{},1x{}", block[0].get<std::uint64_t>(), block[1].get<std::uint64_t>());
    return {};
}

/// A group may be the name of a scheme instead: "W4A16": ["Linear"].
std::string specOfCtPreset(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
    if (name == "W8A8" || name == "INT8") return integerSpec(8, 0, true, kCompressedTensorsDialect.id);
    if (name == "W4A16_ASYM") return integerSpec(4, 128, false, kCompressedTensorsDialect.id);
    if (name == "FP8") return "fp8_e4m3:scale=tensor";
    if (name == "FP8_DYNAMIC") return "fp8_e4m3:scale=channel";
    if (name == "FP8_BLOCK") return "fp8_e4m3:tile=0x128,1x128";
    if (name.starts_with("NVFP4")) return ctSpec("nvfp4", {});
    if (name.starts_with("MXFP4")) return ctSpec("mxfp4", {});
    if (name.starts_with("MXFP8")) return ctSpec("mxfp8", {});
    const bool isW = name.size() > 2 && name[0] == 'W' && name[1] >= '2' && name[1] <= '8' && name[2] == 'A';
    // W8A16 has a scale per row; narrower ones have groups of 128.
    return isW ? integerSpec(name[1] - '0', name[1] == '8' ? 0 : 128, true, kCompressedTensorsDialect.id) : "";
}

/// A class has a capital letter first and no dot.
bool isClassName(const std::string& target) {
    return !target.empty() && target[0] >= 'A' && target[0] <= 'Z' && target.find('.') == target.npos;
}

RecipeRule ruleOfTarget(const std::string& target) {
    RecipeRule rule{target, Matching::Exact, {}};
    if (target.starts_with("re:"))
        rule.pattern = target.substr(3), rule.how = Matching::Prefix, rule.rank = 2;
    else if (isClassName(target))
        rule.how = Matching::Linear, rule.rank = 3;
    else
        rule.rank = 1;
    return rule;
}

Result<ForeignRecipe> readCtRecipe(const RecipeSource& source) {
    const Json& settings = source.settings();
    ForeignRecipe out;
    bool hasActivations = false;
    if (const Json& ignored = entryOf(settings, "ignore"); ignored.is_array())
        for (const Json& one : ignored) {
            if (!one.is_string()) return source.wrong("an entry of ignore is no text");
            RecipeRule rule = ruleOfTarget(one.get<std::string>());
            rule.rank = 0;                                                 // over every target
            if (rule.how == Matching::Linear && one != "Linear") continue; // classes that are no linear layers
            out.rules.push_back(std::move(rule));
        }
    for (const auto& [name, group] : entryOf(settings, "config_groups").items()) {
        const Json& targets = group.is_array() ? group : entryOf(group, "targets");
        if (!targets.is_array())
            return source.wrong(fmt::format("the group {} has no list of targets", shownValue(name)));
        const Json& weights = entryOf(group, "weights");
        hasActivations |= !entryOf(group, "input_activations").is_null();
        for (const Json& target : targets) {
            if (!target.is_string()) return source.wrong(fmt::format("a target of {} is no text", shownValue(name)));
            RecipeRule rule = ruleOfTarget(target.get<std::string>());
            if (rule.how == Matching::Linear && target != "Linear") continue;
            if (group.is_array())
                setSpec(rule, specOfCtPreset(name), name);
            else if (weights.is_object())
                setSpec(rule, specOfCtWeights(weights), shownValue(weights));
            out.rules.push_back(std::move(rule));
        }
    }
    out.restText = "no target: it stays as it is";
    if (hasActivations)
        out.remarks.emplace_back("It quantizes activations too (input_activations); only weights are read here.");
    return out;
}

Result<WrittenRecipe> writeCtRecipe(const Assignment& assignment) {
    static const Layout layout = compressedTensorsLayout();
    std::vector<TakenTensor> taken;
    for (const Assigned& one : assignment.tensors) {
        if (!one.spec) continue;
        const std::vector<std::int64_t> unknown = {256, 256};
        if (auto ok = assignment.knowsShapes ? layout.accepts(*one.spec, one.info->shape)
                                             : layout.accepts(*one.spec, unknown);
            !ok)
            return tl::unexpected(ok.error());
        if (auto plain = hasPlainKeys(*one.spec, layout.title, "int4:dialect=ct:block=128"); !plain)
            return tl::unexpected(plain.error());
        taken.push_back({one.info, std::make_shared<const QuantSpec>(*one.spec)});
    }
    const auto config = layout.config(*assignment.model, taken);
    if (!config) return tl::unexpected(config.error());
    Json json = Json::parse(*config);
    // Not yet done: the names that stay are those of this recipe alone.
    Json& settings = json["quantization_config"];
    settings["quantization_status"] = "initialized";
    WrittenRecipe out{json.dump(2) + "\n"};
    if (settings["config_groups"].size() > 1)
        out.remarks.emplace_back("vLLM joins q, k and v, and gate and up: the parts of each must have one spec.");
    return out;
}

} // namespace

const RecipeFormat kCompressedTensorsRecipes = {
    .id = kCtMethod,
    .title = "compressed-tensors groups",
    .summary = "quantization_config with config_groups and ignore, for transformers, vLLM and LLM Compressor.",
    .matching = "a module's name, then re: from the begin of it, then its class; ignore over all of them",
    .names = NameSpace::Module,
    .wins = Wins::First,
    .ending = ".json",
    .recognises = isCtRecipe,
    .read = readCtRecipe,
    .write = writeCtRecipe,
    .takes = [](const TensorInfo& tensor, const std::string&) { return hasWeightName(tensor); },
};

} // namespace qs
