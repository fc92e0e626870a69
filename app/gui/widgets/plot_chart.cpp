// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_chart.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/plot_chart_view.h"
#include "app/gui/widgets/plot_copy.h"
#include "app/gui/widgets/plot_input.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFocusEvent>
#include <QMenu>
#include <QMimeData>
#include <QPointer>
#include <QVBoxLayout>

#include <cmath>

namespace qs::gui {

namespace {

QMimeData* mimeOf(const QByteArray& svg, const QString& text, const QImage& image) {
    auto* mime = new QMimeData;
    if (!svg.isEmpty()) mime->setData(QStringLiteral("image/svg+xml"), svg);
    if (!text.isEmpty()) mime->setText(text);
    if (!image.isNull()) mime->setImageData(image);
    return mime;
}

} // namespace

struct PlotChart::Private {
    PlotContents plot;
    PlotChartView* view = nullptr;
    PlotInput* input = nullptr;
    QPointer<PlotChart> linked;
    bool linking = false;

    void measureHome() { plot.measureHome(linked ? &linked->d->plot : nullptr); }
    void rehome();
    void viewMoved(PlotChart& self);
};

PlotChart::PlotChart(QWidget* parent) : QWidget(parent), d(std::make_unique<Private>()) {
    d->view = new PlotChartView(d->plot, this);
    d->input = new PlotInput(*this, d->plot, *d->view->viewport(), [this] { d->viewMoved(*this); });
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins({});
    layout->addWidget(d->view);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(120, 80);
    setAccessibleName(tr("Plot"));
    connect(&Theme::instance(), &Theme::changed, this, [this] { d->view->recolour(); });
}

PlotChart::~PlotChart() { delete d->input; } // before the contents that it refers to

void PlotChart::warmUp() {
    PlotChart chart;
    chart.setAxes(QStringLiteral("x"), QStringLiteral("y"));
    chart.setData({{{}, PlotSeries::Style::Line, 0, {{0, 0}, {1, 1}}, {}}}, {});
}

void PlotChart::setAxes(const QString& xTitle, const QString& yTitle) {
    if (d->plot.frame.xTitle == xTitle && d->plot.frame.yTitle == yTitle) return;
    d->plot.frame.xTitle = xTitle;
    d->plot.frame.yTitle = yTitle;
    setAccessibleDescription(tr("%1 against %2").arg(yTitle, xTitle));
    d->view->applyRanges();
}

void PlotChart::setXScale(const SymlogAxis& axis) {
    if (d->plot.frame.symlogX.linear == axis.linear) return;
    d->plot.frame.symlogX = axis;
    d->view->applyRanges();
}

void PlotChart::setXCaption(const QString& text) {
    d->plot.frame.xCaption = text;
    d->view->viewport()->update();
}

void PlotChart::setLeftMargin(double pixels) {
    d->plot.frame.leastLeft = pixels;
    d->view->applyRanges();
}

void PlotChart::setData(const QVector<PlotSeries>& series, const QVector<PlotMarker>& markers, bool keepZoom) {
    const bool keepX = keepZoom && !(d->plot.frame.x == d->plot.homeX),
               keepY = keepZoom && !(d->plot.frame.y == d->plot.homeY);
    d->plot.series = series;
    d->plot.markers = markers;
    if (!keepZoom) d->plot.frame.resetMargin();
    d->measureHome();
    d->plot.frame.x = keepX ? panned(d->plot.frame.x, 0, d->plot.homeX) : d->plot.homeX;
    d->plot.frame.y = keepY ? panned(d->plot.frame.y, 0, d->plot.homeY) : d->plot.homeY;
    d->view->syncSeries();
    d->view->applyRanges();
    d->plot.updateReadout();
    if (d->linked && !d->linking && !d->linked->d->plot.series.isEmpty()) {
        // Both charts show the union of their ranges. The other chart recomputes its range and must not set this one's
        // view.
        PlotChart* other = d->linked;
        d->linking = other->d->linking = true;
        const bool otherZoomed = other->isZoomed();
        other->d->measureHome();
        if (!otherZoomed) other->resetView();
        d->linking = other->d->linking = false;
    }
}

void PlotChart::setXRange(double lo, double hi) {
    if (!(lo < hi)) return;
    d->plot.wantedX = PlotRange{lo, hi};
    d->rehome();
}

void PlotChart::setYRange(double lo, double hi) {
    if (!(lo < hi)) return;
    d->plot.wantedY = PlotRange{lo, hi};
    d->rehome();
}

void PlotChart::setLogY(bool on) {
    if (d->plot.frame.logY == on) return;
    d->plot.frame.logY = on;
    d->plot.frame.resetMargin();
    d->measureHome();
    d->plot.frame.y = d->plot.homeY;
    d->view->syncSeries();
    d->view->applyRanges();
    d->plot.updateReadout();
}

void PlotChart::setLegend(bool on) {
    d->plot.frame.legend = on;
    d->view->applyRanges();
}

void PlotChart::setXDecimals(int decimals) {
    d->plot.frame.xDecimals = decimals;
    d->view->applyRanges();
}

void PlotChart::setYDecimals(int decimals) {
    d->plot.frame.yDecimals = decimals;
    d->view->applyRanges();
}

void PlotChart::setXPowers(int base) {
    d->plot.frame.xPowers = base;
    d->view->applyRanges();
}

void PlotChart::setXLabels(bool on) {
    d->plot.frame.xLabels = on;
    d->view->applyRanges();
}

void PlotChart::resetView() {
    d->plot.showHome();
    d->plot.frame.resetMargin();
    d->viewMoved(*this);
}

void PlotChart::setXView(double lo, double hi) {
    if (!(lo < hi)) return;
    const PlotRange wanted = panned({lo, hi}, 0, d->plot.homeX);
    if (wanted == d->plot.frame.x) return;
    d->plot.frame.x = wanted;
    d->view->applyRanges();
    d->plot.updateReadout();
}

bool PlotChart::isZoomed() const { return d->plot.isZoomed(); }
bool PlotChart::logY() const { return d->plot.frame.logY; }
const QVector<PlotSeries>& PlotChart::series() const { return d->plot.series; }
const QVector<PlotMarker>& PlotChart::markers() const { return d->plot.markers; }
QRectF PlotChart::plotArea() const { return d->plot.frame.area(); }

QPointF PlotChart::pixelOf(double x, double y) const {
    return {d->plot.frame.pixelX(x), d->plot.frame.pixelY(d->plot.plotY(y))};
}

QStringList PlotChart::crosshairLines() const {
    QStringList out;
    if (std::isnan(d->plot.readout.x)) return out;
    for (const auto& line : d->plot.readout.lines) out.append(line.text);
    return out;
}

void PlotChart::showCrosshair(double x) {
    if (std::isnan(x) && std::isnan(d->plot.crosshairX)) return;
    d->plot.crosshairX = x;
    d->plot.updateReadout();
    d->view->viewport()->update();
}

void PlotChart::setYRangeLinked(PlotChart* other) {
    d->linked = other;
    if (!other) return;
    other->d->linked = this;
    d->rehome();
    other->d->rehome();
}

void PlotChart::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::EnabledChange || event->type() == QEvent::FontChange) d->view->viewport()->update();
}

