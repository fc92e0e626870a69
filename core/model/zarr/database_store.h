// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Arrays in an OCDBT database, as Orbax writes them by default: keys are the paths that files of a folder would have.

#include "core/model/ocdbt/database.h"
#include "core/model/zarr/store.h"

namespace qs::zarr {

class DatabaseStore final : public Store {
public:
    explicit DatabaseStore(const std::string& folder);
    Result<void> open() { return database_.open(); } ///< once; an error is a sentence

    Result<void> arrays(const Found& found) override;
    Result<Piece> find(const std::string& key) override;
    /// Chunks that are not there stand for the fill value: more than there are keys, and not without end.
    std::size_t mostChunks() const override { return 65'536 + 8 * database_.size(); }
    Result<void> take(std::uint64_t bytes) override;

    const std::vector<std::shared_ptr<MappedFile>>& files() const { return database_.files(); }

private:
    ocdbt::Database database_;
};

} // namespace qs::zarr
