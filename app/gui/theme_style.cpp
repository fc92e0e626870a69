// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/theme_style.h"

#include "app/gui/theme.h"

namespace qs::gui {
namespace {

// $name is a token. Controls are 26 px high with their border.
constexpr auto kSheet = R"(
QMainWindow, QDialog { background: $bg; }
QToolTip { background: $raised; color: $text; border: 1px solid $line; padding: 4px 6px; }

QLineEdit, QComboBox, QSpinBox, QDoubleSpinBox, QPushButton, QToolButton {
  background: $raised; color: $text; border: 1px solid $line; border-radius: 6px; min-height: 24px; max-height: 24px;
  padding: 0 8px; selection-background-color: $selection; selection-color: $text; }
QLineEdit:focus, QComboBox:focus, QSpinBox:focus, QDoubleSpinBox:focus, QPushButton:focus, QToolButton:focus {
  border: 2px solid $accent; padding: 0 7px; min-height: 22px; max-height: 22px; }
QLineEdit:disabled, QComboBox:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QPushButton:disabled,
QToolButton:disabled { color: $faint; background: transparent; }
QLineEdit[invalid="true"] { border: 2px solid $warn; padding: 0 7px; min-height: 22px; max-height: 22px; }
QComboBox::drop-down { border: none; width: 20px; }
QComboBox::down-arrow { image: url(:/icons/chevron-down.svg); width: 12px; height: 12px; }
QComboBox:disabled::down-arrow { image: none; }
QComboBox QAbstractItemView { background: $raised; color: $text; border: 1px solid $line; padding: 4px; outline: none;
  selection-background-color: $selection; selection-color: $text; }
QComboBox QAbstractItemView::item { min-height: 24px; padding: 0 6px; border-radius: 4px; }
QSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::up-button, QDoubleSpinBox::down-button {
  width: 0; border: none; }
QPushButton { padding: 0 14px; }
QPushButton:focus { padding: 0 13px; }
QPushButton:hover, QToolButton:hover { background: $line; }
QPushButton:pressed, QToolButton:pressed { background: $selection; }
QToolButton:checked { background: $selection; color: $text; border-color: $accent; }
QToolButton::menu-indicator { image: none; width: 0; }
QPushButton::menu-indicator { image: url(:/icons/chevron-down.svg); width: 12px; height: 12px;
  subcontrol-origin: padding; subcontrol-position: right center; right: 6px; }
QPushButton[menu="true"] { padding-right: 24px; }
QPushButton[role="primary"] { background: $accent; color: $onaccent; border-color: $accent; font-weight: 600; }
QPushButton[role="primary"]:focus { border: 2px solid $text; }
QPushButton[role="primary"]:hover { background: $accenthover; border-color: $accenthover; }
QPushButton[role="quiet"], QToolButton[role="quiet"] { background: transparent; border-color: transparent; color: $muted; }
QPushButton[role="quiet"]:hover, QToolButton[role="quiet"]:hover { background: $raised; color: $text; }
QToolButton[role="quiet"]:checked { background: $selection; color: $text; }
QPushButton[role="quiet"]:focus, QToolButton[role="quiet"]:focus { border: 2px solid $accent; }
QToolButton[role="corner"] { background: transparent; border-color: transparent; color: $muted; font-size: 11px;
  min-height: 18px; max-height: 18px; padding: 0 6px; border-radius: 5px; }
QToolButton[role="corner"]:hover { background: $raised; color: $text; }
QToolButton[role="corner"]:checked { background: $selection; color: $text; }
QToolButton[role="corner"]:focus { border: 2px solid $accent; min-height: 16px; max-height: 16px; padding: 0 5px; }

QComboBox[role="corner"] { background: transparent; color: $muted; font-size: 11px; min-height: 18px; max-height: 18px;
  padding: 0 6px; border-radius: 5px; }
QComboBox[role="corner"]:hover { background: $raised; color: $text; }
QComboBox[role="corner"]:focus { border: 2px solid $accent; min-height: 16px; max-height: 16px; padding: 0 5px; }

QToolButton[role="row"] { background: transparent; border: 2px solid transparent; border-radius: 6px; min-height: 40px; max-height: 40px; padding: 0; }
QToolButton[role="row"]:hover { background: $raised; }
QToolButton[role="row"]:focus { border-color: $accent; min-height: 40px; max-height: 40px; padding: 0; }
QToolButton[role="rail"] { background: transparent; border: 2px solid transparent; border-radius: 8px; color: $muted; padding: 4px 0 2px 0;
  min-height: 42px; max-height: 46px; }
QToolButton[role="rail"]:hover { background: $raised; color: $text; }
QToolButton[role="rail"]:checked { background: $selection; color: $text; }
QToolButton[role="rail"]:focus { border-color: $accent; min-height: 42px; max-height: 46px; padding: 4px 0 2px 0; }
QToolButton[role="rail"]:disabled { color: $faint; }
QSpinBox[role="inline"] { background: transparent; border: 1px solid transparent; min-height: 16px; max-height: 16px; padding: 0 3px; border-radius: 4px; }
QSpinBox[role="inline"]:hover { background: $raised; border-color: $line; }
QSpinBox[role="inline"]:focus { background: $raised; border: 1px solid $accent; min-height: 16px; max-height: 16px; padding: 0 3px; }
QSpinBox[role="inline"]:disabled { background: transparent; border-color: transparent; }

QCheckBox, QRadioButton { color: $text; spacing: 8px; min-height: 22px; }
QCheckBox:disabled, QRadioButton:disabled { color: $faint; }
QCheckBox::indicator, QListView::indicator { width: 14px; height: 14px; border: 1px solid $faint; border-radius: 4px; background: $raised; }
QCheckBox::indicator:checked, QListView::indicator:checked { background: $accent; border-color: $accent; image: url(:/icons/check-$mode.svg); }
QCheckBox::indicator:disabled, QListView::indicator:disabled { border-color: $line; }
QCheckBox:focus { color: $accent; }
QRadioButton::indicator { width: 14px; height: 14px; border: 1px solid $faint; border-radius: 8px; background: $raised; }
QRadioButton::indicator:checked { background: $accent; border: 4px solid $raised; outline: none; }

QSlider { min-height: 24px; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: $line; }
QSlider::sub-page:horizontal { height: 4px; border-radius: 2px; background: $accent; }
QSlider::sub-page:horizontal:disabled { background: $line; }
QSlider::handle:horizontal { width: 14px; height: 14px; margin: -5px 0; border-radius: 7px; background: $accent; }
QSlider::handle:horizontal:disabled { background: $faint; }
QSlider::handle:horizontal:focus { border: 2px solid $text; width: 10px; height: 10px; border-radius: 7px; }

QProgressBar { background: $line; border: none; border-radius: 2px; min-height: 4px; max-height: 4px; }
QProgressBar::chunk { background: $accent; border-radius: 2px; }

QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: $line; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: $faint; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: none; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea { border: none; background: transparent; }
QAbstractScrollArea::corner { background: transparent; border: none; }

QTreeView, QTableView, QListView { background: transparent; border: none; outline: none; color: $text;
  selection-background-color: $selection; selection-color: $text; gridline-color: $line; alternate-background-color: $surface; }
QTreeView::item, QTableView::item, QListView::item { border: none; }
QTreeView::item:hover, QListView::item:hover, QTableView::item:hover { background: $raised; }
QTreeView::item:selected, QTableView::item:selected, QListView::item:selected { background: $selection; color: $text; }
QTreeView::branch:selected { background: $selection; }
QTreeView::branch:has-children:closed { image: url(:/icons/chevron-right.svg); }
QTreeView::branch:has-children:open { image: url(:/icons/chevron-down.svg); }
QHeaderView { background: transparent; border: none; }
QHeaderView::section { background: transparent; color: $muted; border: none; border-bottom: 1px solid $line;
  padding: 0 3px; min-height: 24px; font-size: 11px; }
QTableView[roomy="true"]::item { padding: 0 4px; }
QTableView[roomy="true"] QHeaderView::section:horizontal { padding: 0 7px; }
QHeaderView::section:hover { color: $text; }
QHeaderView::section:vertical { border: none; }
QHeaderView::up-arrow { image: url(:/icons/chevron-up.svg); $arrow }
QHeaderView::down-arrow { image: url(:/icons/chevron-down.svg); $arrow }
QTableCornerButton::section { background: transparent; border: none; }

QMenu { background: $surface; color: $text; border: 1px solid $line; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: $selection; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $line; margin: 4px 8px; }
QMenu::indicator { width: 14px; height: 14px; margin-left: 6px; }
QMenu::indicator:checked { image: url(:/icons/tick-$mode.svg); }

QSplitter::handle { background: $line; }
QLabel { background: transparent; color: $text; }
QLabel[role="muted"], QLabel[role="number-muted"] { color: $muted; }
QLabel[role="caption"], QPlainTextEdit[role="muted"] { color: $muted; }
QLabel[role="warn"] { color: $warn; }
QLabel[role="data-b"] { color: $seriesb; }
QLabel[role="accent"] { color: $accent; }
QWidget[role="bar"] { background: $surface; }
QFrame[role="popup"] { background: $surface; border: 1px solid $line; border-radius: 8px; }
)";

} // namespace

