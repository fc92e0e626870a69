// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The process that reads one file of HDF5: told what to read by a channel, it answers there and puts elements into a
// shared window. core/hdf5 is the other side.

#include "core/process/fields.h"
#include "core/process/frame.h"

namespace qs::worker {

/// Serves until the other side closes; never returns. `file` and `window` are open descriptors.
[[noreturn]] void readHdf5(Descriptor control, int file, int window);

} // namespace qs::worker
