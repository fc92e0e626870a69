// SPDX-License-Identifier: GPL-3.0-or-later
// hf_quant_config.json, which ModelOpt writes beside an exported checkpoint for TensorRT-LLM, vLLM and SGLang
// (modelopt/torch/export/quant_utils.py, process_layer_quant_config()).
#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/recipes/matcher.h"
#include "core/recipes/recipe_specs.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace qs {
namespace {

constexpr const char* kMixed = "MIXED_PRECISION";

bool isHfQuantConfig(const RecipeSource& source) {
    const Json& settings = source.settings();
    return settings.contains("quant_algo") &&
           (source.tree.contains("producer") || settings.contains("exclude_modules") ||
            settings.contains("quantized_layers"));
}

/// The spec of an algorithm; "" where there is none.
std::string specOfAlgorithm(const std::string& algorithm, std::int64_t group) {
    if (algorithm == "FP8") return "fp8_e4m3:scale=tensor";
    if (algorithm == "FP8_PER_CHANNEL_PER_TOKEN") return "fp8_e4m3:scale=channel";
    if (algorithm == "FP8_PB_WO" || algorithm == "FP8_PB_REAL") return "fp8_e4m3:tile=0x128,1x128";
    if (algorithm == "W4A16_AWQ" || algorithm == "W4A8_AWQ" || algorithm == "W4A16")
        return integerSpec(4, group > 0 && group < 1 << 20 ? group : 128, true);
    if (algorithm == "W8A16" || algorithm.starts_with("W8A8_SQ")) return integerSpec(8, 0, true);
    if (algorithm.find("NVFP4") != algorithm.npos) return group == 0 || group == 16 ? "nvfp4:block=16" : "";
    if (algorithm.find("MXFP4") != algorithm.npos) return "mxfp4:block=32";
    if (algorithm == "MXFP8") return "mxfp8:block=32";
    return {};
}

Result<ForeignRecipe> readHfQuantConfig(const RecipeSource& source) {
    const Json& settings = source.settings();
    ForeignRecipe out;
    if (const Json& excluded = entryOf(settings, "exclude_modules"); excluded.is_array())
        for (const Json& one : excluded) {
            if (!one.is_string()) return source.wrong("an entry of exclude_modules is no text");
            out.rules.push_back({one.get<std::string>(), Matching::Glob, {}});
        }
    const std::string algorithm = textOf(settings, "quant_algo");
    if (algorithm == kMixed) {
        const Json& layers = entryOf(settings, "quantized_layers");
        if (!layers.is_object()) return source.wrong("it has no quantized_layers");
        for (const auto& [name, entry] : layers.items()) {
            RecipeRule rule{name, Matching::Exact, {}, 1};
            const std::string one = textOf(entry, "quant_algo");
            setSpec(rule, specOfAlgorithm(one, wholeOf(entry, "group_size").value_or(0)), one);
            out.rules.push_back(std::move(rule));
        }
        out.restText = "no layer of quantized_layers: it stays as it is";
    } else if (!algorithm.empty()) {
        RecipeRule rest;
        setSpec(rest, specOfAlgorithm(algorithm, wholeOf(settings, "group_size").value_or(0)), algorithm);
        out.rest = std::move(rest.spec), out.restProblem = std::move(rest.problem);
        out.restText = "quant_algo " + escapeForPeople(algorithm, 40);
    }
    if (!textOf(settings, "kv_cache_quant_algo").empty())
        out.remarks.emplace_back("It quantizes the key and value cache too; only weights are read here.");
    return out;
}

/// {"quant_algo": ..., "group_size": ...}
Result<Json> algorithmOf(const QuantSpec& spec) {
    const std::string works = "nvfp4:block=16";
    const char* program = "hf_quant_config.json";
    if (auto plain = hasPlainKeys(spec, program, works); !plain) return tl::unexpected(plain.error());
    // What each algorithm reads as: the first that gives this spec.
    const std::int64_t group = spec.scaleKind() == ScaleKind::Block ? spec.blockSize() : 0;
    for (const char* algorithm :
         {"FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO", "W4A16_AWQ", "W8A16", "W4A16_NVFP4", "MXFP4", "MXFP8"}) {
        const auto says = parseSpec(specOfAlgorithm(algorithm, group));
        if (!says || !saySame(*says, spec)) continue;
        Json json = {{"quant_algo", algorithm}};
        if (group > 0) json["group_size"] = group;
        return json;
    }
    return advise(fmt::format("{} has no quant_algo for {}", program, specText(spec)),
                  {works, "fp8_e4m3:scale=tensor", integerSpec(4, 128, true)});
}

Result<WrittenRecipe> writeHfQuantConfig(const Assignment& assignment) {
    Json layers = Json::object(), excluded = Json::array();
    std::map<std::string, Json> kinds;
    for (const Assigned& one : assignment.tensors) {
        if (!one.spec) {
            excluded.push_back(one.name);
            continue;
        }
        auto algorithm = algorithmOf(*one.spec);
        if (!algorithm) return tl::unexpected(algorithm.error());
        kinds[algorithm->dump()] = *algorithm;
        layers[one.name] = std::move(*algorithm);
    }
    Json quantization = Json::object();
    const bool isMixed = kinds.size() > 1;
    quantization["quant_algo"] = kMixed;
    if (!isMixed)
        for (const auto& [key, value] : kinds.begin()->second.items()) quantization[key] = value;
    quantization["kv_cache_quant_algo"] = nullptr;
    quantization["exclude_modules"] = std::move(excluded);
    if (isMixed) quantization["quantized_layers"] = std::move(layers);
    const Json json = {{"producer", {{"name", "modelopt"}, {"version", "0.47.0"}}},
                       {"quantization", std::move(quantization)}};
    return WrittenRecipe{json.dump(2) + "\n"};
}

} // namespace

const RecipeFormat kHfQuantConfigRecipes = {
    .id = "hf-quant-config",
    .title = "ModelOpt hf_quant_config.json",
    .summary = "What ModelOpt writes beside an export: quant_algo, quantized_layers, exclude_modules.",
    .matching = "wildcards of exclude_modules, then names of quantized_layers; else quant_algo",
    .names = NameSpace::Module,
    .wins = Wins::First,
    .ending = ".json",
    .recognises = isHfQuantConfig,
    .read = readHfQuantConfig,
    .write = writeHfQuantConfig,
    .takes = [](const TensorInfo& tensor, const std::string&) { return isTransformersLinear(tensor); },
};

} // namespace qs
