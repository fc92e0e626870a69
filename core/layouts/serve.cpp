// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/serve.h"

#include "core/base/text.h"
#include "core/layouts/layout.h"
#include "core/layouts/stored.h"
#include "core/model/conventions/convention.h"
#include "core/model/output_axis.h"
#include "core/model/safetensors/safetensors.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <set>

namespace qs {
namespace {

struct Folder {
    std::string path;
    explicit Folder(std::string name) : path(std::move(name)) {}
    Folder(const Folder&) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
};

Result<std::shared_ptr<Folder>> temporaryFolder() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "quantscope-decoded-XXXXXX").string();
    if (error || !mkdtemp(name.data()))
        return fail("there is no folder for decoded weights: set TMPDIR to one that can be written");
    return std::make_shared<Folder>(std::move(name));
}

std::string fileNameOf(const ModelFile& file) { return std::filesystem::path(file.path).filename().string(); }

/// False if the model has a tensor of that name: then it needs no decoding.
bool isStored(const Model& model, const std::string& key) {
    return key.starts_with(kStoredPrefix) && !model.find(key.substr(kStoredPrefix.size()));
}

/// Opens what `write` wrote into a temporary folder, which is removed with the last user of the model.
Result<std::shared_ptr<const Model>> decodedBeside(const std::shared_ptr<const Model>& model, const char* name,
                                                   const std::function<Result<void>(const std::string&)>& write) {
    const auto folder = temporaryFolder();
    if (!folder) return tl::unexpected(folder.error());
    const std::string path = (*folder)->path + name;
    if (const auto done = write(path); !done) return tl::unexpected(done.error());
    auto decoded = openModel(path);
    if (!decoded) return tl::unexpected(decoded.error());
    struct Served {
        std::shared_ptr<Folder> folder;
        Model model;
    };
    const auto served = std::make_shared<Served>(Served{*folder, **decoded});
    served->model.path = model->path;
    served->model.title = model->title;
    served->model.folder = model->folder;
    served->model.warnings = model->warnings;
    served->model.undecoded = model->undecoded;
    served->model.missing = model->missing;
    served->model.contradictions = model->contradictions;
    markParts(served->model);
    assignRoles(served->model); // the folder's config.json names the architecture
    markOutputAxes(served->model);
    // The files keep the paths that the user opened: reports hash those, outputs must not replace them, and an output
    // has as many files. A single decoded file takes the path of the first.
    auto& files = served->model.files;
    const bool isOne = files.size() == 1;
    std::vector<ModelFile> others;
    std::map<std::string, std::size_t> places; // of decoded files by name
    for (std::size_t i = 0; i < files.size(); ++i) places.try_emplace(fileNameOf(files[i]), i);
    for (const ModelFile& original : model->files) {
        const bool isFirst = &original == &model->files.front();
        const auto place = places.find(fileNameOf(original));
        if (isOne ? !isFirst : place == places.end()) {
            others.push_back(original);
            continue;
        }
        ModelFile& decodedOf = files[isOne ? 0 : place->second];
        decodedOf.path = original.path, decodedOf.size = original.size;
    }
    files.insert(files.end(), others.begin(), others.end());
    // The fields are gone, so their descriptions go too.
    for (ModelFile& file : files)
        std::erase_if(file.metadata, [](const auto& entry) {
            return entry.first.starts_with(kStoredPrefix) || entry.first == kConfigKey || entry.first == kDecodedMark;
        });
    return std::shared_ptr<const Model>(served, &served->model);
}

} // namespace

bool hasStoredTensors(const Model& model) {
    return std::ranges::any_of(model.files, [&](const ModelFile& file) {
        return std::ranges::any_of(file.metadata, [&](const auto& entry) { return isStored(model, entry.first); });
    });
}

std::map<std::string, std::string> storedFields(const Model& model) {
    std::map<std::string, std::string> fields;
    for (const ModelFile& file : model.files)
        for (const auto& [key, text] : file.metadata) {
            if (!isStored(model, key)) continue;
            const auto stored = parseStored(key, text);
            if (!stored) continue; // decoding it gives the error
            for (auto& name : stored->fields()) fields.emplace(std::move(name), stored->name);
        }
    return fields;
}

Result<Model> servedListing(const Model& model) {
    Model out;
    out.path = model.path, out.title = model.title, out.format = model.format;
    std::set<std::string> fields;
    for (const ModelFile& file : model.files)
        for (const auto& [key, text] : file.metadata) {
            if (!isStored(model, key)) continue;
            const auto stored = parseStored(key, text);
            if (!stored)
                return fail(fmt::format("{}: {}", escapeForPeople(file.path, 160), stored.error().sentence()),
                            file.path);
            for (auto& name : stored->fields()) fields.insert(std::move(name));
            TensorInfo info;
            info.name = stored->name, info.dtype = stored->dtype, info.shape = stored->shape;
            info.elements = stored->elements;
            info.bytes = info.elements * std::uint64_t(qs::info(info.dtype).bits) / 8;
            out.tensors.push_back(std::move(info));
        }
    for (const TensorInfo& tensor : model.tensors)
        if (!fields.contains(tensor.name)) out.tensors.push_back(tensor);
    return out;
}

Result<std::shared_ptr<const Model>> servedTensor(std::shared_ptr<const Model> model, const std::string& name,
                                                  const Job& job) {
    if (model->find(name)) return model;
    for (const ModelFile& file : model->files) {
        const std::string key = std::string(kStoredPrefix) + name;
        const auto entry = file.metadata.find(key);
        if (entry == file.metadata.end()) continue;
        const auto inFile = [&](const Error& error) {
            return fail(fmt::format("{}: {}", escapeForPeople(file.path, 160), error.sentence()), file.path);
        };
        auto stored = parseStored(key, entry->second);
        if (!stored) return inFile(stored.error());
        auto tensor = decodeStored(*model, std::move(*stored), {});
        if (!tensor) return inFile(tensor.error());
        return decodedBeside(model, "/decoded.safetensors", [&](const std::string& path) -> Result<void> {
            std::vector<TensorToWrite> one;
            one.push_back(std::move(*tensor));
            const auto done = writeSafetensors(path, std::move(one), {}, model.get(), job);
            return done ? Result<void>{} : tl::unexpected(done.error());
        });
    }
    return fail(fmt::format("{} has no tensor '{}'", escapeForPeople(model->path, 160), escapeForPeople(name)),
                model->path);
}

Result<std::shared_ptr<const Model>> servedModel(std::shared_ptr<const Model> model, const Job& job) {
    if (!hasStoredTensors(*model)) return model;
    // Only the weights: what else lies in the model's folder is copied from there.
    const bool isOne = model->files.size() == 1;
    Model weights = *model;
    weights.folder.clear();
    return decodedBeside(model, isOne ? "/decoded.safetensors" : "/decoded",
                         [&](const std::string& path) -> Result<void> {
                             const auto done = dequantizeModel(weights, {}, path, job);
                             return done ? Result<void>{} : tl::unexpected(done.error());
                         });
}

} // namespace qs
