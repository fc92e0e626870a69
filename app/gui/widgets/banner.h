// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A sentence over the page that stays until it is closed: why something did not work, or what a file warns of.

#include <QWidget>

#include <functional>
#include <vector>

class QHBoxLayout;
class QLabel;
class QPushButton;
class QToolButton;

namespace qs::gui {

class Banner : public QWidget {
    Q_OBJECT
public:
    explicit Banner(QWidget* parent = nullptr);
    void say(const QString& sentence); ///< "" hides it
    /// What can be done about it: a button's words, and what a click does, which closes the banner.
    struct Action {
        QString text, tip;
        std::function<void()> act;
    };
    void offer(const QString& sentence, const std::vector<Action>& actions);
    QString text() const;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    void tint();
    QLabel *icon_, *text_;
    QHBoxLayout* actions_;
    QToolButton* close_;
};

} // namespace qs::gui
