// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Speed beside error beside size in reports.

#include "core/plan/losses.h"
#include "core/plan/speed.h"
#include "core/report/report.h"

namespace qs::plan {

/// What the error of the map is: the measured KL, or the loss of the objective, which is then named.
std::string errorTitle(const SpeedMap& map, const Objective& objective);
/// A plot for each M, the tables, and the crossovers as sentences.
Section speedSection(const SpeedMap& map, const Objective& objective);

} // namespace qs::plan
