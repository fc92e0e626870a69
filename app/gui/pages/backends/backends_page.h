// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares backends: what can run, speed, correctness, and the limits of the machine. The table below selects a row in
// all charts.

#include "app/gui/bench_run.h"
#include "app/gui/page.h"
#include "app/gui/page_in_parts.h"
#include "app/gui/task.h"
#include "core/bench/run/machine_load.h"
#include "core/report/report.h"

#include <QTimer>

#include <functional>

class QLabel;
class QLayout;
class QToolButton;

namespace qs::gui {

class BackendsPlan;
class Banner;
class BenchDetail;
class BenchTables;
class LatencyCard;
class MatrixCard;
class RooflineCard;
class SpeedupCard;
class StagedRefresh;
class StatusLine;

class BackendsPage : public PageInParts {
    Q_OBJECT
public:
    explicit BackendsPage(Session& session, QWidget* parent = nullptr);
    BenchRun& bench() { return *bench_; }
    BackendsPlan& planner() { return *plan_; }
    bool settled() const; ///< everything known is drawn
    /// Asks for a path; empty: cancelled. Tests replace the dialog.
    using PathChooser = std::function<QString(const QString& suggested, bool save)>;
    void setPathChooser(PathChooser chooser) { choosePath_ = std::move(chooser); }
    /// Measures other load on the machine, on a worker thread. Tests replace it.
    using LoadProbe = std::function<std::optional<MachineLoad>(const Job&)>;
    void setLoadProbe(LoadProbe probe) { loadProbe_ = std::move(probe); }

Q_SIGNALS:
    void written(const QString& path);

protected:
    void showEvent(QShowEvent*) override;
    void hideEvent(QHideEvent*) override;

private:
    QLayout* header();
    QLayout* cards();
    void listen();
    void keepAsked();
    void ask(bool again);
    void startIfQuiet(); ///< first asks the user if the run is long and the machine is busy
    void start();
    void refresh();
    void refreshMatrix();
    void showQuarantine();
    void showRow(int row);
    void showNoRow();
    void write(const ReportWriter& writer);
    void loadBaseline();

    Session& session_;
    BenchRun* bench_;
    BackendsPlan* plan_ = nullptr;
    StagedRefresh* stages_;
    PathChooser choosePath_;
    LoadProbe loadProbe_;
    Task probing_;
    Banner* busy_ = nullptr;
    QLabel* note_ = nullptr;
    StatusLine* status_ = nullptr;
    QToolButton* export_ = nullptr;
    MatrixCard* matrix_ = nullptr;
    LatencyCard* latency_ = nullptr;
    SpeedupCard* speedup_ = nullptr;
    RooflineCard* roofline_ = nullptr;
    BenchTables* tables_ = nullptr;
    BenchDetail* detail_ = nullptr;
    int shown_ = -1;    ///< index of a row of the run
    QTimer askTimer_;   ///< delays the question to the backends while the plan changes
    std::string asked_; ///< the question that the matrix answers; empty: none
    QString askedText_; ///< the part of it that all cells share
};

} // namespace qs::gui
