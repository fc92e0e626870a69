// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Helpers for writing files and folders.

#include "core/base/result.h"

#include <string>
#include <sys/types.h>

namespace qs {

struct OutputPath {
    std::string path;   ///< absolute, without "." and "..", and without a slash at the end
    std::string folder; ///< parent folder of `path`; it exists
};
/// Fails if the path is empty or invalid, or if its folder does not exist.
Result<OutputPath> outputPath(const std::string& path);

/// A name beside `path` that does not exist yet: "PATH.partial-3f9a01c2".
std::string partialName(const std::string& path);
/// The beginning of such names, with its folder: "PATH.partial-". Of a name that would be too long for a file system the
/// end is replaced by a hash.
std::string partialStem(const std::string& path);
constexpr std::size_t kPartialDigits = 8; ///< hexadecimal digits behind it

/// Calls fsync on the folder, so that a rename in it survives a power failure.
Result<void> syncFolder(const std::string& folder);

/// The error sentence for an existing target that may not be replaced, by its file type.
std::string whyNotReplaced(const std::string& path, mode_t mode);

} // namespace qs
