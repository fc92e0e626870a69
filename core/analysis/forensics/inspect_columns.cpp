// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/analysis.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"

#include <cmath>

namespace qs {
namespace {

Columns<InspectRow> makeColumns(bool withStatistics) {
    Columns<InspectRow> columns;
    const auto add = [&](ColumnInfo info, std::function<Value(const InspectRow&)> get) {
        Column<InspectRow> out;
        static_cast<ColumnInfo&>(out) = std::move(info);
        out.value = std::move(get);
        columns.push_back(std::move(out));
    };
    add({"name", "Name", "", Show::Name, 0, Direction::None, "Name in the file"},
        [](const InspectRow& r) -> Value { return r.info.name; });
    add({"dtype", "Dtype", "", Show::Text, 0, Direction::None, "Element type as the file names it"},
        [](const InspectRow& r) -> Value { return std::string(r.info.typeId()); });
    add({"shape", "Shape", "", Show::Shape, 0, Direction::None, "Dimensions in numpy order"},
        [](const InspectRow& r) -> Value { return wholeShapeText(r.info.shape); });
    add({"bytes", "Bytes", "", Show::Bytes, 0, Direction::None, "Bytes in the file"},
        [](const InspectRow& r) -> Value { return std::int64_t(storedBytes(r.info)); });
    if (!withStatistics) return columns;

    using Statistics = TensorStatistics;
    const auto addFigure = [&](ColumnInfo info, double (*get)(const Statistics&)) {
        add(std::move(info), [get](const InspectRow& r) -> Value {
            if (!r.statistics || r.statistics->moments.n == 0) return {};
            const double value = get(*r.statistics);
            return std::isfinite(value) ? Value(value) : Value();
        });
    };
    const auto addCount = [&](ColumnInfo info, std::uint64_t (*get)(const Statistics&)) {
        add(std::move(info), [get](const InspectRow& r) -> Value {
            return r.statistics ? Value(std::int64_t(get(*r.statistics))) : Value();
        });
    };
    const auto none = Direction::None;
    addFigure({"mean", "Mean", "", Show::Significant, 4, none, "Mean of the finite values"},
              [](const Statistics& s) { return s.mean; });
    addFigure({"std", "Std", "", Show::Significant, 4, none, "Population standard deviation"},
              [](const Statistics& s) { return s.std; });
    addFigure({"min", "Min", "", Show::Significant, 4, none, "Smallest finite value"},
              [](const Statistics& s) { return double(s.moments.min); });
    addFigure({"max", "Max", "", Show::Significant, 4, none, "Largest finite value"},
              [](const Statistics& s) { return double(s.moments.max); });
    addFigure({"kurtosis", "Kurtosis", "", Show::Fixed, 2, none, "Excess kurtosis: m4 / m2^2 - 3"},
              [](const Statistics& s) { return s.kurtosis; });
    addCount({"outliers", "Outlier rows", "", Show::Integer, 0, none, "Rows with max|x| above 6 x the median row's"},
             [](const Statistics& s) { return std::uint64_t(s.outlierChannels); });
    addCount({"outlier_columns", "Outlier columns", "", Show::Integer, 0, none,
              "Columns (indices of the last axis) with max|x| above 6 x the median column's"},
             [](const Statistics& s) { return std::uint64_t(s.outlierColumns); });
    addCount({"nan", "NaN", "", Show::Integer, 0, none, "Values that are not a number"},
             [](const Statistics& s) { return s.moments.nan; });
    addCount({"inf", "Inf", "", Show::Integer, 0, none, "Infinite values"},
             [](const Statistics& s) { return s.moments.inf; });
    addFigure({"conversion_error", "Conversion", "", Show::Significant, 4, none,
               "Largest |x - f32(x)|: what the conversion of F64 loses; 0 for types that f32 holds"},
              [](const Statistics& s) { return s.conversionError.value_or(0.0); });
    add({"reason", "Reason", "", Show::Text, 0, none, "Why there are no statistics"},
        [](const InspectRow& r) -> Value { return r.reason; });
    return columns;
}

} // namespace

const Columns<InspectRow>& inspectColumns(bool withStatistics) {
    static const auto plain = makeColumns(false), full = makeColumns(true);
    return withStatistics ? full : plain;
}

} // namespace qs
