// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/host.h"

#include "core/base/parallel.h"
#include "core/base/text.h"

#include "qs_commit.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>

namespace qs {
namespace {

namespace fs = std::filesystem;

std::string lineOf(const std::string& path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

/// Bytes of "32768K".
std::uint64_t sizeOf(const std::string& text) {
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
    return *end == 'K' ? value << 10 : *end == 'M' ? value << 20 : *end == 'G' ? value << 30 : value;
}

/// The CPU features that kernels are chosen by.
std::string features() {
    static constexpr std::array<std::string_view, 27> wanted = {
        "sse4_2",      "f16c",     "fma",      "avx",        "avx2",    "avx_vnni",    "avx512f",
        "avx512bw",    "avx512vl", "avx512dq", "avx512vbmi", "gfni",    "avx512_vnni", "avx512_bf16",
        "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16",   "asimd",   "asimdhp",     "asimddp",
        "bf16",        "i8mm",     "sve",      "sve2",       "svebf16", "svei8mm"};
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
        const std::string all = line.substr(std::min(line.size(), line.find(':') + 1)) + ' ';
        std::vector<std::string_view> found;
        for (const auto name : wanted)
            if (all.find(fmt::format(" {} ", name)) != std::string::npos) found.push_back(name);
        return fmt::format("{}", fmt::join(found, " "));
    }
    return "not shown by the system";
}

/// Current clock of the slowest and the fastest CPU as the system reports it; in a virtual machine possibly the nominal
/// one.
std::string clock() {
    double least = 0, most = 0;
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with("cpu MHz")) continue;
        const double mhz = std::strtod(line.c_str() + std::min(line.size(), line.find(':') + 1), nullptr);
        least = least > 0 ? std::min(least, mhz) : mhz;
        most = std::max(most, mhz);
    }
    if (!(most > 0)) return "not shown by the system";
    return least == most ? fmt::format("{:.0f} MHz", most) : fmt::format("{:.0f} to {:.0f} MHz", least, most);
}

std::string governor() {
    std::set<std::string> names;
    for (const int cpu : cpusOfThread()) {
        const auto name = lineOf(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu));
        names.insert(name.empty() ? "not shown by the system" : name);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

std::uint64_t lastLevelCacheBytes(const std::string& sysfs) {
    std::set<std::string> seen;
    std::uint64_t total = 0;
    for (const int cpu : cpusOfThread()) {
        std::string best;
        int level = 0;
        std::error_code error;
        for (const auto& index : fs::directory_iterator(fmt::format("{}/cpu{}/cache", sysfs, cpu), error)) {
            const std::string at = index.path().string();
            if (lineOf(at + "/type") == "Instruction") continue;
            const int found = std::atoi(lineOf(at + "/level").c_str());
            if (found > level) level = found, best = at;
        }
        if (best.empty()) continue;
        const std::string shared = lineOf(best + "/shared_cpu_list");
        if (seen.insert(shared.empty() ? best : shared).second) total += sizeOf(lineOf(best + "/size"));
    }
    return total;
}

std::vector<std::pair<std::string, std::string>> hostProvenance() {
    const auto cpus = cpusOfThread();
    const std::uint64_t cache = lastLevelCacheBytes();
    std::vector<std::pair<std::string, std::string>> out = {
        {"cpu_features", features()},
        {"clock", clock()},
        {"governor", governor()},
        {"affinity", fmt::format("CPUs {}", fmt::join(cpus, " "))},
        {"last_level_cache", cache ? bytesText(cache) : "not shown by the system"},
        {"available_memory", bytesText(availableMemory())},
        {"compiler", QS_COMPILER},
        {"build_flags", QS_BUILD_FLAGS},
    };
    if (const std::string commit = QS_COMMIT; !commit.empty()) out.emplace_back("commit", commit);
    return out;
}

} // namespace qs
