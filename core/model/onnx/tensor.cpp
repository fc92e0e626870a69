// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/onnx/tensor.h"

#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <limits>

namespace qs::onnx {
namespace {

constexpr std::size_t kMostRank = 32;
constexpr std::uint64_t kMostElements = std::uint64_t(std::numeric_limits<std::int64_t>::max()) / 64;

using enum Wire;
constexpr ElementType kTypes[] = {
    {1, "FLOAT", DType::F32, 32, 4, Fixed32, 4},
    {2, "UINT8", DType::U8, 8, 5, Varint, 1},
    {3, "INT8", DType::I8, 8, 5, Varint, 1},
    {4, "UINT16", DType::U16, 16, 5, Varint, 2},
    {5, "INT16", DType::I16, 16, 5, Varint, 2},
    {6, "INT32", DType::I32, 32, 5, Varint, 4},
    {7, "INT64", DType::I64, 64, 7, Varint, 8},
    {9, "BOOL", DType::Bool, 8, 5, Varint, 1},
    {10, "FLOAT16", DType::F16, 16, 5, Varint, 2},
    {11, "DOUBLE", DType::F64, 64, 10, Fixed64, 8},
    {12, "UINT32", DType::U32, 32, 11, Varint, 4},
    {13, "UINT64", DType::U64, 64, 11, Varint, 8},
    {14, "COMPLEX64", DType::C64, 64, 4, Fixed32, 4},
    {16, "BFLOAT16", DType::BF16, 16, 5, Varint, 2},
    {17, "FLOAT8E4M3FN", DType::F8_E4M3, 8, 5, Varint, 1},
    {18, "FLOAT8E4M3FNUZ", DType::F8_E4M3FNUZ, 8, 5, Varint, 1},
    {19, "FLOAT8E5M2", DType::F8_E5M2, 8, 5, Varint, 1},
    {20, "FLOAT8E5M2FNUZ", DType::F8_E5M2FNUZ, 8, 5, Varint, 1},
    {21, "UINT4", DType::U8, 4, 5, Varint, 1},
    {22, "INT4", DType::I8, 4, 5, Varint, 1},
    {23, "FLOAT4E2M1", DType::F32, 4, 5, Varint, 1},
    {24, "FLOAT8E8M0", DType::F8_E8M0, 8, 5, Varint, 1},
    {25, "UINT2", DType::U8, 2, 5, Varint, 1},
    {26, "INT2", DType::I8, 2, 5, Varint, 1},
};

bool dims(const ReadBytes& read, Range range, std::vector<std::int64_t>& shape) {
    RangeStream stream(read, range.begin, range.end);
    google::protobuf::io::CodedInputStream in(&stream);
    while (std::uint64_t(in.CurrentPosition()) < range.size()) {
        std::uint64_t dim = 0;
        if (!in.ReadVarint64(&dim)) return false;
        shape.push_back(std::int64_t(dim));
        if (shape.size() > kMostRank) return true; // reported by the caller
    }
    return true;
}

/// The fields of one TensorProto, before they are checked against each other.
struct Said {
    std::vector<std::int64_t> shape;
    std::int64_t number = 0, location = 0;
    std::optional<Range> raw, name;
    bool isSegment = false;
    std::uint32_t typed = 0; ///< bit n is set if field n has values
    External external;
    std::string unread; ///< the first error, or ""

