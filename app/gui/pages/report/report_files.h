// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The files that a report can become: one button a writer, and what became of the last file.

#include "app/gui/task.h"
#include "app/gui/widgets/card.h"
#include "core/report/report.h"

#include <functional>
#include <memory>
#include <vector>

class QLabel;
class QPushButton;

namespace qs::gui {

class Session;
class StatusLine;

class ReportFiles : public Card {
    Q_OBJECT
public:
    explicit ReportFiles(Session& session, QWidget* parent = nullptr);
    /// Asks for the path of a file to write; "" if the user cancels. Tests replace the dialog.
    using PathChooser = std::function<QString(const QString& suggested, const ReportWriter& writer)>;
    void setPathChooser(PathChooser chooser) { choosePath_ = std::move(chooser); }
    QString fileName(const ReportWriter& writer) const;   ///< the file name that the button shows
    void setReport(std::shared_ptr<const Report> report); ///< null: nothing can be written
    void forget();                                        ///< what became of the last file, as for another model

Q_SIGNALS:
    void written(const QString& path);
    void failed(const QString& sentence);

private:
    void write(const ReportWriter& writer);
    void say(const QString& sentence, bool wrong, const QString& folder = {});

    Session& session_;
    PathChooser choosePath_;
    std::vector<QPushButton*> buttons_;
    std::vector<QLabel*> names_;
    StatusLine* status_;
    QPushButton* openFolder_;
    QString folder_;
    Task writing_;
    std::shared_ptr<const Report> report_;
};

} // namespace qs::gui
