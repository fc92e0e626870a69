// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Filters and sorts the tensors of the browser. The result is plain arrays; for a large model a worker thread computes
// them.

#include "app/gui/model_layout.h"
#include "app/gui/model_rows.h"

#include <QRegularExpression>

namespace qs::gui {

struct TensorArrangement {
    bool flat = false;
    bool isList = true; ///< the rows are tensors: a flat table, or a model without groups
    int shown = 0;
    std::vector<int> tensors; ///< in the order shown
    std::vector<int>
        /// per tensor of the model: index into `tensors`, -1: filtered out; empty if all are shown in order
        placeOf;
    int placeAt(int tensor) const { return placeOf.empty() ? tensor : placeOf[std::size_t(tensor)]; }
    // For a tree: the rows of its top level.
    std::vector<int> rows;  ///< per top row: its row in the outline's order
    std::vector<int> begin; ///< per top row: its first tensor in `tensors`; one more entry for the end
    std::vector<int> rowOf; ///< per row of the outline's order: its top row, -1: none of its tensors is shown
};

struct ArrangementWish {
    enum Key { ByName, ByBpw, ByMetric, ByBytes, ByFlags };
    bool flat = false;
    Key key = ByName;
    bool descending = false;
    QRegularExpression filter; ///< empty pattern: all tensors
};

/// In a tree, groups stay in the model's order and the tensors inside are sorted. Tensors without a value come last.
TensorArrangement arrange(const Model& model, const TensorOutline& outline, const ModelRows& rows, const Metric* metric,
                          const ArrangementWish& wish, const Job& job);

/// NaN: not measured.
double sortKey(const TensorInfo& tensor, const AnalysisRow& row, const Metric* metric, ArrangementWish::Key key);
/// "refused", "NaN, outliers"; `sentence`: longer, for a tooltip.
QString flagsOf(const AnalysisRow& row, bool sentence);

/// Facts that the cells of all rows need.
struct TensorSurvey {
    double largest = 0; ///< largest magnitude of the metric: the length of a full bar
    bool anyFlags = false;
};
TensorSurvey survey(const ModelRows& rows, std::size_t weights, const Metric* metric, const Job& job);

} // namespace qs::gui
