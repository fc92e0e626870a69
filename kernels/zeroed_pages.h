// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Memory for weights that are streamed.

#include <cstddef>

namespace qs {

/// Zeroed memory from a page's start on, for std::free(); throws std::bad_alloc. Bigger ones ask for huge pages: with
/// small ones one stream through memory loses a fifth of its speed to address translation.
void* zeroedPages(std::size_t bytes);
/// What the calls of this thread have taken from the machine so far, whole pages and the page with malloc's own words.
std::size_t zeroedPagesTaken();

} // namespace qs
