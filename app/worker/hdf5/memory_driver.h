// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A sparse file in memory. libhdf5 writes headers into it. Ranges that are never written take no memory.

#include "app/worker/hdf5/handle.h"

#include <cstdint>

namespace qs::worker {

/// The settings with which H5Fcreate makes such a file. Only one such file exists at a time.
ListHandle memoryFileAccess();
/// Copies bytes [begin, begin + size) of the file. Bytes that were never written are 0.
void readMemoryFile(std::uint64_t begin, std::size_t size, unsigned char* into);
/// Size of the file in bytes; still valid after HDF5 has closed it.
std::uint64_t memoryFileEnd();

} // namespace qs::worker
