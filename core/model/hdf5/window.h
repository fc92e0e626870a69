// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the program and its HDF5 reader agree on. The window is memory that both share. It holds the path of the object that is read now, a
// counter that grows while the reader makes progress, then elements.

#include <cstdint>

namespace qs {

constexpr std::uint64_t kHdf5PathBytes = 4096;                ///< room for the path, which ends with NUL; not trusted
constexpr std::uint64_t kHdf5ProgressAt = kHdf5PathBytes - 8; ///< place of the counter: the last 8 bytes of that room
constexpr std::uint64_t kHdf5WindowBytes = 4 << 20;           ///< room for elements
constexpr int kHdf5NoSandbox = 3; ///< exit code of a reader that cannot limit itself; it has read nothing

} // namespace qs
