// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/heat_map.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/shared_painting.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
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
        picture_.forgetImage();
        update();
    });
}

QSize HeatMap::sizeHint() const { return {480, 240}; }
QSize HeatMap::minimumSizeHint() const { return {160, 96}; }

void HeatMap::setData(const HeatMapData& data) {
    const bool sameShape = data.rows == picture_.data().rows && data.columns == picture_.data().columns;
    picture_.setData(data);
    if (!sameShape) {
        currentRow_ = currentColumn_ = hoverRow_ = hoverColumn_ = -1;
        resetView();
    }
    update();
}

void HeatMap::setCurrent(int row, int column) {
    if (!picture_.holds(row, column)) row = column = -1;
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
    picture_.setGap(pixels);
    update();
}

void HeatMap::setDescribe(std::function<QString(int, int)> describe) { describe_ = std::move(describe); }

QString HeatMap::describe(int row, int column) const {
    if (describe_) return describe_(row, column);
    const float value = picture_.value(row, column);
    const QString where = tr("%1 %2, %3 %4")
                              .arg(data().yTitle, picture_.rowLabel(row), data().xTitle,
                                   picture_.columnLabel(column).replace(u'\n', u' '));
    if (std::isnan(value)) return tr("%1\nnot measured").arg(where);
    return tr("%1\n%2 %3").arg(where, picture_.valueText(value, 2), data().unit).trimmed();
}

void HeatMap::resetView() { setView({0, 0, double(data().columns), double(data().rows)}); }

void HeatMap::setView(const QRectF& cells) {
    if (picture_.setView(cells)) update();
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
    const QSizeF size = view().size() * factor;
    const QPointF fixed(view().x() + fx * view().width(), view().y() + fy * view().height());
    const QRectF before = view();
    setView({fixed.x() - fx * size.width(), fixed.y() - fy * size.height(), size.width(), size.height()});
    if (view() != before) Q_EMIT viewChanged(view());
}

void HeatMap::paintEvent(QPaintEvent*) {
    const QRectF plot = plotRect();
    if (data().values.isEmpty() || plot.width() < 2 || plot.height() < 2) return;
    const auto& tokens = Theme::instance().tokens();
    QPainter painter(this);
    painter.save();
    painter.setClipRect(plot);
    picture_.paintCells(painter, plot, devicePixelRatioF());
    painter.restore();
    picture_.paintAxes(painter, plot, width());

    painter.setBrush(Qt::NoBrush);
    painter.setClipRect(plot.adjusted(-2, -2, 2, 2));
    picture_.paintOutline(painter, plot, currentRow_, currentColumn_, tokens.accent, 2);
    picture_.paintOutline(painter, plot, hoverRow_, hoverColumn_, tokens.text, 1);
    if (hasFocus()) {
        painter.setClipping(false);
        painter.setPen(QPen(tokens.accent, 2));
        painter.drawRoundedRect(plot.adjusted(-1, -1, 1, 1), 2, 2);
    }
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
    dragView_ = view();
}

void HeatMap::mouseMoveEvent(QMouseEvent* event) {
    const QPointF moved = event->position() - dragFrom_;
    if (pressed_ && !dragging_ && moved.manhattanLength() >= QApplication::startDragDistance()) dragging_ = true;
    if (dragging_) {
        const QRectF plot = plotRect(), before = view();
        setView(dragView_.translated(-moved.x() / plot.width() * view().width(),
                                     -moved.y() / plot.height() * view().height()));
        if (view() != before) Q_EMIT viewChanged(view());
        return;
    }
    const auto [row, column] = picture_.cellAt(plotRect(), event->position());
    hover(row, column, event->globalPosition().toPoint());
}

void HeatMap::mouseReleaseEvent(QMouseEvent* event) {
    const bool click = pressed_ && !dragging_ && event->button() == Qt::LeftButton;
    pressed_ = dragging_ = false;
    if (!click) return;
    const auto [row, column] = picture_.cellAt(plotRect(), event->position());
    if (row < 0) return;
    setCurrent(row, column);
    Q_EMIT cellClicked(row, column);
}

void HeatMap::mouseDoubleClickEvent(QMouseEvent*) {
    pressed_ = false;
    resetView();
    Q_EMIT viewChanged(view());
}

void HeatMap::wheelEvent(QWheelEvent* event) {
    if (!plotRect().contains(event->position()) || data().values.isEmpty()) return event->ignore();
    zoom(std::pow(0.8, event->angleDelta().y() / 120.0), event->position());
    event->accept();
}

void HeatMap::leaveEvent(QEvent*) { hover(-1, -1, {}); }

void HeatMap::resizeEvent(QResizeEvent*) { picture_.forgetImage(); }

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
    if (data().values.isEmpty()) return;
    int row = currentRow_ < 0 ? int(view().y()) : currentRow_ + rowStep;
    int column = currentRow_ < 0 ? int(view().x()) : currentColumn_ + columnStep;
    while (picture_.holds(row, column) && !picture_.present(row, column)) {
        row += rowStep; // skip blank cells
        column += columnStep;
    }
    if (!picture_.holds(row, column)) return;
    setCurrent(row, column);
    QRectF seen = view();
    seen.moveTo(std::clamp(seen.x(), column + 1 - seen.width(), double(column)),
                std::clamp(seen.y(), row + 1 - seen.height(), double(row)));
    setView(seen);
    Q_EMIT cellHovered(row, column);
}

// ---- copies ------------------------------------------------------------------------------------------------------

void HeatMap::contextMenuEvent(QContextMenuEvent* event) {
    auto* menu = named(new QMenu(this), "tensorMenu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto [row, column] = event->reason() == QContextMenuEvent::Keyboard
                                   ? std::pair(currentRow_, currentColumn_)
                                   : picture_.cellAt(plotRect(), QPointF(event->pos()));
    if (cellActions_ && row >= 0) cellActions_(*menu, row, column);
    menu->addAction(tr("Copy picture (PNG)"), this, &HeatMap::copyPicture);
    menu->addAction(tr("Copy data (TSV)"), this, &HeatMap::copyData);
    menu->addAction(tr("Reset zoom"), this, &HeatMap::resetView);
    menu->popup(event->globalPos());
}

void HeatMap::copyPicture() { QApplication::clipboard()->setImage(grab().toImage()); }

void HeatMap::copyData() { QApplication::clipboard()->setText(dataAsTsv()); }

} // namespace qs::gui
