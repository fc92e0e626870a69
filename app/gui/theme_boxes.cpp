// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/theme_boxes.h"

#include <QPainter>
#include <QVariant>
#include <QWidget>

namespace qs::gui {
namespace {

constexpr std::pair<const char*, Role> kRoles[] = {
    {"primary", Role::Primary}, {"quiet", Role::Quiet},   {"corner", Role::Corner}, {"row", Role::Row},
    {"rail", Role::Rail},       {"inline", Role::Inline}, {"popup", Role::Popup}};

const Tokens& currentTokens() { return Theme::instance().tokens(); }

bool has(QStyle::State state, QStyle::StateFlag flag) { return state & flag; }

void focus(Box& box, const QColor& colour) {
    box.border = colour;
    box.width = 2;
}

} // namespace

Role roleOf(const QWidget* widget) {
    if (!widget) return Role::None;
    const auto name = widget->property("role").toString();
    if (!name.isEmpty())
        for (const auto& [id, role] : kRoles)
            if (name == QLatin1String(id)) return role;
    return Role::None;
}

bool isEmbedded(const QWidget* edit) {
    return edit && edit->parentWidget() &&
           (edit->parentWidget()->inherits("QAbstractSpinBox") || edit->parentWidget()->inherits("QComboBox"));
}

QColor onAccent() { return Theme::instance().isDark() ? currentTokens().bg : currentTokens().surface; }

QFont withPixels(QFont font, int px) {
    font.setPixelSize(px);
    return font;
}

Sides buttonSides(const QWidget* widget) {
    switch (roleOf(widget)) {
    case Role::Corner: return {7, 7};
    case Role::Row:
    case Role::Rail: return {2, 2};
    default: break;
    }
    if (!widget || !widget->inherits("QPushButton")) return {9, 9};
    return {15, widget->property("menu").toBool() ? 29 : 15};
}

Box fieldBox(QStyle::State state, const QWidget* widget) {
    const auto& t = currentTokens();
    const auto role = roleOf(widget);
    const bool on = has(state, QStyle::State_Enabled), hover = on && has(state, QStyle::State_MouseOver);
    const bool focused = on && has(state, QStyle::State_HasFocus);
    if (role == Role::Inline) {
        Box box{{}, {}, on ? t.text : t.faint, 1, 4};
        if (hover || focused) box.fill = t.raised, box.border = focused ? t.accent : t.line;
        return box;
    }
    Box box{on ? t.raised : QColor(), t.line, on ? t.text : t.faint, 1, Theme::kRadius};
    if (role == Role::Corner) {
        box.radius = 5;
        if (!hover) box.fill = QColor(), box.text = on ? t.muted : t.faint;
    }
    if (focused) focus(box, t.accent);
    if (widget && widget->property("invalid").toBool()) focus(box, t.warn);
    return box;
}

Box buttonBox(QStyle::State state, const QWidget* widget) {
    const auto& t = currentTokens();
    const auto role = roleOf(widget);
    const bool on = has(state, QStyle::State_Enabled), hover = on && has(state, QStyle::State_MouseOver);
    const bool focused = on && has(state, QStyle::State_HasFocus), checked = has(state, QStyle::State_On);
    if (role == Role::Primary && on) {
        Box box{t.accent, t.accent, onAccent(), 1, Theme::kRadius};
        if (hover) box.fill = box.border = Theme::instance().isDark() ? t.accent.lighter(112) : t.accent.darker(115);
        if (focused) focus(box, t.text);
        return box;
    }
    const bool flat = role == Role::Quiet || role == Role::Corner || role == Role::Row || role == Role::Rail;
    Box box;
    if (flat) {
        box.text = on ? t.muted : t.faint;
        box.radius = role == Role::Corner ? 5 : role == Role::Rail ? 8 : Theme::kRadius;
        if (hover) box.fill = t.raised, box.text = t.text;
        if (checked) box.fill = t.selection, box.text = t.text;
    } else {
        box = {on ? t.raised : QColor(), t.line, on ? t.text : t.faint, 1, Theme::kRadius};
        if (hover) box.fill = t.line;
        if (on && has(state, QStyle::State_Sunken)) box.fill = t.selection;
        if (checked) box.fill = t.selection, box.border = t.accent, box.text = t.text;
    }
    if (focused) focus(box, t.accent);
    return box;
}

void drawBox(QPainter& painter, const QRect& rect, const Box& box) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(box.border.isValid() ? QPen(box.border, box.width) : QPen(Qt::NoPen));
    painter.setBrush(box.fill.isValid() ? QBrush(box.fill) : QBrush(Qt::NoBrush));
    const double half = box.border.isValid() ? box.width / 2.0 : 0;
    painter.drawRoundedRect(QRectF(rect).adjusted(half, half, -half, -half), box.radius - half, box.radius - half);
    painter.restore();
}

void drawIcon(QPainter& painter, const QRect& rect, const char* name, const QColor& colour, int px) {
    QRect place(0, 0, px, px);
    place.moveCenter(rect.center());
    Theme::icon(QLatin1String(name), colour, px).paint(&painter, place);
}

void drawTick(QPainter& painter, const QRect& rect, QStyle::State state) {
    const auto& t = currentTokens();
    const bool on = has(state, QStyle::State_Enabled);
    const bool checked = has(state, QStyle::State_On) || has(state, QStyle::State_NoChange);
    drawBox(painter, rect, {checked ? t.accent : t.raised, checked ? t.accent : on ? t.faint : t.line, {}, 1, 4});
    if (checked) drawIcon(painter, rect, "check", onAccent(), 14);
}

} // namespace qs::gui
