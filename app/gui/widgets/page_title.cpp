// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/page_title.h"

#include "app/gui/theme.h"

#include <QHBoxLayout>
#include <QLabel>

namespace qs::gui {

QHBoxLayout* pageTitle(const QString& title, const QString& note) {
    auto* line = spaced(new QHBoxLayout, Theme::kSpace);
    auto* words = dressed(new QLabel(title), Theme::words(18, QFont::DemiBold));
    words->setMinimumHeight(Theme::kControl); // the same height as on pages with controls in this line
    auto* beside = captionLabel(note);
    line->addWidget(words);
    line->addSpacing(Theme::kSpace);
    line->addWidget(beside, 1);
    return line;
}

QLabel* captionLabel(const QString& text) { return dressed(new QLabel(text), Theme::words(11), "caption"); }

} // namespace qs::gui
