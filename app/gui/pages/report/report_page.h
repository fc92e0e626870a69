// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The page of reports. It composes the report of what is chosen at its side, and shows it as it will be written.

#include "app/gui/pages/report/report_files.h"
#include "core/analysis/analysis_report.h"

#include <QTimer>

namespace qs::gui {

class ReportParts;
class ReportPreview;
class ReportSpecs;

class ReportPage : public QWidget {
    Q_OBJECT
public:
    explicit ReportPage(Session& session, QWidget* parent = nullptr);
    ReportFiles& files() { return *files_; }
    std::shared_ptr<const Report> report() const { return report_; }

Q_SIGNALS:
    void reportReady();
    void failed(const QString& sentence);

protected:
    void showEvent(QShowEvent*) override;

private:
    QWidget* sidebar();
    void changed();
    void rebuild();
    void forget(); ///< the report of the model that was open before
    /// from the rows of the session; null if some are missing
    std::shared_ptr<const AnalysisResult> collected() const;
    void make(std::shared_ptr<const AnalysisResult> result);

    Session& session_;
    ReportPreview* preview_;
    Card* previewCard_;
    ReportParts* parts_;
    ReportSpecs* specs_;
    ReportFiles* files_;
    QPushButton* measure_ = nullptr;
    QTimer settle_;
    Task composing_;
    AnalysisPlan plan_; ///< of the report that is being made or shown
    std::shared_ptr<const Report> report_;
    bool dirty_ = true, stale_ = false; ///< dirty_: the report is out of date; stale_: the list of specs is
    bool waiting_ = false;              ///< for rows of the session
    bool cancelled_ = false;            ///< nothing is measured until the user asks again
};

} // namespace qs::gui
