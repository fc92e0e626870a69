// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Zarr arrays, version 2 or 3, in a folder and the folders below it: in OCDBT databases, as Orbax writes them, or each in a
// folder of its own, as with use_ocdbt=False.

#include "core/model/model.h"

namespace qs {

/// By names in a folder, one a line.
bool looksLikeZarr(std::string_view names);

/// A tensor for each array, called as its folder, or what its keys begin with, is from `path` on.
Result<std::shared_ptr<Model>> openZarr(const std::string& path);

} // namespace qs
