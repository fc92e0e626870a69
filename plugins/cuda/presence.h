// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds out whether there is a driver and a device. It only looks at files, because loading libcuda would take a second
// and much memory.

#include <string>

namespace qs::cuda {

struct Presence {
    bool present = false;
    std::string reason, hint; ///< why it is not present, and what to do
};
/// `driver` is the path of libcuda.so.1, or empty if it was not found. Tests give another root folder.
Presence findDevice(const std::string& driver, const std::string& root = "/");

} // namespace qs::cuda
