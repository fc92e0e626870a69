// SPDX-License-Identifier: GPL-3.0-or-later
// Rules of qwix (qwix/_src/qconfig.py, QuantizationRule) in YAML or JSON: a list, or "rules" of "qwix" as tpu-inference has
// it.
#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/quant/spec/calibrations/rows.h"
#include "core/quant/spec/dialects/rows.h"
#include "core/recipes/matcher.h"
#include "core/recipes/recipe_specs.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

/// Its types of weights and our formats.
constexpr std::pair<std::string_view, std::string_view> kQwixTypes[] = {{"int2", "int2"},
                                                                        {"int3", "int3"},
                                                                        {"int4", "int4"},
                                                                        {"int5", "int5"},
                                                                        {"int6", "int6"},
                                                                        {"int7", "int7"},
                                                                        {"int8", "int8"},
                                                                        {"nf4", "nf4"},
                                                                        {"float8_e4m3fn", "fp8_e4m3"},
                                                                        {"float8_e5m2", "fp8_e5m2"},
                                                                        {"float8_e4m3fnuz", "fp8_e4m3fnuz"},
                                                                        {"float8_e5m2fnuz", "fp8_e5m2fnuz"},
                                                                        {"mxfp8", "mxfp8"},
                                                                        {"mxfp4", "mxfp4"},
                                                                        {"nvfp4", "nvfp4"}};
/// Operations that multiply by weights.
constexpr std::string_view kProducts[] = {"dot_general", "einsum", "conv_general_dilated", "ragged_dot"};

const Json& qwixRules(const RecipeSource& source) {
    if (source.tree.is_array()) return source.tree;
    const Json& inner = entryOf(source.tree, "qwix");
    return entryOf(inner.is_object() ? inner : source.tree, "rules");
}

bool isQwixRecipe(const RecipeSource& source) {
    const Json& rules = qwixRules(source);
    return rules.is_array() && !rules.empty() && std::ranges::all_of(rules, [](const Json& rule) {
               return rule.is_object() && (rule.contains("module_path") || rule.contains("weight_qtype"));
           });
}

bool isForWeights(const Json& entry) {
    const Json& ops = entryOf(entry, "op_names");
    if (!ops.is_array() || ops.empty()) return true;
    return std::ranges::any_of(ops, [](const Json& op) {
        return op.is_string() && std::find(std::begin(kProducts), std::end(kProducts),
                                           op.get_ref<const std::string&>()) != std::end(kProducts);
    });
}

RecipeRule ruleOfQwix(const Json& entry) {
    const std::string path = textOf(entry, "module_path");
    RecipeRule rule{path.empty() ? ".*" : path, Matching::Full, {}};
    const Json &type = entryOf(entry, "weight_qtype"), &tile = entryOf(entry, "tile_size");
    if (type.is_null()) return rule;
    const auto found = std::ranges::find_if(kQwixTypes, [&](const auto& row) {
        return type.is_string() && row.first == type.get_ref<const std::string&>();
    });
    if (found == std::end(kQwixTypes)) {
        rule.problem = fmt::format("weight_qtype {}", shownValue(type));
        return rule;
    }
    std::string spec = fmt::format("{}:dialect={}", found->second, kQwixDialect.id);
    std::string method = textOf(entry, "weight_calibration_method");
    std::erase(method, ' ');
    const bool isFixed = method.starts_with("fixed");
    const bool hasOwnBlocks = findFormat(found->second)->ownScale != OwnScale::F32;
    if (tile.is_number_integer() && tile.get<std::int64_t>() > 0) {
        spec += fmt::format(":block={}", tile.get<std::int64_t>());
    } else if (tile.is_number_float() && tile.get<double>() > 0 && tile.get<double>() <= 1) {
        rule.tiles = std::uint32_t(1.0 / tile.get<double>() + 0.5);
        spec += ":block=32"; // replaced when the columns are known
    } else if (!tile.is_null()) {
        rule.problem = fmt::format("tile_size {}", shownValue(tile));
        return rule;
    } else if (!hasOwnBlocks) {
        spec += isFixed ? ":scale=tensor" : ":scale=channel";
    }
    if (method.starts_with("minmax"))
        spec += ":sym=no" + (method == "minmax" ? std::string() : ":calib=" + method);
    else if (!method.empty() && method != kAbsMaxCalibration.id)
        spec += ":calib=" + method;
    setSpec(rule, spec, shownValue(entry));
    if (!rule.spec) rule.tiles = 0;
    return rule;
}

