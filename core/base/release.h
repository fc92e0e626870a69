// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace qs {

/// Frees the memory of a container that lives on. `values = {}` would not: it empties a std::vector and keeps its memory.
template<class Container> void release(Container& container) { Container().swap(container); }

/// Gives freed memory back to the system. The allocator keeps what lies in front of memory that is in use.
inline void returnFreedMemory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

} // namespace qs
