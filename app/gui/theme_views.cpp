// SPDX-License-Identifier: GPL-3.0-or-later
// The painting of views, menus and bars.
#include "app/gui/theme_boxes.h"

#include <QPainter>
#include <QStyleOption>
#include <QWidget>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr int kMenuLeft = 12, kMenuRight = 24, kMenuTick = 20;

const Tokens& tokens() { return Theme::instance().tokens(); }
bool has(const QStyleOption& option, QStyle::StateFlag flag) { return option.state & flag; }

bool inPopup(const QWidget* widget) { return widget && widget->window()->inherits("QComboBoxPrivateContainer"); }

void fillItem(QPainter& painter, const QStyleOptionViewItem& item, const QWidget* widget) {
    const bool selected = has(item, QStyle::State_Selected);
    const bool hover = has(item, QStyle::State_MouseOver) && has(item, QStyle::State_Enabled);
    if (item.backgroundBrush.style() != Qt::NoBrush) painter.fillRect(item.rect, item.backgroundBrush);
    if (!selected && !hover) return;
    const auto colour = selected ? tokens().selection : inPopup(widget) ? tokens().line : tokens().raised;
    if (inPopup(widget))
        drawBox(painter, item.rect.adjusted(3, 1, -3, -1), {colour, {}, {}, 0, 4});
    else
        painter.fillRect(item.rect, colour);
}

constexpr int kCaret = 10; // pixels; the mark of the sort order

void drawHeaderLabel(const QStyle& style, const QStyleOptionHeader& header, QPainter& painter, const QWidget* widget) {
    QStyleOptionHeader label = header;
    label.palette.setColor(QPalette::ButtonText, has(header, QStyle::State_MouseOver) ? tokens().text : tokens().muted);
    const int margin = widget && widget->parentWidget() && widget->parentWidget()->property("roomy").toBool() ? 7 : 3;
    const QRect rect = header.rect.adjusted(margin, 0, -margin, -1);
    const QString text = header.fontMetrics.elidedText(header.text, Qt::ElideRight, rect.width());
    style.drawItemText(&painter, rect, int(header.textAlignment | Qt::AlignVCenter), label.palette, true, text,
                       QPalette::ButtonText);
    if (header.sortIndicator == QStyleOptionHeader::None) return;
    const char* caret = header.sortIndicator == QStyleOptionHeader::SortUp ? "chevron-down" : "chevron-up";
    const int words = header.fontMetrics.horizontalAdvance(header.text);
    if (words + kCaret + 4 > rect.width()) // a mark beside the title would hide part of it
        return drawIcon(painter, QRect(header.rect.center().x() - 4, header.rect.top(), 8, 8), caret, tokens().muted,
                        8);
    const int left =
        header.textAlignment & Qt::AlignRight ? rect.right() - words - 4 - kCaret : rect.left() + words + 4;
    drawIcon(painter, QRect(left, rect.top(), kCaret, rect.height()), caret, tokens().muted, kCaret);
}

void drawMenuItem(const QStyle& style, const QStyleOptionMenuItem& item, QPainter& painter, const QWidget* widget) {
    const auto& t = tokens();
    if (item.menuItemType == QStyleOptionMenuItem::Separator) {
        painter.fillRect(item.rect.left() + 8, item.rect.center().y(), item.rect.width() - 16, 1, t.line);
        return;
    }
    const bool on = has(item, QStyle::State_Enabled);
    if (on && has(item, QStyle::State_Selected)) drawBox(painter, item.rect, {t.selection, {}, {}, 0, 4});
    QRect words = item.rect.adjusted(kMenuLeft, 0, -kMenuLeft, 0);
    if (item.menuHasCheckableItems) {
        if (item.checked) drawIcon(painter, QRect(words.left(), words.top(), 12, words.height()), "check", t.accent);
        words.setLeft(words.left() + kMenuTick);
    }
    if (item.maxIconWidth > 0 && !item.icon.isNull()) {
        const QRect place(words.left(), words.top() + (words.height() - 16) / 2, 16, 16);
        item.icon.paint(&painter, place, Qt::AlignCenter, on ? QIcon::Normal : QIcon::Disabled);
        words.setLeft(words.left() + item.maxIconWidth + 4);
    }
    auto palette = item.palette;
    palette.setColor(QPalette::Text, on ? t.text : t.faint);
    palette.setColor(QPalette::ButtonText, on ? t.muted : t.faint);
    painter.save();
    painter.setFont(item.font);
    const int mnemonic =
        style.styleHint(QStyle::SH_UnderlineShortcut, &item, widget) ? Qt::TextShowMnemonic : Qt::TextHideMnemonic;
    const int flags = int(Qt::AlignVCenter) | Qt::TextSingleLine | mnemonic;
    style.drawItemText(&painter, words, flags | Qt::AlignLeft, palette, on, item.text.section(u'\t', 0, 0),
                       QPalette::Text);
    style.drawItemText(&painter, words, flags | Qt::AlignRight, palette, on, item.text.section(u'\t', 1),
                       QPalette::ButtonText);
    painter.restore();
    if (item.menuItemType == QStyleOptionMenuItem::SubMenu)
        drawIcon(painter, QRect(words.right() - 11, words.top(), 12, words.height()), "chevron-right", t.faint);
}

