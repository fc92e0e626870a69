// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Every object that hard links reach, each once. Nothing else is followed: a link by name can lead out of the file.

#include "app/worker/hdf5/dataset.h"

#include <functional>

namespace qs::worker {

/// `visiting` is told each path before the object is touched. Stops, and says why, at a limit, be it one of memory for a
/// file of `bytes`; "" when all was seen.
std::string walk(hid_t file, std::uint64_t bytes, std::vector<Found>& found,
                 const std::function<void(const std::string&)>& visiting);

} // namespace qs::worker
