// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/heat_map.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/shared_painting.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace qs::gui {

HeatMap::HeatMap(QWidget* parent) : QWidget(parent) {
    SharedPainting::of(*this, SharedPainting::Fit::Stretched);
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Heat-map"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        stale_ = true;
        update();
    });
}

QSize HeatMap::sizeHint() const { return {480, 240}; }
QSize HeatMap::minimumSizeHint() const { return {160, 96}; }

void HeatMap::setData(const HeatMapData& data) {
    const bool sameShape = data.rows == data_.rows && data.columns == data_.columns;
    Q_ASSERT(data.values.size() == qsizetype(data.rows) * data.columns);
    data_ = data;
    if (!sameShape) {
        currentRow_ = currentColumn_ = hoverRow_ = hoverColumn_ = -1;
        resetView();
    }
    rebuild();
}

void HeatMap::setCurrent(int row, int column) {
    if (row < 0 || column < 0 || row >= data_.rows || column >= data_.columns) row = column = -1;
    if (row == currentRow_ && column == currentColumn_) return;
    currentRow_ = row;
    currentColumn_ = column;
    setAccessibleDescription(row < 0 ? QString() : describe(row, column));
    update();
}

void HeatMap::setLinked(int row, int column) {
    if (row == hoverRow_ && column == hoverColumn_) return;
    hoverRow_ = row;
    hoverColumn_ = column;
    update();
}

void HeatMap::setGap(int pixels) {
    gap_ = pixels;
    update();
}

void HeatMap::setDescribe(std::function<QString(int, int)> describe) { describe_ = std::move(describe); }

QString HeatMap::describe(int row, int column) const {
    if (describe_) return describe_(row, column);
    const float v = value(row, column);
    const QString where =
        tr("%1 %2, %3 %4").arg(data_.yTitle, rowLabel(row), data_.xTitle, columnLabel(column).replace(u'\n', u' '));
    if (std::isnan(v)) return tr("%1\nnot measured").arg(where);
    return tr("%1\n%2 %3").arg(where, valueText(v, 2), data_.unit).trimmed();
}

QString HeatMap::valueText(float value, int moreDecimals) const {
    if (data_.ratio) return ratioText(double(value));
    return scaleText(value, data_.decimals >= 0 ? data_.decimals + moreDecimals : -1);
}

void HeatMap::resetView() { setView({0, 0, double(data_.columns), double(data_.rows)}); }

void HeatMap::setView(const QRectF& cells) {
    const double w = std::clamp(cells.width(), std::min(4.0, double(data_.columns)), double(data_.columns));
    const double h = std::clamp(cells.height(), std::min(4.0, double(data_.rows)), double(data_.rows));
    const QRectF view(std::clamp(cells.x(), 0.0, data_.columns - w), std::clamp(cells.y(), 0.0, data_.rows - h), w, h);
    if (view == view_) return;
    view_ = view;
    stale_ = true;
    update();
}

void HeatMap::rebuild() {
    scale_ = ColourScale::over(data_.values, data_.lo, data_.hi, data_.logColour, data_.diverging);
    scale_.ratio = data_.ratio;
    scale_.turned = !data_.lowIsGood;
    levels_.resize(data_.values.size());
    std::transform(data_.values.cbegin(), data_.values.cend(), levels_.begin(),
                   [this](float v) { return scale_.level(v); });
    labelWidth_ = 0;
    const QFontMetricsF metrics(data_.rowLabels.isEmpty() ? Theme::numbers(10) : Theme::words(11));
    if (data_.rowLabels.isEmpty()) labelWidth_ = metrics.horizontalAdvance(rowLabel(std::max(0, data_.rows - 1)));
    for (const auto& label : data_.rowLabels) labelWidth_ = std::max(labelWidth_, metrics.horizontalAdvance(label));
    columnLines_ = 1;
    for (const auto& label : data_.columnLabels) columnLines_ = std::max(columnLines_, 1 + int(label.count(u'\n')));
    longestColumn_.clear(); // the longest label: the font is monospaced
    for (const auto& label : data_.columnLabels) {
        if (label.size() <= longestColumn_.size()) continue;
        for (const auto& line : label.split(u'\n'))
            if (line.size() > longestColumn_.size()) longestColumn_ = line;
    }
    stale_ = true;
    update();
}

