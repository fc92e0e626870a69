// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/assignment_strip.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/shared_painting.h"

#include <QFontMetricsF>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <utility>

namespace qs::gui {
namespace {

constexpr double kLegend = 18, kStripGap = 1, kMostRow = 26;

} // namespace

AssignmentStrip::AssignmentStrip(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    SharedPainting::of(*this, SharedPainting::Fit::Stretched);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void AssignmentStrip::setData(StripData data) {
    data_ = std::move(data);
    begins_.clear();
    std::vector<double> rows(std::size_t(data_.rows.size()), 0);
    for (const StripCell& cell : data_.cells) {
        begins_.push_back(rows[std::size_t(cell.row)]);
        rows[std::size_t(cell.row)] += cell.bytes;
    }
    mostBytes_ = rows.empty() ? 0 : *std::ranges::max_element(rows);
    hover_ = pressed_ = -1;
    update();
}

void AssignmentStrip::setCurrent(int unit) {
    if (unit == current_) return;
    current_ = unit;
    update();
}

double AssignmentStrip::labelWidth() const {
    const QFontMetricsF metrics(Theme::numbers(10));
    double most = 0;
    for (const QString& row : data_.rows) most = std::max(most, metrics.horizontalAdvance(row));
    return std::min(most + 8, 0.3 * width());
}

double AssignmentStrip::rowHeight() const {
    return std::min(kMostRow, (height() - kLegend) / std::max(1.0, double(data_.rows.size())));
}

QRectF AssignmentStrip::cellRect(std::size_t cell) const {
    if (cell >= data_.cells.size() || !(mostBytes_ > 0)) return {};
    const StripCell& one = data_.cells[cell];
    const double left = labelWidth(), scale = (width() - left - 1) / mostBytes_, high = rowHeight();
    return {left + begins_[cell] * scale, kLegend + one.row * high + 1, std::max(1.0, one.bytes * scale - kStripGap),
            std::max(1.0, high - 2)};
}

QColor AssignmentStrip::colourOf(int spec) const {
    if (spec < 0) return Theme::instance().tokens().raised;
    double lo = INFINITY, hi = -INFINITY;
    for (const StripLegend& one : data_.specs) lo = std::min(lo, one.bpw), hi = std::max(hi, one.bpw);
    const double at = hi > lo ? (data_.specs[std::size_t(spec)].bpw - lo) / (hi - lo) : 0.5;
    return Theme::viridis(0.12 + 0.8 * at);
}

void AssignmentStrip::paintLegend(QPainter& painter) const {
    const auto& tokens = Theme::instance().tokens();
    painter.setFont(Theme::numbers(10));
    const QFontMetricsF metrics(painter.font());
    double x = labelWidth();
    const auto entry = [&](const QBrush& fill, const QString& text, bool hatched) {
        const double wide = metrics.horizontalAdvance(text) + 16;
        if (x + wide > width()) return;
        const QRectF box(x, 3, 10, 10);
        painter.fillRect(box, fill);
        if (hatched) painter.fillRect(box, QBrush(tokens.text, Qt::BDiagPattern));
        painter.setPen(tokens.muted);
        painter.drawText(QRectF(x + 14, 0, wide, 16), Qt::AlignLeft | Qt::AlignVCenter, text);
        x += wide + 12;
    };
    bool kept = false, locked = false;
    for (const StripCell& cell : data_.cells) kept |= cell.spec < 0, locked |= cell.isLocked;
    for (std::size_t i = 0; i < data_.specs.size(); ++i) entry(colourOf(int(i)), data_.specs[i].title, false);
    if (kept) entry(tokens.raised, tr("kept as it is"), false);
    if (locked) entry(tokens.raised, tr("locked"), true);
}

void AssignmentStrip::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (data_.cells.empty()) return;
    const auto& tokens = Theme::instance().tokens();
    paintLegend(painter);
    painter.setFont(Theme::numbers(10));
    const QFontMetricsF metrics(painter.font());
    const double left = labelWidth(), high = rowHeight();
    painter.setPen(tokens.muted);
    for (int row = 0; high >= 9 && row < data_.rows.size(); ++row)
        painter.drawText(QRectF(0, kLegend + row * high, left - 6, high), Qt::AlignRight | Qt::AlignVCenter,
                         metrics.elidedText(data_.rows[row], Qt::ElideRight, left - 6));
    std::vector<QColor> colours;
    for (std::size_t i = 0; i < data_.specs.size(); ++i) colours.push_back(colourOf(int(i)));
    const int hoverUnit = hover_ < 0 ? -1 : data_.cells[std::size_t(hover_)].unit;
    for (std::size_t i = 0; i < data_.cells.size(); ++i) {
        const StripCell& cell = data_.cells[i];
        const QRectF box = cellRect(i);
        painter.fillRect(box, cell.spec < 0 ? tokens.raised : colours[std::size_t(cell.spec)]);
        if (cell.isLocked) {
            QColor ink = cell.spec < 0 ? tokens.muted : QColor(Qt::black);
            ink.setAlpha(170);
            painter.fillRect(box, QBrush(ink, Qt::BDiagPattern));
        }
        if (cell.unit != current_ && cell.unit != hoverUnit) continue;
        painter.setPen(QPen(cell.unit == current_ ? tokens.accent : tokens.text, 2));
        painter.drawRect(box.adjusted(0, 0, 0, 0));
    }
}

int AssignmentStrip::cellAt(QPointF position) const {
    for (std::size_t i = 0; i < data_.cells.size(); ++i)
        if (cellRect(i).adjusted(0, -1, kStripGap, 1).contains(position)) return int(i);
    return -1;
}

int AssignmentStrip::cellOfCurrent() const {
    for (std::size_t i = 0; i < data_.cells.size(); ++i)
        if (data_.cells[i].unit == current_) return int(i);
    return -1;
}

bool AssignmentStrip::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int cell = cellAt(help->pos());
    if (cell < 0 || !describe_)
        QToolTip::hideText();
    else
        QToolTip::showText(help->globalPos(), describe_(data_.cells[std::size_t(cell)].unit), this);
    return true;
}

