// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Arrays that are folders: keys are paths of files.

#include "core/model/output/confined_folder.h"
#include "core/model/zarr/store.h"

namespace qs::zarr {

/// How names of folders begin that one process of several wrote.
inline constexpr std::string_view kOfProcess = "ocdbt.process_";

class FolderStore final : public Store {
public:
    explicit FolderStore(std::string path) : path_(std::move(path)), folder_(path_) {}

    Result<void> arrays(const Found& found) override;
    Result<Piece> find(const std::string& key) override;
    std::size_t mostChunks() const override { return 65'536; }
    Result<void> take(std::uint64_t) override { return {}; } // each has a file of its own, which takes more

    // Met by arrays(), as paths from the folder on with a slash at the end, "" for itself:
    const std::vector<std::string>& databases() const { return databases_; } ///< folders with a manifest of OCDBT
    /// Folders with the databases of processes and none that puts them together: the first.
    const std::string* unmerged() const { return unmerged_.empty() ? nullptr : &unmerged_.front(); }

private:
    Result<void> walk(const std::string& below, int depth, const Found& found);

    std::string path_;
    ConfinedFolder folder_;
    std::size_t entries_ = 0;
    std::vector<std::string> databases_, unmerged_;
};

} // namespace qs::zarr
