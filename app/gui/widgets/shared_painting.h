// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Painting that is shared out over turns of the event loop. All charts, maps and tables of a page painted at once, as
// when the window gets another size, would hold the GUI thread for longer than a frame: a turn paints as many as it has
// time for, those that waited first, and the others show their last picture until the next turn paints them. Pictures
// made on purpose (grab(), render()) are always painted wholly.

#include "app/gui/widgets/kept_pixels.h"

#include <QObject>
#include <QRgb>

class QPaintEvent;
class QWidget;

namespace qs::gui {

/// Lets a widget take part, for as long as it lives: SharedPainting::of(*viewport(), SharedPainting::Fit::Stretched).
class SharedPainting : public QObject {
public:
    /// How the last picture fills another size: a chart's is stretched, a table's rows and columns stay where they are.
    enum class Fit { Stretched, FromTheCorner };
    static void of(QWidget& widget, Fit fit);

    /// After so long in one turn no other widget that takes part begins, those excepted that wait longest: what is
    /// painted besides, and what the turn does before and after it, share the 16 ms.
    static constexpr double kBudgetMs = 7;
    /// The same where the window has another size: memory for its pixels is new, which takes the rest of the turn.
    static constexpr double kResizedMs = 4;
    static bool somebodyWaits(); ///< the window shows some last picture
    void keep();                 ///< what it has painted, in the turn after that

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    SharedPainting(QWidget& widget, Fit fit);
    bool paint(QPaintEvent& event); ///< false: the widget shall do it itself

    QWidget& widget_;
    const Fit fit_;
    bool painting_ = false;
    double tookMs_ = 3; ///< the last time; before it a chart's
    KeptPixels last_;   ///< nothing while the widget is hidden
    QRgb colours_ = 0;  ///< of the theme of last_, which is not shown under another one
};

} // namespace qs::gui
