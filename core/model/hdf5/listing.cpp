// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/hdf5/listing.h"

#include "core/base/text.h"
#include "core/model/hdf5/float8.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestText = 20'000, kMostDims = 32, kMostMetadata = 16;
constexpr std::uint64_t kBombBytes = std::uint64_t(4) << 30, kBombRatio = 1000;
constexpr std::uint64_t kMostHdf5Size = std::uint64_t(INT64_MAX) / 8;

/// The types that the reader reports by name. Two opaque bytes are a type that only Keras's attribute "dtype" names.
constexpr DType kHdf5Types[] = {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8,  DType::I16, DType::I32,
                                DType::I64, DType::U8,   DType::U16, DType::U32, DType::U64, DType::Bool};

void readType(Fields& fields, Hdf5Row& row) {
    const auto id = fields.text("type", 16);
    const auto attribute = fields.has("dtype") ? fields.text("dtype", 64) : std::string();
    const auto known = dtypeFromId(id);
    if (id == "U8")
        for (const auto& [dtype, name] : kHdf5Float8)
            if (attribute == name) {
                row.dtype = dtype;
                return;
            }
    if (id == "opaque2" && attribute != "bfloat16") {
        row.reason = "holds opaque bytes";
    } else if (attribute == "bfloat16" && (id == "opaque2" || id == "U16" || id == "I16")) {
        row.dtype = DType::BF16; // NumPy has no bfloat16, so Keras stores it as two bytes with this attribute
    } else if (known && std::find(std::begin(kHdf5Types), std::end(kHdf5Types), *known) != std::end(kHdf5Types)) {
        row.dtype = *known;
    } else {
        fields.refuse("a type that HDF5 does not have");
    }
}

void readShape(Fields& fields, Hdf5Row& row) {
    std::uint64_t most = std::uint64_t(info(row.dtype).bits) / 8;
    row.elements = 1;
    for (const auto& item : fields.array("shape", kMostDims)) {
        if (!item.is_number_unsigned() || item.get<std::uint64_t>() > kMostHdf5Size)
            return fields.refuse("a shape that is none");
        const auto dim = item.get<std::uint64_t>();
        if (__builtin_mul_overflow(most, std::max<std::uint64_t>(dim, 1), &most) || most > kMostHdf5Size)
            return fields.refuse("more elements than can be counted");
        row.elements *= dim;
        row.shape.push_back(std::int64_t(dim));
    }
    row.bytes = row.elements * std::uint64_t(info(row.dtype).bits) / 8;
}

void readQuantized(Fields& fields, Hdf5Row& row) {
    const json& texts = fields.object("quantized");
    if (texts.size() > 8) fields.refuse("too many attributes");
    for (const auto& [key, value] : texts.items()) {
        if (fields.problem()) return;
        Fields one(texts);
        row.quantized[key] = one.text(key.c_str(), 60'000);
        fields.take(one);
    }
    for (const auto& item : fields.array("quantized_shape", 64)) {
        if (!item.is_number_integer()) return fields.refuse("a shape that is none");
        row.quantizedShape.push_back(item.get<std::int64_t>());
    }
}

Hdf5Row rowFrom(Fields& fields, std::uint64_t length) {
    Hdf5Row row;
    row.path = fields.text("path", kLongestText);
    if (fields.has("reason")) {
        row.reason = fields.text("reason", kLongestText);
        if (row.reason.empty()) fields.refuse("an empty reason");
        row.isUnread = fields.has("unread") && fields.flag("unread");
        return row;
    }
    readType(fields, row);
    if (!row.reason.empty() || fields.problem()) return row;
    readShape(fields, row);
    row.stored = fields.count("stored", UINT64_MAX);
    row.note = fields.text("note", 1000);
    if (fields.has("quantized")) readQuantized(fields, row);
    if (fields.has("offset")) {
        row.offset = fields.count("offset", UINT64_MAX);
        if (row.bytes > length || *row.offset > length - row.bytes)
            row.reason = fmt::format("needs {} bytes at {}, beyond the file's end", row.bytes, *row.offset);
    } else if (row.bytes > kBombBytes && row.bytes / kBombRatio > row.stored) {
        row.reason = fmt::format("declares {} where {} are stored", bytesText(row.bytes), bytesText(row.stored));
    }
    row.isUnread = !row.reason.empty();
    return row;
}

} // namespace

tl::expected<Hdf5Opened, std::string> hdf5OpenedFrom(const json& answer) {
    Fields fields(answer);
    Hdf5Opened opened;
    opened.rows = fields.count("rows", kMostHdf5Rows);
    const json& metadata = fields.object("metadata");
    if (metadata.size() > kMostMetadata) fields.refuse("too much metadata");
    for (const auto& [key, value] : metadata.items()) {
        if (fields.problem()) break;
        Fields one(metadata);
        opened.metadata[key] = one.text(key.c_str(), 1000);
        fields.take(one);
    }
    if (fields.problem()) return tl::unexpected(*fields.problem());
    return opened;
}

tl::expected<void, std::string> hdf5RowsFrom(const json& answer, std::uint64_t most, std::uint64_t length,
                                             std::vector<Hdf5Row>& rows) {
    Fields fields(answer);
    const json& list = fields.array("rows", std::size_t(std::min(most, kMostHdf5Rows)));
    if (list.empty()) fields.refuse("no rows where some are left");
    for (const auto& item : list) {
        if (fields.problem()) break;
        if (!item.is_object()) {
            fields.refuse("a row that is no object");
            break;
        }
        Fields one(item);
        rows.push_back(rowFrom(one, length));
        fields.take(one);
    }
    if (fields.problem()) return tl::unexpected(*fields.problem());
    return {};
}

} // namespace qs
