// SPDX-License-Identifier: GPL-3.0-or-later
// Single files, sharded sets and folders in the Hugging Face layout. Symlinks are followed: in the hub's cache every
// file is one, into ../../blobs/.
#include "core/model/foreign_file.h"
#include "core/model/mapped_file.h"
#include "core/model/safetensors.h"
#include "core/model/tensor_name.h"

#include "core/base/text.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <unordered_map>

namespace qs {
namespace {

namespace fs = std::filesystem;

std::string shown(const std::string& path) { return escapeForPeople(path, 200); }

std::string absolutePath(const std::string& path) {
    std::error_code failed;
    auto absolute = fs::absolute(path, failed).lexically_normal();
    if (failed) return path;
    if (!absolute.has_filename()) absolute = absolute.parent_path(); // "model/"
    return absolute.string();
}

/// models--org--name/snapshots/<hash> is called org/name.
std::string titleOf(const fs::path& path) {
    for (auto folder = path; folder.has_filename(); folder = folder.parent_path()) {
        std::string name = folder.filename().string();
        if (!name.starts_with("models--")) continue;
        name.erase(0, 8);
        if (const auto dashes = name.find("--"); dashes != std::string::npos) name.replace(dashes, 2, "/");
        return name;
    }
    return path.filename().string();
}

std::shared_ptr<Model> newModel(const std::string& path, const char* format) {
    auto model = std::make_shared<Model>();
    model->path = absolutePath(path);
    model->format = format;
    model->title = fs::path(model->path).filename().string();
    return model;
}

/// Maps a file, reads its header and adds its tensors.
Result<void> addFile(Model& model, const std::string& path) {
    auto mapping = MappedFile::open(path);
    if (!mapping) return tl::unexpected(mapping.error());
    const auto bytes = (*mapping)->bytes();
    if (const auto is = foreignFile(bytes.first(std::min<std::size_t>(bytes.size(), 4096)), bytes.size(), path);
        !is.empty())
        return fail(fmt::format("{} {}.", shown(path), is), path, 0);
    auto header = parseSafetensorsHeader(bytes, path);
    // A header that was cut away while it was read is zeros now; say what happened, not what it looks like.
    if ((*mapping)->faulted()) return (*mapping)->unchanged();
    if (!header) return tl::unexpected(header.error());

    const auto number = std::uint32_t(model.files.size());
    for (auto& tensor : header->tensors) tensor.file = number;
    model.files.push_back({(*mapping)->path(), bytes.size(), *mapping, std::move(header->metadata)});
    model.tensors.insert(model.tensors.end(), std::make_move_iterator(header->tensors.begin()),
                         std::make_move_iterator(header->tensors.end()));
    std::move(header->warnings.begin(), header->warnings.end(), std::back_inserter(model.warnings));
    return {};
}

void sortByName(Model& model) {
    std::sort(model.tensors.begin(), model.tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
        if (a.name == b.name) return a.file < b.file;
        return naturalLess(a.name, b.name);
    });
}

/// Keeps the first of tensors with one name (the list is sorted) and says so.
void dropDuplicates(Model& model) {
    std::size_t dropped = 0;
    std::string first;
    const auto end =
        std::unique(model.tensors.begin(), model.tensors.end(), [&](const TensorInfo& a, const TensorInfo& b) {
            if (a.name != b.name) return false;
            if (dropped++ == 0)
                first = fmt::format("{} is in {} and in {}", quotedName(a.name),
                                    quotedName(fs::path(model.files[a.file].path).filename().string()),
                                    quotedName(fs::path(model.files[b.file].path).filename().string()));
            return true;
        });
    model.tensors.erase(end, model.tensors.end());
    if (dropped > 0)
        model.warnings.push_back(fmt::format("{} holds {} tensors more than once: {}; the first is shown.",
                                             shown(model.path), dropped, first));
}

/// "model-00002-of-00003.safetensors": how many there should be; 0 for other names.
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

struct FolderList {
    std::vector<std::string> weights, indexes, folders; // names, sorted
    bool hasPickle = false, hasGguf = false, isHubCache = false;
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
        else if (name.ends_with(".gguf"))
            list.hasGguf = true;
        else if (name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth"))
            list.hasPickle = true;
    }
    if (failed) return fail(fmt::format("{} cannot be listed: {}.", shown(path), failed.message()), path);
    for (auto* names : {&list.weights, &list.indexes, &list.folders})
        std::sort(names->begin(), names->end(), naturalLess);
    return list;
}

/// Why a folder without safetensors does not open, and what nearby does.
tl::unexpected<Error> nothingToOpen(const std::string& path, const FolderList& list) {
    const auto opensFolder = [](const fs::path& folder) {
        const auto inside = listFolder(folder.string());
        return inside && (!inside->weights.empty() || !inside->indexes.empty());
    };
    std::size_t looked = 0;
    for (const auto& name : list.folders) {
        if (++looked > 100) break;
        const fs::path below = fs::path(path) / name;
        if (opensFolder(below))
            return fail(
                fmt::format("{} holds no safetensors file itself; open {} in it.", shown(path), shown(below.string())),
                path);
        if (name != "snapshots") continue;
        if (const auto snapshots = listFolder(below.string()))
            for (const auto& snapshot : snapshots->folders)
                if (opensFolder(below / snapshot))
                    return fail(fmt::format("{} is a hub cache; open the snapshot {} in it.", shown(path),
                                            shown((below / snapshot).string())),
                                path);
    }
    const char* instead = list.hasGguf     ? ", only GGUF, which this version does not open"
                          : list.hasPickle ? ", only PyTorch pickles, which this version does not open"
                                           : "";
    return fail(fmt::format("{} holds no safetensors file{}.", shown(path), instead), path);
}

} // namespace

