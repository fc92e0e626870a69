// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A sentence over the page that stays until it is closed: why something did not work, or what a file warns of.

#include <QWidget>

#include <functional>

class QLabel;
class QPushButton;
class QToolButton;

namespace qs::gui {

class Banner : public QWidget {
    Q_OBJECT
public:
    explicit Banner(QWidget* parent = nullptr);
    void say(const QString& sentence); ///< "" hides it
    /// With a button for what can be done about it, which closes the banner.
    void offer(const QString& sentence, const QString& action, std::function<void()> act);
    QString text() const;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    void tint();
    QLabel *icon_, *text_;
    QPushButton* action_;
    std::function<void()> act_;
    QToolButton* close_;
};

} // namespace qs::gui
