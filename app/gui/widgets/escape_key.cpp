// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/escape_key.h"

#include "app/gui/session.h"
#include "core/base/text.h"

#include <QApplication>
#include <QDialog>
#include <QKeyEvent>
#include <QMessageBox>
#include <QPushButton>

namespace qs::gui {

EscapeKey::EscapeKey(QWidget& window) : QObject(&window), window_(window) { qApp->installEventFilter(this); }

/// Sees the key before any control does. It may come here several times, for a control and its parents.
bool EscapeKey::eventFilter(QObject*, QEvent* event) {
    const bool begins = event->type() == QEvent::ShortcutOverride;
    if (!begins && event->type() != QEvent::KeyPress && event->type() != QEvent::KeyRelease) return false;
    if (static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape) return false;
    if (!begins) {
        wasOpen_ = false; // a control has taken the key
    } else if (QWidget* popup = QApplication::activePopupWidget(); popup && !wasOpen_) {
        popup_ = popup;
        wasOpen_ = true;
    }
    return false;
}

bool EscapeKey::closesSomething() {
    if (std::exchange(wasOpen_, false)) {
        if (popup_ && popup_->isVisible()) popup_->close();
        return true;
    }
    for (auto* dialog : window_.findChildren<QDialog*>())
        if (dialog->isVisible()) {
            dialog->reject();
            return true;
        }
    return false;
}

bool mayStop(Session& session, QWidget& window, const QString& question, const QString& yes,
             const std::function<void()>& stop) {
    constexpr const char* kName = "stopQuestion";
    const auto work = session.tasks().longest();
    if (!work) return true;
    if (window.findChild<QWidget*>(QLatin1String(kName))) return false; // it is asked already
    auto* box = new QMessageBox(QMessageBox::Question, QStringLiteral("QuantScope"), question, {}, &window);
    box->setObjectName(QLatin1String(kName));
    box->setAttribute(Qt::WA_DeleteOnClose);
    QString facts = EscapeKey::tr("%1 has run for %2.")
                        .arg(work->title, QString::fromStdString(durationText(double(work->milliseconds) / 1000)));
    if (!work->kept.isEmpty()) facts += EscapeKey::tr(" If it stops, %1.").arg(work->kept);
    box->setInformativeText(facts);
    auto* yesButton = box->addButton(yes, QMessageBox::AcceptRole);
    yesButton->setObjectName(QStringLiteral("stopWork"));
    auto* no = box->addButton(EscapeKey::tr("Go on"), QMessageBox::RejectRole);
    no->setObjectName(QStringLiteral("goOn"));
    box->setDefaultButton(no);
    box->setEscapeButton(no);
    QObject::connect(yesButton, &QPushButton::clicked, &window, stop);
    // Later: work that is done in steps ends a task and begins the next one.
    const auto ended = [&session, box] {
        if (!session.tasks().busy()) box->close();
    };
    QObject::connect(&session, &Session::workEnded, box, ended, Qt::QueuedConnection);
    box->open();
    return false;
}

} // namespace qs::gui
