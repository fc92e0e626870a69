// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/hdf5/memory_driver.h"

#include "app/worker/hdf5/driver_class.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace qs::worker {
namespace {

constexpr std::uint64_t kPage = 4096;

std::map<std::uint64_t, std::array<unsigned char, kPage>> pages;
haddr_t endOfAddresses = 0; ///< size of the file; still valid after the file is closed

/// Calls part(page, offset in the page, bytes, offset in the range) for every page that the range touches.
template<class Part> void eachPage(std::uint64_t begin, std::size_t size, Part part) {
    for (std::size_t done = 0; done < size;) {
        const std::uint64_t at = (begin + done) % kPage;
        const auto bytes = std::min<std::size_t>(size - done, kPage - at);
        part((begin + done) / kPage, at, bytes, done);
        done += bytes;
    }
}

H5FD_t* openFile(const char* name, unsigned flags, hid_t access, haddr_t most) {
    pages.clear();
    endOfAddresses = 0;
    return DriverFile::open(name, flags, access, most);
}
herr_t setEnd(H5FD_t* file, H5FD_mem_t kind, haddr_t address) {
    endOfAddresses = address;
    return DriverFile::setEnd(file, kind, address);
}
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
    H5FD_class_t c = driverClass<H5FD_FEAT_AGGREGATE_METADATA>("quantscope-memory", 601);
    c.open = openFile;
    c.set_eoa = setEnd;
    c.get_eof = DriverFile::getEnd; // the file ends at the end of its used addresses
    c.read = readFile;
    c.write = writeFile;
    return c;
}

} // namespace

ListHandle memoryFileAccess() {
    static const H5FD_class_t driver = makeClass();
    return accessThrough(driver);
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
