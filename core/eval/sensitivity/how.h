// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The registry of ways to measure a sensitivity.

#include "core/base/job.h"
#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace qs::eval {

class SensitivityRun;

struct SensitivityHow {
    const char* id;
    const char* title;
    const char* summary;  ///< one sentence for people
    const char* figure;   ///< what SensitivityRow::rank() is, with its unit
    bool needsSpecs;      ///< false: it can be measured without a spec
    bool isSumMeaningful; ///< whether figures of units are added up and held against all at once
    bool isLoss;          ///< the figure says what quantizing a unit costs, so that a plan may make its sum least
    bool isProxy;         ///< the figure is not of the network's output
    std::optional<std::uint64_t> seed; ///< of the random numbers that it uses; none: it uses none
    /// Measures all units of the run and hands over their rows. Errors: cancelled, and what stops every unit.
    Result<void> (*measure)(SensitivityRun& run, const Job& job);
};
std::span<const SensitivityHow> sensitivityHows();
/// Null if there is no such way.
const SensitivityHow* findSensitivityHow(std::string_view id);

} // namespace qs::eval
