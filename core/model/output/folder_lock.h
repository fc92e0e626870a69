// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A lock so that only one process at a time renames files in a folder. It keeps a file and its certificate consistent.
// It is held for milliseconds. The folder itself is locked (flock), so no lock file remains, and the kernel releases
// the lock when the process ends.

#include "core/base/job.h"
#include "core/base/result.h"

#include <string>

namespace qs {

class FolderLock {
public:
    /// Waits for other holders, at most one minute; then it fails. A folder that cannot be locked counts as locked.
    static Result<FolderLock> take(const std::string& folder, const Job& job = {});
    FolderLock(FolderLock&& other) noexcept;
    FolderLock& operator=(FolderLock&&) = delete;
    ~FolderLock();

private:
    FolderLock() = default;
    int fd_ = -1;
};

} // namespace qs
