// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The window: memory that the program and its HDF5 reader share. It holds the path of the object that is read now, a
// counter that grows while the reader makes progress, then elements.

#include <cstdint>

namespace qs {

constexpr std::uint64_t kHdf5PathBytes = 4096;                ///< room for the path, which ends with NUL; not trusted
constexpr std::uint64_t kHdf5ProgressAt = kHdf5PathBytes - 8; ///< place of the counter: the last 8 bytes of that room
constexpr std::uint64_t kHdf5WindowBytes = 4 << 20;           ///< room for elements

} // namespace qs
