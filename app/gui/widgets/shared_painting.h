// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Spreads painting over turns of the event loop. Painting all charts, maps and tables of a page at once, for example
// when the window is resized, would block the GUI thread for longer than a frame. Each turn paints as many widgets as
// it has time for, the longest waiting first; the others show their last picture until a later turn. grab() and
// render() always paint everything.

#include "app/gui/widgets/kept_pixels.h"

#include <QObject>
#include <QRgb>

class QPaintEvent;
class QWidget;

namespace qs::gui {

/// Lets a widget take part while it lives: SharedPainting::of(*viewport(), SharedPainting::Fit::Stretched).
class SharedPainting : public QObject {
public:
    /// How the last picture fills a new size: a chart's picture is stretched; rows and columns of a table keep their
    /// place.
    enum class Fit { Stretched, FromTheCorner };
    static void of(QWidget& widget, Fit fit);

    /// After this time in one turn only the widget that waits longest may begin to paint. The rest of the 16 ms is for
    /// other painting and for the work before and after it.
    static constexpr double kBudgetMs = 7;
    /// The same when the window was resized: its pixels then need new memory, which takes the rest of the turn.
    static constexpr double kResizedMs = 4;
    static bool somebodyWaits(); ///< some widget shows its last picture
    void keep();                 ///< copies what was painted; called in the next turn

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    SharedPainting(QWidget& widget, Fit fit);
    bool paint(QPaintEvent& event); ///< false: the widget must paint itself

    QWidget& widget_;
    const Fit fit_;
    bool painting_ = false;
    double tookMs_ = 3; ///< duration of the last painting; initially that of a chart
    KeptPixels last_;   ///< empty while the widget is hidden
    QRgb colours_ = 0;  ///< colours of the theme in last_, which is not shown under another theme
};

} // namespace qs::gui
