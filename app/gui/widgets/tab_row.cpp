// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/tab_row.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QToolButton>

namespace qs::gui {

QButtonGroup* addTabs(QHBoxLayout& row, std::span<const Tab> tabs, QObject* parent) {
    auto* group = new QButtonGroup(parent);
    for (const auto& [name, title, tip] : tabs) {
        auto* tab = new QToolButton;
        tab->setObjectName(QLatin1String(name));
        tab->setText(title);
        tab->setToolTip(tip);
        tab->setCheckable(true);
        tab->setChecked(group->buttons().isEmpty());
        group->addButton(tab, int(group->buttons().size()));
        row.addWidget(tab);
    }
    return group;
}

} // namespace qs::gui
