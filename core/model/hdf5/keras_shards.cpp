// SPDX-License-Identifier: GPL-3.0-or-later
// Weights that Keras 3 saved in several files: NAME.weights.json says which file has which variables. The files lie
// beside it, and each has its part of the same tree.
#include "core/base/json_tree.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/hdf5/again.h"
#include "core/model/hdf5/hdf5.h"
#include "core/model/mapped_file.h"
#include "core/model/output/confined_folder.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostShards = 1000; ///< a limit, because each file may need a process

/// File name -> the paths that it holds according to the index.
using Shards = std::map<std::string, std::vector<std::string>>;

Result<Shards> shardsOf(const nlohmann::json& tree) {
    const auto map = tree.is_object() ? tree.find("weight_map") : tree.end();
    if (!tree.is_object() || map == tree.end() || !map->is_object())
        return fail("has no weight_map, so it is not the index of weights that Keras saved in several files");
    Shards shards;
    for (const auto& [path, files] : map->items()) {
        const auto wrong = [&](const char* what) { return fail(fmt::format("maps {} to {}", quotedName(path), what)); };
        // Older versions of Keras wrote one name, newer ones write a list of names.
        const auto names = files.is_string() ? nlohmann::json::array({files}) : files;
        if (!names.is_array()) return wrong("something that is not a list of file names");
        for (const auto& name : names) {
            if (!name.is_string()) return wrong("something that is not a list of file names");
            const auto& file = name.get_ref<const std::string&>();
            // A shard lies beside the index: a name that could lead anywhere else is refused, not cleaned.
            if (file.empty() || file == "." || file == ".." ||
                file.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
                return wrong("something that is not a plain file name");
            shards[file].push_back(path);
            if (shards.size() > kMostShards) return fail(fmt::format("names more than {} files", kMostShards));
        }
    }
    return shards;
}

Result<void> addShard(Model& model, const std::string& path) {
    auto mapping = openInItsFolder(path);
    if (!mapping) return tl::unexpected(mapping.error());
    if (const auto why = notWhole((*mapping)->size(), path); !why.empty())
        return fail(fmt::format("{} {}.", shownPath(path), why), path, 0);
    std::vector<std::byte> head(std::min<std::size_t>((*mapping)->size(), 4096));
    (*mapping)->readInto(0, head);
    if (const auto is = looksLikeHdf5(head) ? std::string() : foreignFile(head); !is.empty())
        return fail(fmt::format("{} {}.", shownPath(path), is), path, 0);
    auto descriptor = openAgain(**mapping);
    if (!descriptor) return tl::unexpected(descriptor.error());
    const auto number = std::uint32_t(model.files.size());
    model.files.push_back({(*mapping)->path(), (*mapping)->size(), *mapping, {}});
    return addHdf5(model, {path, *descriptor, 0, (*mapping)->size(), number});
}

} // namespace

Result<std::shared_ptr<Model>> openKerasShards(const std::string& path) {
    auto mapping = MappedFile::open(path);
    if (!mapping) return tl::unexpected(mapping.error());
    if ((*mapping)->size() > kMostJson)
        return fail(fmt::format("{} is longer than {} MiB.", shownPath(path), kMostJson >> 20), path);
    std::string text((*mapping)->size(), '\0'); // a copy: it must not change between the checks and the use
    (*mapping)->readInto(0, std::as_writable_bytes(std::span(text)));
    const auto tree = readJsonTree(text);
    if (!tree) return fail(fmt::format("{} {}.", shownPath(path), tree.error().message), path);
    const auto shards = shardsOf(*tree);
    if (!shards) return fail(fmt::format("{} {}.", shownPath(path), shards.error().message), path);

    auto model = newModel(path, "keras-shards");
    const fs::path folder = fs::path(model->path).parent_path();
    std::vector<std::string> missing;
    std::size_t absent = 0;
    std::string firstAbsent;
    for (const auto& [file, paths] : *shards) {
        std::error_code ignored;
        const auto at = (folder / file).string();
        if (!fs::exists(at, ignored)) {
            missing.push_back(file);
            continue;
        }
        const auto begin = model->tensors.size();
        if (auto added = addShard(*model, at); !added) return tl::unexpected(added.error());
        std::vector<std::string_view> names;
        for (auto i = begin; i < model->tensors.size(); ++i) names.push_back(model->tensors[i].name);
        std::ranges::sort(names);
        for (const std::string_view mapped : paths) {
            const auto inner = mapped.substr(std::min(mapped.size(), std::size_t(mapped.starts_with('/'))));
            const auto found = std::lower_bound(names.begin(), names.end(), inner);
            if (found != names.end() && found->starts_with(inner)) continue;
            if (absent++ == 0) model->missing.first = std::string(mapped);
            if (absent == 1) firstAbsent = fmt::format("{}, said to be in {}", quotedName(mapped), quotedName(file));
        }
    }
    if (model->files.empty())
        return fail(fmt::format("{}: none of its {} files is there{}.", shownPath(path), shards->size(),
                                missing.empty() ? "" : "; the first is " + quotedName(missing.front())),
                    path);
    if (!missing.empty())
        model->warnings.push_back(fmt::format("{}: {} of {} files are missing; the first is {}.", shownPath(path),
                                              missing.size(), shards->size(), quotedName(missing.front())));
    if (absent > 0)
        model->warnings.push_back(
            fmt::format("{}: {} entries of weight_map are in none of the files that they name; the first is {}.",
                        shownPath(path), absent, firstAbsent));
    model->missing.files = std::move(missing);
    model->missing.tensors = absent;
    sortByName(*model);
    dropDuplicates(*model);
    return model;
}

} // namespace qs
