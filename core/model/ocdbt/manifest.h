// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The manifest of an OCDBT database: how versions are stored, and where the tree of the newest version starts.

#include "core/base/result.h"
#include "core/model/ocdbt/data_files.h"

#include <array>

namespace qs::ocdbt {

/// Most levels of a tree. Nodes have at least two children if there is more than one key, so a higher tree would not
/// fit in memory.
inline constexpr unsigned kMostHeight = 48;

struct Manifest {
    std::array<std::byte, 16> id{}; ///< of the database
    bool isNumbered = false;        ///< versions are in files manifest.0000000000000001 and so on, not in this manifest
    std::uint64_t generation = 0;   ///< of the newest version; the first is 1
    bool isEmpty = true;            ///< the newest version has no keys and no root
    DataFile file;                  ///< data file that contains the root
    std::uint64_t offset = 0, length = 0; ///< of the root in `file`, in bytes
    unsigned height = 0;                  ///< 0: the root is a leaf
};

/// `body`: from bodyOf(). The error is the end of a sentence.
Result<Manifest> parseManifest(std::span<const std::byte> body);

} // namespace qs::ocdbt
