// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The look of a control of ThemeStyle in each state: fill, border, text colour and sizes of its box.

#include "app/gui/theme.h"

#include <QStyle>

class QPainter;

namespace qs::gui {

enum class Role { None, Primary, Quiet, Corner, Row, Rail, Inline, Popup };
Role roleOf(const QWidget* widget);
bool isEmbedded(const QWidget* edit); ///< the line edit inside a spin box or a combo box

struct Box {
    QColor fill, border, text; ///< an invalid colour is not drawn
    int width = 1, radius = Theme::kRadius;
};
Box fieldBox(QStyle::State state, const QWidget* widget);  ///< line edit, combo box, spin box
Box buttonBox(QStyle::State state, const QWidget* widget); ///< push button, tool button
void drawBox(QPainter& painter, const QRect& rect, const Box& box);
void drawIcon(QPainter& painter, const QRect& rect, const char* name, const QColor& colour, int px = 12);
void drawTick(QPainter& painter, const QRect& rect, QStyle::State state);

QColor onAccent(); ///< text colour on the accent colour
QFont withPixels(QFont font, int px);

/// Space at the left and right of the text, borders included.
struct Sides {
    int left, right;
};
Sides buttonSides(const QWidget* widget);
constexpr Sides fieldSides(Role role) {
    return role == Role::Inline ? Sides{4, 4} : role == Role::Corner ? Sides{7, 7} : Sides{9, 9};
}
constexpr int controlHeight(Role role) {
    return role == Role::Inline ? 18 : role == Role::Corner ? 20 : Theme::kControl;
}
constexpr int kDropDown = 20, kTick = 16, kHandle = 14, kScrollBar = 10;

// Views, menus and bars; true when the element was drawn.
bool drawViewPrimitive(QStyle::PrimitiveElement element, const QStyleOption& option, QPainter& painter,
                       const QWidget* widget);
bool drawViewControl(const QStyle& style, QStyle::ControlElement element, const QStyleOption& option, QPainter& painter,
                     const QWidget* widget);
bool drawBar(const QStyle& style, QStyle::ComplexControl control, const QStyleOptionComplex& option, QPainter& painter,
             const QWidget* widget);

} // namespace qs::gui
