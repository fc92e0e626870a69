// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The documents of docs/ in a window of their own, which stays open beside the work.

#include <QDialog>

class QTextBrowser;

namespace qs::gui {

class GuideDialog : public QDialog {
    Q_OBJECT
public:
    explicit GuideDialog(QWidget* parent);
    /// `place`: a file of docs/, and a heading of it behind "#", as PageTraits::guide says it.
    void showPlace(const QString& place);
    /// The text of the heading that showPlace() last went to; "" if it was the top of the page.
    QString heading() const { return heading_; }

private:
    void follow(const QUrl& link);
    void open(const QString& file, const QString& anchor);
    void scrollTo(const QString& anchor);
    QString folder_, heading_;
    QTextBrowser* text_;
};

} // namespace qs::gui
