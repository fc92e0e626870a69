// SPDX-License-Identifier: GPL-3.0-or-later
// The document for print, drawn with cairo and pango. librsvg draws the plots, which are the same SVG as in HTML.
#include "core/base/short_name.h"
#include "core/base/text.h"
#include "core/report/pdf_page.h"
#include "core/report/writers.h"

#include <algorithm>
#include <cairo-pdf.h>
#include <fmt/format.h>
#include <librsvg/rsvg.h>
#include <numeric>

namespace qs {
namespace {

using Align = PdfPages::Align;
constexpr PdfFont kBody{.size = 9}, kSmall{.size = 8}, kHeading{.size = 13, .bold = true},
    kCell{.mono = true, .size = 7.2}, kHead{.size = 7.2, .bold = true};

std::string shownInPdf(std::string_view text, std::size_t maxChars = 2000) { return escapeForPeople(text, maxChars); }

void heading(PdfPages& pages, const std::string& text, double needed = 140) {
    pages.y += 14;
    pages.reserve(needed); // a heading must not be the last thing on a page
    pages.y += pages.text(text, pages.margin, pages.y, pages.inner, kHeading, Ink::Text) + 4;
}

void paragraph(PdfPages& pages, const std::string& text) {
    pages.reserve(pages.textHeight(text, pages.inner, kBody));
    pages.y += pages.text(text, pages.margin, pages.y, pages.inner, kBody, Ink::Muted) + 5;
}

void note(PdfPages& pages, const std::string& text) {
    const double h = pages.textHeight(text, pages.inner - 16, kBody) + 8;
    pages.reserve(h);
    pages.box(pages.margin, pages.y, pages.inner, h, Ink::Raised);
    pages.box(pages.margin, pages.y, 2, h, Ink::Warn);
    pages.text(text, pages.margin + 10, pages.y + 4, pages.inner - 16, kBody, Ink::Text);
    pages.y += h + 6;
}

void cards(PdfPages& pages, const Table& table) {
    if (table.rows.empty()) return;
    constexpr int across = 2;
    constexpr double gap = 8, padding = 9, line = 11.5;
    const double w = (pages.inner - gap * (across - 1)) / across;
    std::size_t lines = 0;
    for (const auto& column : table.columns) lines += isNumeric(column);
    lines = lines > 2 ? lines - 2 : 0;
    const double h = 66 + line * double((lines + 1) / 2) + padding;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        if (r % across == 0) pages.reserve(h);
        const double x = pages.margin + (w + gap) * double(r % across), top = pages.y;
        pages.frame(x, top, w, h);
        double big = x + padding;
        std::size_t small = 0, figures = 0;
        for (std::size_t c = 0; c < table.columns.size(); ++c) {
            const auto& column = table.columns[c];
            const std::string text = shownText(column, table.rows[r][c]);
            if (!isNumeric(column)) {
                const PdfFont font{.mono = true, .size = c == 0 ? 9.0 : 7.0, .bold = c == 0};
                pages.text(text, x + padding, top + (c == 0 ? 7 : 19), w - 2 * padding, font,
                           c == 0 ? Ink::Text : Ink::Muted, Align::Left, false);
            } else if (figures++ < 2) {
                const bool missing = std::holds_alternative<std::monostate>(table.rows[r][c]);
                const double figure = pages.textWidth(missing ? "–" : text, {.mono = true, .size = 13});
                pages.text(missing ? "–" : text, big, top + 32, w, {.mono = true, .size = 13}, Ink::Text, Align::Left,
                           false);
                const std::string label = headerText(column);
                pages.text(label, big, top + 49, w, {.size = 7}, Ink::Muted, Align::Left, false);
                big += std::max(figure, pages.textWidth(label, {.size = 7})) + 14;
            } else {
                const double cx = x + padding + (small % 2) * (w / 2 - 2), cy = top + 64 + line * double(small / 2);
                const double cw = w / 2 - padding - 4;
                pages.text(headerText(column), cx, cy, cw, {.size = 7}, Ink::Muted, Align::Left, false);
                pages.text(text, cx, cy, cw, {.mono = true, .size = 7}, Ink::Text, Align::Right, false);
                ++small;
            }
        }
        if (r % across == across - 1 || r + 1 == table.rows.size()) pages.y += h + gap;
    }
}

struct Picture {
    RsvgHandle* handle = nullptr;
    double width = 0, height = 0; ///< size on the page, in points
    std::string problem;
};

Picture pictureOf(const Plot& plot, double room, int svgWidth) {
    Picture picture;
    const std::string svg = plotSvg(plot, svgWidth, svgWidth > 500 ? 230 : 200);
    GError* error = nullptr;
    picture.handle = rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &error);
    if (!picture.handle) {
        picture.problem = error ? error->message : "no reason given";
        g_clear_error(&error);
        return picture;
    }
    gdouble w = svgWidth, h = 200;
    rsvg_handle_get_intrinsic_size_in_pixels(picture.handle, &w, &h);
    constexpr double most = PdfPages::bottom - PdfPages::margin - 30;
    const double scale = std::min(room / w, most / h);
    picture.width = w * scale, picture.height = h * scale;
    return picture;
}

