// SPDX-License-Identifier: GPL-3.0-or-later
// Opens folders in the Hugging Face layout. In the hub's cache every file is a symbolic link into ../../blobs/. Such links
// are followed, and no others that lead out of the folder.
#include "core/base/lists.h"
#include "core/base/tensor_name.h"
#include "core/model/file_format.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/output/confined_folder.h"
#include "core/model/pytorch/pytorch.h"
#include "core/model/safetensors/safetensors.h"
#include "core/model/tfjs/tfjs.h"
#include "core/model/zarr/zarr.h"

#include "core/base/text.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace qs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostMissing = 1000; ///< names of missing shards that are kept

/// Number of shards according to a file name: 3 for "model-00002-of-00003.safetensors"; 0 for other names.
unsigned shardCount(std::string_view name) {
    constexpr std::string_view tail = ".safetensors";
    if (!name.ends_with(tail)) return 0;
    name.remove_suffix(tail.size());
    const auto of = name.rfind("-of-");
    if (of == std::string_view::npos || of + 4 >= name.size() || name.size() - of - 4 > 5) return 0;
    unsigned count = 0;
    for (const char c : name.substr(of + 4)) {
        if (c < '0' || c > '9') return 0;
        count = count * 10 + unsigned(c - '0');
    }
    return count;
}

/// Names of the shards that are not among `names`: NAME-00002-of-00003.safetensors.
std::vector<std::string> missingShards(const std::vector<std::string>& names, unsigned count) {
    const auto one = std::ranges::find_if(names, [&](const auto& name) { return shardCount(name) == count; });
    std::vector<std::string> missing;
    const auto number = one->rfind("-of-"), dash = one->substr(0, number).rfind('-');
    if (number == 0 || dash == std::string::npos) return {*one};
    for (unsigned i = 1; i <= count && missing.size() < kMostMissing; ++i) {
        auto name = one->substr(0, dash + 1) + fmt::format("{:0{}}", i, number - dash - 1) + one->substr(number);
        if (!contains(names, name)) missing.push_back(std::move(name));
    }
    return missing;
}

// PyTorch checkpoints that are older than safetensors.
constexpr const char *kTorchIndex = "pytorch_model.bin.index.json", *kTorchFile = "pytorch_model.bin";
constexpr const char* kTfjsFile = "model.json";

struct FolderList {
    std::vector<std::string> weights, indexes, folders; // sorted names: safetensors files, indexes, subfolders
    std::vector<std::string> opening;                   // sorted names of files in other formats that can be opened
    bool isHubCache = false;
};

Result<FolderList> listFolder(const std::string& path) {
    FolderList list;
    std::error_code failed;
    for (fs::directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed)) {
        const std::string name = it->path().filename().string();
        std::error_code ignored;
        if (it->is_directory(ignored)) {
            if (name == "snapshots") list.isHubCache = true;
            list.folders.push_back(name);
        } else if (name.ends_with(".safetensors"))
            list.weights.push_back(name);
        else if (name.ends_with(".json") && name.find(".safetensors.index.") != std::string::npos)
            list.indexes.push_back(name);
        else if (name == kTorchIndex || formatOfName(name))
            list.opening.push_back(name);
    }
    if (failed) return fail(fmt::format("{} cannot be listed: {}.", shownPath(path), failed.message()), path);
    for (auto* names : {&list.weights, &list.indexes, &list.folders, &list.opening})
        std::sort(names->begin(), names->end(), naturalLess);
    return list;
}

/// True if the folder, or a folder directly in it, is a zarr or Orbax checkpoint.
bool holdsArrays(const fs::path& folder, bool lookBelow = true) {
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        std::error_code ignored;
        if (looksLikeZarr(it->path().filename().string())) return true;
        if (lookBelow && it->is_directory(ignored) && holdsArrays(it->path(), false)) return true;
    }
    return false;
}

