// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads small files that belong to the weights: config.json, a recipe, an earlier result, a certificate. They are not
// trusted more than the weights. Only regular files are opened, and their size is checked before reading. The depth of
// the JSON is checked before the tree is built.

#include "core/base/json_tree.h"

#include <string>

namespace qs {

class MappedFile;

/// The text of a file of at most `most` bytes. Errors are complete sentences that name the file.
Result<std::string> readCompanion(const std::string& path, std::size_t most = kMostJson);
/// The same for a file of a model's folder: a link out of that folder is refused (openInItsFolder).
Result<std::string> readFileOfModel(const std::string& path, std::size_t most = kMostJson);
/// The same for a file that is already open.
Result<std::string> textOf(const MappedFile& file, std::size_t most = kMostJson);
/// The JSON of a file of a model's folder. Null if the file does not exist or is a symbolic link without a target.
Result<nlohmann::json> readCompanionTree(const std::string& path);

} // namespace qs
