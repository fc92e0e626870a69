// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/ranked_bars.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/colour_scale.h"
#include "app/gui/widgets/name_text.h"
#include "app/gui/widgets/shared_painting.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFontMetricsF>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace qs::gui {

namespace {
constexpr int kLeast = 20, kMost = 112, kAxis = 18; // heights in pixels; few bars share the height
constexpr int kMeasured = 200;                      // number of bars whose names are measured, which takes 1 ms
} // namespace

RankedBars::RankedBars(QWidget* parent) : QAbstractScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Ranked bars"));
    SharedPainting::of(*viewport(), SharedPainting::Fit::FromTheCorner);
    viewport()->setMouseTracking(true);
    viewport()->setAutoFillBackground(false);
    connect(&Theme::instance(), &Theme::changed, this, [this] { viewport()->update(); });
}

void BarExtents::add(double value, qsizetype nameLength) {
    name = std::max(name, nameLength);
    if (!std::isfinite(value)) return;
    least = any ? std::min(least, value) : value;
    most = any ? std::max(most, value) : value;
    any = true;
}

void RankedBars::setBars(std::vector<RankedBar> bars) {
    BarExtents extents;
    for (const auto& bar : bars) {
        extents.add(bar.value, bar.name.size());
        extents.text = std::max(extents.text, bar.text.size());
    }
    const int count = int(bars.size());
    setBars(count, extents, [bars = std::move(bars)](int i) { return bars[std::size_t(i)]; });
}

void RankedBars::setBars(int count, const BarExtents& extents, std::function<RankedBar(int)> bar) {
    count_ = count;
    bar_ = std::move(bar);
    const auto [least, most, any, name, text] = extents;
    const QFontMetricsF words(Theme::words(11));
    nameWidth_ = words.averageCharWidth() * double(name) + 12; // an estimate: exact widths take 4 ms for 1,000 bars
    if (count_ <= kMeasured) {
        nameWidth_ = 0;
        for (int i = 0; i < count_; ++i) nameWidth_ = std::max(nameWidth_, words.horizontalAdvance(bar_(i).name) + 5);
    }
    textWidth_ = QFontMetricsF(Theme::numbers(11)).averageCharWidth() * double(text) + 2;
    dots_ = !fromZero_ && any && most > least && ((least > 0 && least > most / 2) || (most < 0 && most < least / 2));
    const double margin = dots_ ? (most - least) * 0.04 : 0;
    lo_ = dots_ ? least - margin : std::min(0.0, least);
    hi_ = dots_ ? most + margin : std::max(0.0, most);
    hover_ = -1;
    if (current_ >= count_) current_ = -1;
    updateScroll();
    viewport()->update();
    update();
}

void RankedBars::setAxis(const QString& title) {
    axis_ = title;
    viewport()->update();
}

void RankedBars::setAxisVisible(bool on) {
    axisVisible_ = on;
    updateScroll();
    viewport()->update();
}

void RankedBars::setNamesTensors() { namesTensors_ = true; }

int RankedBars::axisHeight() const { return axisVisible_ ? kAxis : 0; }

int RankedBars::rowHeight() const {
    return std::clamp((viewport()->height() - axisHeight()) / std::max(1, count_), kLeast, kMost);
}

void RankedBars::setToken(int token) { token_ = token; }
void RankedBars::setFromZero(bool on) { fromZero_ = on; }

void RankedBars::setCurrent(int index) {
    if (index == current_) return;
    current_ = index;
    const bool known = index >= 0 && index < count_;
    const auto bar = known ? bar_(index) : RankedBar{};
    setAccessibleDescription(known ? bar.name + u' ' + bar.text : QString());
    viewport()->update();
}

void RankedBars::setLinked(int index) {
    if (index == hover_) return;
    hover_ = index;
    const int page = std::max(1, (viewport()->height() - axisHeight()) / rowHeight()), first = firstVisible();
    if (index >= 0) verticalScrollBar()->setValue(std::clamp(first, index - page + 1, index));
    viewport()->update();
}

void RankedBars::setDescribe(std::function<QString(int)> describe) { describe_ = std::move(describe); }

