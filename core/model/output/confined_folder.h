// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Opens files whose names come from another file, or are those of a model's folder. They must lie in that file's folder, whatever the name says. The
// kernel enforces this (openat2 with RESOLVE_BENEATH). A symbolic link may point to a regular file in the folder, or
// into the "blobs" folder of its Hugging Face cache. It may point nowhere else.

#include "core/model/mapped_file.h"

#include <string>

namespace qs {

class ConfinedFolder {
public:
    explicit ConfinedFolder(std::string folder) : folder_(std::move(folder)) {}

    /// Null if the file does not exist. Fails if the name leads out of the folder, or if it is not a regular file.
    Result<std::shared_ptr<MappedFile>> open(const std::string& name,
                                             FileAccess access = FileAccess::ByFileSystem) const;
    /// The same. The error is only the reason, as the end of a sentence.
    tl::expected<std::shared_ptr<MappedFile>, std::string> tryOpen(const std::string& name, FileAccess access) const;

private:
    std::string folder_;
};

/// Opens a file of a model's folder by its path: a shard, config.json, a tokenizer. It must lie in its folder as above,
/// so that a downloaded model cannot show other files of the user. Fails with one sentence, also if it does not exist.
/// Not for a file that the user has named, who may name a link.
Result<std::shared_ptr<MappedFile>> openInItsFolder(const std::string& path,
                                                    FileAccess access = FileAccess::ByFileSystem);

} // namespace qs
