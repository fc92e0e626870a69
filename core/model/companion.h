// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Small files that belong to weights or are named beside them: config.json, a recipe, an earlier result, a certificate.
// They are as little to be trusted as weights. So they are opened by the same function, which takes regular files
// alone; their size is known before a byte is read, and the depth of their JSON before anything is built.

#include "core/base/json_tree.h"

#include <string>

namespace qs {

class MappedFile;

/// The text of a file of at most `most` bytes. Errors are whole sentences that name the file.
Result<std::string> readCompanion(const std::string& path, std::size_t most = kMostJson);
/// The same of a file that is open already.
Result<std::string> textOf(const MappedFile& file, std::size_t most = kMostJson);
/// The JSON in it; null where there is no such file, or a symbolic link to nothing.
Result<nlohmann::json> readCompanionTree(const std::string& path);

} // namespace qs
