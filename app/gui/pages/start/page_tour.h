// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the pages of the window answer, for a new user: a field for each page, in columns by what the page is for.
// Each leads to its page.

#include <QWidget>

namespace qs::gui {

class Session;

class PageTour : public QWidget {
    Q_OBJECT
public:
    explicit PageTour(Session& session, QWidget* parent = nullptr);
};

} // namespace qs::gui
