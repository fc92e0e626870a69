// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/mapped_file.h"

#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/process/descriptor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utility>

namespace qs {
namespace {

// One mapped file, as the signal handler sees it. A handler may use only fixed memory and lock-free atomics.
struct Slot {
    std::atomic<bool> taken{false};
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::size_t> length{0};
    std::atomic<bool> faulted{false};
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);
constexpr int kSlots = 1 << 15; ///< below the number of mappings that Linux gives to a process (65,530)
std::array<Slot, kSlots> slots;
struct sigaction previousAction;
std::size_t pageSize = 4096;

/// Handler of SIGBUS. Replaces the unreadable rest of one of our mappings with zero pages; the failed access is then
/// repeated by the processor and succeeds.
void onBusError(int signal, siginfo_t* what, void* context) {
    const int savedErrno = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(what->si_addr);
    for (auto& slot : slots) {
        const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
        if (begin == 0 || address < begin) continue;
        const std::size_t length = slot.length.load(std::memory_order_acquire);
        if (address - begin >= length || slot.begin.load(std::memory_order_acquire) != begin) continue;
        const std::uintptr_t page = address & ~(std::uintptr_t(pageSize) - 1);
        // Calls mmap through syscall(): sanitizers intercept mmap(), and their interceptor must not run in a signal
        // handler.
        const long got = syscall(SYS_mmap, page, begin + length - page, PROT_READ,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        if (got < 0) break;
        slot.faulted.store(true, std::memory_order_release);
        errno = savedErrno;
        return;
    }
    errno = savedErrno;
    // The address is in none of our mappings. Without another handler, restore the default action: the access is
    // repeated and ends the process. It is also restored before a handler is called that asked to be called only once.
    const bool isInfo = (previousAction.sa_flags & SA_SIGINFO) != 0;
    const bool isHandler = isInfo || (previousAction.sa_handler != SIG_DFL && previousAction.sa_handler != SIG_IGN);
    if (!isHandler || (previousAction.sa_flags & SA_RESETHAND)) {
        struct sigaction byDefault {};
        byDefault.sa_handler = SIG_DFL;
        sigaction(signal, &byDefault, nullptr);
    }
    if (isInfo)
        previousAction.sa_sigaction(signal, what, context);
    else if (isHandler)
        previousAction.sa_handler(signal);
}

void catchBusErrors() {
    static std::once_flag once;
    std::call_once(once, [] {
        pageSize = std::size_t(sysconf(_SC_PAGESIZE));
        struct sigaction action {};
        action.sa_sigaction = onBusError;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, &action, &previousAction);
    });
}

/// The search begins behind the slot that was taken last, so that opening many files does not pass all before each.
int takeSlot() {
    static std::atomic<unsigned> last{0};
    for (int i = 0; i < kSlots; ++i) {
        const unsigned at = ++last % unsigned(kSlots);
        bool expected = false;
        if (slots[at].taken.compare_exchange_strong(expected, true)) return int(at);
    }
    return -1;
}

std::int64_t mtimeOf(const struct stat& s) { return std::int64_t(s.st_mtim.tv_sec) * 1000000000 + s.st_mtim.tv_nsec; }

const char* kindOf(mode_t mode) {
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    return "a device";
}

/// True if the driver marks the disk as removable. For a partition the flag is in the folder of its disk.
bool isRemovable(dev_t device) {
    const std::string base = fmt::format("/sys/dev/block/{}:{}", major(device), minor(device));
    for (const char* at : {"/removable", "/../removable"})
        if (std::ifstream file(base + at); file) return file.get() == '1';
    return false;
}

FileAccess accessOf(int fd, const struct stat& status) {
    if (const char* asked = std::getenv("QS_READ")) {
        if (std::string_view(asked) == "pread") return FileAccess::Pread;
        if (std::string_view(asked) == "map") return FileAccess::Map;
    }
    // Magic numbers from linux/magic.h and the drivers: NFS, SMB and CIFS (three numbers), AFS, Coda, 9P, Ceph, Lustre,
    // GPFS, FUSE, VirtualBox, FAT, exFAT, ISO 9660, UDF.
    static constexpr std::array<std::uint32_t, 16> remote = {
        0x6969,     0x517B,     0xFE534D42, 0xFF534D42, 0x5346414F, 0x73757245, 0x01021997, 0x00C36400,
        0x0BD00BD0, 0x47504653, 0x65735546, 0x786F4256, 0x4D44,     0x2011BAB0, 0x9660,     0x15013346};
    struct statfs system {};
    const bool isRemote = ::fstatfs(fd, &system) == 0 && contains(remote, std::uint32_t(system.f_type));
    return isRemote || isRemovable(status.st_dev) ? FileAccess::Pread : FileAccess::Map;
}

tl::unexpected<Error> cannotRead(const std::string& path, int error) {
    const std::string shown = shownPath(path);
    if (error == ENOENT) return fail(fmt::format("{} does not exist.", shown), path);
    if (error == ELOOP)
        return fail(fmt::format("{} cannot be read: it is a symbolic link that leads round in a circle.", shown), path);
    return fail(fmt::format("{} cannot be read: {}.", shown, std::strerror(error)), path);
}

tl::unexpected<Error> notRegular(const std::string& path, mode_t mode) {
    return fail(fmt::format("{} is {}, not a regular file.", shownPath(path), kindOf(mode)), path);
}

} // namespace

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string& path, FileAccess access) {
    if (path.find('\0') != std::string::npos)
        return fail(fmt::format("{} is not a path: it holds a NUL.", shownPath(path)), path);
    // Check the type before opening, because opening a device can have effects. ofDescriptor() checks it again, because
    // the path may have changed in between.
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return cannotRead(path, errno);
    if (!S_ISREG(status.st_mode)) return notRegular(path, status.st_mode);
    const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return cannotRead(path, errno);
    return ofDescriptor(fd, path, access);
}

