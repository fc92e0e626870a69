// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/analysis.h"
#include "core/base/cell.h"
#include "core/base/decibel.h"
#include "core/base/text.h"
#include "core/base/tip.h"
#include "core/model/derived_tensor.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace qs {

const char* statusId(Status status) {
    switch (status) {
    case Status::Ok: return "ok";
    case Status::Refused: return "refused";
    case Status::Kept: return "kept";
    case Status::Failed: break;
    }
    return "failed";
}

namespace {

/// Why the row or some of its figures are missing, and what has to be known about it.
std::string reasonOf(const TensorAnalysis& row) {
    if (row.status != Status::Ok) return row.reason;
    std::string text = row.reason;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    for (const std::string& warning : row.warnings) add(warning);
    if (!row.larger.empty()) add(row.larger);
    if (row.statistics && row.statistics->conversionError.value_or(0) > 0)
        add(fmt::format("F64 is rounded to f32 first, by at most {:.3g}", *row.statistics->conversionError));
    // Metrics that miss for the same reason are named together.
    std::vector<std::pair<std::string, std::string>> missing;
    for (const Metric& metric : metrics()) {
        if (metric.value(row)) continue;
        const char* why = metric.whyMissing(row);
        const std::string reason = why ? why : "not measured";
        if (!missing.empty() && missing.back().second == reason)
            missing.back().first.append(", ").append(metric.id);
        else
            missing.emplace_back(metric.id, reason);
    }
    for (const auto& [ids, why] : missing) add(ids + ": " + why);
    return oneSentence(text);
}

Columns<AnalysisRow> makeAnalysisColumns() {
    using Row = AnalysisRow;
    constexpr auto none = Direction::None, lower = Direction::LowerIsBetter;
    Columns<Row> columns;
    const auto add = [&](ColumnInfo info, auto get) { columns.push_back(columnOf<Row>(std::move(info), get)); };
    const auto counted = [](const Row& r) { return r->status == Status::Ok || r->nan + r->inf > 0; };
    add({"tensor", "Tensor", "", Show::Name, 0, none, "Name in the file"},
        [](const Row& r) -> Value { return r->tensor; });
    add({"shape", "Shape", "", Show::Shape, 0, none, "Dimensions in numpy order"},
        [](const Row& r) { return wholeShapeText(r->shape); });
    add({"spec", "Spec", "", Show::Text, 0, none, "The spec as typed"},
        [](const Row& r) -> Value { return r->specAsTyped; });
    add({"spec_full", "Full spec", "", Show::Text, 0, none, "Every key of the format"},
        [](const Row& r) { return canonicalText(r->spec); });
    add({"status", "Status", "", Show::Text, 0, none, "ok, refused, failed, or kept as it is"},
        [](const Row& r) { return statusId(r->status); });
    add(withWholeTip({"bpw", "bpw", "", Show::Fixed, 4, lower,
                      "True stored bits per weight: 8 (codes + scales + padding) / elements"}),
        [](const Row& r) -> Value { return r->status == Status::Ok && r->elements ? Value(r->bpw) : Value(); });
    for (const Metric& metric : metrics()) {
        add(metricColumn(metric), [&metric](const Row& r) {
            return metric.isInfinite && metric.isInfinite(*r) ? Value(std::numeric_limits<double>::infinity())
                                                              : finiteCellOf(metric.value(*r));
        });
        if (metric.error)
            add({metric.id + std::string("_se"), "±", metric.unit, Show::Significant, 2, none,
                 "Standard error when chunks of the text are independent"},
                [&metric](const Row& r) { return finiteCellOf(metric.error(*r)); });
    }
    add({"source_bpw", "Source bpw", "", Show::Fixed, 4, none, "Bits per weight in the source"},
        [](const Row& r) -> Value { return r->elements ? Value(r->sourceBpw()) : Value(); });
    add({"decoded_as", "Decoded as", "", Show::Text, 0, none,
         "Type of the reconstruction that the error is measured on"},
        [](const Row& r) { return info(r->decodedAs).id; });
    add({"nan", "NaN", "", Show::Integer, 0, none, "Values that are not a number"},
        [counted](const Row& r) { return counted(r) ? cellOf(r->nan) : Value(); });
    add({"inf", "Inf", "", Show::Integer, 0, none, "Infinite values"},
        [counted](const Row& r) { return counted(r) ? cellOf(r->inf) : Value(); });
    add({"bytes", "Bytes", "", Show::Bytes, 0, lower, "Stored bytes in the default layout"},
        [](const Row& r) { return r->status == Status::Ok ? cellOf(r->bytesAfter) : Value(); });
    add({"reason", "Reason", "", Show::Text, 0, none, "Why the row or a figure is missing, and warnings"},
        [](const Row& r) { return reasonOf(*r); });
    return columns;
}

Columns<SpecTotal> makeTotalColumns() {
    using Row = SpecTotal;
    constexpr auto none = Direction::None, lower = Direction::LowerIsBetter;
    Columns<Row> columns;
    const auto add = [&](ColumnInfo info, auto get) { columns.push_back(columnOf<Row>(std::move(info), get)); };
    add({"spec", "Spec", "", Show::Text, 0, none, "The spec as typed"}, &Row::specAsTyped);
    add({"spec_full", "Full spec", "", Show::Text, 0, none, "Every key of the format"}, &Row::specFull);
    add({"matrices", "Tensors", "", Show::Integer, 0, none, "Measured tensors"}, &Row::tensors);
    add({"refused", "Refused", "", Show::Integer, 0, lower, "Tensors that the spec cannot take"}, &Row::refused);
    add({"kept", "Kept", "", Show::Integer, 0, none, "Tensors that the layout of the spec keeps as they are"},
        &Row::kept);
    add({"elements", "Elements", "", Show::Integer, 0, none, "Of the measured tensors"}, &Row::elements);
    add({"bytes_before", "Before", "", Show::Bytes, 0, none, "Bytes of the measured tensors in the source"},
        &Row::bytesBefore);
    add({"bytes", "Bytes", "", Show::Bytes, 0, lower, "Stored bytes in the default layout"}, &Row::bytesAfter);
    add({"bpw", "bpw", "", Show::Fixed, 4, lower, "True stored bits per weight of the measured tensors"},
        [](const Row& r) -> Value { return r.elements ? Value(r.bpw) : Value(); });
    add({"bpw_all", "bpw of all", "", Show::Fixed, 4, lower,
         "Stored bits per weight of the whole model: what is not measured counts as it is in the source"},
        [](const Row& r) -> Value { return r.allElements ? Value(r.bpwAll()) : Value(); });
    add({"nmse", "NMSE", "", Show::Scientific, 4, lower, "||E||^2 / ||W||^2 of all tensors together"},
        [](const Row& r) { return r.sums.sw2 > 0 ? finiteCellOf(r.sums.se2 / r.sums.sw2) : Value(); });
    add({"sqnr_db", "SQNR", "dB", Show::Fixed, 2, Direction::HigherIsBetter, "-10 log10(NMSE) of all tensors together"},
        [](const Row& r) {
            const double nmse = r.sums.sw2 > 0 ? r.sums.se2 / r.sums.sw2 : std::numeric_limits<double>::quiet_NaN();
            return std::isfinite(nmse) ? cellOf(sqnrCell(nmse)) : Value();
        });
    return columns;
}

} // namespace

