// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// An OCDBT database, in which TensorStore and Orbax store arrays. Keys are in a B+tree; its nodes and long values are
// in data files. Opening walks over the tree of the newest version once. Values stay ranges of files.
// Source: the TensorStore manual, "ocdbt Key-Value Store driver", storage format. No code was copied.

#include "core/model/ocdbt/key_list.h"
#include "core/model/ocdbt/storage.h"

namespace qs::ocdbt {

inline constexpr const char* kManifest = "manifest.ocdbt";

/// Place of a value: `size` bytes at `offset` of `file`, or of `held` if the value is stored in its node.
struct Value {
    std::shared_ptr<MappedFile> file;
    std::shared_ptr<const std::vector<std::byte>> held; ///< null: the value is in `file`
    std::uint64_t offset = 0, size = 0;
};

class Database {
public:
    /// `isNote(key)`: true if the value is needed only while opening. Such values are kept apart, so that they can be
    /// freed.
    Database(const std::string& folder, bool (*isNote)(std::string_view key)) : storage_(folder), isNote_(isNote) {}

    /// Call once. The error is a complete sentence; it has the file and the offset in it.
    Result<void> open();

    std::size_t size() const { return keys_.slots.size(); }
    std::string_view key(std::size_t i) const { return keys_.key(i); }
    Value value(std::size_t i) const;
    std::size_t find(std::string_view key) const { return keys_.find(key); } ///< size() if the key does not exist
    /// Manifests and data files, in the order in which they were opened.
    const std::vector<std::shared_ptr<MappedFile>>& files() const { return storage_.files(); }
    /// See Storage. Also charges memory that is used for the database elsewhere.
    bool take(std::uint64_t bytes) { return storage_.take(bytes); }
    std::string tooLarge(const char* what) const { return storage_.tooLarge(what); }
    const std::string& path() const { return storage_.path(); }

private:
    Storage storage_;
    bool (*isNote_)(std::string_view);
    KeyList keys_;
};

} // namespace qs::ocdbt
