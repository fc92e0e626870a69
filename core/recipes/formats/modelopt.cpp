// SPDX-License-Identifier: GPL-3.0-or-later
// ModelOpt's quant_cfg: a list of quantizers by wildcard and what they do (modelopt/torch/quantization/conversion.py,
// set_quantizer_by_cfg(); config.py, QuantizerAttributeConfig), in YAML of modelopt_recipes or as JSON.
#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/recipes/matcher.h"
#include "core/recipes/recipe_specs.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

const Json& quantizersOf(const RecipeSource& source) {
    if (const Json& inner = entryOf(entryOf(source.tree, "quantize"), "quant_cfg"); !inner.is_null()) return inner;
    return entryOf(source.tree, "quant_cfg");
}

bool isModelOptRecipe(const RecipeSource& source) {
    return quantizersOf(source).is_array() || quantizersOf(source).is_object() ||
           entryOf(source.tree, "auto_quantize").is_object();
}

/// "e4m3", [4, 3] or "(4, 3)" as "e4m3"; whole numbers as they are; "" of anything else.
std::string bitsWord(const Json& bits) {
    if (bits.is_number_integer()) return std::to_string(bits.get<std::int64_t>());
    if (bits.is_array() && bits.size() == 2 && bits[0].is_number_integer() && bits[1].is_number_integer())
        return fmt::format("e{}m{}", bits[0].get<std::int64_t>(), bits[1].get<std::int64_t>());
    if (!bits.is_string()) return {};
    std::string text = bits.get<std::string>();
    std::erase_if(text, [](char c) { return c == ' ' || c == '(' || c == ')'; });
    const auto comma = text.find(',');
    return comma == text.npos ? text : "e" + text.substr(0, comma) + "m" + text.substr(comma + 1);
}

/// The spec of a quantizer's cfg; "" where there is none.
std::string specOfQuantizer(const Json& cfg) {
    const std::string bits = bitsWord(entryOf(cfg, "num_bits"));
    const Json &blocks = entryOf(cfg, "block_sizes"), &axis = entryOf(cfg, "axis");
    std::int64_t block = 0, rows = 0;
    for (const auto& [key, value] : blocks.items()) {
        if (key == "-1" && value.is_number_integer()) block = value.get<std::int64_t>();
        if (key == "-2" && value.is_number_integer()) rows = value.get<std::int64_t>();
    }
    const std::string scale = bitsWord(entryOf(blocks, "scale_bits"));
    const bool isPerRow = axis == 0;
    const bool isWhole = !bits.empty() && bits.find_first_not_of("0123456789") == bits.npos;
    if (blocks.is_object() && (block <= 0 || block > 1 << 20)) return {};
    if (isWhole && scale.empty() && rows == 0)
        return integerSpec(std::strtoll(bits.c_str(), nullptr, 10), block > 0 ? block : isPerRow ? 0 : -1, true);
    if (bits == "e2m1" && block == 16 && scale == "e4m3" && rows == 0) return "nvfp4:block=16";
    if (bits == "e2m1" && block == 32 && scale == "e8m0" && rows == 0) return "mxfp4:block=32";
    if (bits == "e4m3" && block == 32 && scale == "e8m0" && rows == 0) return "mxfp8:block=32";
    if (bits != "e4m3" || !scale.empty()) return {};
    if (block > 0 && rows > 0) return fmt::format("fp8_e4m3:tile=0x{},1x{}", rows, block);
    if (block > 0) return fmt::format("fp8_e4m3:block={}", block);
    return isPerRow ? "fp8_e4m3:scale=channel" : "fp8_e4m3:scale=tensor";
}

RecipeRule ruleOfQuantizer(const std::string& pattern, const Json& cfg, bool isEnabled) {
    RecipeRule rule{pattern, Matching::Glob, {}};
    if (!isEnabled) return rule;
    const Json& only = cfg.is_array() && cfg.size() == 1 ? cfg[0] : cfg;
    if (only.is_object() && flagOf(only, "enable", true))
        setSpec(rule, specOfQuantizer(only), shownValue(only));
    else if (!only.is_object())
        rule.problem = "several quantizers one after another";
    return rule;
}

/// Patterns that end as those of inputs and outputs do cannot match a weight's.
bool isForOthers(std::string_view pattern) {
    return pattern.ends_with("input_quantizer") || pattern.ends_with("output_quantizer") ||
           pattern.ends_with("bmm_quantizer") || pattern.ends_with("softmax_quantizer");
}

