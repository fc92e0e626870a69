// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/theme_style.h"

#include "app/gui/theme_boxes.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QStyleOption>

namespace qs::gui {
namespace {

// Palette roles that no control uses, set by Theme. A change of the palette then recolours the labels.
constexpr std::pair<const char*, QPalette::ColorRole> kLabelRoles[] = {{"muted", QPalette::LinkVisited},
                                                                       {"caption", QPalette::LinkVisited},
                                                                       {"warn", QPalette::BrightText},
                                                                       {"accent", QPalette::Link},
                                                                       {"data-b", QPalette::Shadow}};

/// Tooltips are labels too. Names come from files: text that looks like HTML is shown as it is, unless a label is
/// marked as rich text.
void polishLabel(QLabel& label) {
    if (label.textFormat() == Qt::AutoText) label.setTextFormat(Qt::PlainText);
    const auto name = label.property("role").toString();
    for (const auto& [id, role] : kLabelRoles)
        if (name == QLatin1String(id)) return label.setForegroundRole(role);
    const auto now = label.foregroundRole();
    for (const auto& [id, role] : kLabelRoles)
        if (now == role) return label.setForegroundRole(QPalette::NoRole);
}

void polishScrollArea(QAbstractScrollArea& area) {
    area.setFrameShape(QFrame::NoFrame);
    area.viewport()->setAutoFillBackground(false);
    if (qobject_cast<QAbstractItemView*>(&area)) area.viewport()->setAttribute(Qt::WA_Hover);
    // Otherwise a page inside is painted twice when it is shown: once as a whole, once for the widgets on it.
    if (auto* scroll = qobject_cast<QScrollArea*>(&area); scroll && scroll->widget())
        scroll->widget()->setAutoFillBackground(false);
}

void colourText(QPlainTextEdit& text) {
    if (text.property("role") != QLatin1String("muted")) return;
    auto palette = text.palette();
    palette.setColor(QPalette::Text, Theme::instance().tokens().muted);
    text.setPalette(palette);
}

} // namespace

void ThemeStyle::recolour() {
    for (auto* widget : QApplication::allWidgets())
        if (auto* text = qobject_cast<QPlainTextEdit*>(widget)) colourText(*text);
}

void ThemeStyle::polish(QWidget* widget) {
    ThemeSizes::polish(widget);
    if (auto* label = qobject_cast<QLabel*>(widget)) return polishLabel(*label);
    if (auto* area = qobject_cast<QAbstractScrollArea*>(widget)) polishScrollArea(*area);
    if (auto* text = qobject_cast<QPlainTextEdit*>(widget)) colourText(*text);
    if (qobject_cast<QHeaderView*>(widget)) widget->setFont(Theme::words(11)); // also headers over numbers
    if (qobject_cast<QScrollBar*>(widget)) widget->setAttribute(Qt::WA_OpaquePaintEvent, false);
    const auto role = roleOf(widget);
    if (role == Role::Corner) widget->setFont(withPixels(widget->font(), 11));
    if (role == Role::Primary) {
        auto font = widget->font();
        font.setWeight(QFont::DemiBold);
        widget->setFont(font);
    }
}

void ThemeStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                               const QWidget* widget) const {
    switch (element) {
    case PE_PanelLineEdit:
        if (!isEmbedded(widget)) drawBox(*painter, option->rect, fieldBox(option->state, widget));
        return;
    case PE_FrameLineEdit: return;
    case PE_IndicatorCheckBox: return drawTick(*painter, option->rect, option->state);
    default: break;
    }
    if (!drawViewPrimitive(element, *option, *painter, widget))
        ThemeSizes::drawPrimitive(element, option, painter, widget);
}

