// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A file in memory with holes, for libhdf5 to write headers into: what is never written takes no room.

#include "app/worker/hdf5/handle.h"

#include <cstdint>

namespace qs::worker {

/// The settings with which H5Fcreate makes such a file; there is one at a time.
ListHandle memoryFileAccess();
/// Bytes [begin, begin + size) of it, zeros where nothing was written.
void readMemoryFile(std::uint64_t begin, std::size_t size, unsigned char* into);
std::uint64_t memoryFileEnd();

} // namespace qs::worker
