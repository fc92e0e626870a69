// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A button that is pressed and switched off while its work runs would pass the focus on to the next control, where the
// next press of Space does something else. With this the focus waits at a quiet place, and comes back with the button.

#include <QObject>
#include <QPointer>

class QWidget;

namespace qs::gui {

class FocusKeeper : public QObject {
    Q_OBJECT
public:
    /// For the children of `window`; `quiet` takes the focus meanwhile.
    FocusKeeper(QWidget& window, QWidget& quiet);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void moved(QWidget* from, QWidget* to);
    void waitFor(QWidget* widget);
    QWidget &window_, &quiet_;
    QPointer<QWidget> waiting_; ///< was switched off while it had the focus
};

} // namespace qs::gui
