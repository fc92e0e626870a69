// SPDX-License-Identifier: GPL-3.0-or-later
// RFC 4180: CRLF, quotes doubled; a figure that was not measured is an empty field.
#include "core/report/writers.h"

namespace qs {
namespace {

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
    if (const auto* s = std::get_if<std::string>(&value)) return *s;
    const std::string text = jsonText(column, value);
    return text == "null" ? std::string() : text;
}

} // namespace

Result<std::string> renderCsv(const Report& report) {
    std::string out;
    for (std::size_t c = 0; c < report.data.columns.size(); ++c)
        out += (c ? "," : "") + field(report.data.columns[c].id);
    out += "\r\n";
    for (const auto& row : report.data.rows) {
        for (std::size_t c = 0; c < row.size(); ++c)
            out += (c ? "," : "") + field(plain(report.data.columns[c], row[c]));
        out += "\r\n";
    }
    return out;
}

} // namespace qs
