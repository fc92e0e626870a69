// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Opens zarr arrays, version 2 or 3, in a folder and its subfolders. They may be in OCDBT databases, which Orbax writes
// by default, or each in a folder of its own (use_ocdbt=False).

#include "core/model/model.h"

namespace qs {

/// True if a folder with these names is a zarr checkpoint. `names`: one per line.
bool looksLikeZarr(std::string_view names);

/// A model with one tensor per array. Its name is the path of its folder, or the prefix of its keys, relative to
/// `path`.
Result<std::shared_ptr<Model>> openZarr(const std::string& path);

} // namespace qs
