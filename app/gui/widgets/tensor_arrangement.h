// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which tensors the browser shows and in which order: plain arrays, made on a worker thread for a large model.

#include "app/gui/model_layout.h"
#include "app/gui/model_rows.h"

#include <QRegularExpression>

namespace qs::gui {

struct TensorArrangement {
    bool flat = false;
    bool isList = true; ///< the rows are tensors: flat, or a model without groups
    int shown = 0;
    std::vector<int> tensors; ///< in the order shown
    std::vector<int>
        placeOf; ///< per tensor of the model: index into `tensors`, -1: filtered away; none where all are in order
    int placeAt(int tensor) const { return placeOf.empty() ? tensor : placeOf[std::size_t(tensor)]; }
    // Of a tree: the rows of its top level.
    std::vector<int> rows;  ///< of the outline's order
    std::vector<int> begin; ///< of their tensors in `tensors`, and the end
    std::vector<int> rowOf; ///< per row of the outline's order: its row here, -1: none of its tensors is shown
};

struct ArrangementWish {
    enum Key { ByName, ByBpw, ByMetric, ByBytes, ByFlags };
    bool flat = false;
    Key key = ByName;
    bool descending = false;
    QRegularExpression filter; ///< empty pattern: everything
};

/// Under a tree the groups keep the model's order and their tensors are sorted; "not measured" is last either way.
TensorArrangement arrange(const Model& model, const TensorOutline& outline, const ModelRows& rows, const Metric* metric,
                          const ArrangementWish& wish, const Job& job);

/// NaN: not measured.
double sortKey(const TensorInfo& tensor, const AnalysisRow& row, const Metric* metric, ArrangementWish::Key key);
/// "refused", "NaN, outliers"; as a sentence for a tooltip.
QString flagsOf(const AnalysisRow& row, bool sentence);

/// What the cells of all rows have in common.
struct TensorSurvey {
    double largest = 0; ///< magnitude of the metric: a full bar
    bool anyFlags = false;
};
TensorSurvey survey(const ModelRows& rows, std::size_t weights, const Metric* metric, const Job& job);

} // namespace qs::gui
