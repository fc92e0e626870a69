// SPDX-License-Identifier: GPL-3.0-or-later
// Writes the same bytes as the reference writer, so that hashes of equal checkpoints are equal.
#include "core/model/safetensors/safetensors.h"

#include "core/base/release.h"
#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/tensor_stream.h"

#include <algorithm>
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
Result<void> addAll(AtomicFile& file, TensorStream& stream, const TensorsToWrite& tensors, std::uint64_t begin) {
    struct Placed {
        std::size_t tensor;
        std::uint64_t offset;
    };
    std::map<std::uint32_t, std::vector<Placed>> together;
    std::uint64_t at = begin;
    for (std::size_t i = 0; i < tensors.size(); at += tensors.bytesOf(i++))
        if (tensors.kindOf(i).isTogether) together[tensors.groupOf(i)].push_back({i, at});
    at = begin;
    for (std::size_t i = 0; i < tensors.size(); at += tensors.bytesOf(i++)) {
        const bool isTogether = tensors.kindOf(i).isTogether;
        const auto found = isTogether ? together.find(tensors.groupOf(i)) : together.end();
        if (isTogether && found == together.end()) continue; // already written together with an earlier tensor
        const auto tensor = tensors.make(i);
        if (!tensor) return tl::unexpected(tensor.error());
        if (!isTogether) {
            if (auto moved = file.moveTo(at); !moved) return moved;
            if (auto added = stream.add(*tensor, tensors.bytesOf(i)); !added) return added;
            continue;
        }
        auto group = std::move(found->second);
        together.erase(found);
        std::ranges::sort(group, {}, [&](const Placed& one) { return tensors.placeInGroup(one.tensor); });
        std::vector<TensorStream::Placed> placed;
        for (const Placed& one : group)
            placed.push_back({tensors.nameOf(one.tensor), one.offset, tensors.bytesOf(one.tensor)});
        if (auto added = stream.add(*tensor->together, placed); !added) return added;
    }
    return {};
}

/// Passes the metadata to `take`, sorted by key: `entries` and what the tensors' sources are described by.
Result<void> eachEntry(const std::map<std::string, std::string>& entries, const TensorsToWrite& tensors,
                       const std::function<Result<void>(const std::string& key, const std::string& value)>& take) {
    auto next = entries.begin();
    const auto takeBefore = [&](const std::string* key) -> Result<void> {
        for (; next != entries.end() && (!key || next->first < *key); ++next)
            if (auto done = take(next->first, next->second); !done) return done;
        return {};
    };
    const auto described = tensors.eachDescription([&](const std::string& key, const std::string& value) {
        auto before = takeBefore(&key);
        if (next != entries.end() && next->first == key) ++next; // an older description of the same tensor
        return before ? take(key, value) : before;
    });
    return described ? takeBefore(nullptr) : described;
}

/// Passes the JSON of the header, without padding, to `take` in pieces of about 1 MiB.
Result<void> eachHeaderPiece(const std::map<std::string, std::string>& metadata, const TensorsToWrite& tensors,
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
    const auto entries = eachEntry(metadata, tensors, [&](const std::string& key, const std::string& value) {
        if (!std::exchange(isFirst, false)) piece += ',';
        appendJson(piece, key);
        piece += ':';
        appendJson(piece, value);
        return handOver(most);
    });
    if (!entries) return entries;
    piece += '}';
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto& kind = tensors.kindOf(i);
        const std::uint64_t end = begin + tensors.bytesOf(i);
        piece += ',';
        appendJson(piece, tensors.nameOf(i));
        piece += fmt::format(":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", info(kind.dtype).id,
                             fmt::join(kind.shape, ","), begin, end);
        begin = end;
        if (auto done = handOver(most); !done) return done;
    }
    piece += '}';
    return handOver(0);
}

tl::unexpected<Error> tooLong(const std::string& path) {
    return fail(fmt::format("{}: a header of more than {} bytes (names, shapes and metadata) would not open again.",
                            shownPath(path), kMostHeaderBytes),
                path);
}

/// The length of the JSON of the header. Fails where it is too long to open again.
Result<std::uint64_t> headerLength(const std::string& path, const std::map<std::string, std::string>& metadata,
                                   const TensorsToWrite& tensors) {
    std::uint64_t length = 0;
    const Result<void> counted = eachHeaderPiece(metadata, tensors, [&](const std::string& piece) -> Result<void> {
        if ((length += piece.size()) <= kMostHeaderBytes) return {};
        return tooLong(path);
    });
    return counted ? Result<std::uint64_t>(length) : tl::unexpected(counted.error());
}

/// Checks names and sizes. Returns the bytes of all tensors. Sorts them by name.
Result<std::uint64_t> checkTensors(const std::string& path, TensorsToWrite& tensors) {
    std::uint64_t total = 0;
    tensors.sortByName();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::string name = tensors.nameOf(i);
        const auto bytes = byteCount(name, tensors.kindOf(i), path);
        if (!bytes) return tl::unexpected(bytes.error());
        if (__builtin_add_overflow(total, *bytes, &total))
            return fail(fmt::format("{}: the sizes of the tensors overflow 64 bits.", shownPath(path)), path);
        if (i > 0 && tensors.compareNames(i - 1, i) == 0)
            return fail(fmt::format("{}: two tensors would be called {}.", shownPath(path), quotedName(name)), path);
    }
    return total;
}

} // namespace

Result<std::uint64_t> writeSafetensors(const std::string& path, TensorsToWrite tensors,
                                       std::map<std::string, std::string> metadata, const Model* opened, const Job& job,
                                       const Naming& naming) {
    const std::string shown = shownPath(path);
    if (auto apart = notAnOpenedInput(path, opened); !apart) return tl::unexpected(apart.error());
    metadata["format"] = "pt"; // always set: older versions of transformers fail without it
    for (const auto& [key, value] : metadata)
        if (invalidUtf8(key) != std::string_view::npos || invalidUtf8(value) != std::string_view::npos)
            return fail(fmt::format("{}: the metadata {} is not valid UTF-8.", shown, quotedName(key)), path);
    const auto total = checkTensors(path, tensors);
    if (!total) return total;
    tensors.sortByTypeAndName();
    // The JSON is generated twice: once to get its length, then to write it. For many tensors it is too long to keep.
    auto length = headerLength(path, metadata, tensors);
    if (!length) return length;
    const std::size_t padding = (8 - *length % 8) % 8;
    *length += padding;
    if (*length > kMostHeaderBytes) return tooLong(path);

    std::uint64_t whole = 0;
    if (__builtin_add_overflow(*total, 8 + *length, &whole))
        return fail(fmt::format("{}: the file would be over 2^64 bytes.", shown), path);
    auto file = AtomicFile::create(path, whole);
    if (!file) return tl::unexpected(file.error());
    std::string lengthField(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) lengthField[i] = char(*length >> (8 * i));
    if (auto done = file->write(lengthField); !done) return tl::unexpected(done.error());
    const auto header =
        eachHeaderPiece(metadata, tensors, [&](const std::string& piece) { return file->write(piece); });
    if (!header) return tl::unexpected(header.error());
    if (auto done = file->write(std::string(padding, ' ')); !done) return tl::unexpected(done.error());

    TensorStream stream(*file, path, *total, tensors.size(), job);
    if (auto all = addAll(*file, stream, tensors, 8 + *length); !all) return tl::unexpected(all.error());
    tensors = {}, release(metadata); // before the check of the file, which needs as much
    if (auto named = checkAndCommit(*file, opened, job, naming); !named) return tl::unexpected(named.error());
    return whole;
}

} // namespace qs
