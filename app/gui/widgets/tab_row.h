// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Buttons of which one is checked, to choose between views.

#include <QString>

#include <span>

class QButtonGroup;
class QHBoxLayout;
class QObject;

namespace qs::gui {

struct Tab {
    const char* name; ///< of the button as an object
    QString title, tip;
};
/// Adds them to a row. The first one is checked; the id of each in the group is its place.
QButtonGroup* addTabs(QHBoxLayout& row, std::span<const Tab> tabs, QObject* parent);

} // namespace qs::gui
