// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What memory there is, and what a step needs of it: said before it begins, not by the kernel that ends it.

#include "core/base/result.h"

#include <cstdint>
#include <functional>
#include <string>

namespace qs {

std::uint64_t availableMemory(); ///< bytes; 0 when unknown
std::uint64_t totalMemory();     ///< of the machine, or of the control group when that has less; 0 when unknown

/// What a step needs as a function of one size of it that its user can choose.
struct MemoryNeed {
    std::string what;                                  ///< "training this tensor"
    std::function<std::uint64_t(std::uint64_t)> bytes; ///< never less for a larger size
    std::uint64_t size = 0;                            ///< as asked
    std::string of;                                    ///< "rows of inputs"
};
/// A sentence when it needs more than is available: with the largest size that fits, or that none does.
Result<void> fitsMemory(const MemoryNeed& need);

} // namespace qs
