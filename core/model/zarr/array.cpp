// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/zarr/array.h"

#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace qs::zarr {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRank = 32;
constexpr std::uint64_t kMostElements = std::uint64_t(std::numeric_limits<std::int64_t>::max()) / 64;
/// Most bytes of a chunk, which is decoded as a whole.
constexpr std::uint64_t kMostChunk = (std::uint64_t(1) << 31) - 1;

struct Type {
    const char *v2, *v3;
    DType dtype;
    unsigned bits = 0; ///< of a signed number with less than 8 bits
};
constexpr Type kTypes[] = {{"f4", "float32", DType::F32},
                           {"f8", "float64", DType::F64},
                           {"f2", "float16", DType::F16},
                           {"bfloat16", "bfloat16", DType::BF16},
                           {"i1", "int8", DType::I8},
                           {"int4", "int4", DType::I8, 4},
                           {"int2", "int2", DType::I8, 2},
                           {"i2", "int16", DType::I16},
                           {"i4", "int32", DType::I32},
                           {"i8", "int64", DType::I64},
                           {"u1", "uint8", DType::U8},
                           {"u2", "uint16", DType::U16},
                           {"u4", "uint32", DType::U32},
                           {"u8", "uint64", DType::U64},
                           {"b1", "bool", DType::Bool},
                           {"c8", "complex64", DType::C64},
                           {"float8_e4m3fn", "float8_e4m3fn", DType::F8_E4M3},
                           {"float8_e5m2", "float8_e5m2", DType::F8_E5M2},
                           {"float8_e4m3fnuz", "float8_e4m3fnuz", DType::F8_E4M3FNUZ},
                           {"float8_e5m2fnuz", "float8_e5m2fnuz", DType::F8_E5M2FNUZ}};

tl::unexpected<Error> wrong(std::string why) { return fail(std::move(why)); }

const json& at(const json& object, const char* key) {
    static const json nothing;
    if (!object.is_object()) return nothing;
    const auto found = object.find(key);
    return found == object.end() ? nothing : *found;
}

Result<std::vector<std::int64_t>> sizes(const json& list, const char* what, std::int64_t least) {
    if (!list.is_array()) return wrong(fmt::format("its {} is no list", what));
    if (list.size() > kMostRank) return wrong(fmt::format("its {} has more than {} dimensions", what, kMostRank));
    std::vector<std::int64_t> out;
    for (const auto& size : list) {
        if (!size.is_number_unsigned() || size.get<std::uint64_t>() > kMostElements || size.get<std::int64_t>() < least)
            return wrong(fmt::format("its {} has something else than whole numbers from {} on", what, least));
        out.push_back(size.get<std::int64_t>());
    }
    return out;
}