Result<std::shared_ptr<Model>> openSafetensors(const std::string& path) {
    auto model = newModel(path, "safetensors");
    if (auto added = addFile(*model, path); !added) return tl::unexpected(added.error());
    sortByName(*model);
    return model;
}

Result<std::shared_ptr<Model>> openSafetensorsIndex(const std::string& path) {
    auto model = newModel(path, "safetensors-index");
    auto mapping = MappedFile::open(path);
    if (!mapping) return tl::unexpected(mapping.error());
    const auto bytes = (*mapping)->bytes();
    if (bytes.empty()) return fail(fmt::format("{} is empty (0 bytes).", shown(path)), path, 0);
    // A copy: the text must not change between the checks and the parse.
    const std::string text(reinterpret_cast<const char*>(bytes.data()),
                           std::min<std::size_t>(bytes.size(), 100'000'001));
    if ((*mapping)->faulted())
        if (auto same = (*mapping)->unchanged(); !same) return tl::unexpected(same.error());
    auto index = parseSafetensorsIndex(text, path);
    if (!index) return tl::unexpected(index.error());
    const fs::path folder = fs::path(model->path).parent_path();
    model->folder = folder.string();
    model->title = titleOf(folder);

    std::vector<std::string> shards;
    for (const auto& [tensor, shard] : index->weightMap) shards.push_back(shard);
    std::sort(shards.begin(), shards.end(), naturalLess);
    shards.erase(std::unique(shards.begin(), shards.end()), shards.end());

    std::unordered_map<std::string_view, std::uint32_t> fileOf; // shard name -> Model::files, of those that are there
    std::vector<std::string> missing;
    for (const auto& shard : shards) {
        const fs::path file = folder / shard;
        std::error_code ignored;
        if (!fs::exists(file, ignored)) {
            missing.push_back(shard);
            continue;
        }
        fileOf.emplace(shard, std::uint32_t(model->files.size()));
        if (auto added = addFile(*model, file.string()); !added) return tl::unexpected(added.error());
    }
    if (model->files.empty() && !shards.empty())
        return fail(fmt::format("{}: none of its {} shards is there; the first is {}.", shown(path), shards.size(),
                                quotedName(shards.front())),
                    path);
    sortByName(*model);

    // Each tensor from the shard that the map names; what the map does not name is shown as well, once.
    std::unordered_map<std::string_view, std::uint32_t> mapped;
    std::size_t missingTensors = 0;
    for (const auto& [tensor, shard] : index->weightMap) {
        const auto file = fileOf.find(shard);
        if (file == fileOf.end())
            ++missingTensors;
        else
            mapped.emplace(tensor, file->second);
    }
    std::size_t unmapped = 0, found = 0;
    std::uint64_t mappedBytes = 0;
    std::string firstUnmapped;
    std::vector<TensorInfo> kept;
    kept.reserve(model->tensors.size());
    for (auto& tensor : model->tensors) {
        const auto at = mapped.find(tensor.name);
        if (at != mapped.end() && at->second == tensor.file) {
            ++found;
            mappedBytes += tensor.bytes;
            kept.push_back(std::move(tensor));
            continue;
        }
        if (unmapped++ == 0)
            firstUnmapped = fmt::format("{} in {}", quotedName(tensor.name),
                                        quotedName(fs::path(model->files[tensor.file].path).filename().string()));
        if (at == mapped.end()) kept.push_back(std::move(tensor));
    }
    model->tensors = std::move(kept);
    if (found != mapped.size()) {
        for (const auto& [tensor, shard] : index->weightMap) {
            const auto file = fileOf.find(shard);
            if (file == fileOf.end()) continue;
            const auto* there = model->find(tensor);
            if (!there || there->file != file->second)
                return fail(fmt::format("{}: tensor {} is mapped to {}, which does not hold it.", shown(path),
                                        quotedName(tensor), quotedName(shard)),
                            path);
        }
    }
    dropDuplicates(*model);

    if (!missing.empty())
        model->warnings.push_back(fmt::format("{}: {} of {} shards are missing, with {} tensors; the first is {}.",
                                              shown(path), missing.size(), shards.size(), missingTensors,
                                              quotedName(missing.front())));
    if (unmapped > 0)
        model->warnings.push_back(
            fmt::format("{}: {} tensors are in the shards but not in weight_map; the first is {}.", shown(path),
                        unmapped, firstUnmapped));
    if (missing.empty() && index->totalSize && *index->totalSize != mappedBytes)
        model->warnings.push_back(fmt::format("{}: total_size says {} bytes, but the mapped tensors have {}.",
                                              shown(path), *index->totalSize, mappedBytes));
    return model;
}

