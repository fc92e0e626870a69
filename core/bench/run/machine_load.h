// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Whether something else runs on the machine, asked before a benchmark takes its time.

#include "core/base/job.h"

#include <optional>
#include <string>

namespace qs {

struct MachineLoad {
    double others = 0; ///< processors that other programs, or other guests of the host, keep busy
    double all = 0;    ///< processors that there are
    /// So much that rows timed beside it are of no use.
    bool busy() const { return others >= 0.5 && others >= 0.15 * all; }
};
/// Watches for `seconds`; nothing where the system does not say, or the job is cancelled. `stat` has the system's counts.
std::optional<MachineLoad> machineLoad(double seconds = 0.3, const Job& job = {},
                                       const std::string& stat = "/proc/stat");
/// "other programs keep 1.9 of 2 processors busy"
std::string busyText(const MachineLoad& load);

} // namespace qs