/// The error for a folder without safetensors files. It names a file or folder nearby that can be opened.
tl::unexpected<Error> nothingToOpen(const std::string& path, const FolderList& list) {
    const auto opensFolder = [](const fs::path& folder) {
        const auto inside = listFolder(folder.string());
        return inside && (!inside->weights.empty() || !inside->indexes.empty());
    };
    if (const auto is = foreignName(path); !is.empty()) return fail(fmt::format("{} {}.", shownPath(path), is), path);
    if (!list.opening.empty())
        return fail(fmt::format("{} holds no safetensors file; open {} in it.", shownPath(path),
                                shownPath((fs::path(path) / list.opening.front()).string())),
                    path);
    std::size_t looked = 0;
    for (const auto& name : list.folders) {
        if (++looked > 100) break;
        const fs::path below = fs::path(path) / name;
        if (opensFolder(below))
            return fail(fmt::format("{} holds no safetensors file itself; open {} in it.", shownPath(path),
                                    shownPath(below.string())),
                        path);
        if (name != "snapshots") continue;
        if (const auto snapshots = listFolder(below.string()))
            for (const auto& snapshot : snapshots->folders)
                if (opensFolder(below / snapshot))
                    return fail(fmt::format("{} is a hub cache; open the snapshot {} in it.", shownPath(path),
                                            shownPath((below / snapshot).string())),
                                path);
    }
    // Training saves one folder per step; the last name is the newest.
    looked = 0;
    for (auto name = list.folders.rbegin(); name != list.folders.rend() && ++looked <= 100; ++name)
        if (const fs::path below = fs::path(path) / *name; holdsArrays(below))
            return fail(
                fmt::format("{} is no checkpoint itself; open {} in it.", shownPath(path), shownPath(below.string())),
                path);
    return fail(fmt::format("{} holds no safetensors file.", shownPath(path)), path);
}

/// Checks a file that has a loader of its own, which would follow its link.
Result<void> staysInside(const std::string& folder, const std::string& name) {
    const auto file = openInItsFolder((fs::path(folder) / name).string());
    return file ? Result<void>() : tl::unexpected(file.error());
}

} // namespace

Result<std::shared_ptr<Model>> openHuggingFaceFolder(const std::string& path) {
    return openPartOfFolder(path, nullptr);
}

Result<std::shared_ptr<Model>> openPartOfFolder(const std::string& path, const ModelPart* part) {
    const std::string folder = absolutePath(path);
    const auto list = listFolder(folder);
    if (!list) return tl::unexpected(list.error());
    const auto has = [](const std::vector<std::string>& names, std::string_view name) { return contains(names, name); };

    // Same order as in transformers: the single file, then the index, then variants such as "model.fp16.safetensors".
    std::string index;
    if (!has(list->weights, "model.safetensors") && !list->indexes.empty())
        index =
            has(list->indexes, "model.safetensors.index.json") ? "model.safetensors.index.json" : list->indexes.front();

    std::shared_ptr<Model> model;
    std::vector<std::string> unread; // weights and indexes in the folder that are not read
    if (!index.empty()) {
        if (auto inside = staysInside(folder, index); !inside) return tl::unexpected(inside.error());
        auto opened = openPartOfIndex((fs::path(folder) / index).string(), part);
        if (!opened) return opened;
        model = *opened;
        for (const auto& name : list->indexes)
            if (name != index) unread.push_back(name);
    } else {
        if (list->weights.empty()) {
            const bool isSharded = has(list->opening, kTorchIndex),
                       isTorch = isSharded || has(list->opening, kTorchFile);
            if (!isTorch && !has(list->opening, kTfjsFile)) return nothingToOpen(folder, *list);
            const char* chosen = isSharded ? kTorchIndex : isTorch ? kTorchFile : kTfjsFile;
            if (auto inside = staysInside(folder, chosen); !inside) return tl::unexpected(inside.error());
            auto opened = isSharded ? openSafetensorsIndex((fs::path(folder) / kTorchIndex).string())
                          : isTorch ? openPytorch((fs::path(folder) / kTorchFile).string())
                                    : openTfjs((fs::path(folder) / kTfjsFile).string());
            if (!opened) return opened;
            (*opened)->path = folder;
            if (isTorch) (*opened)->folder = folder;
            (*opened)->title = titleOfFolder(folder);
            return opened;
        }
        model = newModel(folder, "");
        const bool single = has(list->weights, "model.safetensors");
        unsigned shards = 0;
        for (const auto& name : list->weights) {
            if (single && name != "model.safetensors") {
                unread.push_back(name);
                continue;
            }
            const auto path = (fs::path(folder) / name).string();
            if (auto added = addSafetensors(*model, path, openInItsFolder(path), part); !added)
                return tl::unexpected(added.error());
            shards = std::max(shards, shardCount(name));
        }
        sortByName(*model);
        dropDuplicates(*model);
        if (shards > model->files.size()) model->missing.files = missingShards(list->weights, shards);
        if (shards > model->files.size())
            model->warnings.push_back(fmt::format("{} has no index, and only {} of {} shards.", shownPath(folder),
                                                  model->files.size(), shards));
    }
    model->path = model->folder = folder;
    model->format = "huggingface";
    model->title = titleOfFolder(folder);
    if (!unread.empty())
        model->warnings.push_back(fmt::format("{} also holds {}{}, not shown; open it by itself to see it.",
                                              shownPath(folder), quotedName(unread.front()),
                                              unread.size() > 1 ? fmt::format(" and {} more", unread.size() - 1) : ""));
    return model;
}

} // namespace qs
