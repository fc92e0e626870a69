// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Backends compared by eye: what could run, how fast, how right, why that fast. The table at the foot drives the rest.

#include "app/gui/bench_run.h"
#include "app/gui/page.h"
#include "app/gui/pages/backends_rows.h"
#include "app/gui/row_model.h"
#include "core/bench/compare.h"
#include "core/report/report.h"

#include <functional>
#include <optional>

class QComboBox;
class QGridLayout;
class QLabel;
class QPlainTextEdit;
class QSortFilterProxyModel;
class QTableView;
class QToolButton;

namespace qs::gui {

class BackendsPlan;
class CapabilityModel;
class Card;

class BackendsPage : public QWidget {
    Q_OBJECT
public:
    explicit BackendsPage(Session& session, QWidget* parent = nullptr);
    BenchRun& bench() { return *bench_; }
    BackendsPlan& planner() { return *plan_; }
    /// Asks for a path; tests put their own in place of the dialog. Empty: declined.
    using PathChooser = std::function<QString(const QString& suggested, bool save)>;
    void setPathChooser(PathChooser chooser) { choosePath_ = std::move(chooser); }

Q_SIGNALS:
    void written(const QString& path);

protected:
    void showEvent(QShowEvent*) override;

private:
    QLayout* header();
    void buildCards(QGridLayout* grid);
    QTableView* table(const char* name, const QString& title);
    void askOnce();
    void start();
    void refresh();
    void refreshMatrix();
    void refreshLatency();
    void refreshSpeedup();
    void refreshRoofline();
    void refreshSide();
    void showRow(int row);
    void select(int row);
    void write(const ReportWriter& writer);
    void loadBaseline();
    void say(const QString& sentence, bool wrong);

    Session& session_;
    BenchRun* bench_;
    BackendsPlan* plan_;
    PathChooser choosePath_;
    QLabel *note_ = nullptr, *status_ = nullptr;
    QToolButton *export_ = nullptr, *baselineButton_ = nullptr;
    Card *planCard_ = nullptr, *matrixCard_ = nullptr, *latencyCard_ = nullptr, *speedupCard_ = nullptr,
         *rooflineCard_ = nullptr, *sideCard_ = nullptr, *resultsCard_ = nullptr, *detailCard_ = nullptr;
    QTableView *matrix_ = nullptr, *side_ = nullptr, *results_ = nullptr;
    PlotChart *latency_ = nullptr, *roofline_ = nullptr;
    HeatMap* speedup_ = nullptr;
    QComboBox *group_ = nullptr, *device_ = nullptr, *sideChoice_ = nullptr, *artifact_ = nullptr;
    QToolButton* all_ = nullptr;
    QPlainTextEdit* detail_ = nullptr;
    CapabilityModel* capabilities_ = nullptr;
    RowModel<BenchmarkRow>*rows_ = nullptr, *correctness_ = nullptr;
    RowModel<MeasuredRoof>* roofs_ = nullptr;
    RowModel<ModelPassRow>* passes_ = nullptr;
    RowModel<ComparedRow>* compared_ = nullptr;
    QSortFilterProxyModel *sorted_ = nullptr, *sideSorted_ = nullptr;
    SpeedupPicture speedupPicture_;
    std::optional<BenchBaseline> baseline_;
    int shown_ = -1;
    bool asked_ = false, dirty_ = false;
};

} // namespace qs::gui
