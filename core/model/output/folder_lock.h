// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One process at a time names files in a folder, so that a file and what speaks of it are of one export. Held for
// milliseconds. The kernel drops the lock with the process that holds it, so that a killed one never blocks others,
// and no file is left behind: it is the folder itself that is locked (flock).

#include "core/base/job.h"
#include "core/base/result.h"

#include <string>

namespace qs {

class FolderLock {
public:
    /// Waits for others, a minute at most. File systems that lock no folders count as locked.
    static Result<FolderLock> take(const std::string& folder, const Job& job = {});
    FolderLock(FolderLock&& other) noexcept;
    FolderLock& operator=(FolderLock&&) = delete;
    ~FolderLock();

private:
    FolderLock() = default;
    int fd_ = -1;
};

} // namespace qs
