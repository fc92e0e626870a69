// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/npy/npz_write.h"

#include "core/base/release.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/tensor_stream.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

namespace qs {
namespace {

// Bytes; larger tensors are produced twice.
constexpr std::uint64_t kKept = std::uint64_t(64) << 20;

template<class T> void appendNumber(std::string& out, T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
}

/// Header of an .npy file of version 1. Padding makes its length a multiple of 64.
std::string npyHeader(const TensorsToWrite::Kind& kind) {
    std::string shape = fmt::format("{}", fmt::join(kind.shape, ", "));
    if (kind.shape.size() == 1) shape += ',';
    std::string text =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", npyType(kind.dtype), shape);
    text.append(63 - (10 + text.size()) % 64, ' ');
    text += '\n';
    std::string out("\x93NUMPY\x01\x00", 8);
    appendNumber<std::uint16_t>(out, std::uint16_t(text.size()));
    return out + text;
}

struct Member {
    std::string name;
    std::uint32_t crc = 0;
    std::uint64_t bytes = 0, offset = 0;
};

/// Fields that the local header and the directory entry have in common. Sizes are in the ZIP64 extra field, as numpy
/// writes them.
std::string commonFields(const Member& member) {
    std::string out;
    appendNumber<std::uint16_t>(out, 45);         // version needed
    appendNumber<std::uint16_t>(out, 0x0800);     // flag: names are UTF-8
    appendNumber<std::uint16_t>(out, 0);          // method: stored
    appendNumber<std::uint32_t>(out, 0x00210000); // time and date: 1980-01-01
    appendNumber<std::uint32_t>(out, member.crc);
    appendNumber<std::uint32_t>(out, 0xffffffff);
    appendNumber<std::uint32_t>(out, 0xffffffff);
    appendNumber<std::uint16_t>(out, std::uint16_t(member.name.size()));
    return out;
}

std::string localHeader(const Member& member) {
    std::string out("PK\x03\x04");
    out += commonFields(member);
    appendNumber<std::uint16_t>(out, 20);
    out += member.name;
    appendNumber<std::uint16_t>(out, 1); // id of the ZIP64 extra field
    appendNumber<std::uint16_t>(out, 16);
    appendNumber<std::uint64_t>(out, member.bytes);
    appendNumber<std::uint64_t>(out, member.bytes);
    return out;
}

std::string directoryEntry(const Member& member, std::string_view comment) {
    std::string out("PK\x01\x02");
    appendNumber<std::uint16_t>(out, 45);
    out += commonFields(member);
    appendNumber<std::uint16_t>(out, 28);
    appendNumber<std::uint16_t>(out, std::uint16_t(comment.size()));
    for (int i = 0; i < 2; ++i) appendNumber<std::uint16_t>(out, 0); // disk, attributes
    appendNumber<std::uint32_t>(out, 0);
    appendNumber<std::uint32_t>(out, 0xffffffff);
    out += member.name;
    appendNumber<std::uint16_t>(out, 1);
    appendNumber<std::uint16_t>(out, 24);
    appendNumber<std::uint64_t>(out, member.bytes);
    appendNumber<std::uint64_t>(out, member.bytes);
    appendNumber<std::uint64_t>(out, member.offset);
    return out.append(comment);
}

std::string endOfDirectory(std::uint64_t entries, std::uint64_t begin, std::uint64_t bytes) {
    std::string out("PK\x06\x06");
    appendNumber<std::uint64_t>(out, 44);
    appendNumber<std::uint16_t>(out, 45), appendNumber<std::uint16_t>(out, 45);
    appendNumber<std::uint32_t>(out, 0), appendNumber<std::uint32_t>(out, 0);
    appendNumber<std::uint64_t>(out, entries), appendNumber<std::uint64_t>(out, entries);
    appendNumber<std::uint64_t>(out, bytes), appendNumber<std::uint64_t>(out, begin);
    out += "PK\x06\x07";
    appendNumber<std::uint32_t>(out, 0);
    appendNumber<std::uint64_t>(out, begin + bytes);
    appendNumber<std::uint32_t>(out, 1);
    out += "PK\x05\x06";
    appendNumber<std::uint32_t>(out, 0);
    appendNumber<std::uint16_t>(out, 0xffff), appendNumber<std::uint16_t>(out, 0xffff);
    appendNumber<std::uint32_t>(out, 0xffffffff), appendNumber<std::uint32_t>(out, 0xffffffff);
    appendNumber<std::uint16_t>(out, 0);
    return out;
}

std::uint32_t sumOver(std::uint32_t sum, std::string_view text) {
    return std::uint32_t(crc32_z(sum, reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

/// Computes the checksum, which is written before the bytes. Small tensors are kept in memory, others are produced
/// again.
Result<TensorToWrite> sumOf(const TensorToWrite& tensor, std::uint64_t bytes, const std::string& header,
                            std::uint32_t& sum, const Job& job) {
    const auto kept = std::make_shared<std::string>();
    sum = sumOver(0, header);
    const auto produced = tensor.produce([&](std::span<const std::byte> piece) -> Result<void> {
        if (job.cancelled()) return cancelledError();
        const std::string_view text(reinterpret_cast<const char*>(piece.data()), piece.size());
        sum = sumOver(sum, text);
        if (bytes <= kKept) kept->append(text);
        return {};
    });
    if (!produced) return tl::unexpected(produced.error());
    if (bytes > kKept) return tensor;
    TensorToWrite held = tensor;
    held.produce = [kept](const TensorToWrite::Sink& sink) {
        return kept->empty() ? Result<void>{} : sink(std::as_bytes(std::span(*kept)));
    };
    return held;
}

} // namespace

const char* npyType(DType dtype) {
    switch (dtype) {
    case DType::Bool: return "|b1";
    case DType::U8: return "|u1";
    case DType::I8: return "|i1";
    case DType::U16: return "<u2";
    case DType::I16: return "<i2";
    case DType::U32: return "<u4";
    case DType::I32: return "<i4";
    case DType::U64: return "<u8";
    case DType::I64: return "<i8";
    case DType::F16: return "<f2";
    case DType::F32: return "<f4";
    case DType::F64: return "<f8";
    case DType::C64: return "<c8";
    default: return nullptr;
    }
}

Result<std::uint64_t> writeNpz(const std::string& path, TensorsToWrite tensors, const Model* opened, const Job& job,
                               const Naming& naming) {
    const std::string shown = shownPath(path);
    if (auto apart = notAnOpenedInput(path, opened); !apart) return tl::unexpected(apart.error());
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    std::uint64_t at = 0, total = 0;
    const auto put = [&](std::string_view text) {
        at += text.size();
        return file->write(text);
    };
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::string name = tensors.nameOf(i);
        const auto& kind = tensors.kindOf(i);
        if (!npyType(kind.dtype))
            return fail(fmt::format("{}: NumPy has no type for {} of tensor {}; nothing was written.", shown,
                                    info(kind.dtype).id, quotedName(name)),
                        path);
        if (name.size() > 60'000 || name.find("..") != std::string::npos || name.starts_with('/'))
            return fail(fmt::format("{}: tensor {} has a name that archives do not hold; nothing was written.", shown,
                                    quotedName(name)),
                        path);
        const auto bytes = byteCount(name, kind, path);
        if (!bytes) return bytes;
        total += *bytes;
    }
    struct Place {
        std::uint64_t offset;
        std::uint32_t crc;
    };
    std::vector<Place> places;
    places.reserve(tensors.size());
    TensorStream stream(*file, path, total, tensors.size(), job);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto tensor = tensors.make(i);
        if (!tensor) return tl::unexpected(tensor.error());
        const std::string header = npyHeader(tensors.kindOf(i));
        const std::uint64_t bytes = tensors.bytesOf(i);
        Member member{tensor->name + ".npy", 0, header.size() + bytes, at};
        auto held = sumOf(*tensor, bytes, header, member.crc, job);
        if (!held) return tl::unexpected(held.error());
        for (const auto& text : {localHeader(member), header})
            if (auto written = put(text); !written) return tl::unexpected(written.error());
        std::uint32_t again = sumOver(0, header);
        const auto add = [&](std::span<const std::byte> piece) {
            again = std::uint32_t(crc32_z(again, reinterpret_cast<const unsigned char*>(piece.data()), piece.size()));
        };
        if (auto added = stream.add(*held, bytes, add); !added) return tl::unexpected(added.error());
        if (again != member.crc)
            return fail(fmt::format("{}: tensor {} came differently a second time; nothing was written.", shown,
                                    quotedName(member.name)),
                        path);
        at += bytes;
        places.push_back({member.offset, member.crc});
    }
    const std::uint64_t begin = at;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::uint64_t bytes = npyHeader(tensors.kindOf(i)).size() + tensors.bytesOf(i);
        const Member member{tensors.nameOf(i) + ".npy", places[i].crc, bytes, places[i].offset};
        const bool isLast = i + 1 == tensors.size();
        if (auto written = put(directoryEntry(member, isLast ? kNpzMark : "")); !written)
            return tl::unexpected(written.error());
    }
    if (auto written = put(endOfDirectory(tensors.size(), begin, at - begin)); !written)
        return tl::unexpected(written.error());
    release(places), tensors = {}; // before the check of the file, which needs as much
    if (auto named = checkAndCommit(*file, opened, job, naming); !named) return tl::unexpected(named.error());
    return at;
}

} // namespace qs
