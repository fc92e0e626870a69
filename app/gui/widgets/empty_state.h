// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shown on a page without content: one sentence and a button for the action that adds content.

#include <QWidget>

class QLabel;
class QPushButton;

namespace qs::gui {

struct PageTraits;
class Session;

class EmptyState : public QWidget {
    Q_OBJECT
public:
    explicit EmptyState(Session& session, QWidget* parent = nullptr);
    void setState(const QString& sentence, const QString& action, const PageTraits& page);
    void askForModel();  ///< no model is open
    void askForTensor(); ///< no tensor is selected

private:
    QLabel* sentence_;
    QPushButton* action_;
    const PageTraits* page_;
};

} // namespace qs::gui
