// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Sensitivities as bars, cells and dots. Plain functions: what is drawn can be tested without drawing.

#include "app/gui/model_layout.h"
#include "app/gui/widgets/heat_map.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/ranked_bars.h"
#include "core/eval/sensitivity/sensitivity_row.h"

#include <vector>

namespace qs::gui {

/// Tensors under a spec, the largest effect first; those without a figure last.
std::vector<const eval::SensitivityRow*> rankedRows(const std::vector<eval::SensitivityRow>& rows,
                                                    const std::string& spec);
/// "0.00213 ± 0.00031"; a reason in place of a figure.
RankedBar barOf(const eval::SensitivityRow& row, const QString& name);

struct GridPicture {
    HeatMapData map;
    std::vector<int> weights; ///< per cell the weight that it shows, -1: none
};
/// `values`: one per weight; NaN: not measured. Of a cell with several weights the largest is shown.
GridPicture gridPicture(const RoleGrid& grid, const std::vector<double>& values, const QString& unit);

/// x: the prediction, y: KL alone, of each tensor that has both; and the line on which both are equal. Nats.
QVector<PlotSeries> predictionPlot(const std::vector<eval::SensitivityRow>& rows, const std::string& spec);

} // namespace qs::gui
