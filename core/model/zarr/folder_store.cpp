// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/zarr/folder_store.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/foreign_file.h"
#include "core/model/ocdbt/database.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace qs::zarr {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDeep = 8;
constexpr std::size_t kMostEntries = 200'000;
// Git LFS pointers and error pages are not larger than this. Larger files are not examined before they are read.
constexpr std::size_t kLongestPage = std::size_t(1) << 20, kHead = 256;

} // namespace

Result<void> FolderStore::arrays(const Found& found) { return walk({}, 0, found); }

/// Walks over a folder and its subfolders. `below`: its path relative to the store, with a slash at the end. Links to
/// folders are not followed.
Result<void> FolderStore::walk(const std::string& below, int depth, const Found& found) {
    const fs::path folder = fs::path(path_) / below;
    std::vector<std::string> folders;
    bool hasSecond = false, hasThird = false, hasManifest = false, hasProcesses = false;
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        if (++entries_ > kMostEntries)
            return fail(fmt::format("{} holds more than {} files and folders.", shownPath(path_), kMostEntries), path_);
        const std::string name = it->path().filename().string();
        std::error_code ignored;
        hasSecond |= name == ".zarray";
        hasThird |= name == "zarr.json";
        hasManifest |= name == ocdbt::kManifest;
        if (it->symlink_status(ignored).type() == fs::file_type::directory) folders.push_back(name);
    }
    if (failed) return fail(fmt::format("{} cannot be listed: {}.", shownPath(folder.string()), failed.message()));
    // Folders of single processes, and "d", belong to the database beside them.
    std::erase_if(folders, [&](const std::string& name) {
        const bool isOfProcess = name.starts_with(kOfProcess);
        hasProcesses |= isOfProcess;
        return isOfProcess || (hasManifest && name == "d");
    });
    if (hasManifest) databases_.push_back(below);
    if (hasProcesses && !hasManifest) unmerged_.push_back(below);
    if (hasSecond || hasThird) {
        auto isArray = found(below, hasSecond ? ".zarray" : "zarr.json", hasSecond ? 2 : 3);
        if (!isArray) return tl::unexpected(isArray.error());
        if (*isArray) return {};
    }
    std::ranges::sort(folders, naturalLess);
    for (const auto& name : folders) {
        if (depth == kMostDeep)
            return fail(fmt::format("{} is more than {} folders deep.", shownPath(path_), kMostDeep));
        if (auto walked = walk(below + name + '/', depth + 1, found); !walked) return walked;
    }
    return {};
}

Result<Piece> FolderStore::find(const std::string& key) {
    auto file = folder_.open(key);
    if (!file) return tl::unexpected(file.error());
    if (!*file) return Piece();
    if ((*file)->size() <= kLongestPage) {
        std::vector<std::byte> head(std::min<std::size_t>((*file)->size(), kHead));
        (*file)->readInto(0, head);
        if (const auto is = placeholder(head); !is.empty()) return fail(fmt::format("{} {}", quotedName(key), is));
    }
    const std::uint64_t size = (*file)->size();
    return Piece{std::move(*file), nullptr, 0, size};
}

} // namespace qs::zarr