/// A number from JSON: a number, a boolean, or one of the texts for NaN and infinities.
std::optional<double> number(const json& value) {
    if (value.is_number()) return value.get<double>();
    if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
    const auto text = value.is_string() ? value.get<std::string>() : std::string();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

template<class T> void put(std::vector<std::byte>& out, T value) { std::memcpy(out.data(), &value, sizeof value); }

Result<std::vector<std::byte>> fillOf(const json& value, DType dtype) {
    std::vector<std::byte> out(std::size_t(info(dtype).bits) / 8);
    if (value.is_null()) return out; // no fill value is defined: use zeros
    const std::size_t size = out.size();
    // The bits of the value, in hexadecimal.
    if (value.is_string() && value.get_ref<const std::string&>().starts_with("0x")) {
        const auto& text = value.get_ref<const std::string&>();
        std::uint64_t bits = 0;
        const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
        if (error == std::errc() && end == text.data() + text.size() && text.size() == 2 + 2 * size) {
            std::memcpy(out.data(), &bits, size);
            return out;
        }
    }
    if (dtype == DType::C64 && value.is_array() && value.size() == 2) {
        const auto real = number(value[0]), imaginary = number(value[1]);
        if (real && imaginary) return put(out, std::array{float(*real), float(*imaginary)}), out;
    }
    const bool isInteger = value.is_number_integer();
    const auto real = number(value);
    if (real) {
        const double x = *real;
        switch (dtype) {
        case DType::F32: put(out, float(x)); return out;
        case DType::F64: put(out, x); return out;
        case DType::F16: put(out, f32ToF16(float(x))); return out;
        case DType::BF16: put(out, f32ToBf16(float(x))); return out;
        case DType::Bool:
            if (value.is_boolean() || x == 0 || x == 1) return put(out, std::uint8_t(x != 0)), out;
            break;
        default:
            if (x == 0) return out;
            if (isInteger && info(dtype).id[0] != 'F' && dtype != DType::C64) {
                const auto whole =
                    value.is_number_unsigned() ? value.get<std::uint64_t>() : std::uint64_t(value.get<std::int64_t>());
                std::memcpy(out.data(), &whole, size);
                return out;
            }
        }
    }
    return wrong(fmt::format("its fill_value {} is none of {}", quotedName(value.dump(-1, ' ', true)), info(dtype).id));
}

Result<Compressor> compressorOf(const std::string& id) {
    for (const auto compressor : {Compressor::Zstd, Compressor::Zlib, Compressor::Gzip, Compressor::Blosc})
        if (id == nameOf(compressor)) return compressor;
    return wrong(fmt::format("it is compressed with {}, which is not read", quotedName(id)));
}

/// Parses a list of codecs: "bytes", then at most one compressor and one checksum. A transpose must reverse all axes or
/// none.
Result<Chain> chainOf(const json& codecs, std::size_t rank, bool mayCompress) {
    Chain chain;
    bool hasBytes = false;
    if (!codecs.is_array()) return wrong("it has no list of codecs");
    for (const auto& codec : codecs) {
        const auto name = codec.is_string() ? codec.get<std::string>() : textAt(codec, "name");
        const json& about = at(codec, "configuration");
        if (chain.hasCrc32c) return wrong("it has a codec behind its check sum, which is not read");
        if (name == "transpose" && !hasBytes) {
            auto order = sizes(at(about, "order"), "order of axes", 0);
            if (!order) return tl::unexpected(order.error());
            bool same = order->size() == rank, reversed = same;
            for (std::size_t i = 0; i < order->size(); ++i) {
                same &= (*order)[i] == std::int64_t(i);
                reversed &= (*order)[i] == std::int64_t(rank - 1 - i);
            }
            if (!same && !reversed) return wrong("its axes are in an order that is not read");
            chain.isFortran = chain.isFortran != (reversed && rank > 1);
        } else if (name == "bytes" && !hasBytes) {
            hasBytes = true;
            chain.isBigEndian = textAt(about, "endian") == "big";
        } else if (name == "crc32c" && hasBytes) {
            chain.hasCrc32c = true;
        } else if (hasBytes && mayCompress && chain.compressor == Compressor::None) {
            auto compressor = compressorOf(name);
            if (!compressor) return tl::unexpected(compressor.error());
            chain.compressor = *compressor;
        } else
            return wrong(fmt::format("it has the codec {} where none is read", quotedName(name)));
    }
    if (!hasBytes) return wrong("it has no codec \"bytes\"");
    return chain;
}

Result<void> readSecond(const json& about, Array& array) {
    const json& type = at(about, "dtype");
    if (!type.is_string()) return wrong("its elements are records (a structured dtype), not numbers");
    std::string_view id = type.get_ref<const std::string&>();
    const char order = id.empty() ? '\0' : id.front();
    if (order == '<' || order == '>' || order == '|') id.remove_prefix(1);
    const auto row = std::ranges::find_if(kTypes, [&](const Type& t) { return id == t.v2; });
    if (row == std::end(kTypes))
        return wrong(
            fmt::format("its elements are {}, which this program does not read", quotedName(type.get<std::string>())));
    array.dtype = row->dtype;
    array.chain.signedBits = row->bits;
    array.chain.isBigEndian = order == '>';
    auto chunk = sizes(at(about, "chunks"), "list of chunks", 1);
    if (!chunk) return tl::unexpected(chunk.error());
    array.chunk = array.file = std::move(*chunk);
    if (const json& compressor = at(about, "compressor"); !compressor.is_null()) {
        auto found = compressorOf(textAt(compressor, "id"));
        if (!found) return tl::unexpected(found.error());
        array.chain.compressor = *found;
    }
    if (const json& filters = at(about, "filters"); !filters.is_null() && !(filters.is_array() && filters.empty()))
        return wrong("its elements went through filters, which are not read");
    const auto layout = textAt(about, "order");
    if (layout != "C" && layout != "F") return wrong("its order is neither C nor F");
    array.chain.isFortran = layout == "F";
    const json& separator = at(about, "dimension_separator");
    if (separator == "/")
        array.separator = '/';
    else if (!separator.is_null() && separator != ".")
        return wrong("its dimension_separator is neither a dot nor a slash");
    return {};
}

Result<void> readThird(const json& about, Array& array) {
    const json& type = at(about, "data_type");
    const auto id = type.is_string() ? type.get<std::string>() : std::string();
    const auto row = std::ranges::find_if(kTypes, [&](const Type& t) { return id == t.v3; });
    if (row == std::end(kTypes))
        return wrong(fmt::format("its elements are {}, which this program does not read", quotedName(id)));
    array.dtype = row->dtype;
    const json& grid = at(about, "chunk_grid");
    if (textAt(grid, "name") != "regular") return wrong("its chunks are not in a regular grid");
    auto file = sizes(at(at(grid, "configuration"), "chunk_shape"), "list of chunks", 1);
    if (!file) return tl::unexpected(file.error());
    array.chunk = array.file = std::move(*file);
    const json& keys = at(about, "chunk_key_encoding");
    const auto encoding = textAt(keys, "name");
    if (encoding != "default" && encoding != "v2") return wrong("its chunks have names of an unknown kind");
    array.hasPrefix = encoding == "default";
    array.separator = array.hasPrefix ? '/' : '.';
    if (const auto separator = textAt(at(keys, "configuration"), "separator"); separator == "/" || separator == ".")
        array.separator = separator[0];
    else if (!separator.empty())
        return wrong("its chunk names have neither dots nor slashes");
    if (const json& more = at(about, "storage_transformers"); !more.is_null() && !(more.is_array() && more.empty()))
        return wrong("it has storage transformers, which are not read");
    const json* codecs = &at(about, "codecs");
    if (codecs->is_array() && codecs->size() == 1 && textAt((*codecs)[0], "name") == "sharding_indexed") {
        const json& shard = at((*codecs)[0], "configuration");
        array.isShard = true;
        auto chunk = sizes(at(shard, "chunk_shape"), "list of chunks in a shard", 1);
        if (!chunk) return tl::unexpected(chunk.error());
        array.chunk = std::move(*chunk);
        auto index = chainOf(at(shard, "index_codecs"), 0, false);
        if (!index) return tl::unexpected(index.error());
        if (index->isBigEndian) return wrong("the index of its shards is big-endian, which is not read");
        array.indexHasCrc32c = index->hasCrc32c;
        array.indexAtEnd = textAt(shard, "index_location") != "start";
        codecs = &at(shard, "codecs");
    }
    auto chain = chainOf(*codecs, array.shape.size(), true);
    if (!chain) return tl::unexpected(chain.error());
    array.chain = *chain;
    array.chain.signedBits = row->bits;
    return {};
}

} // namespace

