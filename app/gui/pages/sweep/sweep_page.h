// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Measures formats x block sizes over the model. Small plots of SQNR against true bits per weight, with the frontier.

#include "app/gui/page_in_parts.h"
#include "app/gui/row_model.h"
#include "app/gui/task.h"
#include "core/analysis/sweep/sweep.h"

#include <QElapsedTimer>

#include <optional>

class QLabel;
class QPushButton;
class QStackedLayout;
class QTableView;

namespace qs::gui {

class Card;
class EmptyState;
class Session;
class SmallMultiples;
class StatusLine;
class SweepChoice;

class SweepPage : public PageInParts {
    Q_OBJECT
public:
    explicit SweepPage(Session& session, QWidget* parent = nullptr);
    bool running() const { return task_.running(); }
    const std::optional<SweepResult>& result() const { return result_; }
    SmallMultiples* plots() const { return plots_; }
    QTableView* table() const { return table_; }
    void saveTo(const QString& path); ///< writes a report; the file name extension chooses the kind

Q_SIGNALS:
    void settled();
    void saved(const QString& path);

protected:
    void showEvent(QShowEvent*) override;

private:
    QWidget* sidebar();
    QWidget* results();
    void connectSession();
    Result<SweepPlan> plan() const;
    void modelChanged();
    void estimate(); ///< shows the work that a press of the button would start
    void begin();
    void keep();         ///< for session files
    bool takeRestored(); ///< takes over what the opened session held; false: nothing
    void draw();
    void showClass(int index);
    void open(int classIndex, int spec);

    Session& session_;
    Task task_, restoring_;
    QElapsedTimer sinceKept_;
    std::optional<SweepPlan> plan_; ///< of the result
    std::optional<SweepResult> result_;
    bool finished_ = false, fresh_ = true; ///< fresh_: the user has not asked anything of this model yet
    int class_ = 0;
    QStackedLayout* stack_;
    EmptyState* empty_;
    QLabel *facts_, *proxy_ = nullptr;
    StatusLine* status_ = nullptr;
    SweepChoice* choice_ = nullptr;
    QPushButton *start_ = nullptr, *stop_ = nullptr, *save_ = nullptr;
    Card *plotsCard_ = nullptr, *tableCard_ = nullptr;
    SmallMultiples* plots_ = nullptr;
    QTableView* table_ = nullptr;
    RowModel<SweepPoint>* model_;
};

} // namespace qs::gui
