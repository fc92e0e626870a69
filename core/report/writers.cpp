// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/writers.h"

#include "core/base/rows.h"
#include "core/base/text.h"

#include <array>

namespace qs {
namespace {

const std::array<ReportWriter, 5> kWriters = {{
    {"json", "JSON", "every row and the provenance", ".json", renderJson},
    {"csv", "CSV", "every row", ".csv", renderCsv},
    {"html", "HTML", "one file with plots, tables and data", ".html", renderHtml},
    {"md", "Markdown", "a summary for an issue", ".md", renderMarkdown},
    {"pdf", "PDF", "the document for print", ".pdf", renderPdf},
}};

} // namespace

std::span<const ReportWriter> reportWriters() { return kWriters; }

const ReportWriter* findReportWriter(std::string_view id) { return rowOf(kWriters, id); }

Table withColumns(const Table& table, const std::vector<std::string_view>& ids) {
    Table out{table.title, {}, {}};
    std::vector<std::size_t> picked;
    for (const auto id : ids)
        for (std::size_t c = 0; c < table.columns.size(); ++c)
            if (table.columns[c].id == id) picked.push_back(c), out.columns.push_back(table.columns[c]);
    for (const auto& row : table.rows) {
        auto& cells = out.rows.emplace_back();
        for (const auto c : picked) cells.push_back(row[c]);
    }
    return out;
}

std::string shownText(const ColumnInfo& column, const Value& value, std::size_t maxChars) {
    return escapeForPeople(cellText(column, value), maxChars);
}

std::string xmlEscaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\'': out += "&#39;"; break;
        default: out += c;
        }
    }
    return out;
}

} // namespace qs
