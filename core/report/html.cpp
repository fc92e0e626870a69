// SPDX-License-Identifier: GPL-3.0-or-later
// One self-contained and well-formed file: it loads nothing, plots are inline SVG, and it contains the data.
#include "core/base/text.h"
#include "core/report/writers.h"

#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

std::string shown(std::string_view text, std::size_t maxChars = 500) {
    return xmlEscaped(escapeForPeople(text, maxChars));
}

std::string cellHtml(const ColumnInfo& column, const Value& value) {
    const std::size_t maxChars = isNumeric(column) || column.show == Show::Shape ? 160 : 500;
    const std::string text = xmlEscaped(shownText(column, value, maxChars));
    if (isNotMeasured(column, value)) return "<td class=\"n missing\" data-v=\"\">" + text + "</td>";
    if (column.show == Show::Shape) return "<td class=\"s\">" + text + "</td>";
    // Short texts stay on one line, and their column gets no extra width.
    if (!isNumeric(column)) return fmt::format("<td class=\"{}\">{}</td>", text.size() <= 24 ? "k" : "t", text);
    const std::string key = jsonText(column, value);
    return fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", key == "null" ? "" : key, text);
}

void append(std::string& out, const Table& table) {
    if (table.columns.empty()) return;
    out += "<div class=\"sheet\"><table class=\"sortable\">";
    if (!table.title.empty()) out += "<caption>" + shown(table.title) + "</caption>";
    out += "<thead><tr>";
    for (const auto& column : table.columns)
        out += fmt::format("<th{} title=\"{}\">{}</th>", isNumeric(column) ? " class=\"n\"" : "", shown(column.tip),
                           shown(headerText(column)));
    out += "</tr></thead><tbody>\n";
    const std::size_t count = std::min(table.rows.size(), kHtmlRows);
    for (std::size_t r = 0; r < count; ++r) {
        out += "<tr>";
        for (std::size_t c = 0; c < table.rows[r].size(); ++c) out += cellHtml(table.columns[c], table.rows[r][c]);
        out += "</tr>\n";
    }
    out += "</tbody></table></div>\n";
    if (count < table.rows.size())
        out += fmt::format("<p>The first {} of {} rows; all of them are in the data at the end of this file.</p>\n",
                           count, table.rows.size());
}

void appendCards(std::string& out, const Table& cards) {
    if (cards.rows.empty()) return;
    out += "<div class=\"cards\">";
    for (const auto& row : cards.rows) {
        std::string title, sub, big, list;
        int figures = 0;
        for (std::size_t c = 0; c < row.size(); ++c) {
            const auto& column = cards.columns[c];
            const std::string text = xmlEscaped(shownText(column, row[c]));
            if (!isNumeric(column))
                (c == 0 ? title : sub) = text;
            else if (figures++ < 2)
                big +=
                    fmt::format("<div>{}<span>{}</span></div>",
                                std::holds_alternative<std::monostate>(row[c]) ? "–" : text, shown(headerText(column)));
            else
                list += fmt::format("<dt>{}</dt><dd>{}</dd>", shown(headerText(column)), text);
        }
        out += "<div class=\"card\"><h3>" + title + "</h3><div class=\"sub\">" + sub + "</div>";
        if (!big.empty()) out += "<div class=\"big\">" + big + "</div>";
        if (!list.empty()) out += "<dl>" + list + "</dl>";
        out += "</div>\n";
    }
    out += "</div>\n";
}

void appendPlots(std::string& out, const std::vector<Plot>& plots) {
    if (plots.empty()) return;
    out += "<div class=\"plots\">";
    for (const auto& plot : plots) {
        const bool wide = plot.kind == Plot::Kind::HeatMap || !plot.categories.empty() || plots.size() == 1;
        out += fmt::format("<figure{}><figcaption>{}</figcaption>{}</figure>\n", wide ? " class=\"wide\"" : "",
                           shown(plot.title), plotSvg(plot, wide ? 990 : 460, wide ? 280 : 220));
    }
    out += "</div>\n";
}