/// What `$import` names. ModelOpt reads `imports: {NAME: PATH}` at the top of a recipe; a name or a path may also be an
/// entry of this file, with the steps of a path between dots or slashes. Other files are not read.
class Imports {
public:
    explicit Imports(const RecipeSource& source) : source_(source) {}

    /// The value with everything that it imports. A list in a list goes into it.
    Result<Json> whole(const Json& value, int depth = 0) {
        if (depth > kDeepest) return source_.wrong("it imports itself");
        if (++made_ > 4 * kMostRules) return source_.wrong("its imports have too many entries");
        if (value.is_array()) {
            Json out = Json::array();
            for (const Json& one : value) {
                auto made = whole(one, depth);
                if (!made) return made;
                const bool isList = made->is_array() && one.is_object();
                if (!isList)
                    out.push_back(std::move(*made));
                else
                    out.insert(out.end(), made->begin(), made->end());
            }
            return out;
        }
        if (!value.is_object()) return value;
        Json out = Json::object();
        if (const Json& name = entryOf(value, kImport); !name.is_null()) {
            auto made = imported(name, depth);
            if (!made || (value.size() == 1 && !made->is_object())) return made;
            if (!made->is_object())
                return source_.wrong(fmt::format("{} is no object, but stands among other entries", shownValue(name)));
            out = std::move(*made);
        }
        for (const auto& [key, one] : value.items()) { // what stands beside an import wins
            if (key == kImport) continue;
            auto made = whole(one, depth);
            if (!made) return made;
            out[key] = std::move(*made);
        }
        return out;
    }

private:
    static constexpr const char* kImport = "$import";
    static constexpr int kDeepest = 16;

    Result<Json> imported(const Json& name, int depth) {
        if (name.is_array()) { // several, one after another
            Json out = Json::object();
            for (const Json& one : name) {
                auto made = imported(one, depth);
                if (!made) return made;
                if (!made->is_object()) return source_.wrong(fmt::format("{} is no object", shownValue(one)));
                out.update(*made);
            }
            return out;
        }
        const Json* found = name.is_string() ? find(name.get<std::string>()) : nullptr;
        if (!found)
            return source_.wrong(fmt::format("it imports {}, which is not in this file, and other files are not read: "
                                             "write what it says in its place",
                                             shownValue(name)));
        return whole(*found, depth + 1);
    }
    /// The entry of this file: by its own name, by the path that `imports` gives the name, or step by step.
    const Json* find(const std::string& name) const {
        if (const Json* direct = entry(source_.tree, name)) return direct;
        const Json& paths = entryOf(source_.tree, "imports");
        const Json* path = entry(paths, name);
        if (!path) return steps(name);
        if (!path->is_string()) return path;
        const auto text = path->get<std::string>();
        const Json* direct = entry(source_.tree, text);
        return direct ? direct : steps(text);
    }
    const Json* steps(std::string_view path) const {
        const Json* at = &source_.tree;
        while (at && !path.empty()) {
            const auto end = std::min(path.find_first_of("./"), path.size());
            at = entry(*at, path.substr(0, end));
            path.remove_prefix(std::min(end + 1, path.size()));
        }
        return at;
    }
    static const Json* entry(const Json& object, std::string_view key) {
        const Json& found = entryOf(object, key);
        return found.is_null() ? nullptr : &found;
    }
    const RecipeSource& source_;
    std::size_t made_ = 0; ///< values
};

Result<ForeignRecipe> readModelOptRecipe(const RecipeSource& source) {
    if (entryOf(source.tree, "auto_quantize").is_object())
        return source.wrong("it asks ModelOpt to search (auto_quantize) and says no tensor's format: `plan` searches");
    ForeignRecipe out;
    bool hasOthers = false;
    const auto add = [&](RecipeRule rule) {
        if (isForOthers(rule.pattern))
            hasOthers |= rule.spec || !rule.problem.empty();
        else
            out.rules.push_back(std::move(rule));
    };
    const auto whole = Imports(source).whole(quantizersOf(source));
    if (!whole) return tl::unexpected(whole.error());
    const Json& list = *whole;
    if (list.is_object()) // of ModelOpt before 0.40: a dictionary
        for (const auto& [pattern, cfg] : list.items()) {
            const bool isDefault = pattern == "default";
            if (!cfg.is_object() && !cfg.is_array())
                return source.wrong(fmt::format("the entry {} is no object", escapeForPeople(pattern, 60)));
            add(ruleOfQuantizer(isDefault ? "*" : pattern, cfg, flagOf(cfg, "enable", true)));
            if (isDefault) out.rules.back().rank = 1;
        }
    else
        for (const Json& entry : list) {
            if (!entryOf(entry, "parent_class").is_null()) {
                hasOthers = true; // of layers that are not linear
                continue;
            }
            const std::string pattern = textOf(entry, "quantizer_name");
            if (pattern.empty()) return source.wrong(fmt::format("{} has no quantizer_name", shownValue(entry)));
            const Json& cfg = entryOf(entry, "cfg");
            add(ruleOfQuantizer(pattern, cfg, flagOf(entry, "enable", !cfg.is_null())));
        }
    out.restText = "no rule: it stays as it is";
    if (hasOthers)
        out.remarks.emplace_back("It has quantizers of activations or other layers; only weights are read here.");
    return out;
}