bool HeatMap::present(int row, int column) const {
    return data_.absent.isEmpty() || !data_.absent[row * data_.columns + column];
}

QString HeatMap::rowLabel(int row) const {
    if (row < data_.rowLabels.size()) return data_.rowLabels[row];
    return QString::number(qRound64(row * data_.rowScale));
}

QString HeatMap::columnLabel(int column) const {
    if (column < data_.columnLabels.size()) return data_.columnLabels[column];
    return QString::number(qRound64(column * data_.columnScale));
}

QRectF HeatMap::plotRect() const {
    const double left = std::min(labelWidth_ + 6, width() / 3.0) + (data_.yTitle.isEmpty() ? 0 : 16);
    return QRectF(left, 4, std::max(1.0, width() - left - 4),
                  std::max(1.0, height() - 4 - 2 - columnLabelHeight() - 20.0))
        .toRect();
}

QRectF HeatMap::cellRect(int row, int column) const {
    const QRectF plot = plotRect();
    if (view_.isEmpty()) return {};
    const double sx = plot.width() / view_.width(), sy = plot.height() / view_.height();
    return {plot.x() + (column - view_.x()) * sx, plot.y() + (row - view_.y()) * sy, sx, sy};
}

std::pair<int, int> HeatMap::cellAt(QPointF position) const {
    const QRectF plot = plotRect();
    if (!plot.contains(position) || view_.isEmpty()) return {-1, -1};
    const int column = int(view_.x() + (position.x() - plot.x()) / plot.width() * view_.width());
    const int row = int(view_.y() + (position.y() - plot.y()) / plot.height() * view_.height());
    if (row >= data_.rows || column >= data_.columns || !present(row, column)) return {-1, -1};
    return {row, column};
}

void HeatMap::hover(int row, int column, QPoint global) {
    if (row == hoverRow_ && column == hoverColumn_) return;
    hoverRow_ = row;
    hoverColumn_ = column;
    if (row < 0)
        QToolTip::hideText();
    else
        QToolTip::showText(global + QPoint(8, 8), describe(row, column), this);
    Q_EMIT cellHovered(row, column);
    update();
}

void HeatMap::zoom(double factor, QPointF about) {
    const QRectF plot = plotRect();
    const double fx = (about.x() - plot.x()) / plot.width(), fy = (about.y() - plot.y()) / plot.height();
    const QSizeF size = view_.size() * factor;
    const QPointF fixed(view_.x() + fx * view_.width(), view_.y() + fy * view_.height());
    const QRectF before = view_;
    setView({fixed.x() - fx * size.width(), fixed.y() - fy * size.height(), size.width(), size.height()});
    if (view_ != before) Q_EMIT viewChanged(view_);
}

// ---- events ------------------------------------------------------------------------------------------------------

bool HeatMap::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) return true; // hover() shows tooltips without a delay
    return QWidget::event(event);
}

void HeatMap::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !plotRect().contains(event->position())) return;
    pressed_ = true;
    dragFrom_ = event->position();
    dragView_ = view_;
}

void HeatMap::mouseMoveEvent(QMouseEvent* event) {
    const QPointF moved = event->position() - dragFrom_;
    if (pressed_ && !dragging_ && moved.manhattanLength() >= QApplication::startDragDistance()) dragging_ = true;
    if (dragging_) {
        const QRectF plot = plotRect(), before = view_;
        setView(dragView_.translated(-moved.x() / plot.width() * view_.width(),
                                     -moved.y() / plot.height() * view_.height()));
        if (view_ != before) Q_EMIT viewChanged(view_);
        return;
    }
    const auto [row, column] = cellAt(event->position());
    hover(row, column, event->globalPosition().toPoint());
}

