// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/machine_load.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace qs {
namespace {

struct Ticks {
    double busy = 0, all = 0, processors = 0;
};

/// user nice system idle iowait irq softirq steal of all processors; then one line for each.
std::optional<Ticks> ticksOf(const std::string& stat) {
    std::ifstream in(stat);
    Ticks ticks;
    bool found = false;
    for (std::string line; std::getline(in, line) && line.starts_with("cpu");) {
        if (!line.starts_with("cpu ")) {
            ++ticks.processors;
            continue;
        }
        std::istringstream fields(line.substr(4));
        double value = 0;
        for (int i = 0; i < 8 && fields >> value; ++i) {
            ticks.all += value;
            if (i != 3 && i != 4) ticks.busy += value;
        }
        found = true;
    }
    return found && ticks.processors > 0 ? std::optional(ticks) : std::nullopt;
}

double ownSeconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

} // namespace

std::optional<MachineLoad> machineLoad(double seconds, const Job& job, const std::string& stat) {
    const auto before = ticksOf(stat);
    if (!before) return std::nullopt;
    const double own = ownSeconds();
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < until) {
        if (job.cancelled()) return std::nullopt;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const auto after = ticksOf(stat);
    if (!after || !(after->all > before->all)) return std::nullopt;
    const double ticksPerSecond = double(sysconf(_SC_CLK_TCK));
    const double share =
        (after->busy - before->busy - (ownSeconds() - own) * ticksPerSecond) / (after->all - before->all);
    return MachineLoad{std::clamp(share, 0.0, 1.0) * after->processors, after->processors};
}

std::string busyText(const MachineLoad& load) {
    return fmt::format("other programs keep {:.1f} of {:.0f} processors busy", load.others, load.all);
}

} // namespace qs
