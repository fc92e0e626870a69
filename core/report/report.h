// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A report knows no domain types: provenance, tables, plots, in order. Writers turn it into HTML, PDF, Markdown, JSON, CSV.

#include "core/base/column.h"
#include "core/base/result.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qs {

/// Series drawn by plotSvg(); the same description feeds the JSON script element of the HTML.
struct Plot {
    enum class Kind { Area, Bars, HeatMap, Lines };
    Kind kind = Kind::Bars;
    std::string title, xTitle, yTitle; ///< titles with units
    struct Series {
        std::string name;
        std::vector<double> x, y; ///< Bars: y only, x are indices
    };
    std::vector<Series> series;
    std::vector<double> verticals;           ///< levels or percentiles
    std::vector<std::string> verticalLabels; ///< same length or empty
    std::vector<std::string> categories;     ///< Bars: one per value; HeatMap: column labels
    std::vector<std::string> rowLabels;      ///< HeatMap
    std::vector<double> cells;               ///< HeatMap, row-major, NaN = not measured
    bool logY = false;
};

struct Section {
    std::string title;
    std::string text; ///< plain paragraphs separated by a blank line
    std::vector<Table> tables;
    std::vector<Plot> plots;
};

struct Report {
    std::string title;
    std::vector<std::pair<std::string, std::string>> provenance; ///< key, value: input SHA-256, version, machine, ...
    std::vector<Section> sections;
    Table data; ///< what JSON "rows" and CSV carry
};

struct ReportWriter {
    const char* id;        ///< "html"
    const char* title;
    const char* extension; ///< ".html"
    Result<std::string> (*render)(const Report& report); ///< whole file as bytes
};
std::span<const ReportWriter> reportWriters();
const ReportWriter* findReportWriter(std::string_view id);

/// Standalone <svg> element; light colours with prefers-color-scheme for dark; no scripts, no URLs.
std::string plotSvg(const Plot& plot, int width = 720, int height = 280);

/// Version, formats version, machine, CPU, ISA, threads, date (UTC, or SOURCE_DATE_EPOCH).
std::vector<std::pair<std::string, std::string>> machineProvenance();
/// Lower-case hex; cached by device, inode, size and mtime.
Result<std::string> sha256OfFile(const std::string& path);

} // namespace qs
