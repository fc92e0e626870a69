// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/python/rows.h"

#include "app/python/fault.h"
#include "core/base/text.h"
#include "core/export/run_files.h"
#include "core/model/output/atomic_file.h"
#include "core/report/writers.h"

#include <algorithm>
#include <fmt/format.h>
#include <pybind11/stl.h>

namespace qs::python {
namespace {

/// A dict for each row, by the ids of the columns. None: not measured.
py::list records(const Table& table) {
    std::vector<py::str> keys;
    for (const ColumnInfo& column : table.columns) keys.emplace_back(column.id);
    py::list out(table.rows.size());
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        py::dict row;
        for (std::size_t c = 0; c < keys.size(); ++c) row[keys[c]] = py::cast(table.rows[i][c]);
        out[i] = std::move(row);
    }
    return out;
}

/// (id, title, unit, tip, direction): -1 lower is better, 1 higher, 0 neither.
py::list columnsOf(const Table& table) {
    py::list out;
    for (const ColumnInfo& column : table.columns) {
        const int better = column.better == Direction::None ? 0 : column.better == Direction::HigherIsBetter ? 1 : -1;
        out.append(py::make_tuple(column.id, column.title, column.unit, column.tip, better));
    }
    return out;
}

/// The first rows as an HTML table, as people read them.
std::string htmlOf(const Table& table, std::size_t most) {
    const auto cell = [](const char* tag, const ColumnInfo& column, const std::string& text) {
        return fmt::format("<{0} style=\"text-align:{1}\">{2}</{0}>", tag, isNumeric(column) ? "right" : "left",
                           xmlEscaped(text));
    };
    std::string html = "<table><thead><tr>";
    for (const ColumnInfo& column : table.columns) html += cell("th", column, headerText(column));
    html += "</tr></thead><tbody>";
    for (std::size_t i = 0; i < std::min(most, table.rows.size()); ++i) {
        html += "<tr>";
        for (std::size_t c = 0; c < table.columns.size(); ++c)
            html += cell("td", table.columns[c], shownText(table.columns[c], table.rows[i][c]));
        html += "</tr>";
    }
    html += "</tbody></table>";
    if (table.rows.size() > most) html += fmt::format("<p>and {} more rows</p>", table.rows.size() - most);
    return html;
}

Report reportOf(const Rows& rows, const Job& job) {
    if (!rows.report) throw Fault(Error{"there is no report of these rows", {}});
    Report report = take(rows.report(job));
    withoutFolders(report, rows.inputs);
    return report;
}

/// (title, SVG) of every plot of the report.
std::vector<std::pair<std::string, std::string>> plotsOf(const Rows& rows, const py::object& progress) {
    return run(progress, [&](const Job& job) {
        std::vector<std::pair<std::string, std::string>> out;
        if (!rows.report) return out;
        for (const Section& section : reportOf(rows, job).sections)
            for (const Plot& plot : section.plots)
                out.emplace_back(plot.title.empty() ? section.title : plot.title, plotSvg(plot));
        return out;
    });
}

/// Writes the report as the ending of the path says.
void save(const Rows& rows, const std::string& path, bool force, const py::object& progress) {
    std::string endings;
    const ReportWriter* writer = nullptr;
    for (const ReportWriter& one : reportWriters()) {
        endings += (endings.empty() ? "" : ", ") + std::string(one.extension);
        if (path.ends_with(one.extension)) writer = &one;
    }
    if (!writer)
        throw Fault(Error{fmt::format("{}: a report ends with one of {}.", escapeForPeople(path, 160), endings), path});
    RunFiles files;
    for (const std::string& input : rows.inputs) files.reads(input, "what was read");
    files.writes(path, "the report");
    take(files.apart());
    take(files.mayBeWritten(force, "force=True"));
    run(progress, [&](const Job& job) {
        take(writeWholeFile(path, take(writer->render(reportOf(rows, job)))));
        return true;
    });
}

} // namespace

void bindRows(py::module_& module) {
    py::class_<Rows>(module, "Table")
        .def("records", [](const Rows& rows) { return records(rows.table); })
        .def("columns", [](const Rows& rows) { return columnsOf(rows.table); })
        .def("html", [](const Rows& rows, std::size_t most) { return htmlOf(rows.table, most); })
        .def("more",
             [](const Rows& rows) {
                 std::vector<std::pair<std::string, Rows>> out;
                 for (const auto& [id, table] : rows.more) out.emplace_back(id, Rows{table, {}, {}, {}, rows.inputs});
                 return out;
             })
        .def("plots", &plotsOf)
        .def("save", &save)
        .def_readonly("summary", &Rows::summary);
}

} // namespace qs::python
