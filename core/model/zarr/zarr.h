// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Folders of zarr arrays, version 2 or 3, as Orbax writes them with use_ocdbt=False: a folder for each array.

#include "core/model/model.h"

namespace qs {

/// By names in a folder, one a line.
bool looksLikeZarr(std::string_view names);

/// A tensor for each array, called as its folder is from `path` on.
Result<std::shared_ptr<Model>> openZarr(const std::string& path);

} // namespace qs
