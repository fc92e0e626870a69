// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/tpu_presence.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace qs {
namespace {

constexpr unsigned kGoogle = 0x1ae0;
/// v3 v4 v5p v5e v6e 7x 8i 8t
constexpr unsigned kTpus[] = {0x0027, 0x005e, 0x0062, 0x0063, 0x006f, 0x0076, 0x0083, 0x007c};

unsigned numberIn(const std::filesystem::path& file) {
    std::ifstream in(file);
    unsigned value = 0;
    in >> std::hex >> value;
    return in ? value : 0;
}

} // namespace

bool tpuPresent(const std::string& root) {
    std::error_code error;
    for (auto it = std::filesystem::directory_iterator(root, error);
         !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
        if (numberIn(it->path() / "vendor") != kGoogle) continue;
        const unsigned device = numberIn(it->path() / "device");
        if (std::find(std::begin(kTpus), std::end(kTpus), device) != std::end(kTpus)) return true;
    }
    return false;
}

} // namespace qs