Result<std::shared_ptr<MappedFile>> MappedFile::ofDescriptor(int fd, const std::string& path, FileAccess access) {
    Descriptor file(fd);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return cannotRead(path, errno);
    if (!S_ISREG(status.st_mode)) return notRegular(path, status.st_mode);

    std::shared_ptr<MappedFile> mapped(new MappedFile);
    std::error_code ignored;
    const auto absolute = std::filesystem::absolute(path, ignored);
    mapped->path_ = ignored ? path : absolute.lexically_normal().string();
    mapped->device_ = status.st_dev;
    mapped->inode_ = status.st_ino;
    mapped->mtimeNs_ = mtimeOf(status);
    const auto size = std::size_t(status.st_size);
    if (size == 0) return mapped;
    if (access == FileAccess::ByFileSystem) access = accessOf(file.get(), status);
    if (access == FileAccess::Pread) {
        mapped->fd_ = file.release();
        mapped->size_ = size;
        return mapped;
    }

    catchBusErrors();
    const int index = takeSlot();
    void* data = index < 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (data == MAP_FAILED) { // no slot, no address space (ulimit -v), or a file system without mappings
        if (index >= 0) slots[std::size_t(index)].taken.store(false);
        mapped->fd_ = file.release();
        mapped->size_ = size;
        return mapped;
    }
    auto& slot = slots[std::size_t(index)];
    mapped->slot_ = index;
    mapped->data_ = static_cast<const std::byte*>(data);
    mapped->size_ = size;
    slot.faulted.store(false);
    slot.length.store(size, std::memory_order_release);
    slot.begin.store(reinterpret_cast<std::uintptr_t>(data), std::memory_order_release);
    return mapped;
}

Result<std::shared_ptr<MappedFile>> MappedFile::ofMemory(int memfd, std::shared_ptr<MappedFile> source) {
    Descriptor memory(memfd);
    const auto cannot = [&] {
        return fail(
            fmt::format("{} cannot be unpacked into memory: {}.", shownPath(source->path()), std::strerror(errno)),
            source->path());
    };
    struct stat status {};
    // Memory without the seal could shrink, and the SIGBUS handler does not know this mapping.
    if (::fstat(memfd, &status) != 0 || (::fcntl(memfd, F_GET_SEALS) & F_SEAL_SHRINK) == 0) return cannot();
    std::shared_ptr<MappedFile> mapped(new MappedFile);
    const auto size = std::size_t(status.st_size);
    if (size > 0) {
        void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, memfd, 0);
        if (data == MAP_FAILED) return cannot();
        mapped->data_ = static_cast<const std::byte*>(data);
        mapped->size_ = size;
    }
    mapped->path_ = source->path_;
    mapped->device_ = source->device_;
    mapped->inode_ = source->inode_;
    mapped->mtimeNs_ = source->mtimeNs_;
    mapped->memory_ = memory.release();
    mapped->source_ = std::move(source);
    return mapped;
}

