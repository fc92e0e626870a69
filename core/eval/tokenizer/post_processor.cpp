// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/post_processor.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

using nlohmann::json;

/// Reads an id; -1 if the value is not an id.
std::int32_t idIn(const json& value, std::int32_t ids) {
    if (!value.is_number_integer() || value < 0 || value >= ids) return -1;
    return value.get<std::int32_t>();
}

/// {"SpecialToken": {"id": name}}, whose ids stand under "special_tokens".
Result<void> readTemplate(const json& step, std::int32_t ids, Frame& into) {
    bool isAfter = false;
    for (const json& part : valueAt(step, "single")) {
        if (part.contains("Sequence")) {
            isAfter = true;
            continue;
        }
        const std::string name = textAt(valueAt(part, "SpecialToken"), "id");
        const json& list = valueAt(valueAt(valueAt(step, "special_tokens"), name.c_str()), "ids");
        if (!list.is_array() || list.empty())
            return fail(fmt::format("has no id for the special token {}", quotedName(name)));
        for (const json& value : list) {
            const std::int32_t id = idIn(value, ids);
            if (id < 0) return fail(fmt::format("has no id for the special token {}", quotedName(name)));
            (isAfter ? into.after : into.before).push_back(id);
        }
    }
    return {};
}

/// "cls": [token, id] before, "sep": [token, id] after.
Result<void> readPair(const json& step, std::int32_t ids, Frame& into) {
    for (const char* key : {"cls", "sep"}) {
        const json& pair = valueAt(step, key);
        const std::int32_t id = pair.is_array() && pair.size() == 2 ? idIn(pair[1], ids) : -1;
        if (id < 0) return fail(fmt::format("has no id under {} of its post-processor", key));
        (key[0] == 'c' ? into.before : into.after).push_back(id);
    }
    return {};
}

/// For a post-processor that only trims the places of tokens: it adds no tokens.
Result<void> readNothing(const json&, std::int32_t, Frame&) { return {}; }

Result<void> readProcessors(const json& step, std::int32_t ids, Frame& into) {
    for (const json& inner : valueAt(step, "processors"))
        if (auto read = readPostProcessor(inner, ids, into); !read) return read;
    return {};
}

constexpr PostProcessorRow kPostProcessors[] = {
    {"BertProcessing", readPair}, {"ByteLevel", readNothing},           {"RobertaProcessing", readPair},
    {"Sequence", readProcessors}, {"TemplateProcessing", readTemplate},
};

} // namespace

std::span<const PostProcessorRow> postProcessors() { return kPostProcessors; }

Result<void> readPostProcessor(const json& step, std::int32_t ids, Frame& into) {
    if (step.is_null()) return {};
    const std::string type = textAt(step, "type");
    for (const PostProcessorRow& row : kPostProcessors)
        if (type == row.id) return row.read(step, ids, into);
    return fail(fmt::format("has the post-processor {}, which is not known", quotedName(type)));
}

} // namespace qs::eval
