// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/zeroed_pages.h"

#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace qs {
namespace {

thread_local std::size_t taken = 0;

} // namespace

std::size_t zeroedPagesTaken() { return taken; }

void* zeroedPages(std::size_t bytes) {
    constexpr std::size_t kPage = 4096, kHugePage = std::size_t(2) << 20;
    const std::size_t page = bytes < kHugePage ? kPage : kHugePage;
    void* data = std::aligned_alloc(page, (bytes / page + 1) * page);
    if (!data) throw std::bad_alloc();
    taken += (bytes / page + 1) * page + kPage;
#if defined(__linux__)
    if (page == kHugePage) ::madvise(data, bytes, MADV_HUGEPAGE); // if this fails, only speed is lost
#endif
    return std::memset(data, 0, bytes);
}

} // namespace qs
