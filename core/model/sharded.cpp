// SPDX-License-Identifier: GPL-3.0-or-later
// Sharded sets: an index and the files it names, which lie beside it.
#include "core/model/file_set.h"
#include "core/model/mapped_file.h"
#include "core/model/pytorch.h"
#include "core/model/safetensors.h"
#include "core/model/tensor_name.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace qs {
namespace {

namespace fs = std::filesystem;

constexpr int kMissing = -1;

/// One row of weight_map.
struct Mapped {
    std::string_view tensor, shard;
    int file;
    bool found;
};

} // namespace

Result<std::shared_ptr<Model>> openSafetensorsIndex(const std::string& path) {
    auto model = newModel(path, "safetensors-index");
    auto mapping = MappedFile::open(path);
    if (!mapping) return tl::unexpected(mapping.error());
    if ((*mapping)->size() == 0) return fail(fmt::format("{} is empty (0 bytes).", shownPath(path)), path, 0);
    // A copy: the text must not change between the checks and the parse.
    std::string text(std::min<std::size_t>((*mapping)->size(), 100'000'001), '\0');
    (*mapping)->readInto(0, std::as_writable_bytes(std::span(text)));
    if ((*mapping)->faulted())
        if (auto same = (*mapping)->unchanged(); !same) return tl::unexpected(same.error());
    auto index = parseSafetensorsIndex(text, path);
    if (!index) return tl::unexpected(index.error());
    const fs::path folder = fs::path(model->path).parent_path();
    model->folder = folder.string();
    model->title = titleOfFolder(folder);

    std::vector<std::string_view> named;
    named.reserve(index->weightMap.size());
    for (const auto& [tensor, shard] : index->weightMap) named.push_back(shard);
    std::sort(named.begin(), named.end(), naturalLess);
    named.erase(std::unique(named.begin(), named.end()), named.end());
    const std::vector<std::string> shards(named.begin(), named.end());

    std::vector<int> fileOf; // of each shard: its number in Model::files, or kMissing
    std::vector<std::string> missing;
    for (const auto& shard : shards) {
        const fs::path file = folder / shard;
        std::error_code ignored;
        if (!fs::exists(file, ignored)) {
            missing.push_back(shard);
            fileOf.push_back(kMissing);
            continue;
        }
        fileOf.push_back(int(model->files.size()));
        const bool isTorch = shard.ends_with(".bin");
        if (isTorch) model->format = "pytorch";
        if (auto added = isTorch ? addPytorch(*model, file.string()) : addSafetensors(*model, file.string()); !added)
            return tl::unexpected(added.error());
    }
    if (model->files.empty() && !shards.empty())
        return fail(fmt::format("{}: none of its {} shards is there; the first is {}.", shownPath(path), shards.size(),
                                quotedName(shards.front())),
                    path);
    sortByName(*model);

    // Each tensor from the shard that the map names; what the map does not name is shown as well, once.
    // Sorted lists, not hash tables: names made to collide would flood those.
    std::vector<Mapped> mapped;
    mapped.reserve(index->weightMap.size());
    std::size_t missingTensors = 0;
    for (const auto& [tensor, shard] : index->weightMap) {
        const auto at = std::lower_bound(shards.begin(), shards.end(), shard, naturalLess) - shards.begin();
        mapped.push_back({tensor, shard, fileOf[std::size_t(at)], false});
        missingTensors += mapped.back().file == kMissing;
    }
    std::sort(mapped.begin(), mapped.end(), [](const Mapped& x, const Mapped& y) { return x.tensor < y.tensor; });
    std::size_t unmapped = 0;
    std::uint64_t mappedBytes = 0;
    std::string firstUnmapped;
    std::size_t kept = 0;
    for (auto& tensor : model->tensors) {
        const auto at = std::lower_bound(mapped.begin(), mapped.end(), std::string_view(tensor.name),
                                         [](const Mapped& x, std::string_view name) { return x.tensor < name; });
        const bool isMapped = at != mapped.end() && at->tensor == tensor.name && at->file != kMissing;
        if (isMapped && at->file == int(tensor.file)) {
            at->found = true;
            mappedBytes += tensor.bytes;
        } else if (unmapped++ == 0) {
            firstUnmapped = fmt::format("{} in {}", quotedName(tensor.name),
                                        quotedName(fs::path(model->files[tensor.file].path).filename().string()));
        }
        if (isMapped && at->file != int(tensor.file)) continue;
        if (auto& place = model->tensors[kept++]; &place != &tensor) place = std::move(tensor);
    }
    model->tensors.resize(kept);
    for (const auto& entry : mapped)
        if (!entry.found && entry.file != kMissing)
            return fail(fmt::format("{}: tensor {} is mapped to {}, which does not hold it.", shownPath(path),
                                    quotedName(entry.tensor), quotedName(entry.shard)),
                        path);
    dropDuplicates(*model);

    if (!missing.empty())
        model->warnings.push_back(fmt::format("{}: {} of {} shards are missing, with {} tensors; the first is {}.",
                                              shownPath(path), missing.size(), shards.size(), missingTensors,
                                              quotedName(missing.front())));
    if (unmapped > 0)
        model->warnings.push_back(
            fmt::format("{}: {} tensors are in the shards but not in weight_map; the first is {}.", shownPath(path),
                        unmapped, firstUnmapped));
    if (missing.empty() && index->totalSize && *index->totalSize != mappedBytes)
        model->warnings.push_back(fmt::format("{}: total_size says {} bytes, but the mapped tensors have {}.",
                                              shownPath(path), *index->totalSize, mappedBytes));
    return model;
}

} // namespace qs
