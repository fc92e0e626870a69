// SPDX-License-Identifier: GPL-3.0-or-later
// A summary that is short enough for an issue: the brief sections and one line of provenance.
#include "core/base/text.h"
#include "core/report/writers.h"

#include <algorithm>
#include <string_view>

namespace qs {
namespace {

// Websites that show Markdown turn parts of a text into links, even if it is escaped. A zero-width space prevents that.
constexpr std::string_view kZeroWidth = "&#8203;";

/// Whether a mention, an issue number or a URL would begin after this character.
bool partsLink(std::string_view before, char c, std::string_view after) {
    if (c == '@' || c == '#') return true;
    if (c == ':') return after.starts_with("//");
    const auto endsWith = [&](std::string_view word) {
        if (before.size() < word.size()) return false;
        const auto end = before.substr(before.size() - word.size());
        return std::equal(end.begin(), end.end(), word.begin(), [](char a, char b) { return (a | 0x20) == b; });
    };
    return c == '.' && endsWith("www");
}

/// Escapes a text for a table cell: no pipe ends the cell, and no markup, entity or link begins.
std::string cell(std::string_view text) {
    constexpr std::string_view markup = "|\\`*_[]<>~$!";
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '&') {
            out += "&amp;";
            continue;
        }
        if (markup.find(c) != markup.npos) out += '\\';
        out += c == '\n' || c == '\r' ? ' ' : c;
        if (partsLink(text.substr(0, i), c, text.substr(i + 1))) out += kZeroWidth;
    }
    return out;
}

/// The cards without subtitles, because the provenance line has the full specs.
Table withoutSubtitle(Table cards) {
    if (cards.columns.size() < 2 || isNumeric(cards.columns[1])) return cards;
    cards.columns.erase(cards.columns.begin() + 1);
    for (auto& row : cards.rows) row.erase(row.begin() + 1);
    return cards;
}

void appendMarkdown(std::string& out, const Table& table) {
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
        appendMarkdown(out, withoutSubtitle(section.cards));
        for (const auto& table : section.tables) appendMarkdown(out, table);
    }
    out += "<sub>";
    for (std::size_t i = 0; i < report.provenance.size(); ++i) {
        const auto& [key, value] = report.provenance[i];
        out += (i ? " · " : "") + provenanceTitle(key) + ": " + cell(escapeForPeople(value, 200));
    }
    return out + "</sub>\n";
}

} // namespace qs
