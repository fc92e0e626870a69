// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A report knows no domain types: provenance, tables, plots, in order. Writers turn it into HTML, PDF, Markdown, JSON,
// CSV.

#include "core/base/column.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/base/symlog.h"

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qs {

/// Series drawn by plotSvg(); the same description feeds the JSON script element of the HTML.
struct Plot {
    enum class Kind { Area, Bars, HeatMap, Lines, Scatter }; ///< Scatter: marks joined by a faint line a series
    Kind kind = Kind::Bars;
    std::string title, xTitle, yTitle; ///< titles with units
    struct Series {
        std::string name;
        std::vector<double> x, y; ///< Bars: x empty with `categories`, else the left edges of equally wide bins
        std::vector<std::string> notes = {}; ///< Scatter: what each mark is
    };
    std::vector<Series> series;
    std::vector<double> verticals;           ///< levels or percentiles
    std::vector<std::string> verticalLabels; ///< same length or empty
    std::vector<std::string> categories;     ///< Bars: one per value; HeatMap: column labels
    std::vector<std::string> rowLabels;      ///< HeatMap
    std::vector<double> cells;               ///< HeatMap, row-major, NaN = not measured, infinite = there is none
    std::string cellTitle;                   ///< HeatMap: what a cell is, with its unit, for the legend
    int cellDecimals = 2;
    std::string emptyTitle = "not measured"; ///< what a hatched cell means
    /// HeatMap: range of the colours, so that plots can share it; NaN: that of the cells.
    double cellLow = std::numeric_limits<double>::quiet_NaN(), cellHigh = std::numeric_limits<double>::quiet_NaN();
    int color = 0;     ///< which data colour (a b c d) the first series has
    bool logY = false; ///< also of Scatter. HeatMap: cells are ratios; half is as far from 1 as double, and as plain
    bool lowIsGood = true;     ///< HeatMap: the colours are turned else, so that bright is worse
    bool namesTensors = false; ///< Bars: the categories are names of tensors
    SymlogAxis symlogX;        ///< of Area and Lines; x holds values, not places
    // Of Scatter.
    struct Range {
        double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
    };
    Range sharedX, sharedY;     ///< so that small multiples share their axes; NaN: from the data
    Series frontier;            ///< a heavy line through the marks that nothing beats; may be empty
    bool legend = true;         ///< of small multiples the first one tells for all
    int xPowers = 0;            ///< x holds exponents of this base, and the axis prints the powers; 0: plain values
    bool joined = true;         ///< marks of a series by a faint line
    std::vector<Series> guides; ///< ceilings and the like: neutral lines with their names at the right end
};

struct Section {
    std::string title;
    std::string text; ///< plain paragraphs separated by a blank line
    std::string note; ///< a remark that must not be overlooked: what the figures are not
    Table cards;      ///< one card a row: texts are title and subtitle, the first two figures stand out
    std::vector<Table> tables;
    std::vector<Plot> plots;
    bool brief = false; ///< also in the Markdown summary
};

struct Report {
    std::string title;
    std::string subtitle;
    /// key ("input_sha256"), value; a key may come several times: one per input file.
    std::vector<std::pair<std::string, std::string>> provenance;
    std::vector<Section> sections;
    Table data;                                      ///< what JSON "rows" and CSV carry
    std::vector<std::pair<std::string, Table>> more; ///< further arrays of the JSON, by key
};

struct ReportWriter {
    const char* id; ///< "html"
    const char* title;
    const char* extension;                               ///< ".html"
    Result<std::string> (*render)(const Report& report); ///< whole file as bytes
};
std::span<const ReportWriter> reportWriters();
const ReportWriter* findReportWriter(std::string_view id);

/// Standalone <svg> element; light colours with prefers-color-scheme for dark; no scripts, no URLs.
std::string plotSvg(const Plot& plot, int width = 720, int height = 280);

/// Version, formats version, machine, CPU, ISA, threads, date (UTC, or SOURCE_DATE_EPOCH).
std::vector<std::pair<std::string, std::string>> machineProvenance();
/// The last name of a path: "model" of "/home/me/model/".
std::string nameOfPath(std::string_view path);
/// A report may be passed on: folders, and with them names of users, stay here. Each of these paths becomes its last
/// name and the home folder "~", in the provenance, in sentences and in columns of commands and reasons.
void withoutFolders(Report& report, const std::vector<std::string>& paths);
/// "input_sha256" -> "Input SHA-256"
std::string provenanceTitle(std::string_view key);
const char* toolVersion(); ///< "0.1.0"

/// Lower-case hex; cached by device, inode, size and mtime. A second caller waits for the first one's pass.
Result<std::string> sha256OfFile(const std::string& path, const Job& job = {});

/// The cell as it stands in JSON: shortest round trip, null when not measured or not finite.
std::string jsonText(const ColumnInfo& column, const Value& value);
std::string jsonString(std::string_view text);
/// A text for a cell of a spreadsheet: nothing in it is run as a formula. Numbers stay as they are.
std::string harmlessCell(std::string_view text);
/// The columns with these ids, in this order; unknown ids are left out.
Table withColumns(const Table& table, const std::vector<std::string_view>& ids);

/// "[{...},...]": one object a row, keys are the columns' ids.
std::string jsonRows(const Table& table);

} // namespace qs
