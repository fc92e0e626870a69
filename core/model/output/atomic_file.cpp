// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/output/atomic_file.h"

#include "core/base/no_size_signal.h"
#include "core/base/text.h"
#include "core/model/mapped_file.h"
#include "core/model/model.h"
#include "core/model/output/content_note.h"
#include "core/model/output/folder_lock.h"
#include "core/model/output/output_path.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>
#include <xxhash.h>

namespace qs {
namespace {

constexpr std::size_t kBuffer = std::size_t(1) << 20; // bytes

bool holds(const MappedFile& file, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (offset + bytes.size() > file.size()) return false;
    std::vector<std::byte> there(bytes.size());
    file.readInto(std::size_t(offset), there);
    return std::ranges::equal(there, bytes);
}

} // namespace

Result<AtomicFile> AtomicFile::create(const std::string& path, std::uint64_t expectedBytes, Replace replace) {
    auto target = outputPath(path);
    if (!target) return tl::unexpected(target.error());
    struct stat old {};
    const bool exists = ::lstat(target->path.c_str(), &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) return fail(whyNotReplaced(target->path, old.st_mode), path);

    removeStalePartials(target->path);

    AtomicFile file;
    file.path_ = target->path;
    if (exists && replace == Replace::Equal) {
        auto there = MappedFile::open(target->path, FileAccess::Pread);
        if (!there) return tl::unexpected(there.error());
        file.equal_ = std::move(*there);
    }
    // A file without a name disappears with the process. It gets its name through /proc, so /proc must be mounted.
    file.fd_ = ::open(target->folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (file.fd_ >= 0 && ::access(fmt::format("/proc/self/fd/{}", file.fd_).c_str(), F_OK) != 0) {
        ::close(file.fd_);
        file.fd_ = -1;
    }
    if (file.fd_ < 0) {
        if (auto made = file.makePartial(); !made) return tl::unexpected(made.error());
        file.fd_ = ::open(file.temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file.fd_ < 0)
            return fail(fmt::format("{} cannot be written: {}.", shownPath(path), std::strerror(errno)), path);
    }
    if (exists) {
        // Failure is ignored: only root may change the owner. chmod comes after chown, because chown clears mode bits.
        if ((old.st_uid != ::geteuid() || old.st_gid != ::getegid()) && ::fchown(file.fd_, old.st_uid, old.st_gid) != 0)
            errno = 0;
        ::fchmod(file.fd_, old.st_mode & 07777);
    }
    if (expectedBytes > 0) {
        NoSizeSignal guard;
        // Not posix_fallocate: if the file system cannot reserve, glibc would write every block. The limit for file
        // sizes is checked here, because FALLOC_FL_KEEP_SIZE does not check it.
        rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
        ::getrlimit(RLIMIT_FSIZE, &limit);
        const bool fits = expectedBytes <= std::min<std::uint64_t>(limit.rlim_cur, INT64_MAX);
        const int error = !fits                                                                      ? EFBIG
                          : ::fallocate(file.fd_, FALLOC_FL_KEEP_SIZE, 0, off_t(expectedBytes)) == 0 ? 0
                                                                                                     : errno;
        struct statvfs space {};
        const bool known = ::fstatvfs(file.fd_, &space) == 0;
        const std::uint64_t available = known ? std::uint64_t(space.f_bavail) * space.f_frsize : 0;
        const bool cannotReserve = error == EOPNOTSUPP || error == ENOSYS;
        if (error == ENOSPC || (cannotReserve && known && available < expectedBytes))
            return fail(fmt::format("{} cannot be written: it needs {}, and {} are free.", shownPath(path),
                                    bytesText(expectedBytes), bytesText(available)),
                        path);
        if (error == EFBIG)
            return fail(fmt::format("{} cannot be written: {} are over the limit for the size of a file.",
                                    shownPath(path), bytesText(expectedBytes)),
                        path);
    }
    file.buffer_.reserve(kBuffer);
    return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})),
      partial_(std::move(other.partial_)), equal_(std::move(other.equal_)), buffer_(std::move(other.buffer_)),
      written_(std::move(other.written_)), at_(other.at_), size_(other.size_) {}

