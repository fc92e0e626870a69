// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/serve.h"

#include "core/base/text.h"
#include "core/quant/layout.h"
#include "core/quant/stored.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

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

} // namespace

bool hasStoredTensors(const Model& model) {
    return std::any_of(model.files.begin(), model.files.end(), [&](const ModelFile& file) {
        return std::any_of(file.metadata.begin(), file.metadata.end(), [&](const auto& entry) {
            return entry.first.starts_with(kStoredPrefix) && !model.find(entry.first.substr(kStoredPrefix.size()));
        });
    });
}

Result<std::shared_ptr<const Model>> servedModel(std::shared_ptr<const Model> model, const Job& job) {
    if (!hasStoredTensors(*model)) return model;
    const auto folder = temporaryFolder();
    if (!folder) return tl::unexpected(folder.error());
    const std::string path = (*folder)->path + "/decoded.safetensors";
    if (const auto done = dequantizeModel(*model, {}, path, job); !done) return tl::unexpected(done.error());
    auto decoded = openModel(path);
    if (!decoded) return tl::unexpected(decoded.error());
    // The folder goes when the last user of the model has gone.
    struct Served {
        std::shared_ptr<Folder> folder;
        Model model;
    };
    const auto served = std::make_shared<Served>(Served{*folder, **decoded});
    served->model.path = model->path;
    served->model.title = model->title;
    served->model.warnings = model->warnings;
    return std::shared_ptr<const Model>(served, &served->model);
}

} // namespace qs