/// Draws plots. Ranked bars and heat maps take the full width; curves and histograms are placed in pairs.
void pictures(PdfPages& pages, const std::vector<Plot>& plots) {
    constexpr double gap = 18, half = (PdfPages::inner - gap) / 2, title = 16;
    const auto isWide = [](const Plot& plot) { return plot.kind == Plot::Kind::HeatMap || !plot.categories.empty(); };
    for (std::size_t i = 0; i < plots.size();) {
        const std::size_t count = isWide(plots[i]) || i + 1 == plots.size() || isWide(plots[i + 1]) ? 1 : 2;
        const bool wide = isWide(plots[i]);
        std::vector<Picture> row;
        double height = 0;
        for (std::size_t k = 0; k < count; ++k) {
            row.push_back(pictureOf(plots[i + k], wide ? PdfPages::inner : half, wide ? 720 : 400));
            height = std::max(height, row.back().height);
        }
        pages.reserve(height + title + 10);
        for (std::size_t k = 0; k < count; ++k) {
            const double x = pages.margin + (half + gap) * double(k);
            pages.text(shownInPdf(plots[i + k].title), x, pages.y, wide ? pages.inner : half,
                       {.size = 8.5, .bold = true}, Ink::Text, Align::Left, false);
            if (!row[k].handle) {
                pages.text("This plot could not be drawn: " + shownInPdf(row[k].problem), x, pages.y + title, half,
                           kSmall, Ink::Warn);
                continue;
            }
            const RsvgRectangle place{x, pages.y + title, row[k].width, row[k].height};
            rsvg_handle_render_document(row[k].handle, pages.cairo(), &place, nullptr);
            g_object_unref(row[k].handle);
        }
        pages.y += title + height + 10;
        i += count;
    }
}

/// The cells of a table as printed. Tensor names lose the parts that all of them have in common.
class CellTexts {
public:
    CellTexts(const Table& table, std::size_t rows) : table_(table), shared_(table.columns.size()) {
        for (std::size_t c = 0; c < table.columns.size(); ++c) {
            if (table.columns[c].show != Show::Name) continue;
            const auto name = [&table, c](std::size_t r) -> std::string_view {
                const auto* text = std::get_if<std::string>(&table.rows[r][c]);
                return text ? std::string_view(*text) : std::string_view();
            };
            shared_[c] = SharedParts(rows, name);
            if (note_.empty()) note_ = shared_[c].sentence();
        }
    }
    std::string operator()(std::size_t row, std::size_t column) const {
        const auto& value = table_.rows[row][column];
        const auto* text = std::get_if<std::string>(&value);
        if (table_.columns[column].show != Show::Name || !text) return shownText(table_.columns[column], value, 120);
        return shownInPdf(shared_[column].brief(*text), 500);
    }
    bool isName(std::size_t column) const { return table_.columns[column].show == Show::Name; }
    const std::string& note() const { return note_; } ///< what the names have lost; may be empty

private:
    const Table& table_;
    std::vector<SharedParts> shared_;
    std::string note_;
};

