// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes as the reference writer makes them, so that hashes and diffs of checkpoints agree.
#include "core/model/mapped_file.h"
#include "core/model/safetensors.h"

#include "core/base/text.h"
#include "core/model/atomic_file.h"
#include "core/model/strict_json.h"
#include "core/model/tensor_name.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::size_t kMaxHeader = 100'000'000;

/// As serde_json: only what must be escaped is.
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

/// Bytes of the tensor's data, or what is wrong with it.
Result<std::uint64_t> byteCount(const TensorToWrite& tensor, const std::string& path) {
    const auto wrong = [&](const std::string& why) {
        return fail(fmt::format("{}: tensor {} cannot be written: {}.", escapeForPeople(path, 200),
                                quotedName(tensor.name), why),
                    path);
    };
    if (tensor.name == "__metadata__") return wrong("the name is taken by the format");
    if (invalidUtf8(tensor.name) != std::string_view::npos || tensor.name.find('\0') != std::string::npos)
        return wrong("its name is not valid UTF-8");
    std::uint64_t bits = std::uint64_t(info(tensor.dtype).bits);
    for (const auto dim : tensor.shape)
        if (dim < 0 || __builtin_mul_overflow(bits, std::uint64_t(dim), &bits))
            return wrong(fmt::format("the shape {} is impossible", shapeText(tensor.shape)));
    if (bits % 8 != 0)
        return wrong(fmt::format("{} of {} end inside a byte", shapeText(tensor.shape), info(tensor.dtype).id));
    return bits / 8;
}

} // namespace

Result<std::uint64_t> writeSafetensors(const std::string& path, std::vector<TensorToWrite> tensors,
                                       std::map<std::string, std::string> metadata, const Model* opened, const Job& job,
                                       const std::function<Result<void>(const std::string& path)>& check) {
    const std::string shown = escapeForPeople(path, 200);
    if (auto apart = notAnOpenedInput(path, opened); !apart) return tl::unexpected(apart.error());
    std::sort(tensors.begin(), tensors.end(), [](const TensorToWrite& a, const TensorToWrite& b) {
        return a.dtype != b.dtype ? a.dtype > b.dtype : a.name < b.name;
    });

    metadata["format"] = "pt"; // always: old transformers crash without
    std::string header = "{\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
        if (invalidUtf8(key) != std::string_view::npos || invalidUtf8(value) != std::string_view::npos)
            return fail(fmt::format("{}: the metadata {} is not valid UTF-8.", shown, quotedName(key)), path);
        if (!header.ends_with('{')) header += ',';
        appendJson(header, key);
        header += ':';
        appendJson(header, value);
    }
    header += '}';
    std::vector<std::uint64_t> sizes;
    std::uint64_t total = 0;
    std::vector<std::string_view> names;
    for (const auto& tensor : tensors) {
        const auto bytes = byteCount(tensor, path);
        if (!bytes) return tl::unexpected(bytes.error());
        sizes.push_back(*bytes);
        names.push_back(tensor.name);
        const std::uint64_t begin = total;
        if (__builtin_add_overflow(total, *bytes, &total))
            return fail(fmt::format("{}: the sizes of the tensors overflow 64 bits.", shown), path);
        header += ',';
        appendJson(header, tensor.name);
        header += fmt::format(":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", info(tensor.dtype).id,
                              fmt::join(tensor.shape, ","), begin, total);
        if (header.size() > kMaxHeader) break;
    }
    header += '}';
    header.append((8 - header.size() % 8) % 8, ' ');
    if (header.size() > kMaxHeader)
        return fail(fmt::format("{}: a header of more than {} bytes (names, shapes and metadata) would not open again.",
                                shown, kMaxHeader),
                    path);
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
        return fail(fmt::format("{}: two tensors would be called {}.", shown, quotedName(*twice)), path);

    std::uint64_t whole = 0;
    if (__builtin_add_overflow(total, 8 + header.size(), &whole))
        return fail(fmt::format("{}: the file would be over 2^64 bytes.", shown), path);
    auto file = AtomicFile::create(path, whole);
    if (!file) return tl::unexpected(file.error());
    std::string length(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) length[i] = char(std::uint64_t(header.size()) >> (8 * i));
    for (const auto& text : {length, header})
        if (auto written = file->write(text); !written) return tl::unexpected(written.error());

    std::uint64_t done = 0, said = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto& tensor = tensors[i];
        const auto say = [&] {
            said = done;
            job.progress(
                {double(done), double(total), "Writing " + escapeForPeople(tensor.name, 60), i, tensors.size()});
        };
        const auto wrongSize = [&](std::uint64_t given) {
            return fail(fmt::format("{}: tensor {} came with {} bytes, but its shape takes {}; nothing was written.",
                                    shown, quotedName(tensor.name), given, sizes[i]),
                        path);
        };
        say();
        std::uint64_t given = 0;
        const auto sink = [&](std::span<const std::byte> bytes) -> Result<void> {
            if (job.cancelled()) return cancelledError();
            given += bytes.size();
            if (given > sizes[i]) return wrongSize(given);
            if (auto written = file->write(bytes); !written) return written;
            done += bytes.size();
            if (done - said >= (std::uint64_t(4) << 20)) say();
            return {};
        };
        if (job.cancelled()) return cancelledError();
        if (auto produced = tensor.produce(sink); !produced) return tl::unexpected(produced.error());
        if (given != sizes[i]) return wrongSize(given);
    }
    // What a truncated source no longer has reads as zeros: such a file must not get its name.
    if (opened)
        for (const auto& source : opened->files)
            if (source.mapping)
                if (auto same = source.mapping->unchanged(); !same) return tl::unexpected(same.error());
    if (check) {
        const auto there = file->finish();
        if (!there) return tl::unexpected(there.error());
        if (auto good = check(*there); !good) return tl::unexpected(good.error());
    }
    if (auto committed = file->commit(job); !committed) return tl::unexpected(committed.error());
    return whole;
}

} // namespace qs
