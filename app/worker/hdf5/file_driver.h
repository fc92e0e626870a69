// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The driver through which HDF5 reads a file. It calls pread() on a descriptor that was opened before the sandbox. The
// HDF5 data may be a part of that file.

#include "app/worker/hdf5/handle.h"

#include <cstdint>

namespace qs::worker {

struct FilePart {
    int descriptor = -1;
    std::uint64_t base = 0, length = 0; ///< first byte of the HDF5 data and its length
};

/// Call this when a request begins. From now on each read raises *counter, so the program sees progress. When the reads
/// add up to several times the file, they no longer raise it: libhdf5 then probably runs in a loop.
void beginProgress(std::uint64_t* counter);
void countProgress();

/// Opens the file for reading. HDF5 plugins and file locks are off. A process can open one part only.
FileHandle openPart(const FilePart& part);

} // namespace qs::worker
