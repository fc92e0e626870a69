// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/forensics/forensics.h"
#include "core/base/cell.h"
#include "core/quant/spec/code_set.h"

#include <cmath>
#include <limits>

namespace qs {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kUnknown = std::nan("");

/// Where the encoder changes from code to code + 1, in units of the scale; NaN when it differs from group to group.
double boundaryAfter(const TensorAnalysis& analysis, std::size_t code) {
    const QuantSpec& spec = analysis.spec;
    const FormatTraits& traits = spec.traits();
    const std::span<const float> levels =
        traits.polyLevels.empty() ? std::span<const float>(analysis.levels) : traits.levels;
    if (codeSetOf(spec).encoder != Encoder::Threshold)
        return (double(levels[code]) + double(levels[code + 1])) / 2; // decode=poly does not move what the encoder does
    // Ternary by threshold: half a deviation of the tensor; with scales 0.7 mean|x|, another multiple of every scale.
    if (spec.scaleKind() != ScaleKind::None || !analysis.statistics) return kUnknown;
    return (code == 0 ? -0.5 : 0.5) * analysis.statistics->std;
}

} // namespace

CodebookView codebookView(const TensorAnalysis& analysis) {
    CodebookView view;
    const FormatTraits& traits = analysis.spec.traits();
    const std::span<const float> levels =
        traits.polyLevels.empty() ? std::span<const float>(analysis.levels) : traits.levels;
    const std::size_t count = analysis.levels.empty() ? 0 : levels.size();
    view.hasPoly = !traits.polyLevels.empty();
    if (count == 0) return view;
    view.maxBits = std::log2(double(count));
    std::uint64_t total = 0;
    for (const std::uint64_t n : analysis.codeCounts) total += n;
    for (std::size_t code = 0; code < count; ++code) {
        CodebookRow row;
        row.code = int(code);
        row.level = double(levels[code]);
        row.polyLevel = view.hasPoly ? double(traits.polyLevels[code]) : kUnknown;
        row.lower = code == 0 ? -kInfinity : view.rows.back().upper;
        row.upper = code + 1 == count ? kInfinity : boundaryAfter(analysis, code);
        row.count = code < analysis.codeCounts.size() ? analysis.codeCounts[code] : 0;
        row.share = total ? double(row.count) / double(total) : 0;
        if (row.share > 0) view.entropyBits -= row.share * std::log2(row.share);
        view.deadCodes += row.count == 0;
        view.rows.push_back(row);
    }
    view.entropyBits = std::max(0.0, view.entropyBits);
    return view;
}

const Columns<CodebookRow>& codebookColumns() {
    static const auto columns = [] {
        Columns<CodebookRow> list;
        const auto add = [&](ColumnInfo info, auto get) {
            list.push_back(columnOf<CodebookRow>(std::move(info), get));
        };
        const auto known = [](double value) { return std::isnan(value) ? Value() : Value(value); };
        const auto none = Direction::None;
        add({"code", "Code", "", Show::Integer, 0, none, "Index of the level"}, &CodebookRow::code);
        add({"level", "Level", "", Show::Fixed, 6, none, "Decoded value in units of the scale"}, &CodebookRow::level);
        add({"poly_level", "Polynomial", "", Show::Fixed, 6, none, "Decoded value of decode=poly"},
            [known](const CodebookRow& r) { return known(r.polyLevel); });
        add({"lower", "From", "", Show::Fixed, 6, none, "Values from here have this code, in units of the scale"},
            [known](const CodebookRow& r) { return known(r.lower); });
        add({"upper", "To", "", Show::Fixed, 6, none, "Values up to here have this code"},
            [known](const CodebookRow& r) { return known(r.upper); });
        add({"count", "Count", "", Show::Integer, 0, none, "Values with this code"}, &CodebookRow::count);
        add({"share", "Share", "", Show::Percent, 3, none, "Share of all values"}, &CodebookRow::share);
        add({"error_share", "Error", "", Show::Percent, 3, none, "Share of the squared error of W / scale"},
            [known](const CodebookRow& r) { return known(r.errorShare); });
        return list;
    }();
    return columns;
}

} // namespace qs
