// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A4 pages that are filled from top to bottom: text, lines and pictures at a cursor, with a footer on each page. All
// lengths are points (1/72 inch).

#include <cairo.h>
#include <functional>
#include <memory>
#include <pango/pangocairo.h>
#include <string>
#include <string_view>

namespace qs {

/// The colours of the light theme.
enum class Ink { Text, Muted, Accent, Warn, Line, Raised };

/// `size` is in points.
struct PdfFont {
    bool mono = false;
    double size = 9;
    bool bold = false;
};

class PdfPages {
public:
    /// The page, its margin, and the lowest position for content.
    static constexpr double width = 595.28, height = 841.89, margin = 42, bottom = height - 46;
    /// The width between the margins.
    static constexpr double inner = width - 2 * margin;

    /// The footer shows `total` as the number of pages; 0: not known yet.
    PdfPages(cairo_t* cairo, std::string footer, int total);

    /// The cursor: distance from the top of the page.
    double y = margin;
    int page() const { return page_; }
    /// Starts a new page if fewer than `needed` points are left.
    void reserve(double needed);
    void newPage();
    void finish(); ///< draws the footer of the last page

    enum class Align { Left, Right };
    /// Draws text at (x, top) and returns its height. With `wrap` it uses several lines; without, a text that is too
    /// wide loses its middle.
    double text(std::string_view utf8, double x, double top, double textWidth, PdfFont font, Ink ink,
                Align align = Align::Left, bool wrap = true);
    double textHeight(std::string_view utf8, double textWidth, PdfFont font, bool wrap = true);
    double textWidth(std::string_view utf8, PdfFont font);
    void line(double x0, double x1, double at);
    void box(double x, double top, double w, double h, Ink fill);
    void frame(double x, double top, double w, double h);
    cairo_t* cairo() const { return cairo_; }

private:
    void set(std::string_view utf8, double textWidth, PdfFont font, bool wrap);
    void ink(Ink ink);
    void footer();

    cairo_t* cairo_;
    std::unique_ptr<PangoLayout, void (*)(gpointer)> layout_;
    std::string footer_;
    int total_, page_ = 1;
};

} // namespace qs
