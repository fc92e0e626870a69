// SPDX-License-Identifier: GPL-3.0-or-later
// Commands that print the registries: formats, metrics, layouts, calibrations, solvers, conventions.
#include "app/cli/declare.h"
#include "app/cli/output_files.h"
#include "app/cli/terminal.h"
#include "core/analysis/analysis.h"
#include "core/base/cell.h"
#include "core/layouts/layout.h"
#include "core/model/conventions/convention.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/dialect.h"
#include "core/solve/solver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs::cli {
namespace {

template<class Row, class Get> Column<Row> word(const char* id, const char* title, Get get) {
    return columnOf<Row>({id, title, "", Show::Text, 0, Direction::None, ""}, get);
}
template<class Row, class Get> Column<Row> number(const char* id, const char* title, Get get) {
    return columnOf<Row>({id, title, "", Show::Integer, 0, Direction::None, ""}, get);
}

std::string scaleNames(std::uint8_t kinds) {
    static constexpr std::pair<ScaleKind, const char*> names[] = {{ScaleKind::None, "none"},
                                                                  {ScaleKind::Tensor, "tensor"},
                                                                  {ScaleKind::Axes, "channel"},
                                                                  {ScaleKind::Block, "block"}};
    std::string out;
    for (const auto& [kind, name] : names)
        if (kinds & std::uint8_t(kind)) out += (out.empty() ? "" : " ") + std::string(name);
    return out;
}

/// True if blocks of the format can run over the flattened tensor (key `flat`).
bool takesFlat(const FormatTraits& f) {
    QuantSpec spec;
    spec.format = f.id, spec.flat = true;
    if (f.defaultScale != ScaleKind::Block) spec.scale = ScaleSpelling::Block;
    return validate(spec).has_value();
}

/// The keys that a spec of this format accepts. Used by shell completion and by programs.
std::string keysOf(const FormatTraits& f) {
    const bool scales = (f.scaleKinds & (f.scaleKinds - 1)) != 0;
    const std::pair<bool, const char*> keys[] = {{scales, "scale"},
                                                 {(f.scaleKinds & std::uint8_t(ScaleKind::Axes)) != 0, "axis"},
                                                 {f.maxBlock > f.minBlock, "block"},
                                                 {f.tiles, "tile"},
                                                 {takesFlat(f), "flat"},
                                                 {words(f.bitWidths).size() > 1, "bits"},
                                                 {!calibrationIds(f).empty(), "calib"},
                                                 {scaleTypeIds(f).size() > 1, "scaletype"},
                                                 {f.affine, "sym"},
                                                 {f.stochastic, "round"},
                                                 {f.sparse, "sparse"},
                                                 {!f.polyLevels.empty(), "decode"},
                                                 {true, "nan"},
                                                 {f.computeInput, "compute"},
                                                 {dialectIds(f).size() > 1, "dialect"}};
    std::string out;
    for (const auto& [has, key] : keys)
        if (has) out += (out.empty() ? "" : " ") + std::string(key);
    return out;
}

QuantSpec plainSpec(const FormatTraits& format) {
    QuantSpec spec;
    spec.format = format.id;
    return spec;
}

/// A size of blocks; none of a format without blocks.
template<class Size> Column<FormatTraits> blockColumn(const char* id, const char* title, Size FormatTraits::*size) {
    return number<FormatTraits>(id, title, [size](const FormatTraits& f) {
        return f.scaleKinds & std::uint8_t(ScaleKind::Block) ? cellOf(f.*size) : Value();
    });
}

const Columns<FormatTraits>& formatColumns() {
    using F = FormatTraits;
    const auto joined = [](const auto& ids) { return fmt::format("{}", fmt::join(ids, " ")); };
    static const Columns<F> columns = {
        word<F>("id", "Id", &F::id),
        word<F>("title", "Title", &F::title),
        number<F>("bits", "Bits", &F::bits),
        number<F>("levels", "Levels", [](const F& f) { return f.levels.empty() ? Value() : cellOf(f.levels.size()); }),
        word<F>("scales", "Scales", [](const F& f) { return scaleNames(f.scaleKinds); }),
        blockColumn("block", "Block", &F::defaultBlock),
        blockColumn("block_min", "Block min", &F::minBlock),
        blockColumn("block_max", "Block max", &F::maxBlock),
        word<F>("calibrations", "Calibrations", [joined](const F& f) { return joined(calibrationIds(f)); }),
        word<F>("dialects", "Dialects", [joined](const F& f) { return joined(dialectIds(f)); }),
        word<F>("keys", "Keys", keysOf),
        word<F>("scale_types", "Scale types", [joined](const F& f) { return joined(scaleTypeIds(f)); }),
        word<F>("bit_widths", "Bit widths", &F::bitWidths),
        word<F>("spec_full", "Default spec", [](const F& f) { return canonicalText(plainSpec(f)); }),
        word<F>("layout", "Layout", [](const F& f) { return defaultLayout(plainSpec(f)).id; }),
        word<F>("summary", "Summary", &F::summary),
        word<F>("source", "Source", &F::source),
    };
    return columns;
}

const char* betterText(const Metric& metric) {
    return metric.better == Direction::HigherIsBetter  ? "higher ↑"
           : metric.better == Direction::LowerIsBetter ? "lower ↓"
                                                       : "";
}

const Columns<Metric>& metricColumns() {
    using M = Metric;
    static const Columns<M> columns = {
        word<M>("id", "Id", &M::id),
        word<M>("title", "Title", &M::title),
        word<M>("unit", "Unit", &M::unit),
        word<M>("better", "Better", betterText),
        word<M>("formula", "Formula", &M::formula),
        word<M>("proxy", "Proxy", &M::proxy),
    };
    return columns;
}

const Columns<Layout>& layoutColumns() {
    using L = Layout;
    static const Columns<L> columns = {
        word<L>("id", "Id", &L::id),
        word<L>("title", "Title", &L::title),
        word<L>("takes", "Takes", &L::takes),
        word<L>("summary", "Summary", &L::summary),
    };
    return columns;
}

const Columns<CalibrationTraits>& calibrationColumns() {
    using C = CalibrationTraits;
    static const Columns<C> columns = {
        word<C>("id", "Id", &C::id),
        word<C>("title", "Title", &C::title),
        word<C>("arguments", "Arguments", &C::arguments),
        word<C>("summary", "Summary", &C::summary),
    };
    return columns;
}

std::string defaultSettings(const solve::Solver& solver) {
    solve::Settings settings;
    settings.solver = solver.id;
    return solve::canonicalText(settings);
}

const Columns<solve::Solver>& solverColumns() {
    using S = solve::Solver;
    static const Columns<S> columns = {
        word<S>("id", "Id", &S::id),
        word<S>("title", "Title", &S::title),
        word<S>("options", "Options", &S::options),
        word<S>("settings_full", "Defaults", defaultSettings),
        word<S>("summary", "Summary", &S::summary),
        word<S>("source", "Source", &S::source),
    };
    return columns;
}

const Columns<Convention>& conventionColumns() {
    static const Columns<Convention> columns = {
        word<Convention>("id", "Id", &Convention::id),
        word<Convention>("title", "Title", &Convention::title),
        word<Convention>("types", "Types",
                         [](const Convention& c) { return fmt::format("{}", fmt::join(c.types, " ")); }),
        word<Convention>("proof", "Taken on", &Convention::proof),
    };
    return columns;
}

std::span<const CalibrationTraits> calibrationList() {
    static const auto rows = [] {
        std::vector<CalibrationTraits> out;
        for (const auto* row : calibrationRows()) out.push_back(*row);
        return out;
    }();
    return rows;
}

template<class Row>
Run declareRegistry(CLI::App& app, std::span<const Row> (*registry)(), const Columns<Row>& (*columns)(),
                    std::initializer_list<std::string_view> shown, const char* remark = "") {
    auto outputs = std::make_shared<OutputFiles>();
    outputs->declare(app, {"json"});
    return [outputs, registry, columns, ids = std::vector<std::string_view>(shown), remark]() -> Result<void> {
        if (auto fine = outputs->check(); !fine) return fine;
        const auto rows = registry();
        const Table table = makeTable({}, columns(), std::vector<Row>(rows.begin(), rows.end()));
        if (!outputs->standardOutput()) {
            Table view = withColumns(table, ids);
            for (auto& row : view.rows)
                for (auto& cell : row)
                    if (std::holds_alternative<std::monostate>(cell))
                        cell = std::string("-"); // the column does not apply to
                                                 // this row
            if (auto done = print(tableText(view, 1000) + remark); !done) return done;
        }
        if (outputs->any()) return outputs->writeJson("{\"rows\": " + jsonRows(table) + "}\n");
        return {};
    };
}

} // namespace

