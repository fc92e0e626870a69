// SPDX-License-Identifier: GPL-3.0-or-later
// Commands that print the registries: formats, metrics, layouts, calibrations, solvers.
#include "app/cli/declare.h"
#include "app/cli/output_files.h"
#include "app/cli/terminal.h"
#include "core/analysis/analysis.h"
#include "core/layouts/layout.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/dialect.h"
#include "core/solve/solver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs::cli {
namespace {

template<class Row> using Text = std::string (*)(const Row&);

/// A column of words.
template<class Row> Column<Row> wordColumn(const char* id, const char* title, Text<Row> text) {
    return {{id, title, "", Show::Text, 0, Direction::None, ""}, [text](const Row& row) -> Value { return text(row); }};
}
template<class Row> Column<Row> number(const char* id, const char* title, std::int64_t (*value)(const Row&)) {
    return {{id, title, "", Show::Integer, 0, Direction::None, ""},
            [value](const Row& row) -> Value { return value(row); }};
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

const Columns<FormatTraits>& formatColumns() {
    using F = FormatTraits;
    static const Columns<F> columns = {
        wordColumn<F>("id", "Id", [](const F& f) { return std::string(f.id); }),
        wordColumn<F>("title", "Title", [](const F& f) { return std::string(f.title); }),
        number<F>("bits", "Bits", [](const F& f) { return std::int64_t(f.bits); }),
        {{"levels", "Levels", "", Show::Integer, 0, Direction::None, ""},
         [](const F& f) -> Value { return f.levels.empty() ? Value{} : Value{std::int64_t(f.levels.size())}; }},
        wordColumn<F>("scales", "Scales", [](const F& f) { return scaleNames(f.scaleKinds); }),
        {{"block", "Block", "", Show::Integer, 0, Direction::None, ""},
         [](const F& f) -> Value {
             return f.scaleKinds & std::uint8_t(ScaleKind::Block) ? Value{std::int64_t(f.defaultBlock)} : Value{};
         }},
        {{"block_min", "Block min", "", Show::Integer, 0, Direction::None, ""},
         [](const F& f) -> Value {
             return f.scaleKinds & std::uint8_t(ScaleKind::Block) ? Value{std::int64_t(f.minBlock)} : Value{};
         }},
        {{"block_max", "Block max", "", Show::Integer, 0, Direction::None, ""},
         [](const F& f) -> Value {
             return f.scaleKinds & std::uint8_t(ScaleKind::Block) ? Value{std::int64_t(f.maxBlock)} : Value{};
         }},
        wordColumn<F>("calibrations", "Calibrations",
                      [](const F& f) { return fmt::format("{}", fmt::join(calibrationIds(f), " ")); }),
        wordColumn<F>("dialects", "Dialects",
                      [](const F& f) { return fmt::format("{}", fmt::join(dialectIds(f), " ")); }),
        wordColumn<F>("keys", "Keys", keysOf),
        wordColumn<F>("scale_types", "Scale types",
                      [](const F& f) { return fmt::format("{}", fmt::join(scaleTypeIds(f), " ")); }),
        wordColumn<F>("bit_widths", "Bit widths", [](const F& f) { return std::string(f.bitWidths); }),
        wordColumn<F>("spec_full", "Default spec", [](const F& f) { return canonicalText(plainSpec(f)); }),
        wordColumn<F>("layout", "Layout", [](const F& f) { return std::string(defaultLayout(plainSpec(f)).id); }),
        wordColumn<F>("summary", "Summary", [](const F& f) { return std::string(f.summary); }),
        wordColumn<F>("source", "Source", [](const F& f) { return std::string(f.source); }),
    };
    return columns;
}

const Columns<Metric>& metricColumns() {
    using M = Metric;
    static const Columns<M> columns = {
        wordColumn<M>("id", "Id", [](const M& m) { return std::string(m.id); }),
        wordColumn<M>("title", "Title", [](const M& m) { return std::string(m.title); }),
        wordColumn<M>("unit", "Unit", [](const M& m) { return std::string(m.unit); }),
        wordColumn<M>("better", "Better",
                      [](const M& m) {
                          return std::string(m.better == Direction::HigherIsBetter  ? "higher ↑"
                                             : m.better == Direction::LowerIsBetter ? "lower ↓"
                                                                                    : "");
                      }),
        wordColumn<M>("formula", "Formula", [](const M& m) { return std::string(m.formula); }),
        {{"proxy", "Proxy", "", Show::Text, 0, Direction::None, ""}, [](const M& m) -> Value { return m.proxy; }},
    };
    return columns;
}

const Columns<Layout>& layoutColumns() {
    using L = Layout;
    static const Columns<L> columns = {
        wordColumn<L>("id", "Id", [](const L& l) { return std::string(l.id); }),
        wordColumn<L>("title", "Title", [](const L& l) { return std::string(l.title); }),
        wordColumn<L>("takes", "Takes", [](const L& l) { return std::string(l.takes); }),
        wordColumn<L>("summary", "Summary", [](const L& l) { return std::string(l.summary); }),
    };
    return columns;
}

const Columns<CalibrationTraits>& calibrationColumns() {
    using C = CalibrationTraits;
    static const Columns<C> columns = {
        wordColumn<C>("id", "Id", [](const C& c) { return std::string(c.id); }),
        wordColumn<C>("title", "Title", [](const C& c) { return std::string(c.title); }),
        wordColumn<C>("arguments", "Arguments", [](const C& c) { return std::string(c.arguments); }),
        wordColumn<C>("summary", "Summary", [](const C& c) { return std::string(c.summary); }),
    };
    return columns;
}

const Columns<solve::Solver>& solverColumns() {
    using S = solve::Solver;
    static const Columns<S> columns = {
        wordColumn<S>("id", "Id", [](const S& s) { return std::string(s.id); }),
        wordColumn<S>("title", "Title", [](const S& s) { return std::string(s.title); }),
        wordColumn<S>("options", "Options", [](const S& s) { return std::string(s.options); }),
        wordColumn<S>("settings_full", "Defaults",
                      [](const S& s) {
                          solve::Settings settings;
                          settings.solver = s.id;
                          return solve::canonicalText(settings);
                      }),
        wordColumn<S>("summary", "Summary", [](const S& s) { return std::string(s.summary); }),
        wordColumn<S>("source", "Source", [](const S& s) { return std::string(s.source); }),
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
    return declareRegistry<Metric>(app, metrics, metricColumns, {"id", "title", "unit", "better", "proxy", "formula"},
                                   "\nproxy: weight-space error: a screening proxy, not accuracy.\n");
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

} // namespace qs::cli
