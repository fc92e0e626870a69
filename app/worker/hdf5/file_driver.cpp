// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/hdf5/file_driver.h"

#include "app/worker/hdf5/driver_class.h"

#include <cerrno>
#include <unistd.h>

namespace qs::worker {
namespace {

FilePart opened;
std::uint64_t* progressCounter = nullptr; ///< lies in the shared window; the program watches whether it changes
std::uint64_t readSinceQuestion = 0;
constexpr std::uint64_t kReadAgain = 4, kAlwaysRead = std::uint64_t(64) << 20;

haddr_t getEof(const H5FD_t*, H5FD_mem_t) { return opened.length; }
herr_t readFile(H5FD_t*, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* into) {
    if (address > opened.length || size > opened.length - address) return -1;
    readSinceQuestion += size;
    if (readSinceQuestion / kReadAgain <= opened.length + kAlwaysRead) countProgress();
    auto* at = static_cast<char*>(into);
    while (size > 0) {
        const ssize_t got = pread(opened.descriptor, at, size, off_t(opened.base + address));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return -1;
        at += got;
        address += haddr_t(got);
        size -= size_t(got);
    }
    return 0;
}
herr_t writeFile(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) { return -1; }

H5FD_class_t makeClass() {
    H5FD_class_t c = driverClass<H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_DATA_SIEVE>("quantscope", 600);
    c.get_eof = getEof;
    c.read = readFile;
    c.write = writeFile;
    return c;
}

} // namespace

void beginProgress(std::uint64_t* counter) {
    progressCounter = counter;
    readSinceQuestion = 0;
}

void countProgress() {
    if (progressCounter) ++*progressCounter;
}

FileHandle openPart(const FilePart& part) {
    opened = part;
    static const H5FD_class_t driver = makeClass();
    const ListHandle access = accessThrough(driver);
    // Without H5PLset_loading_state HDF5 would search for a plugin when it meets a filter that is not built in.
    if (!access || H5PLset_loading_state(0) < 0 || H5Pset_file_locking(access.get(), 0, 1) < 0 ||
        H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG) < 0)
        return FileHandle();
    return FileHandle(
        H5Fopen("/file", H5F_ACC_RDONLY, access.get())); // not relative: getcwd() is denied in the sandbox
}

} // namespace qs::worker
