// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/zarr/database_store.h"

#include "core/model/list_budget.h"

namespace qs::zarr {
namespace {

std::string_view nameIn(std::string_view key) { return key.substr(key.rfind('/') + 1); }
bool isDescription(std::string_view key) { return nameIn(key) == ".zarray" || nameIn(key) == "zarr.json"; }

} // namespace

DatabaseStore::DatabaseStore(const std::string& folder) : database_(folder, isDescription) {}

Result<void> DatabaseStore::arrays(const Found& found) {
    for (std::size_t i = 0; i < database_.size(); ++i) {
        const auto key = database_.key(i), name = nameIn(key);
        if (!isDescription(key)) continue;
        const bool isSecond = name == ".zarray";
        const std::string prefix(key.substr(0, key.size() - name.size()));
        if (!isSecond && database_.find(prefix + ".zarray") < database_.size()) continue;
        auto isArray = found(prefix, isSecond ? ".zarray" : "zarr.json", isSecond ? 2 : 3);
        if (!isArray) return tl::unexpected(isArray.error());
    }
    return {};
}

Result<Piece> DatabaseStore::find(const std::string& key) {
    const std::size_t at = database_.find(key);
    if (at == database_.size()) return Piece();
    auto value = database_.value(at);
    return Piece{std::move(value.file), std::move(value.held), value.offset, value.size};
}

Result<void> DatabaseStore::take(std::uint64_t bytes) {
    if (!database_.take(bytes)) return fail(database_.tooLarge("its list of arrays"));
    return {};
}

} // namespace qs::zarr
