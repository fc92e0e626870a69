// SPDX-License-Identifier: GPL-3.0-or-later
// The work of the sandboxed HDF5 reader, here in this process: our file driver, the walk, the description of each
// dataset, and reads of ranges. libhdf5 itself has faults; README.md says how to tell them from ours.
#include "app/worker/hdf5/file_driver.h"
#include "app/worker/hdf5/range.h"
#include "app/worker/hdf5/walk.h"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace qs::worker;

// libhdf5 leaks memory when it leaves a broken header. This does not hide an identifier that our code forgot to close:
// libhdf5 keeps a list of open ones, so their memory is always reachable.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
    if (size == 0) return 0;
    // The data starts inside a file, like a member of an archive.
    const std::uint64_t base = data[size - 1];
    if (fd < 0 || ::ftruncate(fd, 0) != 0 || ::pwrite(fd, data, size, off_t(base)) != ssize_t(size)) std::abort();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    const auto file = openPart({fd, base, size});
    if (!file) return 0;
    std::vector<Found> found;
    std::size_t visited = 0;
    (void)walk(file.get(), size, found, [&](const std::string&) { ++visited; });
    if (visited == 0) std::abort();
    for (const Found& row : found) {
        if (!row.reason.empty()) continue;
        if (row.path.empty() || row.type.empty()) std::abort();
        std::uint64_t elements = 1;
        for (const auto dim : row.shape) elements *= dim;
        if (elements == 0 || row.bytes > 1 << 24) continue;
        if (row.bytes % elements != 0) std::abort();
        const DatasetHandle dataset(H5Dopen2(file.get(), row.path.c_str(), H5P_DEFAULT));
        // The same checks as in the reader: skip a path that now leads elsewhere, and a type of another size.
        H5O_info_t info;
        if (!dataset || H5Oget_info(dataset.get(), &info) < 0 || info.addr != row.address) continue;
        const TypeHandle type = memoryType(dataset.get());
        if (!type) continue;
        const std::uint64_t one = row.bytes / elements;
        if (H5Tget_size(type.get()) != one) std::abort();
        for (const auto& [begin, count] :
             {std::pair<std::uint64_t, std::uint64_t>(0, std::min<std::uint64_t>(elements, 5000)),
              {elements - 1, 1},
              {elements / 3, std::min<std::uint64_t>(elements - elements / 3, 77)}}) {
            std::vector<unsigned char> into(std::size_t(count * one));
            if (!readRange(dataset.get(), type.get(), row.shape, begin, count, into.data())) break;
        }
    }
    return 0;
}
