// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The documents of docs/ in a window of their own, which stays open beside the work.

#include <QDialog>

class QPushButton;
class QTextBrowser;
class QTextDocument;

namespace qs::gui {

class GuideDialog : public QDialog {
    Q_OBJECT
public:
    explicit GuideDialog(QWidget* parent);
    /// `place`: a file of docs/, and a heading of it behind "#", as PageTraits::guide says it.
    void showPlace(const QString& place);
    const QString& file() const { return file_; } ///< of docs/, that is shown
    /// The text of the heading that showPlace() last went to; "" if it was the top of the page.
    QString heading() const { return heading_; }

private:
    void follow(const QUrl& link);
    void open(const QString& place);
    void read(const QString& file);
    void goBack();
    void scrollTo(const QString& anchor);
    QString folder_, heading_;
    QString place_, file_; ///< that is shown
    QStringList before_;   ///< places that "Back" goes to, the last one first
    QTextBrowser* text_;
    QPushButton* back_;
    QTextDocument* document_ = nullptr; ///< of file_
};

} // namespace qs::gui
