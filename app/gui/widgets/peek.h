// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A popup (key Space) with the facts of the tensor under the mouse or cursor.

#include <QFrame>

class QGridLayout;
class QLabel;

namespace qs {
struct TensorInfo;
}

namespace qs::gui {

class Session;

class Peek : public QFrame {
    Q_OBJECT
public:
    explicit Peek(Session& session, QWidget* parent);
    void showFor(const TensorInfo& tensor, const QRect& cell); ///< cell: in global pixels

protected:
    void keyPressEvent(QKeyEvent*) override;

private:
    void addRow(const QString& name, const QString& value, bool missing = false);
    Session& session_;
    QLabel *title_, *facts_;
    QGridLayout* rows_;
};

/// Moves a popup below a cell, or above it where there is no room. `cell`: in global pixels; not valid: at the mouse.
void placeBeside(QWidget& popup, const QRect& cell);

} // namespace qs::gui
