// SPDX-License-Identifier: GPL-3.0-or-later
// BitsAndBytesConfig of transformers: one 4-bit or 8-bit format, and llm_int8_skip_modules (quantizers_utils.py,
// should_convert_module(); base.py, get_keys_to_not_convert()).
#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/quant/spec/dialects/rows.h"
#include "core/recipes/matcher.h"
#include "core/recipes/recipe_specs.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr const char* kSkipped = "llm_int8_skip_modules";

bool isBnbRecipe(const RecipeSource& source) {
    const Json& settings = source.settings();
    return textOf(settings, "quant_method") == "bitsandbytes" || settings.contains("load_in_4bit") ||
           settings.contains("load_in_8bit") || settings.contains("_load_in_4bit");
}

Result<ForeignRecipe> readBnbRecipe(const RecipeSource& source) {
    const Json& settings = source.settings();
    const bool isFour = flagOf(settings, "load_in_4bit", flagOf(settings, "_load_in_4bit", false));
    const bool isEight = flagOf(settings, "load_in_8bit", flagOf(settings, "_load_in_8bit", false));
    if (isFour == isEight) return source.wrong("it says neither or both of load_in_4bit and load_in_8bit");
    ForeignRecipe out;
    std::string type = textOf(settings, "bnb_4bit_quant_type");
    if (type.empty()) type = "fp4"; // transformers' default
    std::string spec = isEight ? integerSpec(8, 0, true, kLlmInt8Dialect.id)
                               : fmt::format("{}:dialect={}", type, kBitsandbytes4Dialect.id);
    if (isFour && flagOf(settings, "bnb_4bit_use_double_quant", false)) spec += ":scaletype=u8dq";
    const auto parsed = parseSpec(spec);
    if (!parsed) return source.wrong(fmt::format("no spec says bnb_4bit_quant_type {}", escapeForPeople(type, 40)));
    if (const Json& skipped = entryOf(settings, kSkipped); skipped.is_array()) {
        for (const Json& one : skipped) {
            if (!one.is_string()) return source.wrong(fmt::format("an entry of {} is no text", kSkipped));
            out.rules.push_back({one.get<std::string>(), Matching::Within, {}});
        }
    } else {
        out.rules.push_back({"lm_head", Matching::Within, {}});
        out.remarks.push_back(fmt::format("It has no {}: transformers keeps the head by itself.", kSkipped));
    }
    out.rest = *parsed, out.restText = "every other linear layer";
    return out;
}

/// A spec for all, and the modules that stay.
Result<WrittenRecipe> writeBnbRecipe(const Assignment& assignment) {
    const QuantSpec* spec = mostUsedSpec(assignment);
    for (const Assigned& one : assignment.tensors)
        if (one.spec && !saySame(*one.spec, *spec))
            return advise(fmt::format("bitsandbytes has one spec for a model, not {} and {}", specText(*spec),
                                      specText(*one.spec)),
                          {specText(*spec) + " for all, or keep"});
    Json json;
    const bool isEight = spec->traits().kind == FormatKind::Integer;
    const auto& row = isEight ? kLlmInt8Dialect : kBitsandbytes4Dialect;
    if (!row.takes(spec->traits()) || spec->tiles || (isEight && !spec->hasScalePerRow()) ||
        (!isEight && (spec->scaleKind() != ScaleKind::Block || spec->blockSize() != spec->traits().defaultBlock)))
        return advise(fmt::format("bitsandbytes' settings say {} in blocks of 64 or 8-bit rows, not {}", "nf4 and fp4",
                                  specText(*spec)),
                      {fmt::format("nf4:dialect={}", row.id), integerSpec(8, 0, true, kLlmInt8Dialect.id)});
    if (auto plain = hasPlainKeys(*spec, "bitsandbytes", fmt::format("nf4:dialect={}", row.id)); !plain)
        return tl::unexpected(plain.error());
    json["quant_method"] = "bitsandbytes";
    json["load_in_4bit"] = !isEight;
    json["load_in_8bit"] = isEight;
    if (!isEight) {
        json["bnb_4bit_quant_type"] = spec->format;
        json["bnb_4bit_use_double_quant"] = isDoubleQuantized(*spec);
        json["bnb_4bit_compute_dtype"] = torchType(assignment.tensors.front().info->dtype);
        json["bnb_4bit_quant_storage"] = "uint8";
    }
    json["llm_int8_threshold"] = 6.0;
    Json kept = Json::array();
    bool hasHead = false;
    for (const Assigned& one : assignment.tensors) {
        if (!one.spec) kept.push_back(one.name);
        hasHead |= one.name == "lm_head";
    }
    if (!hasHead) kept.push_back("lm_head"); // tied to the embedding
    json[kSkipped] = std::move(kept);
    return WrittenRecipe{Json{{"quantization_config", std::move(json)}}.dump(2) + "\n"};
}

} // namespace

const RecipeFormat kBitsandbytesRecipes = {
    .id = "bnb",
    .title = "bitsandbytes in transformers",
    .summary = "BitsAndBytesConfig: one format for all linear layers, and llm_int8_skip_modules.",
    .matching = "an entry skips modules that begin with it at a dot, match it as a regular expression, or end with it; "
                "any entry wins",
    .names = NameSpace::Module,
    .wins = Wins::First,
    .ending = ".json",
    .recognises = isBnbRecipe,
    .read = readBnbRecipe,
    .write = writeBnbRecipe,
    .takes = [](const TensorInfo& tensor, const std::string&) { return isTransformersLinear(tensor); },
};

} // namespace qs
