// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/file_set.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/foreign_file.h"
#include "core/model/list_budget.h"
#include "core/model/mapped_file.h"
#include "core/model/safetensors/safetensors.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>

namespace qs {
namespace fs = std::filesystem;

std::string absolutePath(const std::string& path) {
    std::error_code failed;
    auto absolute = fs::absolute(path, failed).lexically_normal();
    if (failed) return path;
    if (!absolute.has_filename()) absolute = absolute.parent_path(); // "model/"
    return absolute.string();
}

std::string titleOfFolder(const fs::path& path) {
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

Result<void> addSafetensors(Model& model, const std::string& path, Result<std::shared_ptr<MappedFile>> opened,
                            const ModelPart* part) {
    if (!opened) return tl::unexpected(opened.error());
    const MappedFile& file = **opened;
    std::vector<std::byte> scratch;
    const auto start = file.read(0, std::min<std::size_t>(file.size(), 4096), scratch);
    if (const auto is = notSafetensors(start, file.size(), path); !is.empty())
        return fail(fmt::format("{} {}.", shownPath(path), is), path, 0);
    const std::size_t headerEnd = std::min<std::uint64_t>(file.size(), 8 + safetensorsHeaderLength(start));
    // Frees the pages of the header that the parser has passed.
    std::uint64_t dropped = 0;
    const auto passed = [&](std::uint64_t at) {
        if (at > dropped) file.dropPages(dropped, at - dropped);
        dropped = at; // can be smaller than before: a new pass has started
    };
    const ListBudget budget(model, file.size(), file.isMapped() ? 0 : headerEnd);
    auto header = parseSafetensorsHeader(file.read(0, headerEnd, scratch), file.size(), path, &budget, passed, part);
    // If the file was truncated while the header was read, its end now reads as zeros. Report the truncation, not the
    // parse error that follows from it.
    if (file.faulted()) return file.unchanged();
    if (!header) return tl::unexpected(header.error());

    const auto number = std::uint32_t(model.files.size());
    for (auto& tensor : header->tensors) tensor.file = number;
    model.files.push_back({file.path(), file.size(), *opened, std::move(header->metadata)});
    addTensors(model, std::move(header->tensors));
    std::move(header->warnings.begin(), header->warnings.end(), std::back_inserter(model.warnings));
    return {};
}

void addTensors(Model& model, std::vector<TensorInfo> tensors) {
    if (model.tensors.capacity() == 0) {
        model.tensors = std::move(tensors);
        return;
    }
    model.tensors.insert(model.tensors.end(), std::make_move_iterator(tensors.begin()),
                         std::make_move_iterator(tensors.end()));
}

void sortByName(Model& model) {
    // The sort is stable: of equal names, that of the first file stays first.
    sortStably(model.tensors, [](const TensorInfo& a, const TensorInfo& b) { return naturalLess(a.name, b.name); });
}

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
                                             shownPath(model.path), dropped, first));
}

void nameApart(Model& model) {
    sortByName(model);
    auto& tensors = model.tensors;
    const auto at = std::adjacent_find(tensors.begin(), tensors.end(),
                                       [](const TensorInfo& a, const TensorInfo& b) { return a.name == b.name; });
    if (at == tensors.end()) return;
    const std::string first = quotedName(at->name);
    std::size_t renamed = 0;
    std::map<std::string, std::size_t> seen;
    for (const auto& tensor : tensors) seen[tensor.name] = 0;
    for (auto& tensor : tensors) {
        const auto n = ++seen[tensor.name];
        if (n == 1) continue;
        auto name = fmt::format("{} #{}", tensor.name, n);
        while (seen.contains(name)) name += '\'';
        seen[name] = 1;
        tensor.name = std::move(name);
        ++renamed;
    }
    model.warnings.push_back(fmt::format("{}: {} tensors have the name of another, {} the first; they are numbered.",
                                         shownPath(model.path), renamed, first));
    sortByName(model);
}

Result<std::shared_ptr<Model>> openSafetensors(const std::string& path) { return openPartOfSafetensors(path, nullptr); }

Result<std::shared_ptr<Model>> openPartOfSafetensors(const std::string& path, const ModelPart* part) {
    auto model = newModel(path, "safetensors");
    if (auto added = addSafetensors(*model, path, MappedFile::open(path), part); !added)
        return tl::unexpected(added.error());
    sortByName(*model);
    return model;
}

} // namespace qs
