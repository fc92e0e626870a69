// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gguf/gguf_write.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/gguf/gguf.h"
#include "core/model/gguf/gguf_cursor.h"
#include "core/model/gguf/packed_type.h"
#include "core/model/mapped_file.h"
#include "core/model/tensor_stream.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <string_view>

namespace qs {
namespace {

template<class T> void appendField(std::string& out, T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
}
void appendText(std::string& out, std::string_view text) {
    appendField<std::uint64_t>(out, text.size());
    out += text;
}
void appendField(std::string& out, std::string_view key, std::uint32_t value) {
    appendText(out, key);
    appendField<std::uint32_t>(out, std::uint32_t(GgufType::U32));
    appendField<std::uint32_t>(out, value);
}

struct Keys {
    std::string bytes;
    std::uint64_t count = 0;
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;
};

/// Reads the keys to copy. Parses the header of the source again to find where each key ends.
Result<Keys> keysOf(const Model& source, GgufNumbers changed) {
    changed[kGgufMark] = 1;
    const ModelFile& file = source.files.front();
    std::vector<std::byte> scratch;
    const auto head = file.mapping->read(
        0, file.mapping->isMapped() ? file.size : std::min<std::uint64_t>(file.size, std::uint64_t(1) << 30), scratch);
    const auto parsed = parseGgufHeader(head, file.size, file.path);
    if (!parsed) return tl::unexpected(parsed.error());
    GgufCursor cursor(head, file.size);
    Keys keys;
    keys.version = parsed->version, keys.alignment = parsed->alignment;
    cursor.skip(16);
    for (const auto& [name, value] : changed) appendField(keys.bytes, name, value), ++keys.count;
    const auto count = cursor.number<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t begin = cursor.at();
        const std::string name(cursor.string());
        readGgufValue(cursor);
        if (cursor.failed()) return fail(fmt::format("{}: {}.", shownPath(file.path), cursor.why()), file.path);
        if (changed.contains(name) || name.starts_with("split.")) continue;
        keys.bytes.append(reinterpret_cast<const char*>(head.data()) + begin, cursor.at() - begin);
        ++keys.count;
    }
    return keys;
}

/// Sorts the tensors as they lie in the files of the source.
void sortAsIn(const Model& source, TensorsToWrite& tensors) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> places; // file and offset
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const TensorInfo* from = source.find(tensors.nameOf(i));
        places.emplace_back(from ? from->file : 0, from ? from->offset : 0);
    }
    std::vector<std::uint32_t> order(tensors.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(places[i], i); });
    tensors.permute(order);
}

/// Passes the header, without padding, to `take` in pieces.
Result<void> eachHeaderPiece(const Keys& keys, const TensorsToWrite& tensors,
                             const std::function<Result<void>(const std::string&)>& take) {
    constexpr std::size_t most = std::size_t(1) << 20;
    std::string piece = "GGUF";
    appendField<std::uint32_t>(piece, keys.version);
    appendField<std::uint64_t>(piece, tensors.size());
    appendField<std::uint64_t>(piece, keys.count);
    piece += keys.bytes;
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto& kind = tensors.kindOf(i);
        appendText(piece, tensors.nameOf(i));
        appendField<std::uint32_t>(piece, std::uint32_t(kind.shape.size()));
        for (std::size_t axis = kind.shape.size(); axis-- > 0;) appendField<std::int64_t>(piece, kind.shape[axis]);
        appendField<std::uint32_t>(piece, ggmlTypeOf(kind)->number);
        appendField<std::uint64_t>(piece, at);
        const std::uint64_t bytes = tensors.bytesOf(i);
        at += bytes + (keys.alignment - bytes % keys.alignment) % keys.alignment;
        if (piece.size() < most) continue;
        if (auto done = take(piece); !done) return done;
        piece.clear();
    }
    return take(piece);
}

} // namespace

const GgmlType* ggmlTypeOf(const TensorsToWrite::Kind& kind) {
    for (const GgmlType& type : ggmlTypes())
        if (kind.packed ? type.packed.id && std::string_view(type.packed.id) == kind.packed->id
                        : !type.packed.id && type.dtype == kind.dtype)
            return &type;
    return nullptr;
}

Result<std::uint64_t> writeGguf(const std::string& path, TensorsToWrite tensors, const Model& source,
                                const GgufNumbers& changed, const Job& job, const Naming& naming) {
    if (auto apart = notAnOpenedInput(path, &source); !apart) return tl::unexpected(apart.error());
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (!ggmlTypeOf(tensors.kindOf(i)))
            return fail(fmt::format("{}: ggml has no type for {} of tensor {}.", shownPath(path),
                                    info(tensors.kindOf(i).dtype).id, quotedName(tensors.nameOf(i))),
                        path);
    sortAsIn(source, tensors);
    const auto keys = keysOf(source, changed);
    if (!keys) return tl::unexpected(keys.error());
    const auto padding = [&](std::uint64_t size) {
        return (keys->alignment - size % keys->alignment) % keys->alignment;
    };
    std::uint64_t header = 0, total = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) total += tensors.bytesOf(i) + padding(tensors.bytesOf(i));
    // The header is generated twice: once to get its length, then to write it. For many tensors it is too long to keep.
    (void)eachHeaderPiece(*keys, tensors, [&](const std::string& piece) {
        header += piece.size();
        return Result<void>();
    });
    const std::string behind(padding(header), '\0');
    header += behind.size();
    auto file = AtomicFile::create(path, header + total);
    if (!file) return tl::unexpected(file.error());
    const auto put = [&](const std::string& piece) { return file->write(piece); };
    if (auto written = eachHeaderPiece(*keys, tensors, put); !written) return tl::unexpected(written.error());
    if (auto written = put(behind); !written) return tl::unexpected(written.error());
    TensorStream stream(*file, path, total, tensors.size(), job);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::uint64_t bytes = tensors.bytesOf(i);
        const auto tensor = tensors.make(i);
        if (!tensor) return tl::unexpected(tensor.error());
        if (auto added = stream.add(*tensor, bytes); !added) return tl::unexpected(added.error());
        if (auto written = put(std::string(padding(bytes), '\0')); !written) return tl::unexpected(written.error());
    }
    tensors = {}; // before the check of the file, which needs as much
    if (auto named = checkAndCommit(*file, &source, job, naming); !named) return tl::unexpected(named.error());
    return header + total;
}

} // namespace qs