const Columns<AnalysisRow>& analysisColumns() {
    static const auto columns = makeAnalysisColumns();
    return columns;
}

const Columns<SpecTotal>& totalColumns() {
    static const auto columns = makeTotalColumns();
    return columns;
}

std::vector<SpecTotal> totals(const std::vector<AnalysisRow>& rows, const Model* model) {
    std::vector<SpecTotal> out;
    std::uint64_t allBytes = 0, allElements = 0;
    for (std::size_t i = 0; model && i < model->tensors.size(); ++i)
        allBytes += storedBytes(model->tensors[i]), allElements += model->tensors[i].elements;
    for (const AnalysisRow& row : rows) {
        SpecTotal* total = nullptr;
        for (auto& candidate : out)
            if (candidate.specAsTyped == row->specAsTyped) total = &candidate;
        if (!total) {
            total = &out.emplace_back();
            total->specAsTyped = row->specAsTyped, total->specFull = canonicalText(row->spec);
            total->allBytes = allBytes, total->allElements = allElements;
        }
        if (row->status != Status::Ok) {
            ++(row->status == Status::Kept ? total->kept : total->refused);
            continue;
        }
        ++total->tensors;
        total->elements += row->elements;
        total->bytesBefore += row->bytesBefore;
        total->bytesAfter += row->bytesAfter;
        total->allBytes += row->bytesAfter - row->bytesBefore;
        total->sums.merge(row->sums);
        total->bpw = total->elements ? 8.0 * double(total->bytesAfter) / double(total->elements) : 0;
    }
    return out;
}

} // namespace qs
