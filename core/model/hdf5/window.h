// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The memory that the program and its reader of HDF5 share: the path of the object that is being read, a counter that
// grows while the reader gets on, then elements.

#include <cstdint>

namespace qs {

constexpr std::uint64_t kHdf5PathBytes = 4096;                ///< ends with a NUL byte; not to be trusted
constexpr std::uint64_t kHdf5ProgressAt = kHdf5PathBytes - 8; ///< the counter: the last bytes of the path's room
constexpr std::uint64_t kHdf5WindowBytes = 4 << 20;           ///< of elements

} // namespace qs
