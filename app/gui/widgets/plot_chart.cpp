// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/plot_chart.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/plot_chart_view.h"

#include <QEvent>
#include <QVBoxLayout>

#include <cmath>
#include <limits>

namespace qs::gui {

namespace {
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
}

PlotChart::PlotChart(QWidget* parent) : QWidget(parent), d(std::make_unique<Private>()) {
    d->readout.x = kNone;
    d->view = new PlotChartView(*d, this);
    d->view->viewport()->installEventFilter(this);
    d->view->viewport()->setMouseTracking(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins({});
    layout->addWidget(d->view);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(120, 80);
    setAccessibleName(tr("Plot"));
    connect(&Theme::instance(), &Theme::changed, this, [this] { d->view->recolour(); });
}

PlotChart::~PlotChart() = default;

void PlotChart::warmUp() {
    PlotChart chart;
    chart.setAxes(QStringLiteral("x"), QStringLiteral("y"));
    chart.setData({{{}, PlotSeries::Style::Line, 0, {{0, 0}, {1, 1}}, {}}}, {});
}

void PlotChart::setAxes(const QString& xTitle, const QString& yTitle) {
    if (d->frame.xTitle == xTitle && d->frame.yTitle == yTitle) return;
    d->frame.xTitle = xTitle;
    d->frame.yTitle = yTitle;
    setAccessibleDescription(tr("%1 against %2").arg(yTitle, xTitle));
    d->view->applyRanges();
}

void PlotChart::setXScale(const SymlogAxis& axis) {
    if (d->frame.symlogX.linear == axis.linear) return;
    d->frame.symlogX = axis;
    d->view->applyRanges();
}

void PlotChart::setXCaption(const QString& text) {
    d->frame.xCaption = text;
    d->view->viewport()->update();
}

void PlotChart::setLeftMargin(double pixels) {
    d->frame.leastLeft = pixels;
    d->view->applyRanges();
}

void PlotChart::setData(const QVector<PlotSeries>& series, const QVector<PlotMarker>& markers, bool keepZoom) {
    const bool keepX = keepZoom && !(d->frame.x == d->homeX), keepY = keepZoom && !(d->frame.y == d->homeY);
    d->series = series;
    d->markers = markers;
    if (!keepZoom) d->frame.resetMargin();
    d->measureHome();
    d->frame.x = keepX ? panned(d->frame.x, 0, d->homeX) : d->homeX;
    d->frame.y = keepY ? panned(d->frame.y, 0, d->homeY) : d->homeY;
    d->view->syncSeries();
    d->view->applyRanges();
    d->updateReadout();
    if (d->linked && !d->linking && !d->linked->d->series.isEmpty()) {
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
    d->wantedX = PlotRange{lo, hi};
    d->rehome();
}

void PlotChart::setYRange(double lo, double hi) {
    if (!(lo < hi)) return;
    d->wantedY = PlotRange{lo, hi};
    d->rehome();
}

void PlotChart::setLogY(bool on) {
    if (d->frame.logY == on) return;
    d->frame.logY = on;
    d->frame.resetMargin();
    d->measureHome();
    d->frame.y = d->homeY;
    d->view->syncSeries();
    d->view->applyRanges();
    d->updateReadout();
}

void PlotChart::setLegend(bool on) {
    d->frame.legend = on;
    d->view->applyRanges();
}

void PlotChart::setXDecimals(int decimals) {
    d->frame.xDecimals = decimals;
    d->view->applyRanges();
}

void PlotChart::setYDecimals(int decimals) {
    d->frame.yDecimals = decimals;
    d->view->applyRanges();
}

void PlotChart::setXPowers(int base) {
    d->frame.xPowers = base;
    d->view->applyRanges();
}

void PlotChart::setXLabels(bool on) {
    d->frame.xLabels = on;
    d->view->applyRanges();
}

void PlotChart::resetView() {
    d->frame.x = d->homeX;
    d->frame.y = d->homeY;
    d->frame.resetMargin();
    d->viewMoved(*this);
}

void PlotChart::setXView(double lo, double hi) {
    if (!(lo < hi)) return;
    const PlotRange wanted = panned({lo, hi}, 0, d->homeX);
    if (wanted == d->frame.x) return;
    d->frame.x = wanted;
    d->view->applyRanges();
    d->updateReadout();
}

bool PlotChart::isZoomed() const { return !(d->frame.x == d->homeX && d->frame.y == d->homeY); }
bool PlotChart::logY() const { return d->frame.logY; }
const QVector<PlotSeries>& PlotChart::series() const { return d->series; }
const QVector<PlotMarker>& PlotChart::markers() const { return d->markers; }
QRectF PlotChart::plotArea() const { return d->frame.area(); }

QPointF PlotChart::pixelOf(double x, double y) const {
    return {d->frame.pixelX(x), d->frame.pixelY(d->frame.logY ? std::log10(y) : y)};
}

QStringList PlotChart::crosshairLines() const {
    QStringList out;
    if (std::isnan(d->readout.x)) return out;
    for (const auto& line : d->readout.lines) out.append(line.text);
    return out;
}

void PlotChart::showCrosshair(double x) {
    if (std::isnan(x) && std::isnan(d->crosshairX)) return;
    d->crosshairX = x;
    d->updateReadout();
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

// ---- Private -------------------------------------------------------------------------------------------------------

void PlotChart::Private::measureHome() {
    homeX = wantedX.value_or(gui::homeX(series, markers));
    homeY = gui::homeY(series, frame.logY);
    if (wantedY) homeY = *wantedY;
    if (wantedY && frame.logY) {
        const double top = std::log10(std::max(wantedY->hi, std::numeric_limits<double>::min()));
        homeY = {wantedY->lo > 0 ? std::log10(wantedY->lo) : gui::homeY(series, true).lo, top};
        if (!(homeY.lo < homeY.hi)) homeY = gui::homeY(series, true);
    }
    if (!linked || linked->d->series.isEmpty() || series.isEmpty()) return;
    const auto join = [](PlotRange a, PlotRange b) { return PlotRange{std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; };
    const Private& other = *linked->d;
    if (!wantedX) homeX = join(homeX, gui::homeX(other.series, other.markers));
    if (!wantedY) homeY = join(homeY, gui::homeY(other.series, frame.logY));
}

void PlotChart::Private::rehome() {
    const bool zoomed = !(frame.x == homeX && frame.y == homeY);
    measureHome();
    if (zoomed) return;
    frame.x = homeX;
    frame.y = homeY;
    view->applyRanges();
}

void PlotChart::Private::viewMoved(PlotChart& self) {
    view->applyRanges();
    updateReadout();
    const auto value = [this](double y) { return frame.logY ? std::pow(10.0, y) : y; };
    Q_EMIT self.viewChanged(frame.x.lo, frame.x.hi, value(frame.y.lo), value(frame.y.hi));
    if (!linked || linking) return;
    linking = linked->d->linking = true;
    Private& other = *linked->d;
    other.frame.x = frame.x;
    if (other.frame.logY == frame.logY) other.frame.y = frame.y;
    other.viewMoved(*linked);
    linking = linked->d->linking = false;
}

void PlotChart::Private::updateReadout() {
    readout = {};
    readout.x = crosshairX;
    readout.marker = -1;
    if (std::isnan(crosshairX)) return;
    const double pixel = frame.pixelX(crosshairX);
    double nearest = 4.5;
    for (int i = 0; i < markers.size(); ++i) {
        // A solid line takes precedence over a dashed one beside it: where both are dense, only solid ones are drawn.
        const double distance = std::abs(frame.pixelX(markers[i].x) - pixel) + (markers[i].dashed ? 1.5 : 0);
        if (distance < nearest && !markers[i].label.isEmpty()) {
            nearest = distance;
            readout.marker = i;
        }
    }
    if (readout.marker >= 0) {
        const PlotMarker& marker = markers[readout.marker];
        readout.lines.append({marker.token, marker.label});
    }
    const auto named = [](const PlotSeries& one) {
        return one.style != PlotSeries::Style::Band && one.naming == PlotSeries::Naming::Legend;
    };
    // Series of dots may have different x: the dot nearest to the mouse decides.
    double leading = crosshairX, distance = std::numeric_limits<double>::infinity();
    for (const PlotSeries& one : series) {
        if (!named(one)) continue;
        if (one.style != PlotSeries::Style::Dots) break;
        const int index = nearestPoint(one.points, crosshairX);
        if (index < 0 || std::abs(one.points[index].x() - crosshairX) >= distance) continue;
        leading = one.points[index].x();
        distance = std::abs(leading - crosshairX);
    }
    bool first = true;
    for (const PlotSeries& one : series) {
        if (!named(one)) continue;
        const int index = nearestPoint(one.points, leading);
        if (index < 0) continue;
        QPointF point = one.points[index];
        const bool measured = !one.notes.isEmpty();
        if (measured && (!first || one.style == PlotSeries::Style::Dots) &&
            std::abs(frame.pixelX(point.x()) - frame.pixelX(first ? leading : readout.x)) > 3)
            continue;
        if (!first && !measured && one.style == PlotSeries::Style::Line)
            point = {readout.x, valueAt(one.points, readout.x)};
        if (first) {
            readout.x = point.x();
            const QString x = readoutText(frame.shownX(point.x()));
            readout.lines.append({-1, frame.xTitle.isEmpty() ? x : frame.xTitle + u' ' + x});
            first = false;
        }
        QString text = (one.name.isEmpty() ? frame.yTitle : one.name) + u' ' + readoutText(point.y());
        if (index < one.notes.size()) text += QStringLiteral("  ") + one.notes[index];
        readout.lines.append({one.token, text});
        if (!std::isfinite(point.y()) || (frame.logY && point.y() <= 0)) continue;
        readout.points.append({one.token, {point.x(), frame.logY ? std::log10(point.y()) : point.y()}});
    }
}

} // namespace qs::gui
