// SPDX-License-Identifier: GPL-3.0-or-later
// Where a session begins: drop zone, recent files, the sample.
#include "app/gui/page.h"

#include <QLabel>

namespace qs::gui {

QWidget* createStartPage(Session&, QWidget* parent) {
    return new QLabel(QStringLiteral("Drop a checkpoint here"), parent);
}

} // namespace qs::gui
