// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/focus_keeper.h"

#include <QApplication>
#include <QEvent>
#include <QWidget>

namespace qs::gui {

FocusKeeper::FocusKeeper(QWidget& window, QWidget& quiet) : QObject(&window), window_(window), quiet_(quiet) {
    connect(qApp, &QApplication::focusChanged, this, &FocusKeeper::moved);
}

void FocusKeeper::moved(QWidget* from, QWidget* to) {
    // the user moved the focus elsewhere
    if (to && to != &quiet_ && !(from && !from->isEnabled())) waitFor(nullptr);
    if (!from || !to || from == &quiet_ || !window_.isAncestorOf(from) || !window_.isAncestorOf(to)) return;
    if (from->isEnabled() || !from->isVisible()) return;
    waitFor(from);
    quiet_.setFocus();
}

void FocusKeeper::waitFor(QWidget* widget) {
    if (waiting_) waiting_->removeEventFilter(this);
    waiting_ = widget;
    if (waiting_) waiting_->installEventFilter(this);
}

bool FocusKeeper::eventFilter(QObject* watched, QEvent* event) {
    if (watched != waiting_ || event->type() != QEvent::EnabledChange || !waiting_->isEnabled()) return false;
    QWidget* back = waiting_;
    waitFor(nullptr);
    if (quiet_.hasFocus() && back->isVisible()) back->setFocus();
    return false;
}

} // namespace qs::gui
