// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/ocdbt/database.h"

#include "core/base/text.h"
#include "core/model/ocdbt/body.h"
#include "core/model/ocdbt/walk.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace qs::ocdbt {
namespace {

Result<Manifest> readManifest(Storage& storage, const std::string& name) {
    const auto number = storage.fileOf({name, 0});
    if (!number) return tl::unexpected(number.error());
    const MappedFile& file = *storage.files()[*number];
    const auto refused = [&](const std::string& why) {
        return fail(fmt::format("{}: {}.", shownPath(file.path()), why), file.path(), 0);
    };
    if (file.size() > kMostStored) return refused(fmt::format("it has {} bytes, too many", file.size()));
    std::vector<std::byte> room, scratch;
    auto body = bodyOf(file.read(0, file.size(), scratch), Kind::Manifest, room);
    if (!body) return refused(body.error().message);
    auto manifest = parseManifest(*body);
    if (!manifest) return refused(manifest.error().message);
    return manifest;
}

/// Name of the numbered manifest with the highest number: manifest.0000000000000001 and so on.
Result<std::string> newestManifest(const std::string& path) {
    constexpr std::size_t kMostNames = 200'000;
    constexpr std::string_view start = "manifest.";
    std::string newest;
    std::error_code failed;
    std::size_t looked = 0;
    for (std::filesystem::directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed)) {
        if (++looked > kMostNames)
            return fail(fmt::format("{} holds more than {} files and folders.", shownPath(path), kMostNames), path);
        const std::string name = it->path().filename().string();
        if (name.size() == start.size() + 16 && name.starts_with(start) &&
            name.find_first_not_of("0123456789abcdef", start.size()) == std::string::npos)
            newest = std::max(newest, name);
    }
    if (newest.empty())
        return fail(fmt::format("{} keeps numbered manifests, and there is none.", shownPath(path)), path);
    return newest;
}

Result<Manifest> manifestOf(Storage& storage) {
    auto first = readManifest(storage, kManifest);
    if (!first || !first->isNumbered) return first;
    const auto name = newestManifest(storage.path());
    if (!name) return tl::unexpected(name.error());
    auto newest = readManifest(storage, *name);
    if (!newest) return newest;
    const auto refused = [&](const char* why) {
        const auto& path = storage.files().back()->path();
        return fail(fmt::format("{}: {}.", shownPath(path), why), path, 0);
    };
    if (newest->isNumbered) return refused("it refers to numbered manifests, of which it is one");
    if (newest->id != first->id) return refused("it is of another database than manifest.ocdbt");
    if (newest->generation != std::stoull(name->substr(name->size() - 16), nullptr, 16))
        return refused("its newest version is not the one that it is named after");
    return newest;
}

} // namespace

Value Database::value(std::size_t i) const {
    const KeyList::Slot& slot = keys_.slots[i];
    if ((slot.at & 1) == 0) return {files()[slot.at >> 1], nullptr, slot.offset, slot.size};
    const KeyList::Block& block = keys_.blocks[slot.at >> 1];
    return {files()[block.file], block.bytes, slot.offset, slot.size};
}

Result<void> Database::open() {
    const auto root = manifestOf(storage_);
    if (!root) return tl::unexpected(root.error());
    if (!root->isEmpty)
        if (auto walked = walkTree(*root, storage_, isNote_, keys_); !walked) return walked;
    keys_.slots.shrink_to_fit();
    return {};
}

} // namespace qs::ocdbt
