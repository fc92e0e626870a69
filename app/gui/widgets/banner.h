// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A sentence over the page that stays until it is closed: why something did not work, or what a file warns of.

#include <QWidget>

class QLabel;
class QToolButton;

namespace qs::gui {

class Banner : public QWidget {
    Q_OBJECT
public:
    explicit Banner(QWidget* parent = nullptr);
    void say(const QString& sentence); ///< "" hides it
    QString text() const;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    void tint();
    QLabel *icon_, *text_;
    QToolButton* close_;
};

} // namespace qs::gui
