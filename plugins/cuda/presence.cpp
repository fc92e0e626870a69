// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/cuda/presence.h"

#include <filesystem>

namespace qs::cuda {

Presence findDevice(const std::string& driver, const std::string& root) {
    namespace fs = std::filesystem;
    std::error_code none;
    // /dev/dxg is the device in WSL, where the driver of Windows does the work.
    const bool device = fs::exists(root + "dev/nvidiactl", none) || fs::exists(root + "dev/dxg", none);
    const bool module = fs::exists(root + "proc/driver/nvidia/version", none);
    if (driver.empty())
        return {false,
                device || module ? "an NVIDIA device is there, but libcuda.so.1 is not installed"
                                 : "no device: there is neither an NVIDIA driver nor libcuda.so.1",
                "install NVIDIA's driver on a machine with one of its GPUs"};
    if (!device)
        return {false, "no device: " + driver + " is installed, but /dev/nvidiactl is missing",
                module ? "give this process (or container) access to /dev/nvidia*" : "load NVIDIA's kernel module"};
    return {true, {}, {}};
}

} // namespace qs::cuda
