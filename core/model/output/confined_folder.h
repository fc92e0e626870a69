// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Files that another file names: they lie in its folder, whatever the name says. The kernel keeps the path inside
// (openat2, RESOLVE_BENEATH). A symlink may lead to a regular file in the folder, or to one in the "blobs" of the Hugging
// Face cache that the folder is a snapshot of; nowhere else.

#include "core/model/mapped_file.h"

#include <string>

namespace qs {

class ConfinedFolder {
public:
    explicit ConfinedFolder(std::string folder) : folder_(std::move(folder)) {}

    /// Null: there is no such file. Fails when the name leads out of the folder, and when it is no regular file.
    Result<std::shared_ptr<MappedFile>> open(const std::string& name,
                                             FileAccess access = FileAccess::ByFileSystem) const;
    /// The same; the error is the reason alone, as the end of a sentence.
    tl::expected<std::shared_ptr<MappedFile>, std::string> tryOpen(const std::string& name, FileAccess access) const;

private:
    std::string folder_;
};

} // namespace qs
