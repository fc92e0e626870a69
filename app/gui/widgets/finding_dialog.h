// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A dialog that reads files for the opened model and shows what it found: a sentence, tables, a status line, and a row of
// buttons that ends with Close.

#include <QDialog>

#include <initializer_list>

class QLabel;
class QPushButton;

namespace qs::gui {

class StatusLine;

class FindingDialog : public QDialog {
    Q_OBJECT
Q_SIGNALS:
    void settled(); ///< what was asked for is done, or was refused

protected:
    /// Names of objects: "recipe" makes "recipeDialog", "recipeHeadline", "recipeStatus", "recipeClose".
    FindingDialog(const char* name, const QString& title, QWidget* parent);
    static QPushButton* button(const QString& text, const char* name);
    /// `body` stands between the sentence and the status; its first widget takes what height is left.
    void lay(std::initializer_list<QWidget*> body, std::initializer_list<QWidget*> left,
             std::initializer_list<QWidget*> right);

    QLabel* headline_;
    StatusLine* status_;

private:
    QPushButton* close_;
};

} // namespace qs::gui
