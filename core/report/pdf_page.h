// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A4 pages that fill from the top: text, lines and pictures at a cursor, with a footer on each page.

#include <cairo.h>
#include <functional>
#include <memory>
#include <pango/pangocairo.h>
#include <string>
#include <string_view>

namespace qs {

/// Colours of the light theme.
enum class Ink { Text, Muted, Accent, Warn, Line, Raised };

struct PdfFont {
    bool mono = false;
    double size = 9;
    bool bold = false;
};

class PdfPages {
public:
    static constexpr double width = 595.28, height = 841.89, margin = 42, bottom = height - 46;
    static constexpr double inner = width - 2 * margin;

    /// `total` is printed in the footer; 0 while pages are only counted.
    PdfPages(cairo_t* cairo, std::string footer, int total);

    double y = margin;
    int page() const { return page_; }
    /// Starts a new page unless `needed` points are left.
    void reserve(double needed);
    void newPage();
    void finish(); ///< the footer of the last page

    enum class Align { Left, Right };
    /// Draws wrapped or single-line text at (x, top); returns its height.
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
