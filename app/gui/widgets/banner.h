// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A message above the page that stays until it is closed: why something failed, or a warning about a file.

#include <QWidget>

#include <functional>
#include <vector>

class QHBoxLayout;
class QLabel;
class QToolButton;

namespace qs::gui {

class Banner : public QWidget {
    Q_OBJECT
public:
    explicit Banner(QWidget* parent = nullptr);
    void say(const QString& sentence); ///< "" hides it
    /// A remedy: the text of a button, and the function that a click calls; a click also closes the banner.
    struct Action {
        QString text, tip;
        std::function<void()> act;
    };
    void offer(const QString& sentence, const std::vector<Action>& actions);
    QString text() const;

Q_SIGNALS:
    void closed(); ///< by its button

protected:
    void paintEvent(QPaintEvent*) override;

private:
    void tint();
    QLabel *icon_, *text_;
    QHBoxLayout* actions_;
    QToolButton* close_;
};

} // namespace qs::gui