MappedFile::~MappedFile() {
    if (fd_ >= 0) ::close(fd_);
    if (memory_ >= 0) {
        ::close(memory_);
        if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
    }
    if (slot_ < 0) return;
    auto& slot = slots[std::size_t(slot_)];
    slot.begin.store(0, std::memory_order_release);
    ::munmap(const_cast<std::byte*>(data_), size_);
    slot.taken.store(false, std::memory_order_release);
}

void MappedFile::readInto(std::size_t offset, std::span<std::byte> into) const {
    assert(offset <= size_ && into.size() <= size_ - offset);
    if (data_) {
        if (!into.empty()) std::memcpy(into.data(), data_ + offset, into.size());
        return;
    }
    while (!into.empty()) {
        const ssize_t n = ::pread(fd_, into.data(), into.size(), off_t(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            std::fill(into.begin(), into.end(), std::byte{0});
            readFailed_.store(true, std::memory_order_release);
            return;
        }
        into = into.subspan(std::size_t(n));
        offset += std::size_t(n);
    }
}

std::span<const std::byte> MappedFile::read(std::size_t offset, std::size_t length,
                                            std::vector<std::byte>& scratch) const {
    assert(offset <= size_ && length <= size_ - offset);
    if (data_) return {data_ + offset, length};
    if (scratch.size() < length) scratch.resize(length);
    const auto into = std::span(scratch).first(length);
    readInto(offset, into);
    return into;
}

bool MappedFile::faulted() const {
    if (readFailed_.load(std::memory_order_acquire)) return true;
    return slot_ >= 0 && slots[std::size_t(slot_)].faulted.load(std::memory_order_acquire);
}

Result<void> MappedFile::unchanged() const {
    if (source_) return source_->unchanged();
    const std::string shown = shownPath(path_);
    struct stat status {};
    if (::stat(path_.c_str(), &status) != 0)
        return fail(fmt::format("{} was removed or cannot be reached since it was opened ({}); open it again.", shown,
                                std::strerror(errno)),
                    path_);
    if (std::uint64_t(status.st_dev) != device_ || std::uint64_t(status.st_ino) != inode_)
        return fail(fmt::format("{} was replaced by another file since it was opened; open it again.", shown), path_);
    const auto size = std::uint64_t(status.st_size);
    if (size < size_)
        return fail(
            fmt::format("{} was cut from {} to {} bytes since it was opened; open it again.", shown, size_, size),
            path_, static_cast<long long>(size));
    if (size != size_ || mtimeOf(status) != mtimeNs_)
        return fail(fmt::format("{} was written to since it was opened; open it again.", shown), path_);
    if (faulted())
        return fail(fmt::format("{} could not be read: the disk failed, or the file was cut for a while.", shown),
                    path_);
    return {};
}

void MappedFile::populate(std::size_t offset, std::size_t length) const {
    if (!data_ || offset >= size_ || length == 0) return;
    length = std::min(length, size_ - offset);
    const std::size_t from = offset & ~(pageSize - 1);
    // Errors are ignored (an older kernel, a truncated file): the pages are then read when they are accessed.
    ::madvise(const_cast<std::byte*>(data_) + from, offset + length - from, MADV_POPULATE_READ);
}

void MappedFile::dropPages(std::size_t offset, std::size_t length) const {
    if (!data_ || offset >= size_ || length == 0) return;
    length = std::min(length, size_ - offset);
    // Both ends are rounded down, because the last page may also hold bytes that the scan has not read yet.
    const std::size_t from = offset & ~(pageSize - 1);
    const std::size_t to = offset + length == size_ ? size_ : (offset + length) & ~(pageSize - 1);
    if (to > from) ::madvise(const_cast<std::byte*>(data_) + from, to - from, MADV_DONTNEED);
}

} // namespace qs
