// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A one-line label that is cut with an ellipsis when it does not fit; the tooltip has the full text.

#include <QLabel>

namespace qs::gui {

class ElidedLabel : public QLabel {
    Q_OBJECT
public:
    explicit ElidedLabel(Qt::TextElideMode mode, QWidget* parent = nullptr);
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    Qt::TextElideMode mode_;
};

} // namespace qs::gui
