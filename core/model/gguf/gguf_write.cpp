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
Result<Keys> keysOf(const Model& source, const GgufNumbers& changed) {
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
    for (const auto& [name, value] : changed) appendField(keys.bytes, name, value), ++keys.count;
    return keys;
}

} // namespace

const GgmlType* ggmlTypeOf(const TensorToWrite& tensor) {
    for (const GgmlType& type : ggmlTypes())
        if (tensor.packed ? type.packed.id && std::string_view(type.packed.id) == tensor.packed->id
                          : !type.packed.id && type.dtype == tensor.dtype)
            return &type;
    return nullptr;
}

Result<std::uint64_t> writeGguf(const std::string& path, std::vector<TensorToWrite> tensors, const Model& source,
                                const GgufNumbers& changed, const Job& job, const Naming& naming) {
    if (auto apart = notAnOpenedInput(path, &source); !apart) return tl::unexpected(apart.error());
    std::map<std::string, std::pair<std::uint32_t, std::uint64_t>> order;
    for (const TensorInfo& tensor : source.tensors) order[tensor.name] = {tensor.file, tensor.offset};
    std::ranges::stable_sort(
        tensors, [&](const TensorToWrite& a, const TensorToWrite& b) { return order[a.name] < order[b.name]; });
    const auto keys = keysOf(source, changed);
    if (!keys) return tl::unexpected(keys.error());
    std::string header = "GGUF";
    appendField<std::uint32_t>(header, keys->version);
    appendField<std::uint64_t>(header, tensors.size());
    appendField<std::uint64_t>(header, keys->count);
    header += keys->bytes;
    const auto padding = [&](std::uint64_t size) {
        return (keys->alignment - size % keys->alignment) % keys->alignment;
    };
    std::uint64_t total = 0;
    for (const TensorToWrite& tensor : tensors) {
        const GgmlType* type = ggmlTypeOf(tensor);
        if (!type)
            return fail(fmt::format("{}: ggml has no type for {} of tensor {}.", shownPath(path), info(tensor.dtype).id,
                                    quotedName(tensor.name)),
                        path);
        appendText(header, tensor.name);
        appendField<std::uint32_t>(header, std::uint32_t(tensor.shape.size()));
        for (std::size_t i = tensor.shape.size(); i-- > 0;) appendField<std::int64_t>(header, tensor.shape[i]);
        appendField<std::uint32_t>(header, type->number);
        appendField<std::uint64_t>(header, total);
        total += bytesOf(tensor) + padding(bytesOf(tensor));
    }
    header.append(padding(header.size()), '\0');
    auto file = AtomicFile::create(path, header.size() + total);
    if (!file) return tl::unexpected(file.error());
    if (auto written = file->write(header); !written) return tl::unexpected(written.error());
    TensorStream stream(*file, path, total, tensors.size(), job);
    for (const TensorToWrite& tensor : tensors) {
        if (auto added = stream.add(tensor, bytesOf(tensor)); !added) return tl::unexpected(added.error());
        if (auto written = file->write(std::string(padding(bytesOf(tensor)), '\0')); !written)
            return tl::unexpected(written.error());
    }
    if (auto named = checkAndCommit(*file, &source, job, naming); !named) return tl::unexpected(named.error());
    return header.size() + total;
}

} // namespace qs