/// The width of each column. If the columns do not fit, only columns with long texts get narrower, and their texts are
/// shortened. Numbers and short texts keep their width, so the sum may still be too large.
std::vector<double> columnWidths(PdfPages& pages, const Table& table, const CellTexts& cells, std::size_t rows) {
    constexpr double padding = 10, headRoom = 62, shortText = 58, leastText = 88;
    std::vector<double> widths;
    std::vector<bool> soft;
    double fixed = 0, elastic = 0, least = 0;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        double w = std::min(headRoom, pages.textWidth(headerText(table.columns[c]), kHead)); // headers wrap
        for (std::size_t r = 0; r < rows; ++r) w = std::max(w, pages.textWidth(cells(r, c), kCell));
        widths.push_back(w + padding);
        soft.push_back(!isNumeric(table.columns[c]) && w > shortText);
        (soft[c] ? elastic : fixed) += widths[c];
        if (soft[c]) least += std::min(widths[c], leastText);
    }
    const double left = std::max(least, pages.inner - fixed);
    for (std::size_t c = 0; c < widths.size(); ++c)
        if (soft[c] && elastic > left) widths[c] *= left / elastic;
    if (widths.empty()) return widths;
    const double spare = std::max(0.0, pages.inner - fixed - std::min(elastic, left));
    if (soft[0]) // extra width goes to the first column if it has long names
        widths[0] += spare;
    else
        for (double& width : widths) width += spare / double(widths.size());
    return widths;
}

void table(PdfPages& pages, const Table& table) {
    if (table.columns.empty()) return;
    const std::size_t rows = std::min(table.rows.size(), kPdfRows);
    const CellTexts cells(table, rows);
    auto widths = columnWidths(pages, table, cells, rows);
    // A table that is too wide gets a smaller font, so that no column is lost.
    const double scale = std::min(1.0, pages.inner / std::accumulate(widths.begin(), widths.end(), 0.0));
    for (double& width : widths) width *= scale;
    PdfFont cellFont = kCell, headFont = kHead;
    cellFont.size *= scale, headFont.size *= scale;
    const double rowHeight = 13 * std::max(0.7, scale);
    const auto row = [&](auto cellOf, PdfFont font, double height) {
        double x = pages.margin;
        for (std::size_t c = 0; c < widths.size(); ++c) {
            const auto [text, ink] = cellOf(c);
            const bool right = isNumeric(table.columns[c]);
            pages.text(text, x + 2, pages.y + 2, widths[c] - 6 * scale, font, ink, right ? Align::Right : Align::Left,
                       height > rowHeight);
            x += widths[c];
        }
        pages.y += height;
        pages.line(pages.margin, pages.margin + pages.inner, pages.y - 1);
    };
    double headHeight = rowHeight;
    for (std::size_t c = 0; c < widths.size(); ++c)
        headHeight =
            std::max(headHeight, pages.textHeight(headerText(table.columns[c]), widths[c] - 6 * scale, headFont) + 4);
    const auto header = [&] {
        row([&](std::size_t c) { return std::pair(headerText(table.columns[c]), Ink::Muted); }, headFont, headHeight);
    };
    pages.reserve(60);
    if (!table.title.empty())
        pages.y += pages.text(shownInPdf(table.title), pages.margin, pages.y, pages.inner, {.size = 9, .bold = true},
                              Ink::Text) +
                   4;
    if (!cells.note().empty())
        pages.y += pages.text(cells.note(), pages.margin, pages.y, pages.inner, kSmall, Ink::Muted) + 4;
    header();
    for (std::size_t r = 0; r < rows; ++r) {
        if (pages.y + rowHeight > pages.bottom) {
            pages.newPage();
            header();
        }
        row(
            [&](std::size_t c) {
                std::string text = cells(r, c);
                if (const double room = widths[c] - 6 * scale; cells.isName(c))
                    text = nameWithin(text,
                                      [&](std::string_view part) { return pages.textWidth(part, cellFont) <= room; });
                return std::pair(std::move(text),
                                 isNotMeasured(table.columns[c], table.rows[r][c]) ? Ink::Warn : Ink::Text);
            },
            cellFont, rowHeight);
    }
    pages.y += 8;
    if (rows < table.rows.size())
        paragraph(pages,
                  fmt::format("The first {} of {} rows; JSON and CSV hold all of them.", rows, table.rows.size()));
}

