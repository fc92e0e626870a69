// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The table of data files that a manifest or a node begins with.

#include "core/model/ocdbt/cursor.h"

#include <string>
#include <vector>

namespace qs::ocdbt {

struct DataFile {
    std::string path;     ///< from the folder of the database on
    std::size_t base = 0; ///< bytes of it that paths in the nodes of this file begin with
};

/// `base`: what paths in this node begin with. Where the table is wrong the cursor has failed.
std::vector<DataFile> readDataFiles(Cursor& cursor, std::string_view base);

} // namespace qs::ocdbt
