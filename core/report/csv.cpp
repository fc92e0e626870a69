// SPDX-License-Identifier: GPL-3.0-or-later
// CSV by RFC 4180: CRLF, doubled quotes. A value that was not measured is an empty field. Spreadsheets run a text that
// looks like a formula, so such a text gets an apostrophe in front. Control characters are escaped.
#include "core/base/text.h"
#include "core/report/writers.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace qs {
namespace {

/// A number such as "-3.5", or a number with a short unit such as "-3.41 MiB".
bool isPlainNumber(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return false;
    text.remove_prefix(std::size_t(end - text.data()));
    const auto ofUnit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%'; };
    return text.empty() || (text[0] == ' ' && text.size() <= 6 && std::all_of(text.begin() + 1, text.end(), ofUnit));
}

/// Includes the wide forms of these four characters, which Asian spreadsheets accept too.
bool beginsFormula(std::string_view text) {
    static constexpr std::array<std::string_view, 8> starts = {"=", "+", "-", "@", "＝", "＋", "－", "＠"};
    return std::ranges::any_of(starts, [&](std::string_view start) { return text.starts_with(start); });
}

std::string field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

std::string plain(const ColumnInfo& column, const Value& value) {
    if (const auto* s = std::get_if<std::string>(&value)) return harmlessCell(*s);
    const std::string text = jsonText(column, value);
    return text == "null" ? std::string() : text;
}

} // namespace

std::string harmlessCell(std::string_view text) {
    std::string shown = escapeForPeople(text, text.size() + 1);
    return beginsFormula(shown) && !isPlainNumber(shown) ? "'" + shown : shown;
}

Result<std::string> renderCsv(const Report& report) {
    std::string out;
    for (std::size_t c = 0; c < report.data.columns.size(); ++c)
        out += (c ? "," : "") + field(harmlessCell(report.data.columns[c].id));
    out += "\r\n";
    for (const auto& row : report.data.rows) {
        for (std::size_t c = 0; c < row.size(); ++c)
            out += (c ? "," : "") + field(plain(report.data.columns[c], row[c]));
        out += "\r\n";
    }
    return out;
}

} // namespace qs
