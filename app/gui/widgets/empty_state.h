// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A page without anything to show: one sentence and the action that fills it.

#include <QWidget>

class QLabel;
class QPushButton;

namespace qs::gui {

class Session;

class EmptyState : public QWidget {
    Q_OBJECT
public:
    explicit EmptyState(Session& session, QWidget* parent = nullptr);
    void setState(const QString& sentence, const QString& action, const QString& pageId);

private:
    QLabel* sentence_;
    QPushButton* action_;
    QString pageId_;
};

} // namespace qs::gui
