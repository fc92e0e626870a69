// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Keeps the keyboard focus while a button is disabled. A button that is disabled while its work runs would pass the
// focus to the next control, and Space would then press that one. The focus waits at a neutral widget and returns when
// the button is enabled.

#include <QObject>
#include <QPointer>

class QWidget;

namespace qs::gui {

class FocusKeeper : public QObject {
    Q_OBJECT
public:
    /// Watches the children of `window`; `quiet` holds the focus meanwhile.
    FocusKeeper(QWidget& window, QWidget& quiet);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void moved(QWidget* from, QWidget* to);
    void waitFor(QWidget* widget);
    QWidget &window_, &quiet_;
    QPointer<QWidget> waiting_; ///< the control that was disabled while it had the focus
};

} // namespace qs::gui
