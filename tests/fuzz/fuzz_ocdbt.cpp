// SPDX-License-Identifier: GPL-3.0-or-later
// OCDBT databases whose headers and checksums are always correct, so the fuzzer changes the bodies only. Input bytes:
//
//   u8          0: the body of a manifest, to the end; 1: the body of a node; 2: a stored node, its checksum corrected;
//               else a database: the lowest bit selects compressed nodes
//   u8          the height of the root
//   u16 n, n    the body of a node, repeated to the end. The last node is the root. Data file 0 holds the nodes.
#include "checkpoint_bytes.h"
#include "core/model/crc32c.h"
#include "core/model/mapped_file.h"
#include "core/model/ocdbt/body.h"
#include "core/model/ocdbt/manifest.h"
#include "core/model/ocdbt/node.h"
#include "core/model/zarr/zarr.h"

#include <zstd.h>

namespace {

using namespace qs;

std::span<const std::byte> bytesOf(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::string number(std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += char(value >> (8 * i));
    return out;
}
std::string varint(std::uint64_t value) {
    std::string out;
    for (; value > 127; value >>= 7) out += char(value | 128);
    return out + char(value);
}
std::string wrapped(ocdbt::Kind kind, std::string body, bool compress) {
    if (compress) {
        std::string packed(ZSTD_compressBound(body.size()), '\0');
        packed.resize(ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), 1));
        body = std::move(packed);
    }
    std::string out =
        number(__builtin_bswap32(std::uint32_t(kind)), 4) + number(body.size() + 18, 8) + '\0' + char(compress) + body;
    return out + number(crc32c(bytesOf(out)), 4);
}

void node(std::span<const std::byte> body) {
    auto parsed = ocdbt::Node::parse(body, "base/");
    if (!parsed) {
        if (parsed.error().message.empty()) std::abort();
        return;
    }
    ocdbt::Entry entry;
    std::string last;
    std::uint64_t count = 0;
    for (; parsed->next(entry); ++count) {
        if (count > 0 && entry.key <= last) std::abort();
        last = entry.key;
        if (entry.isInside ? entry.value.size() != entry.length : entry.file >= parsed->files().size()) std::abort();
        if (entry.common > entry.key.size()) std::abort();
    }
    if ((count == parsed->count()) == (parsed->why() != nullptr)) std::abort();
}

void database(fuzz::Bytes in, bool compress) {
    namespace fs = std::filesystem;
    const unsigned height = in.u8();
    std::string data;
    std::uint64_t offset = 0;
    do {
        offset = data.size();
        data += wrapped(ocdbt::Kind::Node, in.text(in.u16()), compress);
    } while (!in.empty());
    const fs::path folder = fuzz::folder() / "database";
    fs::create_directories(folder);
    fuzz::put(folder / "0", data);
    const std::string manifest = std::string(16, 'i') + '\0' + "\1\1\4" + '\0' + varint(1) + varint(1) + varint(0) +
                                 '0' + varint(1) + varint(1) + char(height) + varint(0) + varint(offset) +
                                 varint(data.size() - offset) + "\1\1\1" + std::string(8, 't') + varint(0);
    fuzz::put(folder / "manifest.ocdbt", wrapped(ocdbt::Kind::Manifest, manifest, compress));
    const auto model = openZarr(folder.string());
    if (!model) {
        if (model.error().message.empty()) std::abort();
        return;
    }
    for (const auto& tensor : (*model)->tensors) {
        const auto view = (*model)->view(tensor);
        std::vector<std::byte> values(std::min<std::uint64_t>(tensor.bytes, 65'536));
        if (view) view->readInto(tensor.bytes - values.size(), values);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0 || size > 60'000) return 0;
    const unsigned kind = *data++;
    const auto rest = std::as_bytes(std::span(data, --size));
    if (kind == 0) {
        const auto manifest = ocdbt::parseManifest(rest);
        if (!manifest ? manifest.error().message.empty() : manifest->height > ocdbt::kMostHeight) std::abort();
    } else if (kind == 1) {
        node(rest);
    } else if (kind == 2) {
        std::string stored(reinterpret_cast<const char*>(data), size);
        stored += number(crc32c(bytesOf(stored)), 4);
        std::vector<std::byte> room;
        const auto body = ocdbt::bodyOf(bytesOf(stored), ocdbt::Kind::Node, room);
        if (!body ? body.error().message.empty() : body->size() > ocdbt::kMostBody) std::abort();
        if (body) node(*body);
    } else {
        database(fuzz::Bytes(data, size), kind & 1);
    }
    return 0;
}