void HeatMap::mouseReleaseEvent(QMouseEvent* event) {
    const bool click = pressed_ && !dragging_ && event->button() == Qt::LeftButton;
    pressed_ = dragging_ = false;
    if (!click) return;
    const auto [row, column] = cellAt(event->position());
    if (row < 0) return;
    setCurrent(row, column);
    Q_EMIT cellClicked(row, column);
}

void HeatMap::mouseDoubleClickEvent(QMouseEvent*) {
    pressed_ = false;
    resetView();
    Q_EMIT viewChanged(view_);
}

void HeatMap::wheelEvent(QWheelEvent* event) {
    if (!plotRect().contains(event->position()) || data_.values.isEmpty()) return event->ignore();
    zoom(std::pow(0.8, event->angleDelta().y() / 120.0), event->position());
    event->accept();
}

void HeatMap::leaveEvent(QEvent*) { hover(-1, -1, {}); }

void HeatMap::resizeEvent(QResizeEvent*) { stale_ = true; }

void HeatMap::keyPressEvent(QKeyEvent* event) {
    int rowStep = 0, columnStep = 0;
    switch (event->key()) {
    case Qt::Key_Left: columnStep = -1; break;
    case Qt::Key_Right: columnStep = 1; break;
    case Qt::Key_Up: rowStep = -1; break;
    case Qt::Key_Down: rowStep = 1; break;
    case Qt::Key_Plus: return zoom(0.8, plotRect().center());
    case Qt::Key_Minus: return zoom(1.25, plotRect().center());
    case Qt::Key_Home: return resetView();
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (currentRow_ >= 0) Q_EMIT cellClicked(currentRow_, currentColumn_);
        return;
    default: return QWidget::keyPressEvent(event);
    }
    if (data_.values.isEmpty()) return;
    int row = currentRow_ < 0 ? int(view_.y()) : currentRow_ + rowStep;
    int column = currentRow_ < 0 ? int(view_.x()) : currentColumn_ + columnStep;
    while (row >= 0 && column >= 0 && row < data_.rows && column < data_.columns && !present(row, column)) {
        row += rowStep; // skip blank cells
        column += columnStep;
    }
    if (row < 0 || column < 0 || row >= data_.rows || column >= data_.columns) return;
    setCurrent(row, column);
    QRectF view = view_;
    view.moveTo(std::clamp(view.x(), column + 1 - view.width(), double(column)),
                std::clamp(view.y(), row + 1 - view.height(), double(row)));
    setView(view);
    Q_EMIT cellHovered(row, column);
}

// ---- copies ------------------------------------------------------------------------------------------------------

void HeatMap::contextMenuEvent(QContextMenuEvent* event) {
    auto* menu = new QMenu(this);
    menu->setObjectName(QStringLiteral("tensorMenu"));
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto [row, column] = event->reason() == QContextMenuEvent::Keyboard ? std::pair(currentRow_, currentColumn_)
                                                                              : cellAt(QPointF(event->pos()));
    if (cellActions_ && row >= 0) cellActions_(*menu, row, column);
    menu->addAction(tr("Copy picture (PNG)"), this, &HeatMap::copyPicture);
    menu->addAction(tr("Copy data (TSV)"), this, &HeatMap::copyData);
    menu->addAction(tr("Reset zoom"), this, &HeatMap::resetView);
    menu->popup(event->globalPos());
}

void HeatMap::copyPicture() { QApplication::clipboard()->setImage(grab().toImage()); }

void HeatMap::copyData() { QApplication::clipboard()->setText(dataAsTsv()); }

QString HeatMap::dataAsTsv() const {
    QString text = data_.yTitle + u'/' + data_.xTitle;
    for (int c = 0; c < data_.columns; ++c) text += u'\t' + columnLabel(c).replace(u'\n', u' ');
    for (int r = 0; r < data_.rows; ++r) {
        text += u'\n' + rowLabel(r);
        for (int c = 0; c < data_.columns; ++c) {
            const float v = value(r, c);
            text += u'\t';
            if (!std::isnan(v))
                text += QString::number(data_.ratio ? std::exp2(double(v)) : double(v), 'g',
                                        9); // 9 digits restore a float exactly; empty: not measured
        }
    }
    return text + u'\n';
}

} // namespace qs::gui
