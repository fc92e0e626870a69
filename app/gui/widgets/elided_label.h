// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A one-line label that is cut when it does not fit; the tooltip has the full text. Text that is cut at the right loses
// whole parts first, which are two or more spaces apart, and shows nothing rather than a few letters.

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
    QString shownText() const;
    Qt::TextElideMode mode_;
};

} // namespace qs::gui
