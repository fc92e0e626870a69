// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/hdf5/memory_driver.h"

#include "app/worker/hdf5/driver_class.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>

namespace qs::worker {
namespace {

constexpr std::uint64_t kPage = 4096;

std::map<std::uint64_t, std::array<unsigned char, kPage>> pages;
haddr_t endOfAddresses = 0;

/// Calls `part(page, offset in it, bytes, offset from the beginning)` for every page of a range.
template<class Part> void eachPage(std::uint64_t begin, std::size_t size, Part part) {
    for (std::size_t done = 0; done < size;) {
        const std::uint64_t at = (begin + done) % kPage;
        const auto bytes = std::min<std::size_t>(size - done, kPage - at);
        part((begin + done) / kPage, at, bytes, done);
        done += bytes;
    }
}

H5FD_t* openFile(const char*, unsigned, hid_t, haddr_t) {
    pages.clear();
    endOfAddresses = 0;
    return static_cast<H5FD_t*>(std::calloc(1, sizeof(H5FD_t)));
}
herr_t closeFile(H5FD_t* file) {
    std::free(file);
    return 0;
}
herr_t query(const H5FD_t*, unsigned long* flags) {
    if (flags) *flags = H5FD_FEAT_AGGREGATE_METADATA;
    return 0;
}
haddr_t getEoa(const H5FD_t*, H5FD_mem_t) { return endOfAddresses; }
herr_t setEoa(H5FD_t*, H5FD_mem_t, haddr_t address) {
    endOfAddresses = address;
    return 0;
}
haddr_t getEof(const H5FD_t*, H5FD_mem_t) { return endOfAddresses; }
herr_t readFile(H5FD_t*, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* into) {
    readMemoryFile(address, size, static_cast<unsigned char*>(into));
    return 0;
}
herr_t writeFile(H5FD_t*, H5FD_mem_t, hid_t, haddr_t address, size_t size, const void* from) {
    eachPage(address, size, [&](std::uint64_t page, std::uint64_t at, std::size_t bytes, std::size_t done) {
        std::memcpy(pages[page].data() + at, static_cast<const unsigned char*>(from) + done, bytes);
    });
    return 0;
}

H5FD_class_t makeClass() {
    H5FD_class_t c = driverClass("quantscope-memory", 601);
    c.open = openFile;
    c.close = closeFile;
    c.query = query;
    c.get_eoa = getEoa;
    c.set_eoa = setEoa;
    c.get_eof = getEof;
    c.read = readFile;
    c.write = writeFile;
    return c;
}

} // namespace

ListHandle memoryFileAccess() {
    static const H5FD_class_t driver = makeClass();
    const hid_t id = H5FDregister(&driver);
    ListHandle access(H5Pcreate(H5P_FILE_ACCESS));
    if (id < 0 || !access || H5Pset_driver(access.get(), id, nullptr) < 0) return ListHandle();
    return access;
}

void readMemoryFile(std::uint64_t begin, std::size_t size, unsigned char* into) {
    eachPage(begin, size, [&](std::uint64_t page, std::uint64_t at, std::size_t bytes, std::size_t done) {
        if (const auto found = pages.find(page); found != pages.end())
            std::memcpy(into + done, found->second.data() + at, bytes);
        else
            std::memset(into + done, 0, bytes);
    });
}

std::uint64_t memoryFileEnd() { return endOfAddresses; }

} // namespace qs::worker
