// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/tpu_presence.h"

#include <filesystem>
#include <fstream>
#include <utility>

namespace qs::pjrt {
namespace fs = std::filesystem;

TpuPresence findTpu(const std::string& root) {
    // PCI device ids of TPUs. The vendor id of Google is 0x1ae0.
    static constexpr std::pair<const char*, const char*> kGenerations[] = {
        {"0x0027", "v3"},  {"0x005e", "v4"},    {"0x0062", "v5p"},   {"0x0063", "v5e"},
        {"0x006f", "v6e"}, {"0x0076", "tpu7x"}, {"0x0083", "tpu8i"}, {"0x007c", "tpu8t"},
    };
    const auto word = [](const fs::path& file) {
        std::string text;
        std::ifstream(file) >> text;
        return text;
    };
    TpuPresence found;
    std::error_code error;
    for (fs::directory_iterator it(fs::path(root) / "sys/bus/pci/devices", error), end; !error && it != end;
         it.increment(error)) {
        if (word(it->path() / "vendor") != "0x1ae0") continue;
        const auto device = word(it->path() / "device");
        for (const auto& [id, generation] : kGenerations)
            if (device == id) {
                found.onBus = true;
                found.generation = generation;
            }
    }
    for (fs::directory_iterator it(fs::path(root) / "dev", error), end; !error && it != end; it.increment(error))
        if (it->path().filename().string().starts_with("accel")) found.hasDevice = true;
    error.clear();
    for (fs::directory_iterator it(fs::path(root) / "dev/vfio", error), end; !error && it != end; it.increment(error))
        if (it->path().filename() != "vfio") found.hasDevice = true;
    return found;
}

} // namespace qs::pjrt