std::uint64_t Array::product(const std::vector<std::int64_t>& sizes) {
    std::uint64_t all = 1;
    for (const auto size : sizes) all *= std::uint64_t(size);
    return all;
}

std::uint64_t Array::fileCount() const {
    std::uint64_t all = 1;
    for (std::size_t i = 0; i < shape.size(); ++i)
        if (__builtin_mul_overflow(all, filesAlong(i), &all)) return std::numeric_limits<std::uint64_t>::max();
    return all;
}

std::uint64_t Array::chunksInFile() const {
    std::uint64_t all = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) all *= std::uint64_t(file[i] / chunk[i]);
    return all;
}

std::string Array::fileName(std::uint64_t number) const {
    std::vector<std::uint64_t> place(shape.size());
    for (std::size_t i = shape.size(); i-- > 0; number /= filesAlong(i)) place[i] = number % filesAlong(i);
    std::string name = hasPrefix ? "c" : "";
    for (const auto along : place) {
        if (!name.empty()) name += separator;
        name += std::to_string(along);
    }
    return name.empty() ? "0" : name;
}

bool holdsNumbers(std::string_view text, int version) {
    const auto tree = readJsonTree(text);
    if (!tree) return true;
    const json& type = at(*tree, version == 2 ? "dtype" : "data_type");
    if (!type.is_string()) return type.is_null();
    const auto& id = type.get_ref<const std::string&>();
    if (version == 2) {
        const auto kind = id.find_first_not_of("<>|=");
        return kind == std::string::npos || std::string_view("OSUaMm").find(id[kind]) == std::string_view::npos;
    }
    return id != "string" && id != "bytes" && !id.starts_with("fixed_length") && !id.starts_with("numpy.");
}

