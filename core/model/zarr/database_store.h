// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Zarr arrays in an OCDBT database, the default of Orbax. The keys are the paths that the files would have in a folder.

#include "core/model/ocdbt/database.h"
#include "core/model/zarr/store.h"

namespace qs::zarr {

class DatabaseStore final : public Store {
public:
    explicit DatabaseStore(const std::string& folder);
    Result<void> open() { return database_.open(); } ///< call once; the error is a complete sentence

    Result<void> arrays(const Found& found) override;
    Result<Piece> find(const std::string& key) override;
    /// A missing chunk stands for the fill value, so there may be more chunks than keys; this is the limit.
    std::size_t mostChunks() const override { return 65'536 + 8 * database_.size(); }
    Result<void> take(std::uint64_t bytes) override;

    const std::vector<std::shared_ptr<MappedFile>>& files() const { return database_.files(); }

private:
    ocdbt::Database database_;
};

} // namespace qs::zarr
