// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/hdf5/dataset.h"

#include "core/base/lists.h"
#include "core/base/text.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs::worker {
namespace {

constexpr std::uint64_t kBombBytes = std::uint64_t(4) << 30, kBombRatio = 1000;
constexpr std::uint64_t kLargestChunk = std::uint64_t(256) << 20, kLargestCache = std::uint64_t(512) << 20;

struct FloatShape {
    const char* id;
    std::size_t size, exponentAt, exponentBits, mantissaBits, bias;
};
constexpr FloatShape kFloats[] = {
    {"F16", 2, 10, 5, 10, 15}, {"BF16", 2, 7, 8, 7, 127}, {"F32", 4, 23, 8, 23, 127}, {"F64", 8, 52, 11, 52, 1023}};

std::string floatId(hid_t type) {
    std::size_t sign = 0, exponentAt = 0, exponentBits = 0, mantissaAt = 0, mantissaBits = 0;
    if (H5Tget_fields(type, &sign, &exponentAt, &exponentBits, &mantissaAt, &mantissaBits) < 0) return {};
    for (const auto& f : kFloats)
        if (H5Tget_size(type) == f.size && H5Tget_precision(type) == 8 * f.size && H5Tget_offset(type) == 0 &&
            sign == 8 * f.size - 1 && exponentAt == f.exponentAt && exponentBits == f.exponentBits && mantissaAt == 0 &&
            mantissaBits == f.mantissaBits && H5Tget_ebias(type) == f.bias && H5Tget_norm(type) == H5T_NORM_IMPLIED)
            return f.id;
    return {};
}

std::string integerId(hid_t type) {
    const auto size = H5Tget_size(type);
    if ((size != 1 && size != 2 && size != 4 && size != 8) || H5Tget_precision(type) != 8 * size ||
        H5Tget_offset(type) != 0)
        return {};
    return fmt::format("{}{}", H5Tget_sign(type) == H5T_SGN_NONE ? 'U' : 'I', 8 * size);
}

/// True for an enumeration of one byte with the members FALSE = 0 and TRUE = 1: h5py stores NumPy's bool in this way.
bool isBool(hid_t type) {
    if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
    for (unsigned i = 0; i < 2; ++i) {
        unsigned char value = 2;
        char* name = H5Tget_member_name(type, i);
        const bool fits = name && H5Tget_member_value(type, i, &value) >= 0 &&
                          std::string(name) == (value == 0   ? "FALSE"
                                                : value == 1 ? "TRUE"
                                                             : "");
        if (name) H5free_memory(name);
        if (!fits) return false;
    }
    return true;
}

/// Sets the id of the type, or the reason why the type is not read.
void describeType(hid_t type, Found& found) {
    switch (H5Tget_class(type)) {
    case H5T_FLOAT:
        found.type = floatId(type);
        if (found.type.empty()) found.reason = "holds floating-point numbers of an unusual layout";
        return;
    case H5T_INTEGER:
        found.type = integerId(type);
        if (found.type.empty()) found.reason = "holds whole numbers of an unusual layout";
        return;
    case H5T_ENUM:
        if (isBool(type))
            found.type = "BOOL";
        else
            found.reason = "holds members of an enumeration";
        return;
    case H5T_OPAQUE:
        if (H5Tget_size(type) == 2)
            found.type = "opaque2";
        else
            found.reason = "holds opaque bytes";
        return;
    case H5T_STRING: found.reason = "holds texts"; return;
    case H5T_COMPOUND: found.reason = "holds records (a compound type)"; return;
    case H5T_REFERENCE: found.reason = "holds references"; return;
    case H5T_VLEN: found.reason = "holds lists of varying lengths"; return;
    case H5T_ARRAY: found.reason = "holds arrays as elements"; return;
    case H5T_BITFIELD: found.reason = "holds bit fields"; return;
    case H5T_TIME: found.reason = "holds times"; return;
    default: found.reason = "has a type that cannot be read"; return;
    }
}

bool describeShape(hid_t dataset, Found& found) {
    const SpaceHandle space(H5Dget_space(dataset));
    const auto kind = space ? H5Sget_simple_extent_type(space.get()) : H5S_NO_CLASS;
    if (kind != H5S_SCALAR && kind != H5S_SIMPLE) {
        found.isUnread = kind != H5S_NULL;
        found.reason = kind == H5S_NULL ? "has no elements (a null dataspace)" : "has a shape that cannot be read";
        return false;
    }
    hsize_t dims[H5S_MAX_RANK] = {};
    const int rank = H5Sget_simple_extent_dims(space.get(), dims, nullptr);
    if (rank < 0) {
        found.isUnread = true;
        found.reason = "has a shape that cannot be read";
        return false;
    }
    found.shape.assign(dims, dims + rank);
    return true;
}

/// The names of the filters, e.g. "shuffle + gzip". Sets found.reason if a filter is not built into libhdf5.
std::string filtersOf(hid_t list, Found& found) {
    std::string names;
    const int count = H5Pget_nfilters(list);
    for (int i = 0; i < count; ++i) {
        unsigned flags = 0, config = 0;
        std::size_t values = 0;
        char name[64] = {};
        const auto id = H5Pget_filter2(list, unsigned(i), &flags, &values, nullptr, sizeof name - 1, name, &config);
        const char* known = id == H5Z_FILTER_DEFLATE       ? "gzip"
                            : id == H5Z_FILTER_SHUFFLE     ? "shuffle"
                            : id == H5Z_FILTER_FLETCHER32  ? "fletcher32"
                            : id == H5Z_FILTER_SZIP        ? "szip"
                            : id == H5Z_FILTER_NBIT        ? "nbit"
                            : id == H5Z_FILTER_SCALEOFFSET ? "scaleoffset"
                                                           : nullptr;
        if (!known || H5Zfilter_avail(id) <= 0) {
            found.reason = fmt::format("is packed by filter {} ({}), which is not built in; repack it with gzip",
                                       int(id), name[0] ? escapeForPeople(name, 40) : "unnamed");
            return {};
        }
        names += (names.empty() ? "" : " + ") + std::string(known);
    }
    return names.empty() ? "unpacked" : names;
}

void describeChunks(hid_t list, Found& found) {
    hsize_t dims[H5S_MAX_RANK] = {};
    const int rank = H5Pget_chunk(list, H5S_MAX_RANK, dims);
    if (rank < 0 || std::size_t(rank) != found.shape.size() || rank == 0) {
        found.reason = "has chunks that do not fit its shape";
        return;
    }
    std::uint64_t elements = 1, columns = 1, across = 1;
    for (const auto dim : found.shape) elements *= std::max<std::uint64_t>(dim, 1);
    const std::uint64_t elementBytes = found.bytes / std::max<std::uint64_t>(elements, 1);
    std::uint64_t chunk = std::max<std::uint64_t>(elementBytes, 1);
    for (int i = 0; i < rank; ++i) {
        if (dims[i] == 0 || __builtin_mul_overflow(chunk, dims[i], &chunk) || chunk > kLargestChunk) {
            found.reason = fmt::format("has chunks of more than {}", bytesText(kLargestChunk));
            return;
        }
        if (i > 0) {
            columns = (found.shape[std::size_t(i)] + dims[i] - 1) / dims[i];
            if (__builtin_mul_overflow(across, std::max<std::uint64_t>(columns, 1), &across)) across = kLargestCache;
        }
    }
    std::uint64_t cache = 0; // bytes of all chunks that one row of the tensor touches
    if (__builtin_mul_overflow(chunk, across, &cache)) cache = kLargestCache;
    found.chunkCache = std::clamp<std::uint64_t>(cache, 1u << 20, kLargestCache);
    const auto filters = filtersOf(list, found);
    found.note = fmt::format("{} in chunks of [{}]", filters, fmt::join(dims, dims + rank, ", "));
}

/// Reads the attributes that our exports write: spec, dtype, layout and shape of the original tensor.
void describeQuantized(hid_t dataset, Found& found) {
    for (const char* name : {"spec", "dtype", "layout", "column_scale"}) {
        auto text = textAttribute(dataset, fmt::format("quantscope_{}", name).c_str(), 60'000);
        if (text.empty()) continue;
        found.quantizedText += text.size() + 20;
        found.quantized[name] = std::move(text);
    }
    constexpr const char* kShape = "quantscope_shape";
    if (found.quantized.empty() || H5Aexists(dataset, kShape) <= 0) return;
    const AttributeHandle attribute(H5Aopen(dataset, kShape, H5P_DEFAULT));
    const SpaceHandle space(attribute ? H5Aget_space(attribute.get()) : -1);
    const TypeHandle type(attribute ? H5Aget_type(attribute.get()) : -1);
    const auto count = space ? H5Sget_simple_extent_npoints(space.get()) : -1;
    if (!type || H5Tget_class(type.get()) != H5T_INTEGER || count <= 0 || count > 64) return;
    found.quantizedShape.resize(std::size_t(count));
    if (H5Aread(attribute.get(), H5T_NATIVE_INT64, found.quantizedShape.data()) < 0) found.quantizedShape.clear();
}

void describeLayout(hid_t dataset, hid_t type, Found& found) {
    const ListHandle list(H5Dget_create_plist(dataset));
    const auto layout = list ? H5Pget_layout(list.get()) : H5D_LAYOUT_ERROR;
    found.stored = H5Dget_storage_size(dataset);
    if (layout == H5D_VIRTUAL) {
        found.reason = "is a virtual dataset, made of others; these are never followed";
    } else if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED) {
        found.reason = "is stored in a way that cannot be read";
    } else if (H5Pget_external_count(list.get()) != 0) {
        found.reason = "keeps its elements in another file (external storage), which is never opened";
    } else if (found.bytes > kBombBytes && found.bytes / kBombRatio > found.stored) {
        found.reason = fmt::format("declares {} where {} are stored", bytesText(found.bytes), bytesText(found.stored));
    } else if (layout == H5D_CHUNKED) {
        describeChunks(list.get(), found);
    } else if (layout == H5D_COMPACT) {
        found.note = "compact";
        // Elements of a compact dataset lie in its header. HDF5 1.10 would read beyond the end of that header.
        if (found.bytes != found.stored)
            found.reason =
                fmt::format("declares {} where {} are stored", bytesText(found.bytes), bytesText(found.stored));
    } else {
        const auto order = H5Tget_order(type);
        const haddr_t at = found.stored ? H5Dget_offset(dataset) : HADDR_UNDEF;
        const bool isLittle = order == H5T_ORDER_LE || order == H5T_ORDER_NONE || H5Tget_size(type) == 1;
        found.plain = isLittle && at != HADDR_UNDEF;
        if (found.plain) found.offset = at;
        if (!isLittle) found.note = "big-endian";
        if (at == HADDR_UNDEF) found.note = "never written: its fill value";
    }
}

} // namespace

