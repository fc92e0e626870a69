// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A node of an OCDBT B+tree, read entry by entry: keys with values in a leaf, keys from which children begin above.

#include "core/base/result.h"
#include "core/model/ocdbt/data_files.h"

namespace qs::ocdbt {

inline constexpr std::size_t kMostKey = 65'535; ///< bytes

struct Entry {
    std::string key; ///< without what the nodes above give to all keys of this one
    /// In a leaf. Else the value, or the child, is in a data file.
    std::span<const std::byte> value;
    bool isInside = false; ///< `value` is all of it
    std::uint64_t file = 0, offset = 0, length = 0;
    std::size_t common = 0; ///< above leaves: bytes of the key that all keys of the child begin with
};

class Node {
public:
    /// `body`: of bodyOf(), and has to outlive the node. `base`: what paths of data files begin with. An error is the end
    /// of a sentence.
    static Result<Node> parse(std::span<const std::byte> body, std::string_view base);

    unsigned height() const { return height_; }
    std::uint64_t count() const { return count_; }
    const std::vector<DataFile>& files() const { return files_; }
    /// The next entry into `entry`, in ascending order of keys; false at the end and where the node is wrong. A copy of the node
    /// is read from where it stands.
    bool next(Entry& entry);
    const char* why() const { return why_; } ///< what is wrong, or null

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
