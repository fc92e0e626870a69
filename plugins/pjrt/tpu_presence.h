// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds out from the PCI bus whether this machine has a TPU. libtpu cannot be asked: without a TPU it asks a cloud
// server without end.

#include <string>

namespace qs::pjrt {

struct TpuPresence {
    bool onBus = false;     ///< the PCI bus has a device of Google with the id of a TPU
    bool hasDevice = false; ///< /dev/accel* or /dev/vfio/* exists and can be opened
    std::string generation; ///< e.g. "v6e"; empty if there is no TPU
};
/// Tests give another root folder.
TpuPresence findTpu(const std::string& root = "/");

} // namespace qs::pjrt
