// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A report contains provenance, tables and plots in order. It knows no types of tensors or formats. Writers turn it
// into HTML, PDF, Markdown, JSON and CSV.

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

/// A plot. plotSvg() draws it, and the HTML contains its data as JSON.
struct Plot {
    enum class Kind { Area, Bars, HeatMap, Lines, Scatter }; ///< Scatter: marks; a faint line joins those of a series
    Kind kind = Kind::Bars;
    std::string title, xTitle, yTitle; ///< with units
    /// One curve, one set of bars, or one set of marks.
    struct Series {
        std::string name;
        /// Bars: x is empty if there are `categories`; else the left edges of bins of equal width.
        std::vector<double> x, y;
        std::vector<std::string> notes = {}; ///< Scatter: a description of each mark
        std::vector<double> radii = {};      ///< Scatter: empty, or the size of each mark in pixels
    };
    std::vector<Series> series;
    std::vector<double> verticals;           ///< positions of vertical lines, e.g. levels or percentiles
    std::vector<std::string> verticalLabels; ///< same length, or empty
    std::vector<std::string> categories;     ///< Bars: one per value; HeatMap: column labels
    std::vector<std::string> rowLabels;      ///< HeatMap
    std::vector<double> cells;               ///< HeatMap: values by rows; NaN: not measured; infinite: there is no cell
    std::string cellTitle;                   ///< HeatMap: what a cell shows, with its unit; for the legend
    int cellDecimals = 2;
    std::string emptyTitle = "not measured"; ///< what a hatched cell means
    /// HeatMap: the values at the ends of the colour range, so that several plots can share it; NaN: from the cells.
    double cellLow = std::numeric_limits<double>::quiet_NaN(), cellHigh = std::numeric_limits<double>::quiet_NaN();
    int color = 0; ///< data colour of the first series, 0 to 3
    /// Logarithmic y axis; HeatMap: cells are ratios, coloured by their logarithm, with 1 in the middle.
    bool logY = false;
    /// HeatMap: bright colours mean high values; false: they mean low values. Bright is always worse.
    bool lowIsGood = true;
    bool namesTensors = false; ///< Bars: the categories are tensor names
    SymlogAxis symlogX;        ///< Area and Lines: the x axis; x holds values, not places
    // The rest is for Scatter only.
    struct Range {
        double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
    };
    Range sharedX, sharedY;     ///< axis limits that several plots share; NaN: from the data
    Series frontier;            ///< drawn as a heavy line, through the marks that no other mark beats; may be empty
    bool legend = true;         ///< false: another plot of the group has the legend
    int xPowers = 0;            ///< not 0: x holds exponents of this base, and the axis shows the powers
    bool joined = true;         ///< a faint line joins the marks of a series
    std::vector<Series> guides; ///< neutral lines with their names at the right end, e.g. roofs
};

/// A part of a report: text, cards, tables and plots, in this order.
struct Section {
    std::string title;
    std::string text; ///< plain paragraphs, separated by a blank line
    std::string note; ///< an important remark, e.g. what the numbers do not show
    Table cards;      ///< one card per row: texts are title and subtitle, the first two numbers are large
    std::vector<Table> tables;
    std::vector<Plot> plots;
    bool brief = false; ///< the Markdown summary includes this section
};

/// The content of a report; see reportWriters() for its file formats.
struct Report {
    std::string title;
    std::string subtitle;
    /// Pairs of key (e.g. "input_sha256") and value. A key may occur several times, once per input file.
    std::vector<std::pair<std::string, std::string>> provenance;
    std::vector<Section> sections;
    Table data;                                      ///< the content of JSON "rows" and of CSV
    Table summary; ///< one row, or none: what belongs to the whole run, as the object "summary" of the JSON
    std::vector<std::pair<std::string, Table>> more; ///< more arrays of the JSON, by key
};

/// A file format of reports.
struct ReportWriter {
    const char* id;                                      ///< e.g. "html"
    const char* title;                                   ///< "HTML"
    const char* holds;                                   ///< "one file with plots, tables and data"
    const char* extension;                               ///< e.g. ".html"
    Result<std::string> (*render)(const Report& report); ///< returns the bytes of the whole file
};
/// All writers.
std::span<const ReportWriter> reportWriters();
/// nullptr if there is no such writer.
const ReportWriter* findReportWriter(std::string_view id);

/// The plot as a standalone <svg> element. Colours are light; a prefers-color-scheme rule switches to dark. No scripts
/// and no URLs. `width` and `height` are px; some kinds of plots choose their own height.
std::string plotSvg(const Plot& plot, int width = 720, int height = 280);

/// Provenance of this machine: version, version of the formats, date (UTC, or SOURCE_DATE_EPOCH), machine, CPU,
/// instruction set, threads.
std::vector<std::pair<std::string, std::string>> machineProvenance();
/// The last part of a path: "model" of "/home/me/model/".
std::string nameOfPath(std::string_view path);
/// A name for each path: its last part, with as many parts before it as tell it from every other path.
std::vector<std::string> namesOfPaths(std::span<const std::string> paths);
/// Removes folders, and with them user names, so that a report can be given to others. Each of these paths becomes its
/// last part, and the home folder becomes "~". This changes provenance, sentences, and columns with commands and
/// reasons.
void withoutFolders(Report& report, const std::vector<std::string>& paths);
/// The title of a key: "input_sha256" -> "Input SHA-256".
std::string provenanceTitle(std::string_view key);
/// Whether the values of a key are numbers in the JSON.
bool isProvenanceNumber(std::string_view key);
const char* toolVersion(); ///< e.g. "0.1.0"

/// The SHA-256 of a file in lower-case hex. Cached by device, inode, size and modification time. A second caller waits
/// for the first one's result. Errors: the file cannot be read, is not a regular file, changed during the reading, or
/// the job was cancelled.
Result<std::string> sha256OfFile(const std::string& path, const Job& job = {});

/// A cell as JSON: the shortest number that reads back to the same value; null if it is not measured or not finite.
std::string jsonText(const ColumnInfo& column, const Value& value);
/// A text as a JSON string, with quotes. Invalid UTF-8 is replaced.
std::string jsonString(std::string_view text);
/// A text for a spreadsheet cell that no spreadsheet runs as a formula. Numbers stay unchanged.
std::string harmlessCell(std::string_view text);
/// A table with only these columns, in this order. Unknown ids are ignored.
Table withColumns(const Table& table, const std::vector<std::string_view>& ids);

/// A JSON array with one object per row. The keys are the ids of the columns.
std::string jsonRows(const Table& table);

} // namespace qs
