// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The line in which a page says what runs, what is done and what has failed.

#include <QLabel>

namespace qs::gui {

class Task;

class StatusLine : public QLabel {
    Q_OBJECT
public:
    explicit StatusLine(const char* objectName, QWidget* parent = nullptr);
    /// Shows plain text on as many lines as needed; `wrong`: in the warning colour.
    void say(const QString& sentence, bool wrong = false);
    void listenTo(const Task& task); ///< shows why the task failed
    void hideWhenEmpty();

Q_SIGNALS:
    void complained(const QString& sentence); ///< say() was called with `wrong`

private:
    bool hides_ = false;
};

} // namespace qs::gui
