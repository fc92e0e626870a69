// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What files and folders that we write have in common.

#include "core/base/result.h"

#include <string>
#include <sys/types.h>

namespace qs {

struct OutputPath {
    std::string path;   ///< absolute, without "." and ".." and a slash at the end
    std::string folder; ///< that it lies in; exists
};
Result<OutputPath> outputPath(const std::string& path);

/// "PATH.partial-3f9a01c2": a name that nothing has yet.
std::string partialName(const std::string& path);

/// fsync: what was renamed into it stays there after a power cut.
Result<void> syncFolder(const std::string& folder);

/// The sentence for a target that is there and of another kind than a regular file.
std::string whyNotReplaced(const std::string& path, mode_t mode);

} // namespace qs
