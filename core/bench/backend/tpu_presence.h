// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

namespace qs {

/// A Google TPU on the PCI bus (vendor 0x1ae0 and a device number of a TPU). Loads and starts nothing; `root` is for
/// tests.
bool tpuPresent(const std::string& root = "/sys/bus/pci/devices");

} // namespace qs
