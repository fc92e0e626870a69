// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The memory of the machine and the need of a step, so that the program can refuse before the kernel kills it.

#include "core/base/result.h"

#include <cstdint>
#include <functional>
#include <string>

namespace qs {

std::uint64_t availableMemory(); ///< bytes; 0 if unknown
std::uint64_t totalMemory();     ///< bytes of the machine, or of the control group if that is less; 0 if unknown

/// The memory that a step needs, as a function of a size that the user can choose.
struct MemoryNeed {
    std::string what;                                  ///< the step, e.g. "training this tensor"
    std::function<std::uint64_t(std::uint64_t)> bytes; ///< bytes for a size; must not decrease with the size
    std::uint64_t size = 0;                            ///< the requested size
    std::string of;                                    ///< what the size counts, e.g. "rows of inputs"
};
/// Error if the step needs more than is available. The message says the largest size that fits, or that none does.
Result<void> fitsMemory(const MemoryNeed& need);

} // namespace qs
