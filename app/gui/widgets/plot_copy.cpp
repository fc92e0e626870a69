// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_copy.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/plot_contents.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QGraphicsView>
#include <QLocale>
#include <QPainter>
#include <QSvgGenerator>

namespace qs::gui {

QString plotTsv(const PlotContents& plot) {
    QString out = QStringLiteral("series\t%1\t%2\tnote\n")
                      .arg(plot.frame.xTitle.isEmpty() ? QStringLiteral("x") : plot.frame.xTitle,
                           plot.frame.yTitle.isEmpty() ? QStringLiteral("y") : plot.frame.yTitle);
    const auto row = [&](const QString& name, const QString& x, const QString& y, const QString& note) {
        out += name + u'\t' + x + u'\t' + y + u'\t' + note + u'\n';
    };
    const auto number = [](double value) { return QString::number(value, 'g', QLocale::FloatingPointShortest); };
    for (const PlotSeries& series : plot.series) {
        if (series.style == PlotSeries::Style::Band || series.naming == PlotSeries::Naming::None)
            continue; // the data of the line are already there
        for (int i = 0; i < series.points.size(); ++i)
            row(series.name, number(plot.frame.shownX(series.points[i].x())), number(series.points[i].y()),
                series.notes.value(i));
    }
    for (const PlotMarker& marker : plot.markers)
        row(QCoreApplication::translate("qs::gui::PlotChart", "marker"), number(plot.frame.shownX(marker.x)), QString(),
            marker.label);
    return out;
}

QByteArray plotSvg(QGraphicsView& view, const QString& title, const QString& description) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setTitle(title);
    generator.setDescription(description);
    const QSize size = view.viewport()->size();
    generator.setSize(size);
    generator.setViewBox(QRect(QPoint(), size));
    QPainter painter(&generator);
    painter.fillRect(QRect(QPoint(), size), Theme::instance().tokens().surface);
    view.render(&painter, QRectF(QPointF(), QSizeF(size)), QRect(QPoint(), size), Qt::IgnoreAspectRatio);
    painter.end();
    return bytes;
}

QImage plotPicture(QGraphicsView& view) {
    constexpr int scale = 2; // a picture that is readable in a document
    QImage image(view.viewport()->size() * scale, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(scale);
    image.fill(Theme::instance().tokens().surface);
    QPainter painter(&image);
    view.render(&painter, QRectF(QPointF(), QSizeF(view.viewport()->size())), view.viewport()->rect(),
                Qt::IgnoreAspectRatio);
    return image;
}

} // namespace qs::gui
