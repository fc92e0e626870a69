// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/column.h"

#include "core/base/text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace qs {
namespace {

/// A size that may be negative, because it is a difference.
std::string signedBytes(double bytes) {
    if (!std::isfinite(bytes) || std::fabs(bytes) >= 0x1p64) return significantText(bytes);
    const std::string text = bytesText(std::uint64_t(std::fabs(bytes)));
    return bytes <= -1 ? "-" + text : text;
}

} // namespace

bool isNumeric(const ColumnInfo& column) {
    return column.show != Show::Text && column.show != Show::Name && column.show != Show::Code &&
           column.show != Show::Shape && column.show != Show::Times;
}

namespace {

/// The same form as shapeText(): of more than 8 dimensions only 6 are shown.
std::string shownShape(const std::string& whole) {
    const auto commas = std::count(whole.begin(), whole.end(), ',');
    if (commas < 8) return whole;
    std::size_t end = 0;
    for (int i = 0; i < 6; ++i) end = whole.find(',', end) + 1;
    return whole.substr(0, end) + " … " + std::to_string(commas + 1 - 6) + " more]";
}

std::string microseconds(double ns, int digits) { return significantText(ns / 1000, digits > 0 ? digits : 4); }

/// Converts every number of the list to µs and keeps the rest.
std::string shownTimes(const std::string& list, int digits) {
    std::string out;
    for (const char* at = list.c_str(); *at;) {
        char* end = nullptr;
        const double ns = std::isdigit(static_cast<unsigned char>(*at)) ? std::strtod(at, &end) : 0;
        if (!end)
            out += *at++;
        else
            out += microseconds(ns, digits), at = end;
    }
    return out;
}

} // namespace

std::string headerText(const ColumnInfo& column) {
    std::string text = column.title;
    if (!column.unit.empty()) text += " " + column.unit;
    if (column.better == Direction::HigherIsBetter) text += " ↑";
    if (column.better == Direction::LowerIsBetter) text += " ↓";
    return text;
}

bool isNotMeasured(const ColumnInfo& column, const Value& value) {
    return column.isMeasured && isNumeric(column) && std::holds_alternative<std::monostate>(value);
}

std::string cellText(const ColumnInfo& column, const Value& value) {
    if (isNotMeasured(column, value)) return "not measured";
    if (std::holds_alternative<std::monostate>(value)) return "-";
    if (const auto* b = std::get_if<bool>(&value)) return *b ? "yes" : "no";
    if (const auto* s = std::get_if<std::string>(&value))
        return column.show == Show::Shape   ? shownShape(*s)
               : column.show == Show::Times ? shownTimes(*s, column.decimals)
                                            : *s;
    if (const auto* i = std::get_if<std::int64_t>(&value); i && column.show == Show::Time)
        return microseconds(double(*i), column.decimals);
    else if (i)
        return column.show != Show::Bytes ? std::to_string(*i)
               : *i < 0                   ? signedBytes(double(*i))
                                          : bytesText(std::uint64_t(*i));
    const double d = std::get<double>(value);
    switch (column.show) {
    case Show::Fixed: return fixedText(d, column.decimals);
    case Show::Percent: return fixedText(100 * d, column.decimals) + " %";
    case Show::Bytes: return signedBytes(d);
    case Show::Time: return microseconds(d, column.decimals);
    case Show::Scientific: return scientificText(d, column.decimals > 0 ? column.decimals : 4);
    case Show::Integer: return fixedText(d, 0);
    default: return significantText(d, column.decimals > 0 ? column.decimals : 4);
    }
}

} // namespace qs