/// A cfg as YAML in one line, or the error.
Result<std::string> quantizerText(const QuantSpec& spec) {
    const std::string works = integerSpec(4, 128, true);
    if (auto plain = hasPlainKeys(spec, "ModelOpt", works); !plain) return tl::unexpected(plain.error());
    const FormatTraits& format = spec.traits();
    if (format.ownScale != OwnScale::F32 && spec.scaleKind() == ScaleKind::Block && !spec.tiles)
        return fmt::format("{{num_bits: {}, block_sizes: {{-1: {}, type: dynamic, scale_bits: {}}}}}",
                           format.bits == 8 ? "e4m3" : "e2m1", spec.blockSize(),
                           format.ownScale == OwnScale::E4m3 ? "e4m3" : "e8m0");
    if (format.kind == FormatKind::Float && format.shape == FloatShape{3, 7, format.shape.minusZero}) {
        if (spec.tiles && spec.tiles->size() == 2) {
            std::uint32_t sizes[2] = {0, 0};
            for (const Tile& tile : *spec.tiles) sizes[std::size_t((tile.axis + 2) % 2)] = tile.size;
            return fmt::format("{{num_bits: e4m3, block_sizes: {{-1: {}, -2: {}}}}}", sizes[1], sizes[0]);
        }
        if (spec.scaleKind() == ScaleKind::Block)
            return fmt::format("{{num_bits: e4m3, block_sizes: {{-1: {}, type: static}}}}", spec.blockSize());
        return spec.hasScalePerRow() ? "{num_bits: e4m3, axis: 0}" : "{num_bits: e4m3, axis: null}";
    }
    const auto facts = integerFacts(spec, "ModelOpt", works);
    if (!facts) return tl::unexpected(facts.error());
    if (!facts->isSymmetric || facts->clip != 1)
        return advise(fmt::format("ModelOpt has symmetric integers of the whole range, not {}", specText(spec)),
                      {integerSpec(facts->bits, facts->group, true)});
    if (facts->group > 0)
        return fmt::format("{{num_bits: {}, block_sizes: {{-1: {}, type: static}}}}", facts->bits, facts->group);
    return fmt::format("{{num_bits: {}, axis: {}}}", facts->bits, facts->group == 0 ? "0" : "null");
}

Result<WrittenRecipe> writeModelOptRecipe(const Assignment& assignment) {
    std::string text = "metadata:\n  recipe_type: ptq\n  description: Written by QuantScope.\n"
                       "quantize:\n  algorithm: max\n  quant_cfg:\n    - {quantizer_name: '*', enable: false}\n";
    for (const LayerRule& rule : layerRules(assignment)) {
        if (!rule.spec()) continue;
        const auto cfg = quantizerText(*rule.spec());
        if (!cfg) return tl::unexpected(cfg.error());
        std::string pattern = rule.isLayered ? rule.name.before + "*" + rule.name.after : rule.tensors.front()->name;
        for (std::size_t at = pattern.find('\''); at != pattern.npos; at = pattern.find('\'', at + 2))
            pattern.insert(at, "'"); // a quote of YAML is two
        text += fmt::format("    - {{quantizer_name: '{}', cfg: {}}}\n", pattern, *cfg);
    }
    return WrittenRecipe{std::move(text)};
}

} // namespace

const RecipeFormat kModelOptRecipes = {
    .id = "modelopt",
    .title = "ModelOpt quant_cfg",
    .summary = "A PTQ recipe of NVIDIA ModelOpt: quant_cfg, a list of quantizers by wildcard.",
    .matching = "wildcards for whole names of quantizers; the last rule that matches wins",
    .names = NameSpace::Quantizer,
    .wins = Wins::Last,
    .ending = ".yaml",
    .recognises = isModelOptRecipe,
    .read = readModelOptRecipe,
    .write = writeModelOptRecipe,
    .takes = [](const TensorInfo& tensor, const std::string&) { return isTransformersLinear(tensor); },
};

} // namespace qs