QString styleSheet(const Tokens& t, bool dark) {
    auto sheet = QString::fromLatin1(kSheet);
    const std::pair<const char*, QString> values[] = {
        // The margins leave it no room of its own: Qt takes that from every title, sorted by it or not.
        {"$arrow",
         QStringLiteral("width: 8px; height: 8px; margin: 0 -4px -8px -4px; subcontrol-position: top center;")},
        // Longer names first: $accenthover contains $accent.
        {"$accenthover", (dark ? t.accent.lighter(112) : t.accent.darker(115)).name()},
        {"$onaccent", (dark ? t.bg : t.surface).name()},
        {"$seriesb", t.dataB.name()},
        {"$selection", t.selection.name()},
        {"$surface", t.surface.name()},
        {"$raised", t.raised.name()},
        {"$accent", t.accent.name()},
        {"$muted", t.muted.name()},
        {"$faint", t.faint.name()},
        {"$mode", dark ? QStringLiteral("dark") : QStringLiteral("light")},
        {"$line", t.line.name()},
        {"$text", t.text.name()},
        {"$warn", t.warn.name()},
        {"$bg", t.bg.name()},
    };
    for (const auto& [name, value] : values) sheet.replace(QString::fromLatin1(name), value);
    return sheet;
}

} // namespace qs::gui
