// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Lists every object that hard links reach, each once. Soft and external links are never followed: they go by name, and
// may lead into another file.

#include "app/worker/hdf5/dataset.h"

#include <functional>

namespace qs::worker {

/// Calls `visiting` with each path before it touches the object. Returns "" if all objects were seen. Otherwise returns
/// the limit that ended the walk, for example the memory that a list may take for a file of `bytes` bytes.
std::string walk(hid_t file, std::uint64_t bytes, std::vector<Found>& found,
                 const std::function<void(const std::string&)>& visiting);

} // namespace qs::worker
