// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/small_multiples.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/shared_painting.h"

#include <QApplication>
#include <QBuffer>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFontMetricsF>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QSvgGenerator>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::gui {
namespace {
constexpr double kNear = 12;        // pixels from the mouse to the mark that it selects
constexpr double kLeastPanel = 250; // pixels, width of a panel
constexpr double kLow = 168;        // pixels, height of a panel
constexpr double kAir = 16;         // pixels between panels
constexpr double kLegendLine = 18;  // pixels
} // namespace

SmallMultiples::SmallMultiples(QWidget* parent) : QAbstractScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    SharedPainting::of(*viewport(), SharedPainting::Fit::Stretched);
    viewport()->setMouseTracking(true);
    viewport()->setAutoFillBackground(false);
    connect(&Theme::instance(), &Theme::changed, this, [this] { viewport()->update(); });
}

void SmallMultiples::setAxes(const QString& x, const QString& y) { xTitle_ = x, yTitle_ = y; }

void SmallMultiples::setDescribe(std::function<QString(int, int)> describe) { describe_ = std::move(describe); }

void SmallMultiples::setData(QStringList series, std::vector<Multiple> panels) {
    series_ = std::move(series);
    panels_ = std::move(panels);
    double xLo = INFINITY, xHi = -INFINITY, yLo = INFINITY, yHi = -INFINITY;
    for (const auto& panel : panels_) {
        for (const auto& dot : panel.dots) {
            xLo = std::min(xLo, dot.x), xHi = std::max(xHi, dot.x);
            yLo = std::min(yLo, dot.y), yHi = std::max(yHi, dot.y);
        }
    }
    const auto widened = [](double lo, double hi) {
        if (!(lo <= hi)) return Range{0, 1};
        const double air = hi > lo ? (hi - lo) * 0.05 : 0.5;
        return Range{lo - air, hi + air};
    };
    x_ = widened(xLo, xHi), y_ = widened(yLo, yHi);
    if (currentPanel_ >= int(panels_.size())) currentPanel_ = 0;
    arrange();
    viewport()->update();
}

void SmallMultiples::setCurrent(int panel, int id) {
    currentPanel_ = panel, currentId_ = id;
    const bool known = panel >= 0 && panel < int(panels_.size()) && id >= 0 && describe_;
    setAccessibleDescription(known ? panels_[std::size_t(panel)].title + u' ' + describe_(panel, id) : QString());
    viewport()->update();
}

/// Chooses the number of columns: panels are wider than high and, if possible, all visible.
void SmallMultiples::arrange() {
    const double width = viewport()->width(), height = viewport()->height();
    const QFontMetricsF metrics(Theme::numbers(10));
    legend_.clear();
    double x = 0, y = 2;
    for (const auto& name : series_) {
        const double w = 16 + metrics.horizontalAdvance(name) + 14;
        if (x > 0 && x + w > width) x = 0, y += kLegendLine;
        legend_.push_back({x, y, w, kLegendLine});
        x += w;
    }
    legendHeight_ = legend_.empty() ? 0 : y + kLegendLine + 8;
    const int n = std::max(1, int(panels_.size()));
    const int most = std::clamp(int((width + kAir) / (kLeastPanel + kAir)), 1, n);
    columns_ = most;
    const auto heightFor = [&](int columns) {
        const int rows = (n + columns - 1) / columns;
        return (height - legendHeight_ - (rows - 1) * kAir) / rows;
    };
    const auto widthFor = [&](int columns) { return (width - (columns - 1) * kAir) / columns; };
    // The fewest columns with which all panels fit and none is higher than wide.
    for (int columns = 1; columns <= most; ++columns) {
        if (heightFor(columns) < kLow || widthFor(columns) > 2.2 * heightFor(columns)) continue;
        columns_ = columns;
        break;
    }
    panelWidth_ = std::floor(widthFor(columns_));
    panelHeight_ = std::floor(std::clamp(heightFor(columns_), kLow, std::max(kLow, 0.9 * panelWidth_)));
    const int rows = (n + columns_ - 1) / columns_;
    const double whole = legendHeight_ + rows * panelHeight_ + (rows - 1) * kAir;
    verticalScrollBar()->setRange(0, std::max(0, int(whole - height)));
    verticalScrollBar()->setPageStep(int(height));
    verticalScrollBar()->setSingleStep(24);
}

void SmallMultiples::resizeEvent(QResizeEvent*) { arrange(); }

QRectF SmallMultiples::panelRect(int panel) const {
    const int row = panel / columns_, column = panel % columns_;
    return {column * (panelWidth_ + kAir), legendHeight_ + row * (panelHeight_ + kAir) - verticalScrollBar()->value(),
            panelWidth_, panelHeight_};
}

QRectF SmallMultiples::plotRect(int panel) const { return panelRect(panel).adjusted(34, 24, -6, -34); }

QPointF SmallMultiples::at(const QRectF& plot, double x, double y) const {
    return {plot.left() + (x - x_.lo) / (x_.hi - x_.lo) * plot.width(),
            plot.bottom() - (y - y_.lo) / (y_.hi - y_.lo) * plot.height()};
}

QPointF SmallMultiples::dotPosition(int panel, int id) const {
    for (const auto& dot : panels_[std::size_t(panel)].dots)
        if (dot.id == id) return at(plotRect(panel), dot.x, dot.y);
    return {};
}

int SmallMultiples::legendAt(QPointF position) const {
    for (std::size_t i = 0; i < legend_.size(); ++i)
        if (legend_[i].translated(0, -verticalScrollBar()->value()).contains(position)) return int(i);
    return -1;
}

