// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Frees the memory of a container that lives on. `values = {}` would not: it empties a std::vector and keeps its memory.

namespace qs {

template<class Container> void release(Container& container) { Container().swap(container); }

} // namespace qs
