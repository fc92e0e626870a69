// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/writers.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

/// Whether a text such as "[2, 3]" is also JSON. Shapes become arrays this way.
bool isIntegerList(std::string_view text) {
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
    return text.substr(1, text.size() - 2).find_first_not_of("0123456789, ") == std::string_view::npos;
}

std::string compact(std::string_view text) {
    std::string out;
    for (const char c : text)
        if (c != ' ') out += c;
    return out;
}

} // namespace

std::string jsonString(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string jsonText(const ColumnInfo& column, const Value& value) {
    if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
    if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
    if (const auto* s = std::get_if<std::string>(&value))
        return (column.show == Show::Shape || column.show == Show::Times) && isIntegerList(*s) ? compact(*s)
                                                                                               : jsonString(*s);
    const auto* d = std::get_if<double>(&value);
    if (!d || !std::isfinite(*d)) return "null";
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, *d).ptr;
    return {buffer, end};
}

namespace {

std::vector<std::string> jsonKeys(const Table& table) {
    std::vector<std::string> keys;
    for (const auto& column : table.columns) keys.push_back(jsonString(column.id) + ": ");
    return keys;
}

std::string jsonRow(const Table& table, std::size_t row, const std::vector<std::string>& keys) {
    std::string out = "{";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
        out += (c ? ", " : "") + keys[c] + jsonText(table.columns[c], table.rows[row][c]);
    return out + "}";
}

/// A value of provenance: a number where its key says so and it is one.
std::string provenanceJson(std::string_view key, std::string_view value) {
    if (!isProvenanceNumber(key)) return jsonString(value);
    const auto number = nlohmann::json::parse(value, nullptr, false);
    return number.is_number() ? std::string(value) : jsonString(value);
}

} // namespace

std::string jsonRows(const Table& table) {
    std::string out = "[";
    const auto keys = jsonKeys(table);
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        out += r ? ",\n  " : "\n  ";
        out += jsonRow(table, r, keys);
    }
    return out + (table.rows.empty() ? "]" : "\n]");
}

Result<std::string> renderJson(const Report& report) {
    std::string out = "{\"rows\": " + jsonRows(report.data);
    if (!report.summary.rows.empty())
        out += ",\n\"summary\": " + jsonRow(report.summary, 0, jsonKeys(report.summary));
    for (const auto& [key, table] : report.more) out += ",\n" + jsonString(key) + ": " + jsonRows(table);
    out += ",\n\"provenance\": {";
    bool first = true;
    for (std::size_t i = 0; i < report.provenance.size(); ++i) {
        const auto& key = report.provenance[i].first;
        std::vector<std::string_view> values;
        bool seen = false;
        for (std::size_t j = 0; j < report.provenance.size(); ++j) {
            if (report.provenance[j].first != key) continue;
            seen |= j < i;
            values.push_back(report.provenance[j].second);
        }
        if (seen) continue;
        out += (first ? "\n  " : ",\n  ") + jsonString(key) + ": ";
        first = false;
        if (values.size() == 1)
            out += provenanceJson(key, values[0]);
        else {
            out += '[';
            for (std::size_t v = 0; v < values.size(); ++v) out += (v ? ", " : "") + provenanceJson(key, values[v]);
            out += ']';
        }
    }
    return out + (first ? "}}\n" : "\n}}\n");
}

} // namespace qs
