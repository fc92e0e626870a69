// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/analysis.h"
#include "core/base/cell.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"

namespace qs {
namespace {

Columns<InspectRow> makeColumns(bool withStatistics) {
    Columns<InspectRow> columns;
    const auto add = [&](ColumnInfo info, auto get) { columns.push_back(columnOf<InspectRow>(std::move(info), get)); };
    add({"name", "Name", "", Show::Name, 0, Direction::None, "Name in the file"},
        [](const InspectRow& r) { return r.info.name; });
    add({"dtype", "Dtype", "", Show::Text, 0, Direction::None, "Element type as the file names it"},
        [](const InspectRow& r) { return r.info.typeId(); });
    add({"shape", "Shape", "", Show::Shape, 0, Direction::None, "Dimensions in numpy order"},
        [](const InspectRow& r) { return wholeShapeText(r.info.shape); });
    add({"bytes", "Bytes", "", Show::Bytes, 0, Direction::None, "Bytes in the file"},
        [](const InspectRow& r) { return storedBytes(r.info); });
    if (!withStatistics) return columns;

    using Statistics = TensorStatistics;
    const auto addFigure = [&](ColumnInfo info, auto get) {
        add(std::move(info), [get](const InspectRow& r) {
            return r.statistics && r.statistics->moments.n > 0 ? finiteCellOf(std::invoke(get, *r.statistics))
                                                               : Value();
        });
    };
    const auto addCount = [&](ColumnInfo info, auto get) {
        add(std::move(info),
            [get](const InspectRow& r) { return r.statistics ? cellOf(std::invoke(get, *r.statistics)) : Value(); });
    };
    const auto none = Direction::None;
    addFigure({"mean", "Mean", "", Show::Significant, 4, none, "Mean of the finite values"}, &Statistics::mean);
    addFigure({"std", "Std", "", Show::Significant, 4, none, "Population standard deviation"}, &Statistics::std);
    addFigure({"min", "Min", "", Show::Significant, 4, none, "Smallest finite value"},
              [](const Statistics& s) { return double(s.moments.min); });
    addFigure({"max", "Max", "", Show::Significant, 4, none, "Largest finite value"},
              [](const Statistics& s) { return double(s.moments.max); });
    addFigure({"kurtosis", "Kurtosis", "", Show::Fixed, 2, none, "Excess kurtosis: m4 / m2^2 - 3"},
              &Statistics::kurtosis);
    addCount({"outliers", "Outlier rows", "", Show::Integer, 0, none, "Rows with max|x| above 6 x the median row's"},
             &Statistics::outlierChannels);
    addCount({"outlier_columns", "Outlier columns", "", Show::Integer, 0, none,
              "Columns (indices of the last axis) with max|x| above 6 x the median column's"},
             &Statistics::outlierColumns);
    addCount({"nan", "NaN", "", Show::Integer, 0, none, "Values that are not a number"},
             [](const Statistics& s) { return s.moments.nan; });
    addCount({"inf", "Inf", "", Show::Integer, 0, none, "Infinite values"},
             [](const Statistics& s) { return s.moments.inf; });
    addFigure({"conversion_error", "Conversion", "", Show::Significant, 4, none,
               "Largest |x - f32(x)|: what the conversion of F64 loses; 0 for types that f32 holds"},
              [](const Statistics& s) { return s.conversionError.value_or(0.0); });
    add({"reason", "Reason", "", Show::Text, 0, none, "Why there are no statistics"}, &InspectRow::reason);
    return columns;
}

} // namespace

const Columns<InspectRow>& inspectColumns(bool withStatistics) {
    static const auto plain = makeColumns(false), full = makeColumns(true);
    return withStatistics ? full : plain;
}

} // namespace qs