Result<ForeignRecipe> readQwixRecipe(const RecipeSource& source) {
    ForeignRecipe out;
    bool hasActivations = false;
    std::size_t others = 0;
    for (const Json& entry : qwixRules(source)) {
        hasActivations |= !entryOf(entry, "act_qtype").is_null();
        RecipeRule rule = ruleOfQwix(entry);
        if (!isForWeights(entry)) {
            ++others;
            continue;
        }
        out.rules.push_back(std::move(rule));
    }
    out.restText = "no rule: it stays as it is";
    if (hasActivations)
        out.remarks.emplace_back("It quantizes activations too (act_qtype); only weights are read here.");
    if (others > 0)
        out.remarks.push_back(fmt::format("{} rules are for operations without weights (op_names).", others));
    return out;
}

/// The path of a module under the names of MaxText and of Hugging Face.
std::string qwixPattern(const LayerRule& rule) {
    const Assigned& first = *rule.tensors.front();
    const auto spellings = namesIn(NameSpace::Flax, first.tensor);
    const auto lastOf = [](const std::string& path) { return escapedRegex(path.substr(path.rfind('/') + 1)); };
    const std::string a = lastOf(spellings.front()), b = lastOf(spellings.back());
    const std::string role = a == b ? a : "(" + a + "|" + b + ")";
    if (rule.isLayered) return ".*/" + role;
    if (rule.name.layer >= 0) return fmt::format(".*layers[_/]{}/.*/{}", rule.name.layer, role);
    return a == b ? "(.*/)?" + role : fmt::format("(.*/)?{}", role);
}

Result<std::string> qwixTypeOf(const QuantSpec& spec) {
    for (const auto& [theirs, ours] : kQwixTypes)
        if (spec.format == ours) return std::string(theirs);
    return advise(fmt::format("qwix has no type for {}", spec.format), {integerSpec(8, 0, true, kQwixDialect.id)});
}

Result<Json> qwixEntry(const LayerRule& rule) {
    const QuantSpec& spec = *rule.spec();
    const auto type = qwixTypeOf(spec);
    if (!type) return tl::unexpected(type.error());
    const std::string works = fmt::format("{}:dialect={}", spec.format, kQwixDialect.id);
    if (auto plain = hasPlainKeys(spec, "qwix", works); !plain) return tl::unexpected(plain.error());
    if (spec.tiles || (spec.scaleKind() == ScaleKind::Axes && !spec.hasScalePerRow()))
        return advise(fmt::format("qwix has a scale per channel or tile, not {}", specText(spec)), {works});
    const Calibration calibration = spec.effectiveCalibration();
    const bool isFixed = calibration.id == kFixedCalibration.id;
    if (spec.scaleKind() == ScaleKind::Tensor && !isFixed)
        return advise(fmt::format("qwix has a scale per tensor for a fixed range alone, not {}", specText(spec)),
                      {integerSpec(8, 0, true, kQwixDialect.id)});
    Json entry = {{"module_path", qwixPattern(rule)}, {"weight_qtype", *type}};
    if (spec.scaleKind() == ScaleKind::Block && spec.traits().ownScale == OwnScale::F32)
        entry["tile_size"] = spec.blockSize();
    const bool isRange = calibration.id == kMinMaxCalibration.id || calibration.id == kAbsMaxCalibration.id;
    std::string method = calibrationText(calibration);
    if (!spec.isSymmetric() && isRange) {
        method = kMinMaxCalibration.id;
        for (const double number : calibration.arguments) method += fmt::format(",{}", number);
    } else if (!isRange && !isFixed && calibration.id != kRmsCalibration.id) {
        return advise(fmt::format("qwix has no word for calib of {}", specText(spec)), {works});
    }
    if (method != kAbsMaxCalibration.id) entry["weight_calibration_method"] = method;
    return entry;
}

Result<WrittenRecipe> writeQwixRecipe(const Assignment& assignment) {
    WrittenRecipe out;
    Json list = Json::array();
    // Rules for one layer before those for all, because the first that matches wins.
    for (const bool isLayered : {false, true})
        for (const LayerRule& rule : layerRules(assignment)) {
            if (!rule.spec() || rule.isLayered != isLayered) continue;
            auto entry = qwixEntry(rule);
            if (!entry) return tl::unexpected(entry.error());
            list.push_back(std::move(*entry));
        }
    // A text that is JSON is YAML too; a rule a line is easier to read.
    out.text = "qwix:\n  rules:\n";
    for (const Json& entry : list) out.text += "    - " + entry.dump() + "\n";
    return out;
}

} // namespace

const RecipeFormat kQwixRecipes = {
    .id = "qwix",
    .title = "qwix rules",
    .summary = "A list of QuantizationRule in YAML or JSON, as qwix and tpu-inference take it.",
    .matching = "regular expressions for whole paths of Flax modules; the first rule that matches wins",
    .names = NameSpace::Flax,
    .wins = Wins::First,
    .ending = ".yaml",
    .recognises = isQwixRecipe,
    .read = readQwixRecipe,
    .write = writeQwixRecipe,
    .takes = [](const TensorInfo& tensor, const std::string&) { return isLinearWeight(tensor); },
};

} // namespace qs