AtomicFile::~AtomicFile() {
    if (fd_ >= 0) ::close(fd_);
}

Result<void> AtomicFile::makePartial() {
    auto made = PartialFolder::create(path_, 0700);
    if (!made) return tl::unexpected(made.error());
    partial_.emplace(std::move(*made));
    temporary_ = partial_->path() + path_.substr(path_.rfind('/'));
    return {};
}

Result<void> AtomicFile::writeAt(std::uint64_t offset, std::span<const std::byte> bytes) {
    NoSizeSignal guard;
    if (equal_ && !holds(*equal_, offset, bytes)) return stays();
    for (std::size_t at = 0; at < bytes.size(); at += kBuffer) {
        const std::size_t n = std::min(kBuffer, bytes.size() - at);
        written_.push_back({offset + at, n, XXH3_64bits(bytes.data() + at, n)});
    }
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(fd_, bytes.data(), std::min(bytes.size(), 64 * kBuffer), off_t(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return fail(fmt::format("{} cannot be written: {}; nothing was left behind.", shownPath(path_),
                                    n == 0 ? "no progress" : std::strerror(errno)),
                        path_);
        bytes = bytes.subspan(std::size_t(n));
        offset += std::uint64_t(n);
        size_ = std::max(size_, offset);
    }
    return {};
}

Result<void> AtomicFile::writeOut(std::span<const std::byte> bytes) {
    if (auto written = writeAt(at_, bytes); !written) return written;
    at_ += bytes.size();
    return {};
}

Result<void> AtomicFile::flush() {
    if (auto written = writeOut(std::as_bytes(std::span(buffer_))); !written) return written;
    buffer_.clear();
    return {};
}

Result<void> AtomicFile::moveTo(std::uint64_t offset) {
    if (at_ + buffer_.size() == offset) return {};
    if (auto flushed = flush(); !flushed) return flushed;
    at_ = offset;
    return {};
}

// Writes whole buffers where possible: each written piece has its own hash, which is compared when it is read back.
Result<void> AtomicFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        if (buffer_.empty() && bytes.size() >= kBuffer) {
            const auto whole = bytes.first(bytes.size() / kBuffer * kBuffer);
            if (auto written = writeOut(whole); !written) return written;
            bytes = bytes.subspan(whole.size());
            continue;
        }
        const auto part = bytes.first(std::min(bytes.size(), kBuffer - buffer_.size()));
        buffer_.append(reinterpret_cast<const char*>(part.data()), part.size());
        bytes = bytes.subspan(part.size());
        if (buffer_.size() < kBuffer) continue;
        if (auto flushed = flush(); !flushed) return flushed;
    }
    return {};
}

Result<void> AtomicFile::write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

/// Reads everything back and compares hashes, so that a file gets its name only if its bytes are on the disk. Notes the
/// hash of all of it, see content_note.h.
Result<void> AtomicFile::readsBack(const Job& job) {
    buffer_.resize(kBuffer);
    std::ranges::sort(written_, {}, &Written::offset);
    ContentHash whole;
    for (const auto& [at, bytes, sum] : written_) {
        if (job.cancelled()) return cancelledError();
        const auto length = std::size_t(bytes);
        std::size_t got = 0;
        while (got < length) {
            const ssize_t n = ::pread(fd_, buffer_.data() + got, length - got, off_t(at + got));
            if (n < 0 && errno == EINTR) continue;
            const std::uint64_t failedAt = at + got;
            if (n <= 0)
                return fail(fmt::format("{} cannot be written: reading it back failed at byte {} ({}); nothing was "
                                        "left behind.",
                                        shownPath(path_), failedAt, n == 0 ? "it ends there" : std::strerror(errno)),
                            path_, static_cast<long long>(failedAt));
            got += std::size_t(n);
        }
        if (XXH3_64bits(buffer_.data(), length) != sum)
            return fail(fmt::format("{} cannot be written: its bytes {} to {} read back differently from what was "
                                    "written, so the disk or its driver is at fault; nothing was left behind.",
                                    shownPath(path_), at, at + length),
                        path_, static_cast<long long>(at));
        whole.add(at, std::as_bytes(std::span(buffer_)).first(length));
    }
    noteContent(fd_, whole.text());
    return {};
}

