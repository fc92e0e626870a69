// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Is there a TPU in this machine? Asked of the PCI bus, because libtpu without one polls a cloud server for ever.

#include <string>

namespace qs::pjrt {

struct TpuPresence {
    bool onBus = false;     ///< a device of Google's with the id of a TPU
    bool hasDevice = false; ///< /dev/accel* or /dev/vfio/* is there to open it with
    std::string generation; ///< "v6e"; empty when none
};
/// `root` stands for "/" in tests.
TpuPresence findTpu(const std::string& root = "/");

} // namespace qs::pjrt