Run declareFormats(CLI::App& app) {
    return declareRegistry<FormatTraits>(
        app, formats, formatColumns,
        {"id", "title", "bits", "levels", "scales", "block", "calibrations", "dialects", "layout"},
        "\nA spec is format[:key=value]*, for instance nf4:block=64 or int8:scale=channel.\n");
}
Run declareMetrics(CLI::App& app) {
    return declareRegistry<Metric>(
        app, metrics, metricColumns, {"id", "title", "unit", "better", "proxy", "formula"},
        "\nproxy: it stands for what the model's output loses, and is not measured on it.\n");
}
Run declareLayouts(CLI::App& app) {
    return declareRegistry<Layout>(app, layouts, layoutColumns, {"id", "title", "takes", "summary"});
}
Run declareCalibrations(CLI::App& app) {
    return declareRegistry<CalibrationTraits>(app, calibrationList, calibrationColumns,
                                              {"id", "title", "arguments", "summary"});
}
Run declareSolvers(CLI::App& app) {
    return declareRegistry<solve::Solver>(app, solve::solvers, solverColumns, {"id", "title", "options", "summary"});
}
Run declareConventions(CLI::App& app) {
    return declareRegistry<Convention>(
        app, conventions, conventionColumns, {"id", "title", "proof"},
        "\nA layer without such a proof is not decoded; --as ID reads it by one of these.\n");
}

} // namespace qs::cli
