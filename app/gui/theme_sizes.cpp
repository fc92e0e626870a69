// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/theme_sizes.h"

#include "app/gui/theme_boxes.h"

#include <QFrame>
#include <QStyleFactory>
#include <QStyleOption>
#include <QVariant>
#include <QWidget>

#include <algorithm>

namespace qs::gui {
namespace {

bool roomy(const QWidget* widget) { return widget && widget->property("roomy").toBool(); }
bool isPopupList(const QWidget* widget) {
    return widget && widget->parentWidget() && widget->parentWidget()->inherits("QComboBoxPrivateContainer");
}

QSize menuItemSize(const QStyleOptionMenuItem& item, const QSize& contents) {
    if (item.menuItemType == QStyleOptionMenuItem::Separator) return {contents.width(), 9};
    int width = contents.width() + 12 + 24 + (item.menuHasCheckableItems ? 20 : 0);
    if (item.maxIconWidth > 0) width += item.maxIconWidth + 4;
    if (item.menuItemType == QStyleOptionMenuItem::SubMenu) width += 12;
    return {width, QFontMetrics(item.font).height() + 10};
}

QRect scrollBarPart(const QStyleOptionSlider& bar, QStyle::SubControl part) {
    const bool across = bar.orientation == Qt::Horizontal;
    const int length = across ? bar.rect.width() : bar.rect.height();
    const qint64 range = qint64(bar.maximum) - bar.minimum;
    int handle = length;
    if (range > 0) handle = std::min(length, std::max(28, int(qint64(length) * bar.pageStep / (range + bar.pageStep))));
    const int start =
        QStyle::sliderPositionFromValue(bar.minimum, bar.maximum, bar.sliderPosition, length - handle, bar.upsideDown);
    const auto piece = [&](int from, int to) {
        return across ? QRect(bar.rect.left() + from, bar.rect.top(), to - from, bar.rect.height())
                      : QRect(bar.rect.left(), bar.rect.top() + from, bar.rect.width(), to - from);
    };
    switch (part) {
    case QStyle::SC_ScrollBarGroove: return bar.rect;
    case QStyle::SC_ScrollBarSlider: return piece(start, start + handle);
    case QStyle::SC_ScrollBarSubPage: return piece(0, start);
    case QStyle::SC_ScrollBarAddPage: return piece(start + handle, length);
    default: return {};
    }
}

QRect sliderPart(const QStyleOptionSlider& slider, QStyle::SubControl part) {
    const int middle = slider.rect.top() + slider.rect.height() / 2;
    if (part == QStyle::SC_SliderGroove) return {slider.rect.left(), middle - 2, slider.rect.width(), 4};
    const int at = QStyle::sliderPositionFromValue(slider.minimum, slider.maximum, slider.sliderPosition,
                                                   slider.rect.width() - kHandle, slider.upsideDown);
    return {slider.rect.left() + at, middle - kHandle / 2, kHandle, kHandle};
}

} // namespace

ThemeSizes::ThemeSizes() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

int ThemeSizes::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
    switch (metric) {
    case PM_IndicatorWidth:
    case PM_IndicatorHeight: return kTick;
    case PM_CheckBoxLabelSpacing: return 8;
    case PM_SliderLength:
    case PM_SliderControlThickness: return kHandle;
    case PM_SliderThickness: return 24;
    case PM_ScrollBarExtent: return kScrollBar;
    case PM_ScrollBarSliderMin: return 28;
    case PM_ScrollView_ScrollBarSpacing: return 0;
    case PM_MenuPanelWidth: return 1;
    case PM_MenuHMargin:
    case PM_MenuVMargin: return 4;
    case PM_MenuButtonIndicator: return 0;
    case PM_ToolTipLabelFrameWidth: return 5;
    case PM_HeaderMarkSize: return 8;
    case PM_HeaderMargin: return 2;
    case PM_ButtonShiftHorizontal:
    case PM_ButtonShiftVertical: return 0;
    default: return QProxyStyle::pixelMetric(metric, option, widget);
    }
}

int ThemeSizes::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                          QStyleHintReturn* data) const {
    switch (hint) {
    case SH_ComboBox_Popup: return 0; // open the list below the box
    case SH_ComboBox_PopupFrameStyle: return QFrame::Box | QFrame::Plain;
    case SH_ToolTipLabel_Opacity: return 255;
    case SH_Table_GridLineColor: return int(Theme::instance().tokens().line.rgba());
    case SH_ItemView_ShowDecorationSelected: return 0;
    case SH_ScrollBar_Transient: return 0;
    case SH_EtchDisabledText: return 0;
    default: return QProxyStyle::styleHint(hint, option, widget, data);
    }
}

