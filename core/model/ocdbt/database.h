// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// An OCDBT database, as TensorStore and with it Orbax keep arrays: keys in a B+tree whose nodes and longer values lie in
// data files. Opening walks the tree of the newest version once; values stay where they are, as ranges of files.
// Source: the TensorStore manual, "ocdbt Key-Value Store driver", storage format; written anew from it.

#include "core/model/ocdbt/manifest.h"
#include "core/model/ocdbt/node.h"
#include "core/model/output/confined_folder.h"

#include <map>
#include <memory>

namespace qs::ocdbt {

inline constexpr const char* kManifest = "manifest.ocdbt";

/// Where a value lies: `size` bytes of `file`, or of `held` where its node has it.
struct Value {
    std::shared_ptr<MappedFile> file;
    std::shared_ptr<const std::vector<std::byte>> held; ///< null: in the file
    std::uint64_t offset = 0, size = 0;
};

class Database {
public:
    /// `isNote`: of a key, whether its value is for opening alone; such values do not stay in memory for the others.
    Database(const std::string& folder, bool (*isNote)(std::string_view key))
        : folder_(folder), path_(folder), isNote_(isNote) {}

    /// Once. An error is a sentence with the file and the offset in it.
    Result<void> open();

    std::size_t size() const { return entries_.size(); }
    std::string_view key(std::size_t i) const { return {keys_.data() + entries_[i].key, entries_[i].keySize}; }
    Value value(std::size_t i) const;
    std::size_t find(std::string_view key) const; ///< size(): there is no such key
    /// Manifests and data files, in the order in which they were met.
    const std::vector<std::shared_ptr<MappedFile>>& files() const { return files_; }
    /// Charges memory for what is made of the database. False once that and the list of keys take more than twice the
    /// bytes of the files, and of what nodes unpack to, and 48 MiB.
    bool take(std::uint64_t bytes);
    bool fits(std::uint64_t bytes) const;         ///< what take() would answer
    std::string tooLarge(const char* what) const; ///< the end of a sentence: why that is refused
    const std::string& path() const { return path_; }

private:
    struct Slot {
        std::uint64_t key = 0, offset = 0, size = 0;
        std::uint32_t keySize = 0, at = 0; ///< the file, or the block where the lowest bit is set
    };
    struct Block {
        std::shared_ptr<const std::vector<std::byte>> bytes;
        std::uint32_t file = 0; ///< of the leaf that they were in
    };
    struct Child {
        std::string key; ///< from the root on: no key of the child is less
        std::size_t common = 0;
        std::uint64_t offset = 0, length = 0;
        std::uint32_t file = 0;
        std::string base; ///< of paths in its nodes
    };
    struct Level {
        std::vector<Child> children;
        std::size_t next = 0;
        std::uint64_t taken = 0;
    };
    struct Bounds {
        std::string_view prefix, least;
        const std::string* below = nullptr; ///< null: the last
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
                  work_ = 0; ///< of files and bodies; of memory; of bodies, short ones counted more
};

} // namespace qs::ocdbt
