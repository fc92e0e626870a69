// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/analysis/report_plots.h"

namespace qs {

/// What is known of the model's output beside the weights, and how far proxies rank tensors in the same order. `data`: the
/// table of all rows. Nothing where no row knows of the output.
std::optional<Section> effectSection(const AnalysisPlan& plan, const RowsBySpec& specs, const Table& data);

} // namespace qs
