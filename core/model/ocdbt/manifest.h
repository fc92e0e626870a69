// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the manifest of an OCDBT database says: how manifests are kept, and where the newest version's tree begins.

#include "core/base/result.h"
#include "core/model/ocdbt/data_files.h"

#include <array>

namespace qs::ocdbt {

/// Nodes of more levels are not walked. Nodes have at least two children where there is more than one, so that a tree of
/// so many keys fits in no memory.
inline constexpr unsigned kMostHeight = 48;

struct Manifest {
    std::array<std::byte, 16> id{}; ///< of the database
    bool isNumbered = false;        ///< versions are in manifest.0000000000000001 and so on, and none is here
    std::uint64_t generation = 0;   ///< of the newest version, from 1
    bool isEmpty = true;            ///< that version has no keys, and no root
    DataFile file;                  ///< of the root
    std::uint64_t offset = 0, length = 0;
    unsigned height = 0; ///< 0: the root is a leaf
};

/// `body`: of bodyOf(). An error is the end of a sentence.
Result<Manifest> parseManifest(std::span<const std::byte> body);

} // namespace qs::ocdbt
