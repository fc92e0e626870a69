// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The first line of a page that is not about one tensor: title and a note. Captions within it.

#include <QString>

class QHBoxLayout;
class QLabel;

namespace qs::gui {

QHBoxLayout* pageTitle(const QString& title, const QString& note);
QLabel* captionLabel(const QString& text); ///< above a group of controls

} // namespace qs::gui
