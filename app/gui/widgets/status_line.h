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
    /// Plain text, on as many lines as it takes; `wrong`: in the colour of warnings.
    void say(const QString& sentence, bool wrong = false);
    void listenTo(const Task& task); ///< says why the task failed
    void hideWhenEmpty();

Q_SIGNALS:
    void complained(const QString& sentence); ///< say() was called with `wrong`

private:
    bool hides_ = false;
};

} // namespace qs::gui
