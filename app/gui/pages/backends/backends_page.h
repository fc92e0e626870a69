// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Backends compared by eye: what could run, how fast, how right, why that fast. The table at the foot drives the rest.

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
    bool settled() const; ///< everything that is known is drawn
    /// Asks for a path; tests put their own in place of the dialog. Empty: declined.
    using PathChooser = std::function<QString(const QString& suggested, bool save)>;
    void setPathChooser(PathChooser chooser) { choosePath_ = std::move(chooser); }
    /// What else runs on the machine; tests put their own in its place. Asked on a worker thread.
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
    void startIfQuiet(); ///< asks first where it is long and the machine is busy
    void start();
    void refresh();
    void refreshMatrix();
    void showQuarantine();
    void showRow(int row);
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
    int shown_ = -1;    ///< row of the run
    QTimer askTimer_;   ///< the plan has changed: asked when it rests
    std::string asked_; ///< the question that the matrix answers; empty: none
    QString askedText_; ///< of it, what all cells share
};

} // namespace qs::gui