    void refuse(std::string why) {
        if (unread.empty()) unread = std::move(why);
    }
};

/// Reads one key-value pair of external_data.
void readEntry(const ReadBytes& read, Range range, Said& said) {
    Message message(read, range);
    std::string key, value;
    for (Field f; message.next(f);)
        if (f.wire == Length && (f.number == 1 || f.number == 2))
            (f.number == 1 ? key : value) = shortText(read, f.range);
    if (message.failed()) return said.refuse(message.why());
    const auto number = [&] {
        std::uint64_t out = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
        if (error != std::errc() || end != value.data() + value.size())
            said.refuse(fmt::format("external_data says {} for its {}", quotedName(value), key));
        return out;
    };
    External& external = said.external;
    if ((key == "location" && !external.location.empty()) || (key == "length" && external.length))
        said.refuse(fmt::format("external_data has {} twice", key));
    else if (key == "location" && value.size() >= kMostText)
        said.refuse("external_data has a location of 4096 bytes or more");
    else if (key == "location")
        external.location = value;
    else if (key == "offset")
        external.offset = number();
    else if (key == "length")
        external.length = number();
}

Said readMessage(const ReadBytes& read, Range range) {
    Said said;
    Message message(read, range);
    for (Field f; said.shape.size() <= kMostRank && message.next(f);) {
        const bool isPart = f.wire == Length;
        if (f.number == 1 && f.wire == Varint) said.shape.push_back(std::int64_t(f.value));
        if (f.number == 1 && isPart && !dims(read, f.range, said.shape)) said.refuse("its dims are broken");
        if (f.number == 2 && f.wire == Varint) said.number = std::int64_t(f.value);
        if (f.number == 3 && isPart) said.isSegment = true;
        if (f.number == 8 && isPart) said.name = f.range;
        if (f.number == 9 && isPart && said.raw) said.refuse("it has raw_data twice");
        if (f.number == 9 && isPart) said.raw = f.range;
        if (f.number == 13 && isPart) readEntry(read, f.range, said);
        if (f.number == 14 && f.wire == Varint) said.location = std::int64_t(f.value);
        if ((f.number >= 4 && f.number <= 7) || f.number == 10 || f.number == 11)
            if (!isPart || f.range.size() > 0) said.typed |= 1u << f.number;
    }
    if (message.failed()) said.refuse(message.why());
    return said;
}

/// Computes the number of elements of sizes that are not negative. Returns the error, or "".
std::string count(const std::vector<std::int64_t>& shape, std::uint64_t& elements) {
    if (shape.size() > kMostRank) return fmt::format("it has more than {} dimensions", kMostRank);
    std::uint64_t most = 1;
    elements = 1;
    for (const auto dim : shape) {
        if (__builtin_mul_overflow(most, std::uint64_t(std::max<std::int64_t>(dim, 1)), &most) || most > kMostElements)
            return "its number of elements overflows";
        elements *= std::uint64_t(dim);
    }
    return {};
}

/// Finds the elements. Sets the place in `out.tensor`, or `out.left`, and returns "". Otherwise returns the error.
std::string place(const ReadBytes& read, Range message, Said& said, ParsedTensor& out) {
    Tensor& t = out.tensor;
    const auto needs = [&](std::uint64_t want, const char* what, const char* who, std::uint64_t has) {
        return fmt::format("{} of {} needs {} {}, {} {}", t.type->id, shapeText(t.shape), want, what, who, has);
    };
    if (said.location == 1) {
        if (said.raw || said.typed) return "it has data in the file and outside of it";
        if (said.external.location.empty()) return "external_data has no location";
        if (said.external.length && *said.external.length != t.rawBytes())
            return needs(t.rawBytes(), "bytes", "external_data says", *said.external.length);
        t.external = std::move(said.external);
    } else if (said.location != 0) {
        return fmt::format("its data_location is {}", said.location);
    } else if (said.isSegment) {
        out.left = "is stored in segments, which are not read";
    } else if (said.raw) {
        if (said.typed) return "it has raw_data and values in another field";
        if (said.raw->size() != t.rawBytes()) return needs(t.rawBytes(), "bytes", "raw_data has", said.raw->size());
        t.offset = said.raw->begin;
    } else {
        if (said.typed & ~(1u << t.type->field))
            return fmt::format("its values are in a field that is not one of {}", t.type->id);
        auto values = std::make_shared<FieldValues>(read, message, t.type->field, t.type->wire);
        if (!values->why().empty()) return values->why();
        const std::uint64_t wants = (t.rawBytes() + t.type->width - 1) / t.type->width;
        if (values->count() == 0 && wants > 0)
            out.left = "has no data";
        else if (values->count() != wants)
            return needs(wants, "values", "it has", values->count());
        else if (wants == 0)
            t.offset = message.begin;
        else
            t.keep(std::move(values));
    }
    return {};
}

} // namespace

bool isText(std::string_view name) {
    return invalidUtf8(name) == std::string::npos && name.find('\0') == std::string::npos;
}

std::string shortText(const ReadBytes& read, Range range) {
    range.end = std::min<std::uint64_t>(range.end, range.begin + kMostText);
    return textOf(read, range);
}

std::string labelOf(const ReadBytes& read, Range range, const std::string& otherwise, std::size_t most) {
    if (range.size() == 0 || range.size() > most) return otherwise;
    auto text = textOf(read, range);
    return isText(text) ? text : otherwise;
}

void Tensor::keep(std::shared_ptr<const FieldValues> found) {
    offset = found->contiguous();
    if (!offset) values = std::move(found);
}

const ElementType* findElementType(std::int64_t number) {
    const auto at = std::ranges::find_if(kTypes, [&](const auto& t) { return t.number == number; });
    return at == std::end(kTypes) ? nullptr : at;
}

ParsedTensor parseTensor(const ReadBytes& read, Range message, const std::string& prefix, const std::string& called,
                         std::size_t unnamed) {
    ParsedTensor out;
    out.at = message.begin;
    Tensor& t = out.tensor;
    t.at = message.begin;
    Said said = readMessage(read, message);
    t.shape = std::move(said.shape);
    std::string wrong;
    if (!called.empty())
        t.name = prefix + called;
    else if (said.name && said.name->size() > kMostName)
        wrong = "its name is longer than 1 MiB";
    else if (said.name && said.name->size() > 0) {
        t.name = prefix + textOf(read, *said.name);
        if (!isText(t.name)) wrong = "its name is not text";
    } else
        t.name = fmt::format("{}unnamed_{}", prefix, unnamed);

    out.unread = std::move(said.unread);
    if (const auto below = std::ranges::find_if(t.shape, [](auto dim) { return dim < 0; }); below != t.shape.end()) {
        if (out.unread.empty()) out.unread = fmt::format("it has a dimension of {}", *below);
        t.shape.clear();
    }
    if (wrong.empty()) wrong = count(t.shape, t.elements);
    if (wrong.empty() && out.unread.empty()) {
        t.type = findElementType(said.number);
        if (said.number == 8)
            out.left = "holds texts";
        else if (said.number == 15)
            out.unread = "it holds complex numbers of 128 bits";
        else if (said.number <= 0)
            out.unread = fmt::format("its data type is {}", said.number);
        else if (!t.type)
            out.unread = fmt::format("its data type, {}, is of a later version of ONNX", said.number);
        else
            out.unread = place(read, message, said, out);
    }
    if (!wrong.empty()) out.wrong = fmt::format("tensor {}: {}", quotedName(t.name), wrong);
    return out;
}

} // namespace qs::onnx
