// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A line of text that shows as much of itself as there is room for, with an ellipsis; the tooltip has all of it.

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
