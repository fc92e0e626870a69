// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The page of reports: preview, contents, specs, and the files to write.

#include "app/gui/page.h"
#include "app/gui/task.h"
#include "core/analysis/analysis_report.h"

#include <QTimer>
#include <QWidget>

#include <functional>
#include <memory>

class QCheckBox;
class QLabel;
class QPushButton;

namespace qs::gui {

class TickList;
class Card;
class ReportPreview;
class Session;
class StatusLine;

class ReportPage : public QWidget {
    Q_OBJECT
public:
    explicit ReportPage(Session& session, QWidget* parent = nullptr);
    /// Asks for the path of a file to write; "" if the user cancels. Tests replace the dialog.
    using PathChooser = std::function<QString(const QString& suggested, const ReportWriter& writer)>;
    void setPathChooser(PathChooser chooser) { choosePath_ = std::move(chooser); }
    QString fileName(const ReportWriter& writer) const; ///< the file name that the button shows
    std::shared_ptr<const Report> report() const { return report_; }

Q_SIGNALS:
    void reportReady();
    void written(const QString& path);
    void failed(const QString& sentence);

protected:
    void showEvent(QShowEvent*) override;

private:
    QWidget* sidebar();
    QCheckBox* addPart(QLayout& column, const char* name, const QString& title, const QString& tip);
    bool hasRecipe() const; ///< the report tells of the recipe
    void allowParts();      ///< those that there is something to show of
    void listSpecs();
    std::vector<QuantSpec> chosen() const;
    ReportContents contents() const;
    void changed();
    void rebuild();
    /// from the rows of the session; null if some are missing
    std::shared_ptr<const AnalysisResult> collected() const;
    void make(std::shared_ptr<const AnalysisResult> result);
    void write(const ReportWriter& writer);
    void say(const QString& sentence, bool wrong, const QString& folder = {});

    Session& session_;
    PathChooser choosePath_;
    ReportPreview* preview_;
    Card* previewCard_;
    TickList* specs_ = nullptr;
    std::vector<QuantSpec> listed_;
    std::vector<std::pair<bool ReportContents::*, QCheckBox*>> parts_;
    QCheckBox *evidence_ = nullptr, *recipe_ = nullptr, *planned_ = nullptr;
    std::vector<QPushButton*> buttons_;
    std::vector<QLabel*> names_;
    StatusLine* status_ = nullptr;
    QPushButton *openFolder_ = nullptr, *measure_ = nullptr;
    QString folder_;
    QTimer settle_;
    Task composing_, writing_;
    AnalysisPlan plan_; ///< of the report that is being made or shown
    std::shared_ptr<const Report> report_;
    bool dirty_ = true, stale_ = false; ///< dirty_: the report is out of date; stale_: the list of specs is
    bool waiting_ = false;              ///< for rows of the session
    bool cancelled_ = false;            ///< nothing is measured until the user asks again
};

} // namespace qs::gui
