// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/analysis/report_plots.h"

namespace qs {

/// A section of a report: figures of the model's output, and how well proxies rank tensors in the same order. `data` is
/// the table of all rows. Nullopt if no row has a figure of the output.
std::optional<Section> effectSection(const AnalysisPlan& plan, const RowsBySpec& specs, const Table& data);

} // namespace qs
