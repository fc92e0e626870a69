// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/plan_list.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/tick_list.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace qs::gui {

QLabel* planCaption(const QString& text) {
    auto* label = dressed(new QLabel(text), Theme::words(11), "muted");
    return label;
}

TickList* addPlanList(QVBoxLayout& column, const QString& title, const char* name, int height, QWidget* beside) {
    auto* list = new TickList(name, title);
    list->setMinimumHeight(height);
    auto* line = new QHBoxLayout;
    line->addWidget(planCaption(title), 1);
    if (beside) line->addWidget(beside);
    column.addLayout(line);
    column.addWidget(list, height);
    return list;
}

} // namespace qs::gui
