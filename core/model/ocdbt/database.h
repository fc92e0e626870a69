// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// An OCDBT database, in which TensorStore and Orbax store arrays. Keys are in a B+tree; its nodes and long values are
// in data files. Opening walks over the tree of the newest version once. Values stay ranges of files.
// Source: the TensorStore manual, "ocdbt Key-Value Store driver", storage format. No code was copied.

#include "core/model/ocdbt/manifest.h"
#include "core/model/ocdbt/node.h"
#include "core/model/output/confined_folder.h"

#include <map>
#include <memory>

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
    Database(const std::string& folder, bool (*isNote)(std::string_view key))
        : folder_(folder), path_(folder), isNote_(isNote) {}

    /// Call once. The error is a complete sentence; it has the file and the offset in it.
    Result<void> open();

    std::size_t size() const { return entries_.size(); }
    std::string_view key(std::size_t i) const { return {keys_.data() + entries_[i].key, entries_[i].keySize}; }
    Value value(std::size_t i) const;
    std::size_t find(std::string_view key) const; ///< size() if the key does not exist
    /// Manifests and data files, in the order in which they were opened.
    const std::vector<std::shared_ptr<MappedFile>>& files() const { return files_; }
    /// Charges memory that is used for the database. False if this and the list of keys exceed the limit. The limit is
    /// twice the size of the files and of the unpacked nodes, plus 48 MiB.
    bool take(std::uint64_t bytes);
    bool fits(std::uint64_t bytes) const;         ///< what take() would return
    std::string tooLarge(const char* what) const; ///< the end of a sentence: why it is refused
    const std::string& path() const { return path_; }

private:
    /// One key and the place of its value. Offsets and sizes in bytes.
    struct Slot {
        std::uint64_t key = 0, offset = 0, size = 0;
        std::uint32_t keySize = 0, at = 0; ///< `at`: index of the file times 2, or index of the block times 2 plus 1
    };
    /// Values that were stored in a leaf.
    struct Block {
        std::shared_ptr<const std::vector<std::byte>> bytes;
        std::uint32_t file = 0; ///< index of the file that contains the leaf
    };
    /// A reference from an inner node to a child node.
    struct Child {
        std::string key; ///< complete key; a lower bound for all keys of the child
        /// Length of the prefix that all keys of the child share, in bytes.
        std::size_t common = 0;
        std::uint64_t offset = 0, length = 0;
        std::uint32_t file = 0;
        std::string base; ///< prefix of the paths in its nodes
    };
    /// The children of one inner node on the path from the root, and how many of them were visited.
    struct Level {
        std::vector<Child> children;
        std::size_t next = 0;
        std::uint64_t taken = 0;
    };
    /// What the parents say about the keys of a node. `least` <= key < `*below`.
    struct Bounds {
        std::string_view prefix, least;
        const std::string* below = nullptr; ///< null: no upper bound
        unsigned height = 0;
    };

    Result<Manifest> manifest();
    Result<Manifest> readManifest(const std::string& name);
    Result<std::string> newestManifest() const;
    Result<void> walk(const Manifest& manifest);
    Result<void> visit(const Child& node, const Bounds& bounds, std::vector<Level>& levels);
    Result<void> addLeaf(Node node, const Child& at, const Bounds& bounds);
    Result<void> addLevel(Node node, const Child& at, const Bounds& bounds, std::vector<Level>& levels);
    Result<std::uint32_t> fileOf(const DataFile& file);
    tl::unexpected<Error> wrong(const Child& node, const std::string& why) const;
    const char* misplaced(const std::string& key, const Bounds& bounds) const;

    ConfinedFolder folder_;
    std::string path_;
    bool (*isNote_)(std::string_view);
    std::vector<Slot> entries_;
    std::string keys_;
    std::vector<Block> blocks_;
    std::vector<std::shared_ptr<MappedFile>> files_;
    std::map<std::string, std::uint32_t, std::less<>> fileNumbers_;
    std::vector<std::byte> room_, scratch_;
    std::uint64_t bytes_ = 0, used_ = 0,
                  /// `bytes_`: of files and unpacked bodies; `used_`: memory; `work_`: unpacked bytes, with a minimum
        /// per node.
        work_ = 0;
};

} // namespace qs::ocdbt
