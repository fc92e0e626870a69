// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Converts the rows of a whole model to what the overview draws. Plain functions; the layout of a model is computed
// once.

#include "app/gui/model_layout.h"
#include "app/gui/model_rows.h"
#include "app/gui/session_recipe.h"
#include "app/gui/widgets/heat_map.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/ranked_bars.h"
#include <vector>

namespace qs::gui {

/// NaN: not measured, refused, or infinite.
double metricValue(const Metric& metric, const AnalysisRow& row);
/// The reason why metricValue() is NaN; "not measured yet" for a null row.
QString missingReason(const Metric& metric, const AnalysisRow& row);
/// The value as the column of the metric prints it.
QString metricText(const Metric& metric, double value);
/// The same with the standard error that the row has: "0.00213 ± 0.00031".
QString metricText(const Metric& metric, double value, const AnalysisRow& row);
/// "NMSE ↓"
QString metricTitle(const Metric& metric);
/// Of a map of the model: "NMSE, a proxy: layer × role", "KL alone nats, measured: layer × role".
QString mapTitle(const Metric& metric, bool hasLayers);

struct RoleMap {
    HeatMapData map;
    std::vector<int> worst; ///< per cell: the weight whose value is shown (or why it has none); -1: blank
};
RoleMap roleMap(const RoleGrid& grid, const ModelRows& rows, const Metric& metric);

struct Ranking {
    std::vector<int> order, barOf; ///< bar -> weight, worst first, without a value last; weight -> bar
    std::vector<double> values;    ///< per weight; NaN: not measured
    BarExtents extents;
    int measured = 0;
};
Ranking ranking(const RoleGrid& grid, const ModelRows& rows, const Metric& metric);

struct ErrorShare {
    PlotSeries curve;          ///< x: the worst k tensors, y: their share of the total squared error in %
    int tensors = 0, most = 0; ///< the worst `most` tensors cause 80 % of the error
};
ErrorShare errorShare(const RoleGrid& grid, const ModelRows& rows);

/// The bytes of the model in each format, before and after.
struct ByteShares {
    std::vector<RankedBar> bars;
    std::uint64_t before = 0, after = 0, pending = 0; ///< pending: bytes of tensors that are not measured yet
};
/// `sizes`: of the recipe, for what it keeps; without bytes: what is kept takes the bytes that it has.
ByteShares byteShares(const Model& model, const Weights& weights, const ModelRows& rows, const RecipeSizes& sizes);

struct SqnrSpread {
    PlotSeries bars;
    double lo = 0, hi = 0, median = 0;
    int tensors = 0, exact = 0; ///< exact: tensors without any error, so that their SQNR is infinite
};
SqnrSpread sqnrSpread(const RoleGrid& grid, const ModelRows& rows);

/// All data that the overview draws, taken at one moment so that its parts agree.
struct OverviewPicture {
    std::shared_ptr<const Model> model; ///< null: no model is open
    std::shared_ptr<const ModelLayout> layout = std::make_shared<ModelLayout>();
    ModelRows rows;
    std::shared_ptr<const SessionRecipe> recipe = std::make_shared<SessionRecipe>();
    QString title;     ///< of the recipe
    QString countedIn; ///< id of the layout that the bytes are of
    const Metric* metric = nullptr;
    RoleMap map;
    Ranking ranking;
    SqnrSpread spread;
    ErrorShare share;
    ByteShares bytes;
    int kept = 0;    ///< number of tensors that the recipe or the layout keeps as they are
    int refused = 0; ///< number of tensors that their spec cannot be applied to
    QString refusal; ///< the first refused tensor and the reason
    int larger = 0;  ///< number of tensors that take more bits than in the source
    QString largest; ///< the first of those and the reason

    void work(); ///< computes all other fields from the first seven
};

} // namespace qs::gui
