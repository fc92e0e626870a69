// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/theme.h"

#include <QApplication>

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    qs::gui::Theme::install(qs::gui::Theme::Mode::System);
    return 0;
}