std::string numbers(const std::vector<double>& values) {
    static const ColumnInfo plain{"", "", "", Show::Significant, 4, Direction::None, ""};
    std::string out = "[";
    for (std::size_t i = 0; i < values.size(); ++i) out += (i ? "," : "") + jsonText(plain, values[i]);
    return out + "]";
}

std::string texts(const std::vector<std::string>& values) {
    std::string out = "[";
    for (std::size_t i = 0; i < values.size(); ++i) out += (i ? "," : "") + jsonString(values[i]);
    return out + "]";
}

std::string plotsJson(const Report& report) {
    std::string out = "[";
    for (const auto& section : report.sections) {
        for (const auto& plot : section.plots) {
            out += out.size() > 1 ? ",\n" : "";
            out += fmt::format("{{\"title\":{},\"x\":{},\"y\":{},\"cell\":{},\"series\":[", jsonString(plot.title),
                               jsonString(plot.xTitle), jsonString(plot.yTitle), jsonString(plot.cellTitle));
            const auto xOf = [&plot](std::vector<double> x) {
                for (double& v : x) v = plot.xPowers ? std::pow(plot.xPowers, v) : v;
                return numbers(x);
            };
            std::size_t count = 0;
            for (const auto* list : {&plot.series, &plot.guides})
                for (const auto& s : *list)
                    out += fmt::format("{}{{\"name\":{},\"x\":{},\"y\":{}}}", count++ ? "," : "", jsonString(s.name),
                                       xOf(s.x), numbers(s.y));
            out += fmt::format("],\"categories\":{},\"rows\":{},\"cells\":{},\"verticals\":{}}}",
                               texts(plot.categories), texts(plot.rowLabels), numbers(plot.cells), xOf(plot.verticals));
        }
    }
    return out + "]";
}

/// Escapes JSON so that nothing in it can end the script element or open a tag.
std::string scriptSafe(const std::string& json) {
    std::string out;
    out.reserve(json.size());
    for (const char c : json) {
        if (c == '<')
            out += "\\u003c";
        else if (c == '>')
            out += "\\u003e";
        else if (c == '&')
            out += "\\u0026";
        else
            out += c;
    }
    return out;
}

} // namespace

Result<std::string> renderHtml(const Report& report) {
    std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
                      "<meta name=\"generator\" content=\"" +
                      shown(std::string("QuantScope ") + toolVersion()) +
                      "\"/>"
                      "<title>" +
                      shown(report.title) + "</title><style>" + kHtmlStyle + "</style></head>\n<body>\n";
    out += "<header><div class=\"brand\">QuantScope</div><h1>" + shown(report.title) + "</h1><p>" +
           shown(report.subtitle, 1000) + "</p></header>\n<main>\n";
    for (const auto& section : report.sections) {
        out += "<section><h2>" + shown(section.title) + "</h2>\n";
        if (!section.note.empty()) out += "<p class=\"note\">" + shown(section.note, 1000) + "</p>\n";
        for (std::size_t from = 0; from < section.text.size();) {
            const std::size_t to = std::min(section.text.find("\n\n", from), section.text.size());
            out += "<p>" + shown(section.text.substr(from, to - from), 2000) + "</p>\n";
            from = to + 2;
        }
        appendCards(out, section.cards);
        for (const auto& table : section.tables) append(out, table);
        appendPlots(out, section.plots);
        out += "</section>\n";
    }
    out += "<section><h2>Provenance</h2><div class=\"sheet\"><table class=\"prov\"><tbody>";
    for (const auto& [key, value] : report.provenance)
        out += "<tr><th scope=\"row\">" + shown(provenanceTitle(key)) + "</th><td>" + shown(value, 2000) + "</td></tr>";
    out += "</tbody></table></div></section>\n</main>\n<footer>Written by QuantScope " + shown(toolVersion()) +
           "</footer>\n";

    auto data = renderJson(report);
    if (!data) return data;
    data->erase(data->find_last_of('}')); // the plots are added to the same object
    out += "<script type=\"application/json\" id=\"quantscope-data\">" +
           scriptSafe(*data + ",\"plots\": " + plotsJson(report) + "}") + "</script>\n";
    return out + "<script>" + kHtmlScript + "</script>\n</body></html>\n";
}

} // namespace qs
