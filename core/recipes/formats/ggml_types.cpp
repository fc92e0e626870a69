// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/recipes/formats/ggml_types.h"

#include "core/base/text.h"
#include "core/quant/spec/dialects/rows.h"
#include "core/recipes/recipe_specs.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

std::string lowerCase(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = char(c + 32);
    return text;
}

/// A block type of ggml, or a float that GGUF files store.
bool isGgmlFormat(const FormatTraits& format) {
    return format.codec || format.encoder == Encoder::Identity || format.encoder == Encoder::RoundF16 ||
           format.encoder == Encoder::RoundBf16;
}

} // namespace

void setGgmlType(RecipeRule& rule, const std::string& type) {
    const FormatTraits* format = findFormat(lowerCase(type));
    const bool isKnown = format && (isGgmlFormat(*format) || findDialect(kGgmlDialect.id, *format));
    if (!isKnown) {
        rule.problem = fmt::format("the type {}, which no format here encodes", escapeForPeople(type, 40));
        return;
    }
    setSpec(rule,
            isGgmlFormat(*format) ? std::string(format->id) : fmt::format("{}:dialect={}", format->id, kGgmlDialect.id),
            type);
}

Result<std::string> ggmlTypeOf(const QuantSpec& spec, const char* program) {
    const FormatTraits& format = spec.traits();
    if (isGgmlFormat(format)) return std::string(format.id);
    if (findDialect(kGgmlDialect.id, format) && spec.effectiveDialect() == kGgmlDialect.id)
        return std::string(format.id);
    std::vector<std::string> works;
    for (const FormatTraits& one : formats())
        if (one.codec && one.bits == format.bits && works.size() < 2) works.emplace_back(one.id);
    return advise(fmt::format("{} has types of ggml alone, not {}", program, specText(spec)), std::move(works));
}

Result<void> isQuantizedByLlama(const TensorInfo& tensor, const std::string& name) {
    if (!name.ends_with("weight")) return fail("llama-quantize leaves names without weight at the end");
    if (const RoleRow& role = rowOf(tensor.role); !role.taken)
        return fail(fmt::format("llama-quantize leaves a {} as it is", role.title));
    for (const char* part : {"altup", "laurel", "per_layer_model_proj"}) // small ones
        if (name.find(part) != name.npos) return fail(fmt::format("llama-quantize leaves {} as it is", part));
    return {};
}

} // namespace qs
