// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/status_line.h"

#include "app/gui/task.h"
#include "app/gui/theme.h"

#include <QStyle>

namespace qs::gui {

StatusLine::StatusLine(const char* objectName, QWidget* parent) : QLabel(parent) {
    setObjectName(QLatin1String(objectName));
    setFont(Theme::words(11));
    setProperty("role", QStringLiteral("muted"));
    setTextFormat(Qt::PlainText);
    setTextInteractionFlags(Qt::TextSelectableByMouse);
    setWordWrap(true);
}

void StatusLine::say(const QString& sentence, bool wrong) {
    setText(sentence);
    setToolTip(sentence); // a low window may not show the whole sentence
    if (hides_) setVisible(!sentence.isEmpty());
    setProperty("role", wrong ? QStringLiteral("warn") : QStringLiteral("muted"));
    style()->unpolish(this);
    style()->polish(this);
    if (wrong) Q_EMIT complained(sentence);
}

void StatusLine::listenTo(const Task& task) {
    connect(&task, &Task::failed, this, [this](const QString& sentence) { say(sentence, true); });
}

void StatusLine::hideWhenEmpty() {
    hides_ = true;
    setVisible(!text().isEmpty());
}

} // namespace qs::gui
