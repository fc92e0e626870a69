// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/pdf_page.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {

PdfPages::PdfPages(cairo_t* cairo, std::string footer, int total)
    : cairo_(cairo), layout_(pango_cairo_create_layout(cairo), g_object_unref), footer_(std::move(footer)),
      total_(total) {
    // With glyph positions rounded to whole points, small letters are too far apart, and texts that would fit are
    // shortened.
    pango_context_set_round_glyph_positions(pango_layout_get_context(layout_.get()), false);
}

void PdfPages::ink(Ink ink) {
    static constexpr double rgb[][3] = {{0x18, 0x20, 0x2B}, {0x56, 0x61, 0x73}, {0x15, 0x60, 0xCC},
                                        {0x8A, 0x5F, 0x00}, {0xDB, 0xE0, 0xE8}, {0xF4, 0xF6, 0xF9}};
    const auto& c = rgb[int(ink)];
    cairo_set_source_rgb(cairo_, c[0] / 255, c[1] / 255, c[2] / 255);
}

void PdfPages::set(std::string_view utf8, double textWidth, PdfFont font, bool wrap) {
    const std::unique_ptr<PangoFontDescription, void (*)(PangoFontDescription*)> description(
        pango_font_description_from_string(font.mono ? "JetBrains Mono, DejaVu Sans Mono, monospace"
                                                     : "Inter, DejaVu Sans, sans"),
        pango_font_description_free);
    pango_font_description_set_absolute_size(description.get(), font.size * PANGO_SCALE);
    pango_font_description_set_weight(description.get(), font.bold ? PANGO_WEIGHT_SEMIBOLD : PANGO_WEIGHT_NORMAL);
    pango_layout_set_font_description(layout_.get(), description.get());
    pango_layout_set_width(layout_.get(), textWidth < 0 ? -1 : int(textWidth * PANGO_SCALE));
    pango_layout_set_wrap(layout_.get(), PANGO_WRAP_WORD_CHAR);
    pango_layout_set_ellipsize(layout_.get(), wrap ? PANGO_ELLIPSIZE_NONE : PANGO_ELLIPSIZE_MIDDLE);
    pango_layout_set_single_paragraph_mode(layout_.get(), !wrap);
    pango_layout_set_text(layout_.get(), utf8.data(), int(std::min<std::size_t>(utf8.size(), 100000)));
}

double PdfPages::text(std::string_view utf8, double x, double top, double textWidth, PdfFont font, Ink color,
                      Align align, bool wrap) {
    set(utf8, textWidth, font, wrap);
    pango_layout_set_alignment(layout_.get(), align == Align::Right ? PANGO_ALIGN_RIGHT : PANGO_ALIGN_LEFT);
    ink(color);
    cairo_move_to(cairo_, x, top);
    pango_cairo_show_layout(cairo_, layout_.get());
    int h = 0;
    pango_layout_get_size(layout_.get(), nullptr, &h);
    return double(h) / PANGO_SCALE;
}

double PdfPages::textHeight(std::string_view utf8, double textWidth, PdfFont font, bool wrap) {
    set(utf8, textWidth, font, wrap);
    int h = 0;
    pango_layout_get_size(layout_.get(), nullptr, &h);
    return double(h) / PANGO_SCALE;
}

double PdfPages::textWidth(std::string_view utf8, PdfFont font) {
    set(utf8, -1, font, false);
    int w = 0;
    pango_layout_get_size(layout_.get(), &w, nullptr);
    return double(w) / PANGO_SCALE;
}

void PdfPages::line(double x0, double x1, double at) {
    ink(Ink::Line);
    cairo_set_line_width(cairo_, 0.6);
    cairo_move_to(cairo_, x0, at);
    cairo_line_to(cairo_, x1, at);
    cairo_stroke(cairo_);
}

void PdfPages::box(double x, double top, double w, double h, Ink fill) {
    ink(fill);
    cairo_rectangle(cairo_, x, top, w, h);
    cairo_fill(cairo_);
}

void PdfPages::frame(double x, double top, double w, double h) {
    constexpr double r = 5, quarter = 1.5707963267948966;
    ink(Ink::Line);
    cairo_set_line_width(cairo_, 0.6);
    cairo_new_sub_path(cairo_);
    cairo_arc(cairo_, x + w - r, top + r, r, -quarter, 0);
    cairo_arc(cairo_, x + w - r, top + h - r, r, 0, quarter);
    cairo_arc(cairo_, x + r, top + h - r, r, quarter, 2 * quarter);
    cairo_arc(cairo_, x + r, top + r, r, 2 * quarter, 3 * quarter);
    cairo_close_path(cairo_);
    cairo_stroke(cairo_);
}

void PdfPages::footer() {
    const double at = height - 32;
    text(footer_, margin, at, inner - 80, {.size = 7.5}, Ink::Muted, Align::Left, false);
    const std::string number = total_ ? fmt::format("{} of {}", page_, total_) : fmt::format("{}", page_);
    text(number, width - margin - 70, at, 70, {.mono = true, .size = 7.5}, Ink::Muted, Align::Right, false);
}

void PdfPages::newPage() {
    footer();
    cairo_show_page(cairo_);
    ++page_;
    y = margin;
}

void PdfPages::reserve(double needed) {
    if (y + needed > bottom && y > margin) newPage();
}

void PdfPages::finish() {
    footer();
    cairo_show_page(cairo_);
}

} // namespace qs
