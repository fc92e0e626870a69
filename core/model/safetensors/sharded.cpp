// SPDX-License-Identifier: GPL-3.0-or-later
// Opens sharded checkpoints: an index and the shards beside it.
#include "core/base/tensor_name.h"
#include "core/model/file_set.h"
#include "core/model/list_budget.h"
#include "core/model/mapped_file.h"
#include "core/model/output/confined_folder.h"
#include "core/model/pytorch/pytorch.h"
#include "core/model/safetensors/safetensors.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <vector>

namespace qs {
namespace {

namespace fs = std::filesystem;

// Values for the number of a tensor's file: the shard is missing; the index does not list the tensor.
constexpr int kMissing = -1;

constexpr std::int32_t kUnmapped = -2;

constexpr std::size_t kMostReserved = 2'000'000; ///< tensors

/// A set of names from an index, with a limit for its memory.
class Names {
public:
    explicit Names(std::uint64_t indexBytes) : budget_(indexBytes) {}
    /// Adds a name. Returns "", or the message if the names take too much memory.
    std::string add(const std::string& name) {
        if (name == last_ || !names_.insert(name).second) return {};
        last_ = name;
        constexpr std::uint64_t node = 32 + sizeof(std::string);
        return budget_.take(ListBudget::heap(node) + ListBudget::of(name)) ? std::string()
                                                                           : budget_.why("the names in weight_map");
    }
    bool has(const std::string& name) const { return names_.contains(name); }
    std::vector<std::string> sorted() const {
        std::vector<std::string> out(names_.begin(), names_.end());
        std::ranges::sort(out, naturalLess);
        return out;
    }

private:
    std::set<std::string> names_; // a tree: hostile names could make the hashes of a hash table collide
    std::string last_;
    ListBudget budget_;
};

} // namespace

Result<std::shared_ptr<Model>> openSafetensorsIndex(const std::string& path) { return openPartOfIndex(path, nullptr); }

Result<std::shared_ptr<Model>> openPartOfIndex(const std::string& path, const ModelPart* part) {
    auto model = newModel(path, "safetensors-index");
    auto mapping = MappedFile::open(path);
    if (!mapping) return tl::unexpected(mapping.error());
    if ((*mapping)->size() == 0) return fail(fmt::format("{} is empty (0 bytes).", shownPath(path)), path, 0);
    const MappedFile& file = **mapping;
    std::vector<std::byte> scratch;
    const auto bytes = file.read(0, std::min<std::size_t>(file.size(), 100'000'001), scratch);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    // The index may have a million entries, so it is read twice and never stored. The first pass collects the names of
    // the shards; the second compares the tensors, after all shards are open. Pages that the parser has passed are
    // freed.
    std::uint64_t dropped = 0;
    const auto passed = [&](std::uint64_t at) {
        if (at > dropped) file.dropPages(dropped, at - dropped);
        dropped = at; // can be smaller than before: a new pass has started
    };
    Names named(text.size());
    std::size_t listed = 0;
    const auto totalSize = readSafetensorsIndex(
        text, path, [&](const std::string&, const std::string& shard) { return ++listed, named.add(shard); }, passed);
    if (file.faulted())
        if (auto same = file.unchanged(); !same) return tl::unexpected(same.error());
    if (!totalSize) return tl::unexpected(totalSize.error());
    const fs::path folder = fs::path(model->path).parent_path();
    model->folder = folder.string();
    model->title = titleOfFolder(folder);

    const auto shards = named.sorted();
    // A list that grows from shard to shard takes twice the memory. A hostile index may list more than there is.
    if (shards.size() > 1 && !part) model->tensors.reserve(std::min(listed, kMostReserved));

    std::vector<int> fileOf; // for each shard: its index in Model::files, or kMissing
    std::vector<std::string> missing;
    for (const auto& shard : shards) {
        const fs::path place = folder / shard;
        std::error_code ignored;
        if (!fs::exists(place, ignored)) {
            missing.push_back(shard);
            fileOf.push_back(kMissing);
            continue;
        }
        fileOf.push_back(int(model->files.size()));
        const bool isTorch = shard.ends_with(".bin");
        if (isTorch) model->format = "pytorch";
        auto opened = openInItsFolder(place.string());
        if (auto added = isTorch ? addPytorch(*model, place.string(), std::move(opened))
                                 : addSafetensors(*model, place.string(), std::move(opened), part);
            !added)
            return tl::unexpected(added.error());
    }
    if (model->files.empty() && !shards.empty()) {
        if (auto listed = parseSafetensorsIndex(text, path); !listed) return tl::unexpected(listed.error());
        return fail(fmt::format("{}: none of its {} shards is there; the first is {}.", shownPath(path), shards.size(),
                                quotedName(shards.front())),
                    path);
    }
    sortByName(*model);

    // A tensor is taken from the shard that the index names. Tensors that the index does not name are kept too, once
    // each.
    auto& tensors = model->tensors;
    // For each tensor: index of the file that the index names, or one of the two constants.
    std::vector<std::int32_t> mappedTo(tensors.size(), kUnmapped);
    std::size_t inMissingShards = 0;         ///< tensors that are in no other shard either
    std::string twice, notThere, notInShard; // for messages: the first by name
    Names absent(text.size());
    const auto firstOf = [](std::string& least, const std::string& name, bool& any) {
        if (!any || name < least) least = name;
        any = true;
    };
    bool isTwice = false, isNotThere = false, isMissing = false;
    std::size_t misplaced = 0;
    const auto again = readSafetensorsIndex(
        text, path,
        [&](const std::string& tensor, const std::string& shard) -> std::string {
            if (part && !part->hasTensor(tensor)) return {};
            const auto at = std::lower_bound(shards.begin(), shards.end(), shard, naturalLess) - shards.begin();
            if (std::size_t(at) >= shards.size() || shards[std::size_t(at)] != shard)
                return {}; // the index changed between the passes; reported below
            const int of = fileOf[std::size_t(at)];
            auto row = std::lower_bound(tensors.begin(), tensors.end(), tensor,
                                        [](const TensorInfo& t, const auto& n) { return naturalLess(t.name, n); });
            const bool isKnown = row != tensors.end() && row->name == tensor;
            if (!isKnown) {
                firstOf(model->missing.first, tensor, isMissing);
                ++model->missing.tensors;
                inMissingShards += of == kMissing;
            }
            if (isKnown ? mappedTo[std::size_t(row - tensors.begin())] != kUnmapped : absent.has(tensor))
                firstOf(twice, tensor, isTwice);
            bool isThere = of == kMissing;
            const auto first = row;
            for (; row != tensors.end() && row->name == tensor; ++row) {
                mappedTo[std::size_t(row - tensors.begin())] = of;
                isThere = isThere || of == int(row->file);
            }
            if (isThere) return isKnown ? std::string() : absent.add(tensor);
            // Another shard may hold it: loaders take what is in the shards.
            if (isKnown) mappedTo[std::size_t(first - tensors.begin())] = std::int32_t(first->file);
            ++misplaced;
            if (!isNotThere || tensor < notThere) notInShard = shard;
            firstOf(notThere, tensor, isNotThere);
            return isKnown ? std::string() : absent.add(tensor);
        },
        passed);
    // Both passes must have read the same text.
    if (auto same = file.unchanged(); !same) return tl::unexpected(same.error());
    if (!again) return tl::unexpected(again.error());
    if (isTwice)
        return fail(fmt::format("{}: weight_map has tensor {} twice.", shownPath(path), quotedName(twice)), path, 0);
    std::size_t unmapped = 0;
    std::uint64_t mappedBytes = 0;
    std::string firstUnmapped;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        auto& tensor = tensors[i];
        const bool isMapped = mappedTo[i] != kUnmapped && mappedTo[i] != kMissing;
        if (isMapped && mappedTo[i] == int(tensor.file))
            mappedBytes += tensor.bytes;
        else if (unmapped++ == 0)
            firstUnmapped = fmt::format("{} in {}", quotedName(tensor.name),
                                        quotedName(fs::path(model->files[tensor.file].path).filename().string()));
        if (isMapped && mappedTo[i] != int(tensor.file)) continue;
        if (auto& place = tensors[kept++]; &place != &tensor) place = std::move(tensor);
    }
    tensors.resize(kept);
    dropDuplicates(*model);
    if (part) return model; // the warnings are about the whole set
    model->missing.files = missing;
    if (isNotThere)
        model->warnings.push_back(fmt::format("{}: tensor {} is mapped to {}, which does not hold it{}.",
                                              shownPath(path), quotedName(notThere), quotedName(notInShard),
                                              misplaced > 1 ? fmt::format("; so are {} others", misplaced - 1) : ""));

    if (!missing.empty())
        model->warnings.push_back(fmt::format("{}: {} of {} shards are missing, with {} tensors; the first is {}.",
                                              shownPath(path), missing.size(), shards.size(), inMissingShards,
                                              quotedName(missing.front())));
    if (unmapped > 0)
        model->warnings.push_back(
            fmt::format("{}: {} tensors are in the shards but not in weight_map; the first is {}.", shownPath(path),
                        unmapped, firstUnmapped));
    if (missing.empty() && !isNotThere && *totalSize && **totalSize != mappedBytes)
        model->warnings.push_back(fmt::format("{}: total_size says {} bytes, but the mapped tensors have {}.",
                                              shownPath(path), **totalSize, mappedBytes));
    return model;
}

} // namespace qs
