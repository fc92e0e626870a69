// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The table of data files at the start of a manifest or node.

#include "core/model/ocdbt/cursor.h"

#include <string>
#include <vector>

namespace qs::ocdbt {

struct DataFile {
    std::string path;     ///< relative to the folder of the database
    std::size_t base = 0; ///< length in bytes of the prefix of `path` that paths in the nodes of this file start with
};

/// Reads the table. `base`: prefix of all paths in this node. If the table is invalid, `cursor` has failed.
std::vector<DataFile> readDataFiles(Cursor& cursor, std::string_view base);

} // namespace qs::ocdbt
