// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/keys_dialog.h"

#include "app/gui/main_window.h"
#include "app/gui/menus.h"
#include "app/gui/theme.h"

#include <QDialog>
#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace qs::gui {

void showKeysDialog(MainWindow& window) {
    auto* dialog = named(new QDialog(&window), "keys");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(QStringLiteral("Keys"));
    auto* columns = spaced(new QHBoxLayout(dialog), 48, {24, 24, 24, 24});
    constexpr int kColumns = 3;
    QVBoxLayout* column[kColumns];
    for (auto*& c : column) {
        c = spaced(new QVBoxLayout, Theme::kMargin);
        columns->addLayout(c);
    }
    const auto lines = keyLines(window);
    int filled[kColumns] = {};
    for (int i = 0; i < lines.size();) {
        auto* grid = new QGridLayout;
        grid->setVerticalSpacing(4);
        grid->setHorizontalSpacing(Theme::kMargin);
        const auto group = lines[i].group;
        auto* title = dressed(new QLabel(group), Theme::words(13, QFont::DemiBold));
        grid->addWidget(title, 0, 0, 1, 2);
        int row = 1;
        for (; i < lines.size() && lines[i].group == group; ++i, ++row) {
            auto* keys = new QLabel(lines[i].keys);
            auto* what = new QLabel(lines[i].what);
            dress(*keys, Theme::numbers(), "muted");
            keys->setFixedWidth(104);
            grid->addWidget(keys, row, 0);
            grid->addWidget(what, row, 1);
            grid->setColumnStretch(1, 1);
        }
        const auto least = std::ranges::min_element(filled) - std::begin(filled);
        filled[least] += row + 2;
        column[least]->addLayout(grid);
    }
    for (auto* c : column) c->addStretch();
    dialog->show();
}

} // namespace qs::gui
