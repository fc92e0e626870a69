// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Captions and lists of the benchmark's plan, all with one look.

class QLabel;
class QString;
class QVBoxLayout;
class QWidget;

namespace qs::gui {

class TickList;

QLabel* planCaption(const QString& text);
/// Adds a list to the column, below its title and `beside`. `height`: least height in pixels and share of the room.
TickList* addPlanList(QVBoxLayout& column, const QString& title, const char* name, int height,
                      QWidget* beside = nullptr);

} // namespace qs::gui
