// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/output/partial_folder.h"

#include "core/base/text.h"
#include "core/model/output/output_path.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace qs {
namespace {

namespace fs = std::filesystem;

/// The text includes the host name, because a lock on a network file system may be visible on one machine only.
std::string markerText() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
    return fmt::format("QuantScope on {} is writing this folder and removes it.\n", host.data());
}

std::string markerOf(const std::string& folder) { return folder + '/' + kWritingMarker; }

/// Creates the marker and locks it. Returns its descriptor, or -1 if another process holds the lock. File systems
/// without locks count as locked by this process, so that no process removes the folder.
int mark(const std::string& folder, int flags) {
    const int fd = ::open(markerOf(folder).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (fd < 0) return -1;
    const std::string text = markerText();
    const bool taken = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    struct stat status {};
    const bool gone = ::fstat(fd, &status) != 0 || status.st_nlink == 0;
    if (!taken && !gone && ::pwrite(fd, text.data(), text.size(), 0) == ssize_t(text.size())) return fd;
    const int error = taken || gone ? EEXIST : errno;
    ::close(fd);
    errno = error;
    return -1;
}

/// Deletes the marker last, so that an interrupted removal can be finished later.
void removeMarked(const std::string& folder) {
    std::error_code failed, ignored;
    std::vector<fs::path> entries;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
        if (it->path().filename() != kWritingMarker) entries.push_back(it->path());
    for (const auto& entry : entries) fs::remove_all(entry, ignored);
    ::unlink(markerOf(folder).c_str());
    ::rmdir(folder.c_str());
}

/// Locks the marker of a folder whose writer has ended and returns its descriptor. -1 if the folder is in use or not
/// ours.
int takeStale(const std::string& folder) {
    struct stat status {};
    if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return -1;
    const int fd = ::open(markerOf(folder).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        if (errno == ENOENT) ::rmdir(folder.c_str()); // removes the folder only if it is empty
        return -1;
    }
    const std::string ours = markerText();
    std::string text(ours.size() + 1, '\0');
    if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ::flock(fd, LOCK_EX | LOCK_NB) == 0) {
        const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
        if (n == 0 || (n > 0 && text.compare(0, std::size_t(n), ours) == 0)) return fd;
    }
    ::close(fd);
    return -1;
}

/// Paths of folders whose names are those of partial folders of the target.
std::vector<std::string> partialsOf(const std::string& target) {
    const auto slash = target.rfind('/');
    const std::string folder = target.substr(0, slash + 1), start = partialStem(target).substr(slash + 1);
    std::vector<std::string> found;
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        const std::string name = it->path().filename().string();
        if (name.size() != start.size() + kPartialDigits || !name.starts_with(start)) continue;
        if (name.find_first_not_of("0123456789abcdef", start.size()) == std::string::npos)
            found.push_back(folder + name);
    }
    return found;
}

} // namespace

Result<PartialFolder> PartialFolder::create(const std::string& target, mode_t mode) {
    PartialFolder made;
    int error = EEXIST;
    // Another writer may remove the folder before it has its marker. Then try the next name.
    for (int tries = 0; tries < 8 && made.lock_ < 0; ++tries) {
        made.path_ = partialName(target);
        error = ::mkdir(made.path_.c_str(), mode) == 0 ? 0 : errno;
        if (error == EEXIST) continue;
        if (error == 0) made.lock_ = mark(made.path_, O_EXCL);
        if (error == 0 && made.lock_ < 0) {
            error = errno;
            removeMarked(made.path_);
        }
        if (error != 0 && error != EEXIST && error != ENOENT) break;
    }
    if (made.lock_ >= 0) return made;
    made.path_.clear();
    return fail(fmt::format("{} cannot be written: {}.", escapeForPeople(target, 200), std::strerror(error)), target);
}

PartialFolder::PartialFolder(PartialFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}

void PartialFolder::remove() {
    if (!path_.empty()) removeMarked(path_);
    if (lock_ >= 0) ::close(lock_);
    path_.clear();
    lock_ = -1;
}

void PartialFolder::becameOutput(const std::string& path) {
    unmark(path);
    path_.clear();
}

void PartialFolder::markReplaced(const std::string& old) {
    const int fd = mark(old, O_TRUNC);
    if (fd >= 0) ::close(fd); // also releases the lock
}

void PartialFolder::unmark(const std::string& folder) { ::unlink(markerOf(folder).c_str()); }

void removeStalePartials(const std::string& target) {
    // A folder that is being written is new and has none. Listing it for each of its files would take the square of them.
    if (::access((target.substr(0, target.rfind('/') + 1) + kWritingMarker).c_str(), F_OK) == 0) return;
    for (const auto& folder : partialsOf(target)) {
        const int fd = takeStale(folder);
        if (fd < 0) continue;
        removeMarked(folder);
        ::close(fd);
    }
}

void adoptStalePartial(const std::string& target, const std::string& complete) {
    struct stat status {};
    if (::lstat(target.c_str(), &status) == 0 || errno != ENOENT) return;
    for (const auto& folder : partialsOf(target)) {
        if (::lstat((folder + '/' + complete).c_str(), &status) != 0) continue;
        const int fd = takeStale(folder);
        if (fd < 0) continue;
        const bool named = ::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0 ||
                           (errno == EINVAL && ::rename(folder.c_str(), target.c_str()) == 0);
        if (named) PartialFolder::unmark(target);
        ::close(fd);
        if (named) return;
    }
}

} // namespace qs