int RankedBars::firstVisible() const { return verticalScrollBar()->value(); }

QRect RankedBars::barRect(int index) const {
    return {0, (index - firstVisible()) * rowHeight(), viewport()->width(), rowHeight()};
}

int RankedBars::indexAt(QPoint position) const {
    const int index = firstVisible() + position.y() / rowHeight();
    return position.y() >= 0 && position.y() < viewport()->height() - axisHeight() && index < count_ ? index : -1;
}

void RankedBars::updateScroll() {
    const int page = std::max(1, (viewport()->height() - axisHeight()) / rowHeight());
    verticalScrollBar()->setRange(0, std::max(0, count_ - page));
    verticalScrollBar()->setPageStep(page);
}

void RankedBars::hover(int index, QPoint global) {
    if (index == hover_) return;
    hover_ = index;
    if (index < 0)
        QToolTip::hideText();
    else {
        const auto bar = bar_(index);
        QToolTip::showText(global + QPoint(8, 8), describe_ ? describe_(index) : bar.name + u'\n' + bar.text, this);
    }
    Q_EMIT barHovered(index);
    viewport()->update();
}

bool RankedBars::viewportEvent(QEvent* event) {
    switch (event->type()) {
    case QEvent::ToolTip: return true; // hover() shows tooltips without a delay
    case QEvent::MouseMove: {
        auto* mouse = static_cast<QMouseEvent*>(event);
        hover(indexAt(mouse->position().toPoint()), mouse->globalPosition().toPoint());
        return true;
    }
    case QEvent::Leave: hover(-1, {}); break;
    case QEvent::MouseButtonPress: {
        auto* mouse = static_cast<QMouseEvent*>(event);
        const int index = indexAt(mouse->position().toPoint());
        if (mouse->button() != Qt::LeftButton || index < 0) break;
        setFocus(Qt::MouseFocusReason);
        setCurrent(index);
        Q_EMIT barClicked(index);
        return true;
    }
    default: break;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void RankedBars::resizeEvent(QResizeEvent*) { updateScroll(); }

void RankedBars::keyPressEvent(QKeyEvent* event) {
    int to = current_;
    const int page = std::max(1, (viewport()->height() - axisHeight()) / rowHeight());
    switch (event->key()) {
    case Qt::Key_Down: ++to; break;
    case Qt::Key_Up: --to; break;
    case Qt::Key_PageDown: to += page; break;
    case Qt::Key_PageUp: to -= page; break;
    case Qt::Key_Home: to = 0; break;
    case Qt::Key_End: to = count_ - 1; break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (current_ >= 0) Q_EMIT barClicked(current_);
        return;
    default: return QAbstractScrollArea::keyPressEvent(event);
    }
    if (count_ == 0) return;
    to = std::clamp(to, 0, count_ - 1);
    setCurrent(to);
    const int first = firstVisible();
    verticalScrollBar()->setValue(std::clamp(first, to - page + 1, to));
}

void RankedBars::contextMenuEvent(QContextMenuEvent* event) {
    auto* menu = named(new QMenu(this), "tensorMenu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const int index = event->reason() == QContextMenuEvent::Keyboard
                          ? current_
                          : indexAt(viewport()->mapFromGlobal(event->globalPos()));
    if (barActions_ && index >= 0) barActions_(*menu, index);
    menu->addAction(tr("Copy picture (PNG)"), this, [this] { QApplication::clipboard()->setImage(grab().toImage()); });
    menu->addAction(tr("Copy data (TSV)"), this, [this] { QApplication::clipboard()->setText(dataAsTsv()); });
    menu->popup(event->globalPos());
}

QString RankedBars::dataAsTsv() const {
    QString text = tr("name") + u'\t' + axis_ + u'\n';
    for (int i = 0; i < count_; ++i) {
        const auto bar = bar_(i);
        text += bar.name + u'\t';
        if (std::isfinite(bar.value)) text += QString::number(bar.value, 'g', 17);
        text += u'\n';
    }
    return text;
}

void RankedBars::paintEvent(QPaintEvent*) {
    const auto& tokens = Theme::instance().tokens();
    const QColor colours[] = {tokens.dataA, tokens.dataB, tokens.dataC, tokens.dataD};
    const QColor colour = colours[std::clamp(token_, 0, 3)];
    QPainter painter(viewport());
    painter.setRenderHint(QPainter::Antialiasing, dots_);
    const QFont words = Theme::words(11), numbers = Theme::numbers(11);
    const QFontMetricsF wordMetrics(words);
    const int height = rowHeight();
    const double title = axisVisible_ ? QFontMetricsF(Theme::numbers(10)).horizontalAdvance(axis_) + 2 : 0;
    const double width = viewport()->width(), names = std::min(std::max(nameWidth_, title), width * 0.5);
    const QRectF lane(names + 8, 0, std::max(8.0, width - names - 16 - textWidth_), height);
    const auto at = [&](double value) { return lane.left() + (value - lo_) / (hi_ - lo_) * lane.width(); };

    // Below the last row; at the bottom if the rows do not all fit.
    const QRectF axis(0, std::min(viewport()->height() - axisHeight(), count_ * height + 4), width, kAxis);
    painter.setClipRect(QRectF(0, 0, width, axis.top()));
    const int last = std::min(count_, firstVisible() + viewport()->height() / height + 2);
    for (int i = firstVisible(); i < last; ++i) {
        const auto bar = bar_(i);
        const QRectF row = barRect(i);
        if (i == current_)
            painter.fillRect(row, tokens.selection);
        else if (i == hover_)
            painter.fillRect(row, tokens.raised);
        painter.setFont(words);
        painter.setPen(i == current_ || i == hover_ ? tokens.text : tokens.muted);
        painter.drawText(QRectF(4, row.top(), names - 4, height), Qt::AlignLeft | Qt::AlignVCenter,
                         namesTensors_ ? fittedName(bar.name, words, names - 4)
                                       : wordMetrics.elidedText(bar.name, Qt::ElideMiddle, names - 4));
        painter.setFont(numbers);
        const double thick = std::clamp(height / 2.5, 10.0, 40.0);
        const QRectF area(lane.left(), row.top() + (height - thick) / 2.0, lane.width(), thick);
        if (!std::isfinite(bar.value)) {
            painter.fillRect(area, QBrush(tokens.faint, Qt::BDiagPattern));
            painter.setPen(tokens.warn);
        } else {
            if (dots_) {
                painter.fillRect(QRectF(area.left(), area.center().y(), lane.width(), 1), tokens.line);
                painter.setPen(Qt::NoPen);
                painter.setBrush(colour);
                painter.drawEllipse(QPointF(at(bar.value), area.center().y() + 0.5), 4, 4);
            } else if (hi_ > lo_) {
                const double x0 = at(0), x1 = at(bar.value);
                painter.fillRect(QRectF(std::min(x0, x1), area.top(), std::max(1.0, std::abs(x1 - x0)), area.height()),
                                 colour);
            }
            painter.setPen(tokens.text);
        }
        painter.drawText(QRectF(lane.right() + 4, row.top(), width - lane.right() - 8, height),
                         Qt::AlignRight | Qt::AlignVCenter, bar.text);
    }
    if (hasFocus() && current_ >= 0) {
        painter.setPen(QPen(tokens.accent, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(barRect(current_)).adjusted(1, 1, -1, -1));
    }
    painter.setClipping(false);
    if (!(hi_ > lo_) || !axisVisible_) return;
    painter.fillRect(QRectF(lane.left(), axis.top(), lane.width(), 1), tokens.line);
    painter.setFont(Theme::numbers(10));
    painter.setPen(tokens.muted);
    const auto ends = endTexts(lo_, hi_, -1);
    painter.drawText(QRectF(lane.left(), axis.top(), lane.width(), kAxis), Qt::AlignLeft | Qt::AlignVCenter,
                     ends.first);
    painter.drawText(QRectF(lane.left(), axis.top(), lane.width(), kAxis), Qt::AlignRight | Qt::AlignVCenter,
                     ends.second);
    painter.drawText(QRectF(4, axis.top(), names + 4, kAxis), Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(axis_, Qt::ElideRight, int(names)));
}

} // namespace qs::gui
