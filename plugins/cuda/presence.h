// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Is there a driver and a device? Looks at files alone: libcuda would take a second and memory to find out.

#include <string>

namespace qs::cuda {

struct Presence {
    bool present = false;
    std::string reason, hint; ///< when not
};
/// `root` stands for "/" in tests; `driver` is where libcuda.so.1 was found, or empty.
Presence findDevice(const std::string& driver, const std::string& root = "/");

} // namespace qs::cuda
