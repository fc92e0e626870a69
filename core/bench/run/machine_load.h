// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Measures whether other programs use the machine, before a benchmark starts.

#include "core/base/job.h"

#include <optional>
#include <string>

namespace qs {

struct MachineLoad {
    double others = 0; ///< number of processors kept busy by other programs or other guests of the host
    double all = 0;    ///< number of processors
    /// So much load that timings are useless.
    bool busy() const { return others >= 0.5 && others >= 0.15 * all; }
};
/// Measures for `seconds`; nullopt if the system does not tell or the job is cancelled. `stat`: file with the system's
/// counters.
std::optional<MachineLoad> machineLoad(double seconds = 0.3, const Job& job = {},
                                       const std::string& stat = "/proc/stat");
/// "other programs keep 1.9 of 2 processors busy"
std::string busyText(const MachineLoad& load);

} // namespace qs