bool isGroup(std::string_view text) {
    const auto tree = readJsonTree(text);
    return tree && textAt(*tree, "node_type") == "group";
}

Result<Array> parseArray(std::string_view text, int version) {
    const auto tree = readJsonTree(text);
    if (!tree) return wrong(tree.error().message);
    if (!tree->is_object()) return wrong("it is no JSON object");
    if (countAt(*tree, "zarr_format") != std::uint64_t(version))
        return wrong(fmt::format("its zarr_format is not {}", version));
    if (version == 3 && textAt(*tree, "node_type") != "array") return wrong("its node_type is not array");
    Array array;
    array.version = version;
    auto shape = sizes(at(*tree, "shape"), "shape", 0);
    if (!shape) return tl::unexpected(shape.error());
    array.shape = std::move(*shape);
    auto read = version == 2 ? readSecond(*tree, array) : readThird(*tree, array);
    if (!read) return tl::unexpected(read.error());
    if (array.chunk.size() != array.shape.size() || array.file.size() != array.shape.size())
        return wrong("its chunks have another number of dimensions than its shape");
    std::uint64_t most = 1, chunk = 1, file = 1;
    for (std::size_t i = 0; i < array.shape.size(); ++i) {
        if (__builtin_mul_overflow(most, std::uint64_t(std::max<std::int64_t>(array.shape[i], 1)), &most) ||
            most > kMostElements)
            return wrong("its number of elements overflows");
        if (__builtin_mul_overflow(file, std::uint64_t(array.file[i]), &file) || file > kMostElements)
            return wrong("the number of elements of a chunk overflows");
        if (array.file[i] % array.chunk[i] != 0) return wrong("its shards are not whole chunks");
        chunk *= std::uint64_t(array.chunk[i]);
    }
    if (chunk * array.elementBytes() > kMostChunk)
        return wrong(fmt::format("its chunks have {} bytes each, and at most {} are read at a time",
                                 chunk * array.elementBytes(), kMostChunk));
    array.elements = Array::product(array.shape);
    auto fill = fillOf(at(*tree, "fill_value"), array.dtype);
    if (!fill) return tl::unexpected(fill.error());
    array.fill = std::move(*fill);
    return array;
}

} // namespace qs::zarr
