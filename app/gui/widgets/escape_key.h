// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What Esc does in the window: it closes what is open. Only when nothing is open it stops the work.

#include <QObject>
#include <QPointer>
#include <QString>

#include <functional>

class QWidget;

namespace qs::gui {

class Session;

class EscapeKey : public QObject {
    Q_OBJECT
public:
    explicit EscapeKey(QWidget& window);
    /// Closes what is on top: a list, a popover, a dialog. False: nothing was open when the key was pressed.
    bool closesSomething();

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    QWidget& window_;
    /// Open when the key went down. A drop-down list closes itself before the key becomes the shortcut of the window.
    QPointer<QWidget> popup_;
    bool wasOpen_ = false;
};

/// True: no work has run for long, so that it may be stopped without a question. Otherwise asks, and calls `stop` after
/// a yes. The question goes away when the work has ended.
bool mayStop(Session& session, QWidget& window, const QString& question, const QString& yes,
             const std::function<void()>& stop);

} // namespace qs::gui
