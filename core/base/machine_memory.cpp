// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/machine_memory.h"

#include "core/base/text.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>

namespace qs {
namespace {

std::uint64_t lineOfMeminfo(const std::string& name) {
    std::ifstream in("/proc/meminfo");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10) << 10;
    return 0;
}

/// Memory limit of the control group of a container, in bytes; 0 if there is none.
std::uint64_t groupLimit() {
    std::ifstream group("/sys/fs/cgroup/memory.max");
    std::uint64_t most = 0;
    return group >> most ? most : 0;
}

} // namespace

std::uint64_t availableMemory() {
    const auto bytes = lineOfMeminfo("MemAvailable:"), most = groupLimit();
    return bytes && most ? std::min(bytes, most) : bytes;
}

std::uint64_t totalMemory() {
    const auto bytes = lineOfMeminfo("MemTotal:"), most = groupLimit();
    return bytes && most ? std::min(bytes, most) : std::max(bytes, most);
}

Result<void> fitsMemory(const MemoryNeed& need) {
    const auto there = availableMemory(), bytes = need.bytes(need.size);
    if (there == 0 || bytes <= there) return {};
    const auto sentence = fmt::format("{} with {} {} needs about {} of memory, and {} are available", need.what,
                                      need.size, need.of, bytesText(bytes), bytesText(there));
    std::uint64_t fits = 0;
    for (std::uint64_t step = std::uint64_t(1) << 62; step; step >>= 1)
        if (fits + step < need.size && need.bytes(fits + step) <= there) fits += step;
    if (fits == 0) return fail(sentence + "; no smaller number of them fits: take a smaller tensor");
    return fail(fmt::format("{}; {} {} fit", sentence, fits, need.of));
}

} // namespace qs
