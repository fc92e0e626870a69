// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/analysis_report.h"
#include "core/analysis/diff/diff.h"
#include "core/base/cell.h"
#include "core/base/decibel.h"
#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs {

const char* diffStatusId(DiffStatus status) {
    switch (status) {
    case DiffStatus::Equal: return "equal";
    case DiffStatus::Different: return "different";
    case DiffStatus::OnlyA: return "only_a";
    case DiffStatus::OnlyB: return "only_b";
    case DiffStatus::Refused: return "refused";
    }
    return "";
}

std::string placementText(const Placement& placement) {
    std::string text;
    const auto add = [&](std::string part) { text += (text.empty() ? "" : ", ") + std::move(part); };
    if (placement.transposed) add("transposed");
    if (placement.rows == Placement::Rows::HalvesToPairs)
        add(fmt::format("rows paired within heads of {} (llama.cpp)", placement.head));
    if (placement.rows == Placement::Rows::PairsToHalves)
        add(fmt::format("pairs of rows parted within heads of {} (llama.cpp)", placement.head));
    if (placement.rows == Placement::Rows::EverySecond) add("every second row");
    if (placement.rows == Placement::Rows::HalvesInTurns) add("rows of gate and up in turns");
    if (placement.rows == Placement::Rows::TurnsInHalves) add("rows of gate before those of up");
    if (placement.rows == Placement::Rows::HeadByHead)
        add(fmt::format("q, k and v of each head of {} together", placement.head));
    else if (placement.offset > 0)
        add(fmt::format("rows {} on", placement.offset));
    if (placement.permuted())
        add(fmt::format("{} permuted", !placement.columnsPermuted ? "rows"
                                       : !placement.rowsPermuted  ? "columns"
                                                                  : "rows and columns"));
    return text;
}

std::optional<double> DiffRow::nmse() const {
    if (!isWhole() || !(power > 0) || (status != DiffStatus::Equal && status != DiffStatus::Different))
        return std::nullopt;
    return errorPower / power;
}

std::optional<double> DiffRow::sqnrDb() const { return qs::sqnrDb(nmse()); }

std::optional<double> DiffRow::cosine() const {
    if (!isWhole() || !(power > 0) || !(otherPower > 0)) return std::nullopt;
    return std::clamp(product / std::sqrt(power) / std::sqrt(otherPower), -1.0, 1.0);
}

const Columns<DiffRow>& diffColumns() {
    static const Columns<DiffRow> columns = [] {
        Columns<DiffRow> out;
        const auto add = [&](ColumnInfo info, auto get) { out.push_back(columnOf<DiffRow>(std::move(info), get)); };
        const auto measured = [](const DiffRow& row) {
            return row.power > 0 || row.otherPower > 0 || row.differing > 0 || (row.status == DiffStatus::Equal);
        };
        const auto none = Direction::None;
        add({"tensor", "Tensor", "", Show::Name, 0, none, "Name in A"},
            [](const DiffRow& r) -> Value { return r.a ? r.a->name.text() : std::string(); });
        add({"other", "In B", "", Show::Name, 0, none, "Name in B"},
            [](const DiffRow& r) -> Value { return r.b ? r.b->name.text() : std::string(); });
        add({"status", "Status", "", Show::Text, 0, none, "equal: every value, as f32"},
            [](const DiffRow& r) { return diffStatusId(r.status); });
        add({"aligned", "Aligned by", "", Show::Text, 0, none,
             "name, the name that GGUF has for it, as a part of a fused tensor, or by its values"},
            &DiffRow::aligned);
        add({"placement", "Placement", "", Show::Text, 0, none,
             "Where the values of one lie in the other; permuted: the same rows or columns in another order"},
            [](const DiffRow& r) { return placementText(r.placement); });
        add({"dtype", "Dtype", "", Show::Text, 0, none, "In A"},
            [](const DiffRow& r) { return r.a ? r.a->typeId() : ""; });
        add({"other_dtype", "Dtype in B", "", Show::Text, 0, none, "In B"},
            [](const DiffRow& r) { return r.b ? r.b->typeId() : ""; });
        add({"shape", "Shape", "", Show::Shape, 0, none, "In A, or where it is only there in B"},
            [](const DiffRow& r) { return wholeShapeText((r.a ? r.a : r.b)->shape); });
        add({"elements", "Values", "", Show::Integer, 0, none, "That were compared, or are alone"}, &DiffRow::elements);
        add({"differing", "Differing", "", Show::Integer, 0, Direction::LowerIsBetter,
             "Values that are not equal as f32"},
            [measured](const DiffRow& r) -> Value { return measured(r) ? Value(std::int64_t(r.differing)) : Value(); });
        add({"zero_signs", "Zero signs", "", Show::Integer, 0, none,
             "Zeros that have another sign in the other: equal numbers in other bits, not among the differing"},
            [measured](const DiffRow& r) -> Value { return measured(r) ? Value(std::int64_t(r.zeroSigns)) : Value(); });
        add({"nmse", "NMSE", "", Show::Scientific, 4, Direction::LowerIsBetter, "||B - A||^2 / ||A||^2"},
            &DiffRow::nmse);
        add({"sqnr_db", "SQNR", "dB", Show::Fixed, 2, Direction::HigherIsBetter,
             "-10 log10 NMSE; inf where B equals A"},
            [](const DiffRow& r) { return sqnrCell(r.nmse()); });
        add({"cosine", "Cosine", "", Show::Fixed, 6, Direction::HigherIsBetter, "Of A and B as vectors"},
            &DiffRow::cosine);
        add({"max_abs", "Max error", "", Show::Significant, 4, Direction::LowerIsBetter, "Largest |B - A|"},
            [measured](const DiffRow& r) -> Value { // the maximum over only the finite values would be misleading
                return measured(r) && r.isWhole() ? Value(r.maxAbs) : Value();
            });
        add({"nonfinite", "Non-finite", "", Show::Integer, 0, Direction::LowerIsBetter,
             "Values that are NaN or Inf in one of them and others there; they are among the differing"},
            [measured](const DiffRow& r) -> Value { return measured(r) ? Value(std::int64_t(r.nonFinite)) : Value(); });
        add({"nonfinite_equal", "Non-finite, equal", "", Show::Integer, 0, none, "NaN and Inf with equal bits in both"},
            [measured](const DiffRow& r) -> Value {
                return measured(r) ? Value(std::int64_t(r.nonFiniteEqual)) : Value();
            });
        add({"reason", "Reason", "", Show::Text, 0, none, "Why figures are missing"}, &DiffRow::reason);
        return out;
    }();
    return columns;
}

