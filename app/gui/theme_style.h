// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The look of the controls: a style on top of Fusion that paints with the colours of the current theme. A change of
// theme repaints what is visible; a style sheet would have to be applied to every widget again.

#include "app/gui/theme_sizes.h"

namespace qs::gui {

/// Widgets choose a look by the dynamic property `role` ("primary", "quiet", "corner", "row", "rail", "inline",
/// "popup"; for labels "muted", "caption", "warn", "accent", "data-b"), `invalid` of a line edit, and `roomy` of a
/// table. After a change of a label's role, call polish() for it.
class ThemeStyle : public ThemeSizes {
public:
    void recolour(); ///< updates widgets that store colours: labels with a role

    using ThemeSizes::polish;
    void polish(QWidget* widget) override;
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
    void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
    void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                            const QWidget* widget) const override;
};

} // namespace qs::gui