void SmallMultiples::hover(QPoint position, QPoint global) {
    int panel = -1, id = -1, series = legendAt(position);
    double nearest = kNear;
    for (int p = 0; p < int(panels_.size()) && series < 0; ++p) {
        if (!panelRect(p).contains(position)) continue;
        const QRectF plot = plotRect(p);
        for (const auto& dot : panels_[std::size_t(p)].dots) {
            const QPointF d = at(plot, dot.x, dot.y) - position;
            const double distance = std::hypot(d.x(), d.y());
            if (distance >= nearest) continue;
            nearest = distance;
            panel = p, id = dot.id, series = dot.series;
        }
    }
    viewport()->setCursor(id >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (panel == hoverPanel_ && id == hoverId_ && series == hoverSeries_) return;
    hoverPanel_ = panel, hoverId_ = id, hoverSeries_ = series;
    if (id >= 0 && describe_)
        QToolTip::showText(global + QPoint(12, 12), describe_(panel, id), this);
    else
        QToolTip::hideText();
    viewport()->update();
}

bool SmallMultiples::viewportEvent(QEvent* event) {
    switch (event->type()) {
    case QEvent::ToolTip: return true; // hover() shows tooltips without a delay
    case QEvent::MouseMove: {
        auto* mouse = static_cast<QMouseEvent*>(event);
        hover(mouse->position().toPoint(), mouse->globalPosition().toPoint());
        return true;
    }
    case QEvent::Leave: hover({-1000, -1000}, {}); break;
    case QEvent::MouseButtonPress: {
        auto* mouse = static_cast<QMouseEvent*>(event);
        if (mouse->button() != Qt::LeftButton) break;
        setFocus(Qt::MouseFocusReason);
        hover(mouse->position().toPoint(), mouse->globalPosition().toPoint());
        if (hoverId_ >= 0) {
            setCurrent(hoverPanel_, hoverId_);
            Q_EMIT panelClicked(hoverPanel_);
            Q_EMIT dotClicked(hoverPanel_, hoverId_);
            return true;
        }
        for (int p = 0; p < int(panels_.size()); ++p) {
            if (!panelRect(p).contains(mouse->position())) continue;
            setCurrent(p, currentId_);
            Q_EMIT panelClicked(p);
        }
        return true;
    }
    default: break;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

/// Left and right: marks by x. Up and down: panels. Enter: as a click.
void SmallMultiples::keyPressEvent(QKeyEvent* event) {
    if (panels_.empty()) return QAbstractScrollArea::keyPressEvent(event);
    const int key = event->key();
    if ((key == Qt::Key_Return || key == Qt::Key_Enter) && currentId_ >= 0)
        return Q_EMIT dotClicked(currentPanel_, currentId_);
    if (key == Qt::Key_Up || key == Qt::Key_Down) {
        const int panel = std::clamp(currentPanel_ + (key == Qt::Key_Up ? -1 : 1), 0, int(panels_.size()) - 1);
        setCurrent(panel, currentId_);
        const QRectF rect = panelRect(panel);
        auto* bar = verticalScrollBar();
        if (rect.top() < 0) bar->setValue(int(bar->value() + rect.top()));
        if (rect.bottom() > viewport()->height())
            bar->setValue(int(bar->value() + rect.bottom() - viewport()->height()));
        return Q_EMIT panelClicked(panel);
    }
    if (key != Qt::Key_Left && key != Qt::Key_Right) return QAbstractScrollArea::keyPressEvent(event);
    std::vector<const MultipleDot*> dots;
    for (const auto& dot : panels_[std::size_t(currentPanel_)].dots) dots.push_back(&dot);
    if (dots.empty()) return;
    std::stable_sort(dots.begin(), dots.end(), [](const auto* a, const auto* b) { return a->x < b->x; });
    const auto found = std::find_if(dots.begin(), dots.end(), [&](const auto* dot) { return dot->id == currentId_; });
    std::ptrdiff_t to = found == dots.end() ? 0 : found - dots.begin() + (key == Qt::Key_Left ? -1 : 1);
    to = std::clamp<std::ptrdiff_t>(to, 0, std::ptrdiff_t(dots.size()) - 1);
    setCurrent(currentPanel_, dots[std::size_t(to)]->id);
}

void SmallMultiples::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    menu.addAction(tr("Copy picture (PNG)"), this, [this] { QApplication::clipboard()->setImage(grab().toImage()); });
    menu.addAction(tr("Copy picture (SVG)"), this,
                   [this] { QApplication::clipboard()->setText(QString::fromUtf8(asSvg())); });
    menu.addAction(tr("Copy data (TSV)"), this, [this] { QApplication::clipboard()->setText(dataAsTsv()); });
    menu.exec(event->globalPos());
}

QString SmallMultiples::dataAsTsv() const {
    QString text =
        tr("class") + u'\t' + tr("series") + u'\t' + xTitle_ + u'\t' + yTitle_ + u'\t' + tr("frontier") + u'\n';
    for (const auto& panel : panels_)
        for (const auto& dot : panel.dots)
            text += panel.title + u'\t' + series_.value(dot.series) + u'\t' + QString::number(dot.x, 'g', 17) + u'\t' +
                    QString::number(dot.y, 'g', 17) + u'\t' + (dot.best ? tr("yes") : tr("no")) + u'\n';
    return text;
}

QByteArray SmallMultiples::asSvg() const {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(viewport()->size());
    svg.setViewBox(viewport()->rect());
    QPainter painter(&svg);
    paint(painter);
    painter.end();
    return bytes;
}

void SmallMultiples::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    paint(painter);
}

} // namespace qs::gui