void ThemeStyle::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                             const QWidget* widget) const {
    const auto& t = Theme::instance().tokens();
    switch (element) {
    case CE_PushButton: {
        const auto* button = qstyleoption_cast<const QStyleOptionButton*>(option);
        if (!button) break;
        const auto box = buttonBox(option->state, widget);
        const auto sides = buttonSides(widget);
        drawBox(*painter, option->rect, box);
        QRect words = option->rect.adjusted(sides.left, 1, -sides.right, -1);
        if (!button->icon.isNull()) {
            const auto size = button->iconSize;
            const QRect place(words.left(), words.center().y() - size.height() / 2, size.width(), size.height());
            button->icon.paint(painter, place);
            words.setLeft(place.right() + 5);
        }
        auto palette = option->palette;
        palette.setColor(QPalette::ButtonText, box.text);
        const int mnemonic =
            styleHint(SH_UnderlineShortcut, option, widget, nullptr) ? Qt::TextShowMnemonic : Qt::TextHideMnemonic;
        drawItemText(painter, words, int(Qt::AlignCenter) | mnemonic, palette, true, button->text,
                     QPalette::ButtonText);
        if (button->features & QStyleOptionButton::HasMenu || (widget && widget->property("menu").toBool()))
            drawIcon(*painter, QRect(option->rect.right() - 18, option->rect.top(), 12, option->rect.height()),
                     "chevron-down", t.faint);
        return;
    }
    case CE_ComboBoxLabel: {
        const auto* combo = qstyleoption_cast<const QStyleOptionComboBox*>(option);
        if (!combo || combo->editable) break;
        const QRect words = subControlRect(CC_ComboBox, combo, SC_ComboBoxEditField, widget).adjusted(1, 0, -1, 0);
        auto palette = option->palette;
        palette.setColor(QPalette::ButtonText, fieldBox(option->state, widget).text);
        drawItemText(painter, words, int(Qt::AlignLeft | Qt::AlignVCenter), palette, true,
                     option->fontMetrics.elidedText(combo->currentText, Qt::ElideRight, words.width()),
                     QPalette::ButtonText);
        return;
    }
    case CE_CheckBoxLabel: {
        const auto* button = qstyleoption_cast<const QStyleOptionButton*>(option);
        if (!button) break;
        auto label = *button;
        const bool on = option->state & State_Enabled;
        label.palette.setColor(QPalette::WindowText, !on                                ? t.faint
                                                     : (option->state & State_HasFocus) ? t.accent
                                                                                        : t.text);
        return ThemeSizes::drawControl(element, &label, painter, widget);
    }
    case CE_ShapedFrame:
        if (roleOf(widget) == Role::Popup)
            return drawBox(*painter, option->rect, {t.surface, t.line, {}, 1, Theme::kCardRadius});
        if (widget && widget->inherits("QComboBoxPrivateContainer")) {
            painter->fillRect(option->rect, t.raised);
            return drawBox(*painter, option->rect, {{}, t.line, {}, 1, 1});
        }
        break;
    default: break;
    }
    if (!drawViewControl(*this, element, *option, *painter, widget))
        ThemeSizes::drawControl(element, option, painter, widget);
}

void ThemeStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                                    const QWidget* widget) const {
    switch (control) {
    case CC_SpinBox: return drawBox(*painter, option->rect, fieldBox(option->state, widget));
    case CC_ComboBox:
        drawBox(*painter, option->rect, fieldBox(option->state, widget));
        drawIcon(*painter, subControlRect(control, option, SC_ComboBoxArrow, widget), "chevron-down",
                 option->state & State_Enabled ? Theme::instance().tokens().faint : Theme::instance().tokens().line);
        return;
    case CC_ToolButton:
        if (const auto* button = qstyleoption_cast<const QStyleOptionToolButton*>(option)) {
            const auto box = buttonBox(option->state, widget);
            const auto sides = buttonSides(widget);
            drawBox(*painter, option->rect, box);
            auto label = *button;
            const bool rail = roleOf(widget) == Role::Rail;
            const int air = !rail ? 1 : option->rect.height() > 50 ? 6 : 3; // a low window has a low rail
            label.rect = option->rect.adjusted(sides.left, air, -sides.right, rail ? 2 - air : -1);
            label.palette.setColor(QPalette::ButtonText, box.text);
            label.state &= ~(State_Raised | State_AutoRaise);
            return drawControl(CE_ToolButtonLabel, &label, painter, widget);
        }
        break;
    default: break;
    }
    if (!drawBar(*this, control, *option, *painter, widget))
        ThemeSizes::drawComplexControl(control, option, painter, widget);
}

} // namespace qs::gui
