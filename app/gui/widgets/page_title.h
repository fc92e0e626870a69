// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The first line of a page that is not about one tensor: title and a note.

#include <QString>

class QHBoxLayout;

namespace qs::gui {

QHBoxLayout* pageTitle(const QString& title, const QString& note);

} // namespace qs::gui