Result<std::string> AtomicFile::finish() {
    if (auto flushed = flush(); !flushed) return tl::unexpected(flushed.error());
    return temporary_.empty() ? fmt::format("/proc/self/fd/{}", fd_) : temporary_;
}

tl::unexpected<Error> AtomicFile::cannot() const {
    return fail(
        fmt::format("{} cannot be written: {}; nothing was left behind.", shownPath(path_), std::strerror(errno)),
        path_);
}

tl::unexpected<Error> AtomicFile::stays() const {
    return fail(
        fmt::format("{} is there with other contents, and does not say that this program wrote it: name another "
                    "file, or give --force to replace it.",
                    shownPath(path_)),
        path_);
}

Result<void> AtomicFile::commit(const Job& job, const Naming& naming) {
    if (auto sealed = seal(job); !sealed) return sealed;
    const auto lock = FolderLock::take(folder(), job);
    if (!lock) return tl::unexpected(lock.error());
    if (naming.before)
        if (auto done = naming.before(); !done) return done;
    if (auto named = takeName(); !named) return named;
    return naming.after ? naming.after() : Result<void>();
}

std::string AtomicFile::folder() const { return path_.substr(0, path_.rfind('/') + 1); }

Result<void> AtomicFile::seal(const Job& job) {
    if (auto flushed = flush(); !flushed) return flushed;
    if (equal_ && equal_->size() != size_) return stays();
    // The reserved space may be larger than the file.
    if (::ftruncate(fd_, off_t(size_)) != 0) return cannot();
    if (auto same = readsBack(job); !same) return same;
    if (::fdatasync(fd_) != 0) return cannot();
    return {};
}

Result<void> AtomicFile::takeName() {
    struct stat now {};
    if (::lstat(path_.c_str(), &now) == 0 && !S_ISREG(now.st_mode))
        return fail(whyNotReplaced(path_, now.st_mode), path_);
    bool done = false;
    if (temporary_.empty()) {
        const std::string self = fmt::format("/proc/self/fd/{}", fd_);
        done = ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0;
        if (!done && errno != EEXIST) return cannot();
        if (!done) {
            // linkat() cannot replace an existing file. So link the file into a partial folder, then rename it.
            if (auto made = makePartial(); !made) return made;
            if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) return cannot();
        }
    }
    if (!done && ::rename(temporary_.c_str(), path_.c_str()) != 0) return cannot();
    partial_.reset();
    ::close(std::exchange(fd_, -1));
    return syncFolder(folder());
}

Result<void> writeWholeFile(const std::string& path, std::string_view text, Replace replace) {
    auto file = AtomicFile::create(path, 0, replace);
    if (!file) return tl::unexpected(file.error());
    if (auto written = file->write(text); !written) return written;
    return file->commit();
}

Result<void> notAnOpenedInput(const std::string& path, const Model* opened) {
    struct stat status {};
    if (!opened || ::stat(path.c_str(), &status) != 0) return {};
    for (const auto& file : opened->files)
        if (file.mapping && file.mapping->device() == std::uint64_t(status.st_dev) &&
            file.mapping->inode() == std::uint64_t(status.st_ino))
            return fail(fmt::format("{} is open as the input; write to another file.", shownPath(path)), path);
    return {};
}

} // namespace qs
