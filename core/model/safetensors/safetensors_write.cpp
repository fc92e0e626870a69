// SPDX-License-Identifier: GPL-3.0-or-later
// Writes the same bytes as the reference writer, so that hashes of equal checkpoints are equal.
#include "core/model/safetensors/safetensors.h"

#include "core/base/release.h"
#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/tensor_stream.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <functional>
#include <utility>

namespace qs {
namespace {

/// Appends a JSON string. Like serde_json, it escapes only what must be escaped.
void appendJson(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        switch (c) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\b': out += "\\b"; break;
        case '\f': out += "\\f"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\t': out += "\\t"; break;
        default:
            if (static_cast<unsigned char>(c) < 0x20)
                out += fmt::format("\\u{:04x}", int(c));
            else
                out += c;
        }
    }
    out += '"';
}

/// Writes all tensors in the order of the file. Tensors that are produced together are written when the first of them
/// is reached. `begin`: offset of the first tensor in the file.
Result<void> addAll(AtomicFile& file, TensorStream& stream, const std::vector<TensorToWrite>& tensors,
                    const std::vector<std::uint64_t>& sizes, std::uint64_t begin) {
    std::map<const ProducedTogether*, std::vector<TensorStream::Placed>> together;
    std::uint64_t at = begin;
    for (std::size_t i = 0; i < tensors.size(); at += sizes[i++])
        if (tensors[i].together) together[tensors[i].together.get()].push_back({&tensors[i], at, sizes[i]});
    at = begin;
    for (std::size_t i = 0; i < tensors.size(); at += sizes[i++]) {
        const auto* others = tensors[i].together.get();
        if (!others) {
            if (auto moved = file.moveTo(at); !moved) return moved;
            if (auto added = stream.add(tensors[i], sizes[i]); !added) return added;
            continue;
        }
        const auto found = together.find(others);
        if (found == together.end()) continue; // already written together with an earlier tensor
        auto placed = std::move(found->second);
        together.erase(found);
        const auto placeOf = [&](const TensorStream::Placed& one) {
            return std::find(others->names.begin(), others->names.end(), one.tensor->name) - others->names.begin();
        };
        std::ranges::sort(placed, [&](const auto& a, const auto& b) { return placeOf(a) < placeOf(b); });
        assert(placed.size() == others->names.size() && "what is produced together is in one file");
        if (auto added = stream.add(*others, placed); !added) return added;
    }
    return {};
}

/// Passes the JSON of the header, without padding, to `take` in pieces of about 1 MiB.
Result<void> eachHeaderPiece(const std::map<std::string, std::string>& metadata,
                             const std::vector<TensorToWrite>& tensors, const std::vector<std::uint64_t>& sizes,
                             const std::function<Result<void>(const std::string&)>& take) {
    constexpr std::size_t most = std::size_t(1) << 20;
    std::string piece = "{\"__metadata__\":{";
    const auto handOver = [&](std::size_t from) -> Result<void> {
        if (piece.size() < from) return {};
        auto done = take(piece);
        piece.clear();
        return done;
    };
    bool isFirst = true;
    for (const auto& [key, value] : metadata) {
        if (!std::exchange(isFirst, false)) piece += ',';
        appendJson(piece, key);
        piece += ':';
        appendJson(piece, value);
        if (auto done = handOver(most); !done) return done;
    }
    piece += '}';
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < tensors.size(); begin += sizes[i++]) {
        piece += ',';
        appendJson(piece, tensors[i].name);
        piece += fmt::format(":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", info(tensors[i].dtype).id,
                             fmt::join(tensors[i].shape, ","), begin, begin + sizes[i]);
        if (auto done = handOver(most); !done) return done;
    }
    piece += '}';
    return handOver(0);
}

} // namespace

Result<std::uint64_t> writeSafetensors(const std::string& path, std::vector<TensorToWrite> tensors,
                                       std::map<std::string, std::string> metadata, const Model* opened, const Job& job,
                                       const Naming& naming) {
    const std::string shown = shownPath(path);
    if (auto apart = notAnOpenedInput(path, opened); !apart) return tl::unexpected(apart.error());
    std::ranges::sort(tensors, [](const TensorToWrite& a, const TensorToWrite& b) {
        return a.dtype != b.dtype ? a.dtype > b.dtype : a.name < b.name;
    });

    metadata["format"] = "pt"; // always set: older versions of transformers fail without it
    for (const auto& [key, value] : metadata)
        if (invalidUtf8(key) != std::string_view::npos || invalidUtf8(value) != std::string_view::npos)
            return fail(fmt::format("{}: the metadata {} is not valid UTF-8.", shown, quotedName(key)), path);
    std::vector<std::uint64_t> sizes;
    std::uint64_t total = 0;
    std::vector<std::uint32_t> byName;
    sizes.reserve(tensors.size()), byName.reserve(tensors.size());
    for (const auto& tensor : tensors) {
        const auto bytes = byteCount(tensor, path);
        if (!bytes) return tl::unexpected(bytes.error());
        sizes.push_back(*bytes);
        byName.push_back(std::uint32_t(byName.size()));
        if (__builtin_add_overflow(total, *bytes, &total))
            return fail(fmt::format("{}: the sizes of the tensors overflow 64 bits.", shown), path);
    }
    // The JSON is generated twice: once to get its length, then to write it. For many tensors it is too long to keep.
    std::uint64_t length = 0;
    const Result<void> counted = eachHeaderPiece(metadata, tensors, sizes, [&](const std::string& piece) {
        length += piece.size();
        return Result<void>();
    });
    if (!counted) return tl::unexpected(counted.error());
    const std::size_t padding = (8 - length % 8) % 8;
    length += padding;
    if (length > kMostHeaderBytes)
        return fail(fmt::format("{}: a header of more than {} bytes (names, shapes and metadata) would not open again.",
                                shown, kMostHeaderBytes),
                    path);
    const auto nameOf = [&](std::uint32_t i) -> const std::string& { return tensors[i].name; };
    std::ranges::sort(byName, [&](auto a, auto b) { return nameOf(a) < nameOf(b); });
    const auto isTwice = [&](auto a, auto b) { return nameOf(a) == nameOf(b); };
    if (const auto twice = std::adjacent_find(byName.begin(), byName.end(), isTwice); twice != byName.end())
        return fail(fmt::format("{}: two tensors would be called {}.", shown, quotedName(nameOf(*twice))), path);
    release(byName);

    std::uint64_t whole = 0;
    if (__builtin_add_overflow(total, 8 + length, &whole))
        return fail(fmt::format("{}: the file would be over 2^64 bytes.", shown), path);
    auto file = AtomicFile::create(path, whole);
    if (!file) return tl::unexpected(file.error());
    std::string lengthField(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) lengthField[i] = char(length >> (8 * i));
    if (auto done = file->write(lengthField); !done) return tl::unexpected(done.error());
    const auto header =
        eachHeaderPiece(metadata, tensors, sizes, [&](const std::string& piece) { return file->write(piece); });
    if (!header) return tl::unexpected(header.error());
    if (auto done = file->write(std::string(padding, ' ')); !done) return tl::unexpected(done.error());

    TensorStream stream(*file, path, total, tensors.size(), job);
    if (auto all = addAll(*file, stream, tensors, sizes, 8 + length); !all) return tl::unexpected(all.error());
    release(tensors), release(sizes), release(metadata); // before the check of the file, which needs as much
    if (auto named = checkAndCommit(*file, opened, job, naming); !named) return tl::unexpected(named.error());
    return whole;
}

} // namespace qs
