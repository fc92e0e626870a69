// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Memory for weights that are read as a stream.

#include <cstddef>

namespace qs {

/// Zeroed memory that starts at a page; free it with std::free(). Throws std::bad_alloc. Sizes of 2 MiB and more ask
/// for huge pages. With small pages, address translation costs one stream a fifth of its speed.
void* zeroedPages(std::size_t bytes);
/// Bytes that zeroedPages() has taken from the system on this thread so far: whole pages, and one page for malloc's own
/// data.
std::size_t zeroedPagesTaken();

} // namespace qs
