// SPDX-License-Identifier: GPL-3.0-or-later
// MaxText's quant_cfg_path with quantization=intmp (layers/quantizations.py, _get_mixed_precision_quant_config): JSON from a
// regular expression to {w_bits, a_bits, w_scale, a_scale, tile_size}.
#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/quant/spec/dialects/rows.h"
#include "core/recipes/matcher.h"
#include "core/recipes/recipe_specs.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr const char* kMaxTextDefault = "__default__";
constexpr std::string_view kLogits = "logits_dense";
constexpr std::string_view kMaxTextKeys[] = {"w_bits", "a_bits", "w_scale", "a_scale", "tile_size"};
constexpr std::string_view kOldMaxTextKeys[] = {"bits", "scale"}; ///< of older samples; its reader ignores them

bool hasOnlyKeys(const Json& object) {
    for (const auto& [key, value] : object.items())
        if (std::find(std::begin(kMaxTextKeys), std::end(kMaxTextKeys), key) == std::end(kMaxTextKeys) &&
            std::find(std::begin(kOldMaxTextKeys), std::end(kOldMaxTextKeys), key) == std::end(kOldMaxTextKeys))
            return false;
    return true;
}

bool isMaxTextRecipe(const RecipeSource& source) {
    if (!source.isObject() || source.tree.empty()) return false;
    for (const auto& [key, value] : source.tree.items())
        if (!value.is_object() || !hasOnlyKeys(value)) return false;
    return true;
}

/// One entry over the default's.
RecipeRule ruleOfMaxText(const std::string& pattern, const Json& entry, const Json& otherwise) {
    RecipeRule rule{pattern, Matching::Full, {}};
    const auto get = [&](std::string_view key) -> const Json& {
        return entry.contains(std::string(key)) ? entryOf(entry, key) : entryOf(otherwise, key);
    };
    const Json &bits = get("w_bits"), &tile = get("tile_size"), &scale = get("w_scale");
    const std::string said = shownValue(entry);
    if (bits.is_null()) return rule;
    const std::int64_t size = tile.is_number_integer() ? tile.get<std::int64_t>() : -1;
    const bool isSound = bits.is_number_integer() && (tile.is_null() || tile.is_number_integer()) &&
                         (size == -1 || (size > 0 && size < 1 << 20)) && (scale.is_null() || scale.is_number());
    std::string spec = isSound ? integerSpec(bits.get<std::int64_t>(), size > 0 ? size : 0, true, kAqtDialect.id) : "";
    const double clip = scale.is_number() ? scale.get<double>() : 1.0;
    if (!spec.empty() && clip < 1.0) spec += fmt::format(":calib=absmax,{}", clip);
    setSpec(rule, spec, said);
    return rule;
}

Result<ForeignRecipe> readMaxTextRecipe(const RecipeSource& source) {
    ForeignRecipe out;
    const Json& otherwise = entryOf(source.tree, kMaxTextDefault);
    bool isOld = false, hasActivations = false, widens = false;
    for (const auto& [key, value] : source.tree.items()) {
        for (const std::string_view old : kOldMaxTextKeys) isOld |= value.contains(std::string(old));
        hasActivations |= entryOf(value, "a_bits").is_number();
        const Json& scale = entryOf(value, "w_scale");
        widens |= scale.is_number() && scale.get<double>() > 1;
        if (key != kMaxTextDefault) out.rules.push_back(ruleOfMaxText(key, value, otherwise));
    }
    RecipeRule rest = ruleOfMaxText({}, otherwise, {});
    out.rest = std::move(rest.spec), out.restProblem = std::move(rest.problem), out.restText = kMaxTextDefault;
    if (isOld)
        out.remarks.emplace_back("It has \"bits\" or \"scale\", which MaxText ignores today: it reads \"w_bits\" and "
                                 "\"w_scale\".");
    if (widens) out.remarks.emplace_back("It has a w_scale above 1: MaxText applies only those below 1.");
    if (hasActivations) out.remarks.emplace_back("It quantizes activations too (a_bits); only weights are read here.");
    return out;
}

/// The path of a layer's matrix, whatever MaxText calls the layers: scanned ones share a name.
std::string maxTextPattern(const LayerRule& rule) {
    const std::string& name = rule.tensors.front()->name;
    if (!rule.isLayered) return escapedRegex(name);
    auto after = rule.name.after; // "/self_attention/query"
    if (const auto last = after.rfind('/'); last != after.npos && after.starts_with('/')) after.erase(0, 1);
    return ".*/" + escapedRegex(after);
}

Result<WrittenRecipe> writeMaxTextRecipe(const Assignment& assignment) {
    WrittenRecipe out;
    Json json = Json::object();
    json[kMaxTextDefault] = {{"w_bits", nullptr}, {"a_bits", nullptr}};
    bool byLayer = false;
    for (const LayerRule& rule : layerRules(assignment)) {
        if (!rule.spec()) continue;
        const auto facts = integerFacts(*rule.spec(), "MaxText", integerSpec(8, 0, true, kAqtDialect.id));
        if (!facts) return tl::unexpected(facts.error());
        if (!facts->isSymmetric || facts->group < 0)
            return advise(fmt::format("MaxText has symmetric integers with a scale per channel or tile, not {}",
                                      specText(*rule.spec())),
                          {integerSpec(facts->bits, std::max<std::int64_t>(0, facts->group), true, kAqtDialect.id)});
        if (facts->clip > 1)
            return advise(fmt::format("MaxText applies a w_scale below 1 only, so that it has no {}",
                                      specText(*rule.spec())),
                          {integerSpec(facts->bits, std::max<std::int64_t>(0, facts->group), true, kAqtDialect.id)});
        Json entry = {{"w_bits", facts->bits}};
        if (facts->group > 0) entry["tile_size"] = facts->group;
        if (facts->clip != 1) entry["w_scale"] = facts->clip;
        json[maxTextPattern(rule)] = std::move(entry);
        byLayer |= !rule.isLayered && rule.name.layer >= 0;
    }
    out.text = json.dump(2) + "\n";
    if (byLayer) out.remarks.emplace_back("Layers differ: MaxText needs scan_layers=false, or they share one name.");
    return out;
}

/// decoders.py gives the output layer ("logits_dense") no quantization, whatever the configuration says.
Result<void> isQuantizedByMaxText(const TensorInfo& tensor, const std::string& name) {
    if (name.ends_with(kLogits)) return fail("MaxText never quantizes the output layer, its logits_dense");
    return isLinearWeight(tensor);
}

} // namespace

const RecipeFormat kMaxTextRecipes = {
    .id = "maxtext",
    .title = "MaxText",
    .summary = "JSON for quantization=intmp and quant_cfg_path: bits and tiles of weights by path.",
    .matching = "regular expressions for whole paths of Flax modules; the last rule that matches wins",
    .names = NameSpace::Flax,
    .wins = Wins::Last,
    .ending = ".json",
    .recognises = isMaxTextRecipe,
    .read = readMaxTextRecipe,
    .write = writeMaxTextRecipe,
    .takes = isQuantizedByMaxText,
};

} // namespace qs
