// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/tick_list.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/shared_painting.h"

#include <algorithm>

namespace qs::gui {
namespace {
constexpr int kItem = 22;   // pixels
constexpr int kIndent = -3; // pixels: aligns the check boxes with those outside of lists
} // namespace

TickList::TickList(const char* name, const QString& accessibleName, QWidget* parent) : QListWidget(parent) {
    SharedPainting::of(*viewport(), SharedPainting::Fit::FromTheCorner);
    setObjectName(QLatin1String(name));
    setAccessibleName(accessibleName);
    setFont(Theme::code());
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setTextElideMode(Qt::ElideMiddle);
    setViewportMargins(kIndent, 0, 0, 0);
}

void TickList::add(const QString& text, bool on, const QString& tip) {
    auto* item = new QListWidgetItem(text); // complete before it is added: no change signal
    item->setSizeHint({0, kItem});
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
    item->setToolTip(tip);
    item->setCheckState(on ? Qt::Checked : Qt::Unchecked);
    addItem(item);
}

void TickList::disable(int row) {
    item(row)->setCheckState(Qt::Unchecked);
    item(row)->setFlags(Qt::ItemIsSelectable);
}

void TickList::fit() { setMaximumHeight(std::max(minimumHeight(), count() * kItem + 6)); }

} // namespace qs::gui
