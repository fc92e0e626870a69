// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The sizes of the controls, on top of Fusion: metrics, rectangles of parts, hints.

#include <QProxyStyle>

namespace qs::gui {

class ThemeSizes : public QProxyStyle {
public:
    ThemeSizes();
    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override;
    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                  QStyleHintReturn* data) const override;
    QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& contents,
                           const QWidget* widget) const override;
    QRect subElementRect(SubElement element, const QStyleOption* option, const QWidget* widget) const override;
    QRect subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                         const QWidget* widget) const override;
};

} // namespace qs::gui
