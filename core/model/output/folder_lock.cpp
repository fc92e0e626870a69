// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/output/folder_lock.h"

#include "core/base/text.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace qs {

Result<FolderLock> FolderLock::take(const std::string& folder, const Job& job) {
    using namespace std::chrono_literals;
    FolderLock lock;
    lock.fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock.fd_ < 0) return lock; // the folder may be writable but not readable; then there is no lock
    const auto last = std::chrono::steady_clock::now() + 60s;
    while (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK) return lock;
        if (job.cancelled()) return cancelledError();
        if (std::chrono::steady_clock::now() > last)
            return fail(fmt::format("{} has been locked by another program for a minute; try again when it has ended.",
                                    shownPath(folder)),
                        folder);
        std::this_thread::sleep_for(2ms);
    }
    return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderLock::~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
}

} // namespace qs