void AssignmentStrip::mousePressEvent(QMouseEvent* event) {
    const int cell = cellAt(event->position());
    if (cell < 0 || event->button() != Qt::LeftButton) return;
    pressed_ = cell;
    setCurrent(data_.cells[std::size_t(cell)].unit);
    Q_EMIT unitClicked(current_);
}

void AssignmentStrip::mouseReleaseEvent(QMouseEvent* event) {
    const int cell = std::exchange(pressed_, -1);
    if (cell >= 0 && cell == cellAt(event->position())) open(cell);
}

void AssignmentStrip::open(int cell) {
    const QRect box = cellRect(std::size_t(cell)).toAlignedRect();
    Q_EMIT unitOpened(data_.cells[std::size_t(cell)].unit, {mapToGlobal(box.topLeft()), box.size()});
}

void AssignmentStrip::mouseMoveEvent(QMouseEvent* event) {
    const int cell = cellAt(event->position());
    if (cell == hover_) return;
    hover_ = cell;
    update();
}

void AssignmentStrip::leaveEvent(QEvent*) {
    hover_ = -1;
    update();
}

void AssignmentStrip::keyPressEvent(QKeyEvent* event) {
    const bool isEnter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (const int cell = cellOfCurrent(); isEnter && cell >= 0) return open(cell);
    const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (step == 0 || data_.cells.empty()) return QWidget::keyPressEvent(event);
    const int last = int(data_.cells.size()) - 1;
    const int cell = std::clamp(cellOfCurrent() + step, 0, last);
    setCurrent(data_.cells[std::size_t(cell)].unit);
    Q_EMIT unitClicked(current_);
}

void AssignmentStrip::contextMenuEvent(QContextMenuEvent* event) {
    const bool byKey = event->reason() == QContextMenuEvent::Keyboard;
    const int cell = byKey ? cellOfCurrent() : cellAt(event->pos());
    if (cell < 0) return;
    const QPoint at = byKey ? mapToGlobal(cellRect(std::size_t(cell)).center().toPoint()) : event->globalPos();
    Q_EMIT unitMenuAsked(data_.cells[std::size_t(cell)].unit, at);
}

} // namespace qs::gui
