// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Zarr arrays as folders. The keys are paths of files.

#include "core/model/output/confined_folder.h"
#include "core/model/zarr/store.h"

namespace qs::zarr {

/// Prefix of the names of folders that a single process of several wrote.
inline constexpr std::string_view kOfProcess = "ocdbt.process_";

class FolderStore final : public Store {
public:
    explicit FolderStore(std::string path) : path_(std::move(path)), folder_(path_) {}

    Result<void> arrays(const Found& found) override;
    Result<Piece> find(const std::string& key) override;
    std::size_t mostChunks() const override { return 65'536; }
    // Nothing to charge: each chunk is a file, which takes more than its row.
    Result<void> take(std::uint64_t) override { return {}; }

    // Found by arrays(). Paths are relative to the folder and end with a slash; "" is the folder itself.
    const std::vector<std::string>& databases() const { return databases_; } ///< folders with an OCDBT manifest
    /// The first folder that has databases of processes but no manifest that merges them; null if there is none.
    const std::string* unmerged() const { return unmerged_.empty() ? nullptr : &unmerged_.front(); }

private:
    Result<void> walk(const std::string& below, int depth, const Found& found);

    std::string path_;
    ConfinedFolder folder_;
    std::size_t entries_ = 0;
    std::vector<std::string> databases_, unmerged_;
};

} // namespace qs::zarr