void drawProgress(QPainter& painter, const QStyleOptionProgressBar& bar) {
    const auto& t = tokens();
    drawBox(painter, bar.rect, {t.line, {}, {}, 0, 2});
    const double range = double(bar.maximum) - bar.minimum;
    QRect chunk = bar.rect;
    if (range > 0)
        chunk.setWidth(int(bar.rect.width() * std::clamp((double(bar.progress) - bar.minimum) / range, 0.0, 1.0)));
    else
        chunk.adjust(bar.rect.width() / 3, 0, -bar.rect.width() / 3, 0); // the total is unknown
    if (chunk.width() > 0) drawBox(painter, chunk, {t.accent, {}, {}, 0, 2});
}

} // namespace

bool drawViewPrimitive(QStyle::PrimitiveElement element, const QStyleOption& option, QPainter& painter,
                       const QWidget* widget) {
    const auto& t = tokens();
    switch (element) {
    case QStyle::PE_PanelItemViewItem:
        if (const auto* item = qstyleoption_cast<const QStyleOptionViewItem*>(&option))
            fillItem(painter, *item, widget);
        return true;
    case QStyle::PE_PanelItemViewRow: return true; // items and branches paint themselves
    case QStyle::PE_PanelScrollAreaCorner: return true;
    case QStyle::PE_IndicatorItemViewItemCheck: drawTick(painter, option.rect, option.state); return true;
    case QStyle::PE_IndicatorBranch:
        if (has(option, QStyle::State_Selected)) painter.fillRect(option.rect, t.selection);
        if (has(option, QStyle::State_Children))
            drawIcon(painter, option.rect, has(option, QStyle::State_Open) ? "chevron-down" : "chevron-right", t.faint);
        return true;
    case QStyle::PE_PanelMenu: painter.fillRect(option.rect, t.surface); return true;
    case QStyle::PE_FrameMenu: drawBox(painter, option.rect, {{}, t.line, {}, 1, 1}); return true;
    case QStyle::PE_PanelTipLabel:
        painter.fillRect(option.rect, t.raised);
        drawBox(painter, option.rect, {{}, t.line, {}, 1, 1});
        return true;
    case QStyle::PE_FrameFocusRect: return true; // controls show the focus by their border
    default: return false;
    }
}

bool drawViewControl(const QStyle& style, QStyle::ControlElement element, const QStyleOption& option, QPainter& painter,
                     const QWidget* widget) {
    switch (element) {
    case QStyle::CE_HeaderSection:
        if (const auto* header = qstyleoption_cast<const QStyleOptionHeader*>(&option);
            header && header->orientation == Qt::Horizontal)
            painter.fillRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1, tokens().line);
        return true;
    case QStyle::CE_HeaderEmptyArea: return true;
    case QStyle::CE_Header:
        if (const auto* header = qstyleoption_cast<const QStyleOptionHeader*>(&option)) {
            style.drawControl(QStyle::CE_HeaderSection, header, &painter, widget);
            drawHeaderLabel(style, *header, painter, widget);
        }
        return true;
    case QStyle::CE_MenuItem:
        if (const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(&option))
            drawMenuItem(style, *item, painter, widget);
        return true;
    case QStyle::CE_MenuEmptyArea: return true;
    case QStyle::CE_ProgressBar:
        if (const auto* bar = qstyleoption_cast<const QStyleOptionProgressBar*>(&option)) drawProgress(painter, *bar);
        return true;
    case QStyle::CE_Splitter: painter.fillRect(option.rect, tokens().line); return true;
    default: return false;
    }
}

bool drawBar(const QStyle& style, QStyle::ComplexControl control, const QStyleOptionComplex& option, QPainter& painter,
             const QWidget* widget) {
    const auto& t = tokens();
    const auto* range = qstyleoption_cast<const QStyleOptionSlider*>(&option);
    if (!range) return false;
    if (control == QStyle::CC_ScrollBar) {
        if (range->maximum <= range->minimum) return true;
        const QRect handle = style.subControlRect(control, range, QStyle::SC_ScrollBarSlider, widget);
        const bool hover =
            has(option, QStyle::State_MouseOver) && (option.activeSubControls & QStyle::SC_ScrollBarSlider);
        drawBox(painter, handle.adjusted(2, 2, -2, -2), {hover ? t.faint : t.line, {}, {}, 0, 3});
        return true;
    }
    if (control != QStyle::CC_Slider || range->orientation != Qt::Horizontal) return false;
    const bool on = has(option, QStyle::State_Enabled);
    const QRect groove = style.subControlRect(control, range, QStyle::SC_SliderGroove, widget);
    const QRect handle = style.subControlRect(control, range, QStyle::SC_SliderHandle, widget);
    drawBox(painter, groove, {t.line, {}, {}, 0, 2});
    if (on) {
        QRect done = groove;
        done.setRight(handle.center().x());
        drawBox(painter, done, {t.accent, {}, {}, 0, 2});
    }
    const bool focused = on && has(option, QStyle::State_HasFocus);
    drawBox(painter, handle, {on ? t.accent : t.faint, focused ? t.text : QColor(), {}, 2, kHandle / 2});
    return true;
}

} // namespace qs::gui
