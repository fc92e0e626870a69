// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/pytorch/pytorch_legacy.h"

#include "core/base/tensor_name.h"
#include "core/model/list_budget.h"
#include "core/model/mapped_file.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

using Kind = Pickle::Kind;

// The opcode LONG1 with the ten bytes of 0x1950a86a20f9469cfc6c.
constexpr std::string_view kMagic{"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 12};
constexpr std::int64_t kProtocol = 1001;
// Bytes to read. The five pickles are normally short; if they do not fit into kFirst bytes, kMost bytes are read.
constexpr std::size_t kFirst = std::size_t(16) << 20, kMost = std::size_t(256) << 20;

std::string_view bytesText(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string notLittle(const Pickle& facts) {
    if (facts.kind(facts.root()) != Kind::Dict) return "its facts about the machine are no dictionary";
    const auto pairs = facts.pairs(facts.root());
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
        if (facts.text(pairs[i]) == "little_endian" &&
            (facts.kind(pairs[i + 1]) != Kind::Bool || facts.number(pairs[i + 1]) != 1))
            return "its numbers are big-endian; only little-endian ones are read";
    return {};
}

std::string placeStorages(const MappedFile& file, const Pickle& keys, std::uint64_t at, TorchLegacy& out) {
    if (keys.kind(keys.root()) != Kind::List) return "its keys of storages are no list";
    for (const auto ref : keys.items(keys.root())) {
        const auto storage = out.state.storages.find(keys.text(ref));
        if (storage == out.state.storages.end())
            return fmt::format("it lists a storage {} that nothing uses", quotedName(keys.text(ref)));
        const std::string& key = storage->first;
        std::int64_t elements = 0;
        if (file.size() - at < sizeof elements)
            return fmt::format("it ends before its storage {}; the file is cut off", quotedName(key));
        file.readInto(at, std::as_writable_bytes(std::span(&elements, 1)));
        at += sizeof elements;
        if (elements < 0 || std::uint64_t(elements) != storage->second.elements)
            return fmt::format("its storage {} has {} elements, where the pickle says {}", quotedName(key), elements,
                               storage->second.elements);
        if (storage->second.bytes > file.size() - at)
            return fmt::format("its storage {} needs {} bytes and {} are left; the file is cut off", quotedName(key),
                               storage->second.bytes, file.size() - at);
        if (!out.places.emplace(key, at).second) return fmt::format("it lists its storage {} twice", quotedName(key));
        at += storage->second.bytes;
    }
    for (const auto& [key, storage] : out.state.storages)
        if (!out.places.contains(key)) return fmt::format("its storage {} is missing", quotedName(key));
    if (at != file.size())
        out.state.notes.push_back(fmt::format("{} bytes after its last storage belong to nothing", file.size() - at));
    return {};
}

} // namespace

bool isTorchLegacy(std::span<const std::byte> head) {
    const auto text = bytesText(head).substr(0, 32);
    return text.size() > 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5 && text.find(kMagic) != text.npos;
}

Result<TorchLegacy> readTorchLegacy(const MappedFile& file, const std::string& name, const Model& model) {
    for (std::size_t most = kFirst;; most = kMost) {
        // Works on a copy, because the file could change between a check and the use.
        std::vector<std::byte> bytes(std::min(file.size(), most));
        file.readInto(0, bytes);
        file.dropPages(0, bytes.size());
        PickleLimits limits;
        limits.memory = torchPickleMemory(bytes.size());
        const bool isAll = bytes.size() == file.size() || most == kMost;
        std::span<const std::byte> left = bytes;
        std::vector<Pickle> pickles;
        pickles.reserve(5);
        bool isCutOff = false;
        while (pickles.size() < 5) {
            auto pickle = Pickle::read(left, limits, &isCutOff);
            if (!pickle && isCutOff && !isAll) break;
            if (!pickle) return tl::unexpected(pickle.error());
            left = left.subspan(pickle->length());
            pickles.push_back(std::move(*pickle));
        }
        if (pickles.size() < 5) continue;
        const Pickle &version = pickles[1], &facts = pickles[2], &state = pickles[3], &keys = pickles[4];
        if (version.kind(version.root()) != Kind::Int || version.number(version.root()) != kProtocol)
            return fail("its version is none that is known");
        if (auto why = notLittle(facts); !why.empty()) return fail(std::move(why));
        TorchLegacy out;
        std::uint64_t held = bytes.size();
        for (const auto& pickle : pickles) held += pickle.memory();
        ListBudget budget(model, file.size(), held);
        auto read = readTorchState(state, name, {}, &budget);
        if (!read) return tl::unexpected(read.error());
        out.state = std::move(*read);
        if (auto why = placeStorages(file, keys, bytes.size() - left.size(), out); !why.empty())
            return fail(std::move(why));
        return out;
    }
}

} // namespace qs