namespace {

/// Of a dataset whose type holds numbers.
void describeNumbers(hid_t dataset, hid_t type, Found& found) {
    if (!describeShape(dataset, found)) return;
    std::uint64_t bytes = H5Tget_size(type);
    for (const auto dim : found.shape)
        if (dim != 0 && (__builtin_mul_overflow(bytes, dim, &bytes) || bytes > UINT64_MAX / 16)) {
            found.reason = "has more elements than can be counted";
            found.isUnread = true;
            return;
        }
    if (contains(found.shape, 0)) bytes = 0;
    found.bytes = bytes;
    found.dtypeAttribute = textAttribute(dataset, "dtype", 64);
    describeQuantized(dataset, found);
    describeLayout(dataset, type, found);
    found.isUnread = !found.reason.empty();
}

} // namespace

void describe(hid_t dataset, Found& found) {
    const TypeHandle type(H5Dget_type(dataset));
    if (!type) {
        found.reason = "has a type that cannot be read";
        found.isUnread = true;
        return;
    }
    describeType(type.get(), found);
    if (!found.reason.empty()) return;
    describeNumbers(dataset, type.get(), found);
}

std::string textAttribute(hid_t object, const char* name, std::size_t most) {
    if (H5Aexists(object, name) <= 0) return {};
    const AttributeHandle attribute(H5Aopen(object, name, H5P_DEFAULT));
    const TypeHandle type(attribute ? H5Aget_type(attribute.get()) : -1);
    const SpaceHandle space(attribute ? H5Aget_space(attribute.get()) : -1);
    if (!type || !space || H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1)
        return {};
    if (H5Tis_variable_str(type.get()) > 0) {
        char* text = nullptr;
        const TypeHandle memory(H5Tcopy(H5T_C_S1));
        H5Tset_size(memory.get(), H5T_VARIABLE);
        H5Tset_cset(memory.get(), H5Tget_cset(type.get()));
        if (H5Aread(attribute.get(), memory.get(), &text) < 0 || !text) return {};
        std::string copy(text, strnlen(text, most + 1));
        H5free_memory(text);
        return copy.size() > most ? std::string() : copy;
    }
    const auto size = H5Tget_size(type.get());
    if (size == 0 || size > most) return {};
    std::string text(size, '\0');
    if (H5Aread(attribute.get(), type.get(), text.data()) < 0) return {};
    text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
    return text;
}

TypeHandle memoryType(hid_t dataset) {
    const TypeHandle type(H5Dget_type(dataset));
    if (!type) return TypeHandle();
    TypeHandle copy(H5Tcopy(type.get()));
    const auto kind = H5Tget_class(copy.get());
    if ((kind == H5T_FLOAT || kind == H5T_INTEGER) && H5Tset_order(copy.get(), H5T_ORDER_LE) < 0) return TypeHandle();
    return copy;
}

} // namespace qs::worker