std::string diffText(const DiffResult& result) {
    std::string text;
    for (const auto& [status, what] : {std::pair(DiffStatus::Equal, "equal"),
                                       {DiffStatus::Different, "different"},
                                       {DiffStatus::OnlyA, "only in A"},
                                       {DiffStatus::OnlyB, "only in B"},
                                       {DiffStatus::Refused, "not comparable"}})
        if (const auto n = result.count(status) + (status == DiffStatus::Equal ? result.equalLeftOut : 0))
            text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", n, what,
                                status == DiffStatus::Equal && result.equalButSigns > 0
                                    ? fmt::format(" ({} but for signs of zeros)", result.equalButSigns)
                                    : "");
    return text.empty() ? "no tensors" : text;
}

Result<Report> diffReport(const DiffPlan& plan, const DiffResult& result, const std::string& commandLine,
                          const Job& job) {
    auto provenance = modelProvenance(*plan.a, "none", commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    const auto other = modelProvenance(*plan.b, "none", {}, job);
    if (!other) return tl::unexpected(other.error());
    Report report;
    report.title = fmt::format("{} and {}", plan.a->title, plan.b->title);
    report.subtitle = fmt::format("Differences tensor by tensor: {}", diffText(result));
    report.provenance = std::move(*provenance);
    for (const auto& [key, value] : *other)
        if (key.starts_with("input")) report.provenance.emplace_back(key, value);
    report.data = makeTable({}, diffColumns(), result.rows);
    Section section;
    section.title = "Differences";
    section.brief = true;
    section.text = fmt::format("A is {}, B is {}. {} compared in {}: {}.", escapeForPeople(plan.a->path, 160),
                               escapeForPeople(plan.b->path, 160), bytesText(result.bytes),
                               durationText(result.seconds), diffText(result));
    if (const auto all = result.handedOutRows(); all > result.rows.size())
        section.text += fmt::format(" The table has {} of {} rows, those that differ before those that are equal; the "
                                    "JSON and CSV files have all.",
                                    result.rows.size(), all);
    section.note = "Values are compared as f32. Differences of weights are no measure of what a model says.";
    section.tables.push_back(withColumns(makeTable("Tensors", diffColumns(), result.rows),
                                         {"tensor", "other", "status", "placement", "dtype", "other_dtype", "differing",
                                          "nmse", "sqnr_db", "max_abs", "reason"}));
    report.sections.push_back(std::move(section));
    return report;
}

} // namespace qs
