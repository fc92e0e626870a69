// SPDX-License-Identifier: GPL-3.0-or-later
// llama-perplexity: its log, and the tables of figures that people make of it in Markdown.
#include "core/eval/files/imports/import_rows.h"

#include <fmt/format.h>
#include <set>

namespace qs::eval {
namespace {

bool isLlamaLog(std::string_view text) {
    return text.find("KL divergence statistics") != text.npos || text.find("Final estimate: PPL") != text.npos;
}

/// The last blocks of a log: "LABEL : VALUE +- ERROR". A label that comes twice with two values is refused.
Result<std::vector<ImportedFigure>> readLlamaLog(std::string_view text, const std::string&) {
    std::vector<ImportedFigure> out;
    std::set<std::string, std::less<>> seen, columns;
    for (const std::string_view line : piecesOf(text, '\n')) {
        const auto colon = line.rfind(':');
        if (colon == line.npos) continue;
        const std::string label(trimmed(line.substr(0, colon)));
        const std::string column = llamaColumn(label, seen.contains(label));
        if (column.empty()) continue;
        std::string_view rest = trimmed(line.substr(colon + 1));
        constexpr std::string_view kOfPpl = "PPL =";
        if (rest.starts_with(kOfPpl)) rest.remove_prefix(kOfPpl.size());
        const auto number = importedNumber(rest);
        if (!number) return fail(fmt::format("the line of {} has no number.", label));
        seen.insert(label);
        if (!columns.insert(column).second)
            return fail(fmt::format("it holds {} twice: import one run at a time.", label));
        out.push_back({"", "", column, number->value, number->error});
    }
    return out;
}

std::vector<std::string_view> cellsOf(std::string_view line) {
    auto cells = piecesOf(line, '|');
    if (!cells.empty() && cells.front().empty()) cells.erase(cells.begin());
    if (!cells.empty() && cells.back().empty()) cells.pop_back();
    return cells;
}

/// In a table that begins with "Metric" a row is a figure and a column a model. If it begins with "Quantization", a row
/// is a model and a column a figure.
enum class TableKind { None, ByMetric, ByModel };
TableKind kindOf(const std::vector<std::string_view>& header) {
    if (header.size() < 2) return TableKind::None;
    if (header.front() == "Metric") return TableKind::ByMetric;
    return header.front() == "Quantization" || header.front() == "Revision" ? TableKind::ByModel : TableKind::None;
}

bool isLlamaTable(std::string_view text) {
    for (const std::string_view line : piecesOf(text, '\n'))
        if (line.starts_with('|') && kindOf(cellsOf(line)) != TableKind::None) return true;
    return false;
}

/// Reads a cell. If it holds no number, the figure was not measured.
void addCell(std::string_view model, const std::string& column, std::string_view cell,
             std::vector<ImportedFigure>& into) {
    ImportedFigure figure{"", std::string(model), column, {}, {}};
    if (const auto number = importedNumber(cell)) figure.value = number->value, figure.error = number->error;
    into.push_back(std::move(figure));
}

Result<std::vector<ImportedFigure>> readLlamaTable(std::string_view text, const std::string&) {
    std::vector<ImportedFigure> out;
    std::vector<std::string_view> header;
    std::set<std::string, std::less<>> seen;
    TableKind kind = TableKind::None;
    for (const std::string_view line : piecesOf(text, '\n')) {
        if (!line.starts_with('|')) {
            kind = TableKind::None;
            continue;
        }
        const auto cells = cellsOf(line);
        if (kind == TableKind::None) {
            header = cells, kind = kindOf(cells);
            seen.clear();
            continue;
        }
        if (cells.empty() || cells.front().find_first_not_of(":-") == std::string_view::npos) continue;
        const std::size_t count = std::min(cells.size(), header.size());
        const std::string label(cells.front());
        const std::string column = llamaColumn(label, !seen.insert(label).second);
        for (std::size_t i = 1; i < count; ++i) {
            const std::string own = kind == TableKind::ByMetric ? column : llamaColumn(header[i], false);
            if (!own.empty()) addCell(kind == TableKind::ByMetric ? header[i] : cells.front(), own, cells[i], out);
        }
    }
    return out;
}

} // namespace

const ImportFormat kLlamaLog = {"llama-perplexity-log", "a log of llama-perplexity", isLlamaLog, readLlamaLog};
const ImportFormat kLlamaTable = {"llama-perplexity-table", "a Markdown table of figures of llama-perplexity",
                                  isLlamaTable, readLlamaTable};

} // namespace qs::eval