void provenance(PdfPages& pages, const Report& report) {
    heading(pages, "Provenance");
    for (const auto& [key, value] : report.provenance) {
        const std::string text = shownInPdf(value);
        const double h = pages.textHeight(text, pages.inner - 110, kCell);
        pages.reserve(h + 5);
        pages.text(provenanceTitle(key), pages.margin, pages.y, 106, kSmall, Ink::Muted, Align::Left, false);
        pages.text(text, pages.margin + 110, pages.y, pages.inner - 110, kCell, Ink::Text);
        pages.y += std::max(h, 10.0) + 4;
        pages.line(pages.margin, pages.margin + pages.inner, pages.y - 2);
    }
}

int draw(cairo_t* cairo, const Report& report, int total) {
    PdfPages pages(cairo, fmt::format("QuantScope {} · {}", toolVersion(), shownInPdf(report.title)), total);
    pages.y += pages.text("QuantScope", pages.margin, pages.y, pages.inner, {.size = 9, .bold = true}, Ink::Accent) + 2;
    pages.y += pages.text(shownInPdf(report.title), pages.margin, pages.y, pages.inner, {.size = 19, .bold = true},
                          Ink::Text) +
               3;
    if (!report.subtitle.empty()) paragraph(pages, shownInPdf(report.subtitle));
    for (const auto& section : report.sections) {
        heading(pages, section.title, section.tables.empty() && !section.plots.empty() ? 240 : 140);
        if (!section.note.empty()) note(pages, shownInPdf(section.note));
        for (std::size_t from = 0; from < section.text.size();) {
            const std::size_t to = std::min(section.text.find("\n\n", from), section.text.size());
            paragraph(pages, shownInPdf(section.text.substr(from, to - from)));
            from = to + 2;
        }
        cards(pages, section.cards);
        for (const auto& t : section.tables) table(pages, t);
        pictures(pages, section.plots);
    }
    provenance(pages, report);
    pages.finish();
    return pages.page();
}

cairo_status_t appendBytes(void* closure, const unsigned char* bytes, unsigned length) {
    static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(bytes), length);
    return CAIRO_STATUS_SUCCESS;
}

std::string rendered(const Report& report, int total, int& pages) {
    std::string out;
    cairo_surface_t* surface =
        cairo_pdf_surface_create_for_stream(appendBytes, &out, PdfPages::width, PdfPages::height);
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, shownInPdf(report.title).c_str());
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATOR,
                                   fmt::format("QuantScope {}", toolVersion()).c_str());
    for (const auto& [key, value] : report.provenance)
        if (key == "date") cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, value.c_str());
    cairo_t* cairo = cairo_create(surface);
    pages = draw(cairo, report, total);
    cairo_destroy(cairo);
    cairo_surface_finish(surface);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) out.clear();
    cairo_surface_destroy(surface);
    return out;
}

} // namespace

Result<std::string> renderPdf(const Report& report) {
    int pages = 0;
    rendered(report, 0, pages); // counts the pages for the footers
    std::string out = rendered(report, pages, pages);
    if (out.empty()) return fail("The PDF could not be drawn by cairo.");
    return out;
}

} // namespace qs