Result<std::shared_ptr<Model>> openHuggingFaceFolder(const std::string& path) {
    const std::string folder = absolutePath(path);
    const auto list = listFolder(folder);
    if (!list) return tl::unexpected(list.error());
    const auto has = [](const std::vector<std::string>& names, std::string_view name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };

    // The order in which transformers looks: the single file, the index, then variants ("model.fp16.safetensors").
    std::string index;
    if (!has(list->weights, "model.safetensors") && !list->indexes.empty())
        index =
            has(list->indexes, "model.safetensors.index.json") ? "model.safetensors.index.json" : list->indexes.front();

    std::shared_ptr<Model> model;
    std::vector<std::string> unread; // other ways to read the folder
    if (!index.empty()) {
        auto opened = openSafetensorsIndex((fs::path(folder) / index).string());
        if (!opened) return opened;
        model = *opened;
        for (const auto& name : list->indexes)
            if (name != index) unread.push_back(name);
    } else {
        if (list->weights.empty()) return nothingToOpen(folder, *list);
        model = newModel(folder, "");
        const bool single = has(list->weights, "model.safetensors");
        unsigned shards = 0;
        for (const auto& name : list->weights) {
            if (single && name != "model.safetensors") {
                unread.push_back(name);
                continue;
            }
            if (auto added = addFile(*model, (fs::path(folder) / name).string()); !added)
                return tl::unexpected(added.error());
            shards = std::max(shards, shardCount(name));
        }
        sortByName(*model);
        dropDuplicates(*model);
        if (shards > model->files.size())
            model->warnings.push_back(
                fmt::format("{} has no index, and only {} of {} shards.", shown(folder), model->files.size(), shards));
    }
    model->path = model->folder = folder;
    model->format = "huggingface";
    model->title = titleOf(folder);
    if (!unread.empty())
        model->warnings.push_back(fmt::format("{} also holds {}{}, not shown; open it by itself to see it.",
                                              shown(folder), quotedName(unread.front()),
                                              unread.size() > 1 ? fmt::format(" and {} more", unread.size() - 1) : ""));
    return model;
}

} // namespace qs
