// SPDX-License-Identifier: GPL-3.0-or-later
// Short enough to paste into an issue: the brief sections and one line of provenance.
#include "core/base/text.h"
#include "core/report/writers.h"

namespace qs {
namespace {

/// Harmless inside a table cell: no pipe ends the cell, no markup starts.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '[' || c == '<') out += '\\';
        out += c == '\n' || c == '\r' ? ' ' : c;
    }
    return out;
}

/// Without the subtitles of cards: the provenance line has the full specs.
Table withoutSubtitle(Table cards) {
    if (cards.columns.size() < 2 || isNumeric(cards.columns[1])) return cards;
    cards.columns.erase(cards.columns.begin() + 1);
    for (auto& row : cards.rows) row.erase(row.begin() + 1);
    return cards;
}

void append(std::string& out, const Table& table) {
    if (table.columns.empty()) return;
    if (!table.title.empty()) out += "**" + cell(table.title) + "**\n\n";
    for (const auto& column : table.columns) out += "| " + cell(headerText(column)) + ' ';
    out += "|\n";
    for (const auto& column : table.columns) out += isNumeric(column) ? "|---:" : "|:---";
    out += "|\n";
    for (const auto& row : table.rows) {
        for (std::size_t c = 0; c < row.size(); ++c) out += "| " + cell(shownText(table.columns[c], row[c])) + ' ';
        out += "|\n";
    }
    out += '\n';
}

} // namespace

Result<std::string> renderMarkdown(const Report& report) {
    std::string out = "## " + cell(escapeForPeople(report.title)) + "\n\n";
    if (!report.subtitle.empty()) out += cell(escapeForPeople(report.subtitle, 400)) + "\n\n";
    for (const auto& section : report.sections) {
        if (!section.brief) continue;
        out += "### " + cell(section.title) + "\n\n";
        if (!section.text.empty()) out += cell(section.text.substr(0, section.text.find("\n\n"))) + "\n\n";
        if (!section.note.empty()) out += "> " + cell(section.note) + "\n\n";
        append(out, withoutSubtitle(section.cards));
        for (const auto& table : section.tables) append(out, table);
    }
    out += "<sub>";
    for (std::size_t i = 0; i < report.provenance.size(); ++i) {
        const auto& [key, value] = report.provenance[i];
        out += (i ? " · " : "") + provenanceTitle(key) + ": " + cell(escapeForPeople(value, 200));
    }
    return out + "</sub>\n";
}

} // namespace qs
