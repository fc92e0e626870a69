// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/export/export_model.h"
#include "core/layouts/taken_tensors.h"
#include "core/records/input_hash.h"
#include "core/records/unit_run.h"
#include "core/report/report.h"

#include <filesystem>
#include <fmt/format.h>

namespace qs {
namespace {

namespace fs = std::filesystem;

/// A written file in the folder of the records.
struct StagedFile {
    std::string name; ///< in that folder
    std::uint64_t bytes = 0;
    std::string sha256;
};

template<class Archive, archive::Of<StagedFile> T> void fieldsOf(Archive& archive, T& file) {
    archive(file.name, file.bytes, file.sha256);
}

std::string nameOfStaged(const std::string& key) { return sha256OfText(key).substr(0, 24) + ".safetensors"; }

Result<StagedFile> stageFile(const FileToStage& file, const std::string& folder, const std::string& key,
                             const Job& job) {
    StagedFile out{nameOfStaged(key), 0, {}};
    const std::string path = (fs::path(folder) / out.name).string();
    if (auto written = file.write(path); !written) return tl::unexpected(written.error());
    auto hash = sha256OfFile(path, job);
    if (!hash) return tl::unexpected(hash.error());
    std::error_code error;
    out.bytes = fs::file_size(path, error), out.sha256 = std::move(*hash);
    return out;
}

/// Where a staged file is, in one of the folders. Error: it is nowhere, or it has changed.
Result<std::string> pathOf(const StagedFile& file, const std::vector<std::string>& folders, const Job& job) {
    std::error_code error;
    for (const std::string& folder : folders) {
        const auto path = fs::path(folder) / file.name;
        if (!fs::is_regular_file(fs::symlink_status(path, error))) continue; // the output becomes a name of this file
        if (fs::file_size(path, error) != file.bytes || error) continue;
        const auto hash = sha256OfFile(path.string(), job);
        if (!hash && hash.error().cancelled) return tl::unexpected(hash.error());
        if (hash && *hash == file.sha256) return path.string();
    }
    return fail(fmt::format("The file {} of the records is missing or was changed: remove its folder of records and "
                            "write the parts again.",
                            escapeForPeople(file.name)));
}

} // namespace

Result<void> shareFiles(UnitRun& units, const Model& model, QuantizeRequest& request, const Job& job) {
    const auto layout = requestedLayout(request);
    if (!layout) return tl::unexpected(layout.error());
    if ((*layout)->writeFiles || !fileEnding(request.output).empty())
        return fail("Only an export to a folder of safetensors files can be shared: give -o a folder.");
    auto hash = hashOfModel(model, job);
    if (!hash) return tl::unexpected(hash.error());
    request.stage = [&units, hash = std::move(*hash),
                     &job](std::span<const FileToStage> files) -> Result<std::vector<std::string>> {
        double total = 0;
        for (const FileToStage& file : files) total += double(file.bytes);
        units.begin(total);
        std::vector<std::string> paths;
        for (const FileToStage& file : files) {
            const std::string key = hash + "\n" + file.name;
            const auto staged =
                units.unit<StagedFile>([&] { return Result<std::string>(key); }, escapeForPeople(file.name, 60),
                                       double(file.bytes), [&] { return stageFile(file, units.folder(), key, job); },
                                       [&](const StagedFile& read) { return read.name == nameOfStaged(key); });
            if (!staged) return tl::unexpected(staged.error());
            if (!*staged) continue;
            auto path = pathOf(**staged, units.folders(), job);
            if (!path) return tl::unexpected(path.error());
            paths.push_back(std::move(*path));
        }
        if (!units.isWhole() || units.isPart()) paths.clear();
        return paths;
    };
    return {};
}

} // namespace qs
