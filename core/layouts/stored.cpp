// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/stored.h"

#include "core/base/json_tree.h"
#include "core/base/text.h"
#include "core/layouts/layout.h"
#include "core/model/computed_type.h"
#include "core/quant/codebook/user_formats.h"
#include "core/quant/encode/block_encoder.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/scale_type.h"
#include "core/quant/spec/trained.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs {

std::vector<std::string> StoredTensor::fields() const {
    const bool packed = !native && spec.traits().kind == FormatKind::Codebook;
    std::vector<std::string> names{name + (native ? ".codes" : packed ? ".packed" : ".weight")};
    if (spec.scaleKind() != ScaleKind::None && !codecOf(spec)) names.push_back(name + (packed ? ".absmax" : ".scale"));
    if (native && hasZeroPoints(spec)) names.push_back(name + ".zero");
    if (native && hasBiases(spec)) names.push_back(name + ".bias");
    if (native && spec.scaleKind() != ScaleKind::None && hasTensorScale(spec) && !codecOf(spec))
        names.push_back(name + ".tensor_scale");
    if (native && isDoubleQuantized(spec)) names.insert(names.end(), {name + ".nested_scale", name + ".nested_offset"});
    if (native && !spec.traits().bitWidths.empty()) names.push_back(name + ".codebook");
    if (native && columnScales) names.push_back(name + ".column_scale");
    return names;
}

std::string storedText(const TensorInfo& tensor, const QuantSpec& spec, const Layout& layout, bool columnScales) {
    nlohmann::ordered_json json;
    json["spec"] = specText(isUserFormat(spec) ? asCodebookSpec(spec) : withoutTrained(spec));
    json["shape"] = tensor.shape.sizes();
    json["dtype"] = info(computedType(tensor.dtype)).id;
    if (std::string_view(layout.id) != layouts().front().id) json["layout"] = layout.id;
    if (columnScales) json["column_scale"] = true;
    return json.dump();
}

Result<StoredTensor> parseStored(const std::string& key, const std::string& text) {
    const auto wrong = [&](const std::string& why) {
        return fail(fmt::format("the metadata '{}' cannot be read: {}", escapeForPeople(key, 80), why));
    };
    if (text.size() > 65536) return wrong("it is longer than 64 KiB");
    const auto tree = readJsonTree(text);
    if (!tree) return wrong("it " + tree.error().sentence());
    if (!tree->is_object()) return wrong("it is not a JSON object");
    const auto& json = *tree;
    const auto spec = json.find("spec"), shape = json.find("shape"), dtype = json.find("dtype");
    if (spec == json.end() || !spec->is_string() || shape == json.end() || !shape->is_array() || dtype == json.end() ||
        !dtype->is_string())
        return wrong("it needs a text spec, a list shape and a text dtype");
    StoredTensor stored;
    stored.name = key.substr(kStoredPrefix.size());
    auto parsed = parseSpec(spec->get_ref<const std::string&>());
    if (!parsed) return wrong(parsed.error().sentence());
    stored.spec = std::move(*parsed);
    const auto type = dtypeFromId(dtype->get_ref<const std::string&>());
    if (!type || !info(*type).quantizable || computedType(*type) != *type)
        return wrong(fmt::format("its dtype '{}' is not one of F64, F32, F16, BF16",
                                 escapeForPeople(dtype->get_ref<const std::string&>(), 20)));
    stored.dtype = *type;
    if (const auto layout = json.find("layout"); layout != json.end()) {
        const Layout* row = layout->is_string() ? findLayout(layout->get_ref<const std::string&>()) : nullptr;
        if (!row || row->ownFields == OwnFields::None) return wrong("its layout is none of this version");
        stored.native = row->ownFields == OwnFields::Native;
    }
    if (const auto columns = json.find("column_scale"); columns != json.end()) {
        if (!columns->is_boolean() || !stored.native)
            return wrong("its column_scale is not true or false, or not of layout native");
        stored.columnScales = columns->get<bool>();
    }
    std::uint64_t bytes = 8;
    for (const auto& dim : *shape) {
        // Larger sizes cannot be in a file; the bound also keeps every product of dimensions within 64 bits.
        if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > (std::uint64_t(1) << 48))
            return wrong("its shape has a dimension that is no possible size");
        stored.shape.push_back(std::int64_t(dim.get<std::uint64_t>()));
        if (dim.get<std::uint64_t>() > 0 && __builtin_mul_overflow(bytes, dim.get<std::uint64_t>(), &bytes))
            return wrong("its shape overflows 64 bits");
    }
    if (stored.shape.size() > 64 || bytes >> 62) return wrong("its shape is impossible");
    stored.elements = 1;
    for (const auto dim : stored.shape) stored.elements *= std::uint64_t(dim);
    return stored;
}

} // namespace qs
