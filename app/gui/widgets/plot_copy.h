// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A chart as data, as a vector picture and as pixels, for the clipboard.

#include <QByteArray>
#include <QImage>
#include <QString>

class QGraphicsView;

namespace qs::gui {

struct PlotContents;

QString plotTsv(const PlotContents& plot); ///< all series and markers: series, x, y, note
QByteArray plotSvg(QGraphicsView& view, const QString& title, const QString& description);
QImage plotPicture(QGraphicsView& view); ///< at twice the size on the screen

} // namespace qs::gui
