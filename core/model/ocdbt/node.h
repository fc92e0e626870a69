// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A node of an OCDBT B+tree, read entry by entry. A leaf has keys with values. An inner node has children, each with
// its first key.

#include "core/base/result.h"
#include "core/model/ocdbt/data_files.h"

namespace qs::ocdbt {

inline constexpr std::size_t kMostKey = 65'535; ///< bytes

struct Entry {
    std::string key; ///< without the prefix that parent nodes give to all keys of this node
    /// The value, if it is stored in this leaf. Other values, and children, are in a data file at `offset`.
    std::span<const std::byte> value;
    bool isInside = false; ///< the value is stored in this leaf
    std::uint64_t file = 0, offset = 0, length = 0;
    std::size_t common = 0; ///< for inner nodes: length of the prefix that all keys of the child share, in bytes
};

class Node {
public:
    /// `body`: from bodyOf(); it must outlive the node. `base`: prefix of the paths of data files. The error is the end
    /// of a sentence.
    static Result<Node> parse(std::span<const std::byte> body, std::string_view base);

    /// 0 for a leaf.
    unsigned height() const { return height_; }
    std::uint64_t count() const { return count_; }
    const std::vector<DataFile>& files() const { return files_; }
    /// Reads the next entry, in ascending order of keys. False at the end and if the node is invalid. A copy of a node
    /// continues at the same entry.
    bool next(Entry& entry);
    const char* why() const { return why_; } ///< why the node is invalid; null if it is valid

private:
    bool refuse(const char* why) {
        why_ = why;
        return false;
    }
    void readLeaf(Cursor& cursor);
    void readInner(Cursor& cursor);

    unsigned height_ = 0;
    std::uint64_t count_ = 0, done_ = 0;
    std::vector<DataFile> files_;
    Cursor prefixes_, suffixes_, commons_, keys_, lengths_, ids_, offsets_, values_;
    std::span<const std::byte> kinds_;
    const char* why_ = nullptr;
};

} // namespace qs::ocdbt