void PlotChart::keyPressEvent(QKeyEvent* event) {
    if (!d->input->key(*event)) QWidget::keyPressEvent(event);
}

void PlotChart::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    const Qt::FocusReason reason = event->reason();
    d->view->setFocusShown(reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason ||
                           reason == Qt::ShortcutFocusReason);
}

void PlotChart::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    d->view->setFocusShown(false);
}

QString PlotChart::dataAsTsv() const { return plotTsv(d->plot); }
QByteArray PlotChart::asSvg() const { return plotSvg(*d->view, accessibleName(), accessibleDescription()); }

void PlotChart::copyAll() const {
    QApplication::clipboard()->setMimeData(mimeOf(asSvg(), dataAsTsv(), plotPicture(*d->view)));
}

void PlotChart::contextMenuEvent(QContextMenuEvent* event) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(tr("Copy picture, SVG and data"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), this,
                    [this] { copyAll(); });
    menu->addAction(tr("Copy as PNG"), this,
                    [this] { QApplication::clipboard()->setMimeData(mimeOf({}, {}, plotPicture(*d->view))); });
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

// ---- linked charts and the visible range ---------------------------------------------------------------------------

void PlotChart::Private::rehome() {
    const bool zoomed = plot.isZoomed();
    measureHome();
    if (zoomed) return;
    plot.showHome();
    view->applyRanges();
}

void PlotChart::Private::viewMoved(PlotChart& self) {
    view->applyRanges();
    plot.updateReadout();
    const PlotFrame& frame = plot.frame;
    Q_EMIT self.viewChanged(frame.x.lo, frame.x.hi, plot.valueOfY(frame.y.lo), plot.valueOfY(frame.y.hi));
    if (!linked || linking) return;
    linking = linked->d->linking = true;
    Private& other = *linked->d;
    other.plot.frame.x = frame.x;
    if (other.plot.frame.logY == frame.logY) other.plot.frame.y = frame.y;
    other.viewMoved(*linked);
    linking = linked->d->linking = false;
}

} // namespace qs::gui