QSize ThemeSizes::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& contents,
                                   const QWidget* widget) const {
    const auto role = roleOf(widget);
    switch (type) {
    case CT_LineEdit:
        if (isEmbedded(widget)) break;
        [[fallthrough]];
    case CT_SpinBox: {
        const auto sides = fieldSides(role);
        return {contents.width() + sides.left + sides.right, controlHeight(role)};
    }
    case CT_ComboBox: {
        const auto sides = fieldSides(role);
        return {contents.width() + sides.left + sides.right + kDropDown + 2, controlHeight(role)};
    }
    case CT_PushButton: {
        const auto sides = buttonSides(widget);
        return {contents.width() + sides.left + sides.right, controlHeight(role)};
    }
    case CT_ToolButton: {
        if (role == Role::Row || role == Role::Rail) return contents;
        const auto sides = buttonSides(widget);
        return {contents.width() + sides.left + sides.right + 3, controlHeight(role)};
    }
    case CT_CheckBox: {
        const auto size = QProxyStyle::sizeFromContents(type, option, contents, widget);
        return {size.width(), std::max(22, size.height())};
    }
    case CT_HeaderSection:
        if (const auto* header = qstyleoption_cast<const QStyleOptionHeader*>(option)) {
            const int margin = widget && roomy(widget->parentWidget()) ? 7 : 3;
            return {header->fontMetrics.horizontalAdvance(header->text) + 2 * margin + 2, 25};
        }
        break;
    case CT_MenuItem:
        if (const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(option))
            return menuItemSize(*item, contents);
        break;
    case CT_ItemViewItem: {
        const auto size = QProxyStyle::sizeFromContents(type, option, contents, widget);
        if (isPopupList(widget)) return {size.width() + 12, std::max(26, size.height())};
        return roomy(widget) ? QSize(size.width() + 8, size.height()) : size;
    }
    default: break;
    }
    return QProxyStyle::sizeFromContents(type, option, contents, widget);
}

QRect ThemeSizes::subElementRect(SubElement element, const QStyleOption* option, const QWidget* widget) const {
    switch (element) {
    case SE_LineEditContents:
        if (isEmbedded(widget)) return option->rect;
        return option->rect.adjusted(9, 1, -9, -1);
    case SE_ItemViewItemText:
    case SE_ItemViewItemDecoration:
    case SE_ItemViewItemCheckIndicator: {
        const int more = isPopupList(widget) ? 6 : roomy(widget) ? 4 : 0;
        if (more == 0) break;
        auto item = *static_cast<const QStyleOptionViewItem*>(option);
        item.rect.adjust(more, 0, -more, 0);
        return QProxyStyle::subElementRect(element, &item, widget);
    }
    default: break;
    }
    return QProxyStyle::subElementRect(element, option, widget);
}

QRect ThemeSizes::subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                                 const QWidget* widget) const {
    const auto& rect = option->rect;
    const auto role = roleOf(widget);
    switch (control) {
    case CC_ScrollBar:
        if (const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option)) return scrollBarPart(*bar, part);
        break;
    case CC_Slider:
        if (const auto* slider = qstyleoption_cast<const QStyleOptionSlider*>(option);
            slider && slider->orientation == Qt::Horizontal && (part == SC_SliderGroove || part == SC_SliderHandle))
            return sliderPart(*slider, part);
        break;
    case CC_SpinBox: {
        const auto sides = fieldSides(role);
        if (part == SC_SpinBoxEditField) return rect.adjusted(sides.left, 1, -sides.right, -1);
        if (part == SC_SpinBoxFrame) return rect;
        return {}; // no buttons: the value changes by keys and the wheel
    }
    case CC_ComboBox: {
        const auto sides = fieldSides(role);
        if (part == SC_ComboBoxEditField) return rect.adjusted(sides.left, 1, -kDropDown - 1, -1);
        if (part == SC_ComboBoxArrow) return {rect.right() - kDropDown, rect.top(), kDropDown, rect.height()};
        if (part == SC_ComboBoxFrame) return rect;
        if (part == SC_ComboBoxListBoxPopup) return rect.adjusted(0, 0, 0, 2);
        break;
    }
    default: break;
    }
    return QProxyStyle::subControlRect(control, option, part, widget);
}

} // namespace qs::gui
