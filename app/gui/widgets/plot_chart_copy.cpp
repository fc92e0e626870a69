// SPDX-License-Identifier: GPL-3.0-or-later
// Copies a PlotChart to the clipboard: picture, SVG, data.
#include "app/gui/widgets/plot_chart_view.h"

#include "app/gui/theme.h"

#include <QApplication>
#include <QBuffer>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QMenu>
#include <QMimeData>
#include <QPainter>
#include <QSvgGenerator>

#include <cmath>

namespace qs::gui {
namespace {

QImage pictureOf(PlotChartView& view) {
    constexpr int scale = 2; // a picture that is readable in a document
    QImage image(view.viewport()->size() * scale, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(scale);
    image.fill(Theme::instance().tokens().surface);
    QPainter painter(&image);
    view.render(&painter, QRectF(QPointF(), QSizeF(view.viewport()->size())), view.viewport()->rect(),
                Qt::IgnoreAspectRatio);
    return image;
}

QMimeData* mimeOf(const QByteArray& svg, const QString& text, const QImage& image) {
    auto* mime = new QMimeData;
    if (!svg.isEmpty()) mime->setData(QStringLiteral("image/svg+xml"), svg);
    if (!text.isEmpty()) mime->setText(text);
    if (!image.isNull()) mime->setImageData(image);
    return mime;
}

} // namespace

QString PlotChart::dataAsTsv() const {
    QString out = QStringLiteral("series\t%1\t%2\tnote\n")
                      .arg(d->frame.xTitle.isEmpty() ? QStringLiteral("x") : d->frame.xTitle,
                           d->frame.yTitle.isEmpty() ? QStringLiteral("y") : d->frame.yTitle);
    const auto row = [&](const QString& name, const QString& x, const QString& y, const QString& note) {
        out += name + u'\t' + x + u'\t' + y + u'\t' + note + u'\n';
    };
    const auto number = [](double value) { return QString::number(value, 'g', QLocale::FloatingPointShortest); };
    for (const PlotSeries& series : d->series) {
        if (series.style == PlotSeries::Style::Band || series.naming == PlotSeries::Naming::None)
            continue; // the data of the line are already there
        for (int i = 0; i < series.points.size(); ++i)
            row(series.name, number(d->frame.shownX(series.points[i].x())), number(series.points[i].y()),
                series.notes.value(i));
    }
    for (const PlotMarker& marker : d->markers)
        row(tr("marker"), number(d->frame.shownX(marker.x)), QString(), marker.label);
    return out;
}

QByteArray PlotChart::asSvg() const {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setTitle(accessibleName());
    generator.setDescription(accessibleDescription());
    const QSize size = d->view->viewport()->size();
    generator.setSize(size);
    generator.setViewBox(QRect(QPoint(), size));
    QPainter painter(&generator);
    painter.fillRect(QRect(QPoint(), size), Theme::instance().tokens().surface);
    d->view->render(&painter, QRectF(QPointF(), QSizeF(size)), QRect(QPoint(), size), Qt::IgnoreAspectRatio);
    painter.end();
    return bytes;
}

void PlotChart::copyAll() const {
    QApplication::clipboard()->setMimeData(mimeOf(asSvg(), dataAsTsv(), pictureOf(*d->view)));
}

void PlotChart::contextMenuEvent(QContextMenuEvent* event) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(tr("Copy picture, SVG and data"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), this,
                    [this] { copyAll(); });
    menu->addAction(tr("Copy as PNG"), this,
                    [this] { QApplication::clipboard()->setMimeData(mimeOf({}, {}, pictureOf(*d->view))); });
    menu->addAction(tr("Copy as SVG"), this, [this] {
        const QByteArray svg = asSvg();
        QApplication::clipboard()->setMimeData(mimeOf(svg, QString::fromUtf8(svg), {}));
    });
    menu->addAction(tr("Copy data (TSV)"), this, [this] { QApplication::clipboard()->setText(dataAsTsv()); });
    menu->addSeparator();
    QAction* log = menu->addAction(tr("Logarithmic y axis"));
    log->setCheckable(true);
    log->setChecked(logY());
    connect(log, &QAction::toggled, this, [this](bool on) {
        setLogY(on);
        Q_EMIT logYToggled(on);
    });
    QAction* reset = menu->addAction(tr("Reset view"), this, [this] { resetView(); });
    reset->setEnabled(isZoomed());
    menu->popup(event->globalPos());
    event->accept();
}

} // namespace qs::gui
