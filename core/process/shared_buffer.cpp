// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/shared_buffer.h"

#include "core/base/no_size_signal.h"
#include "core/base/text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace qs {
namespace {

std::uint64_t physicalMemory() { return std::uint64_t(sysconf(_SC_PHYS_PAGES)) * std::uint64_t(sysconf(_SC_PAGESIZE)); }

std::byte* mapped(int descriptor, std::uint64_t bytes) {
    void* at = mmap(nullptr, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

} // namespace

Result<std::shared_ptr<SharedBuffer>> SharedBuffer::create(std::uint64_t bytes) {
    const auto refused = [bytes](const std::string& why) {
        return fail(fmt::format("There is no memory for a shared buffer of {}: {}.", bytesText(bytes), why));
    };
    // A larger file could be created, but the kernel would kill this process when it touches missing pages.
    if (bytes > physicalMemory()) return refused(fmt::format("the machine has {}", bytesText(physicalMemory())));
    auto buffer = std::shared_ptr<SharedBuffer>(new SharedBuffer);
    buffer->bytes_ = bytes;
    buffer->descriptor_ = Descriptor(memfd_create("quantscope", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!buffer->descriptor_) return refused(std::strerror(errno));
    const NoSizeSignal guard;
    if (const int error = posix_fallocate(buffer->descriptor(), 0, off_t(bytes ? bytes : 1)))
        return refused(std::strerror(error));
    // A worker that could shrink the file would kill this process with SIGBUS.
    if (fcntl(buffer->descriptor(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return refused(std::strerror(errno));
    buffer->data_ = mapped(buffer->descriptor(), bytes);
    if (!buffer->data_) return refused(std::strerror(errno));
    return buffer;
}

Result<std::shared_ptr<SharedBuffer>> SharedBuffer::adopt(Descriptor descriptor, std::uint64_t bytes) {
    auto buffer = std::shared_ptr<SharedBuffer>(new SharedBuffer);
    buffer->descriptor_ = std::move(descriptor);
    buffer->bytes_ = bytes;
    struct stat status {};
    if (fstat(buffer->descriptor(), &status) != 0 || !S_ISREG(status.st_mode))
        return fail("The descriptor of a shared buffer is not a file.");
    if (std::uint64_t(status.st_size) < bytes)
        return fail(fmt::format("A shared buffer has {} bytes instead of {}.", status.st_size, bytes));
    const int seals = fcntl(buffer->descriptor(), F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK)) return fail("A shared buffer could be made shorter by the other side.");
    buffer->data_ = mapped(buffer->descriptor(), bytes);
    if (!buffer->data_) return fail(fmt::format("A shared buffer cannot be mapped: {}.", std::strerror(errno)));
    return buffer;
}

SharedBuffer::~SharedBuffer() {
    if (data_) munmap(data_, bytes_ ? bytes_ : 1);
}

} // namespace qs
