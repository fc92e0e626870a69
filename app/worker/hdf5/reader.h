// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The process that reads one HDF5 file. Requests and answers go through a channel. Elements go through a window, which
// is memory shared with the program. The program's side is core/model/hdf5.

#include "core/process/fields.h"
#include "core/process/frame.h"

namespace qs::worker {

/// Answers requests until the program closes the channel. Never returns. `file` and `window` are open descriptors.
[[noreturn]] void readHdf5(Descriptor control, int file, int window);

} // namespace qs::worker
