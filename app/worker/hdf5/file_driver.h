// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// HDF5 reads through this driver alone: pread of one descriptor that was open before the sandbox, from a base on.

#include "app/worker/hdf5/handle.h"

#include <cstdint>

namespace qs::worker {

struct FilePart {
    int descriptor = -1;
    std::uint64_t base = 0, length = 0;
};

/// Reads count as progress of the question that begins now, until they add up to several times the file.
void beginProgress(std::uint64_t* counter);
void countProgress();

/// Plugins, locks and every other way to a file are off. One part in a process.
FileHandle openPart(const FilePart& part);

} // namespace qs::worker
