// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Formats times block sizes over the model: small multiples of SQNR against true bits per weight, with the frontier.

#include "app/gui/lane_work.h"
#include "app/gui/page_in_parts.h"
#include "app/gui/row_model.h"
#include "core/analysis/sweep/sweep.h"

#include <QElapsedTimer>
#include <QTimer>

#include <optional>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QStackedLayout;
class QTableView;

namespace qs::gui {

class Card;
class EmptyState;
class Session;
class SmallMultiples;
class TickList;

class SweepPage : public PageInParts {
    Q_OBJECT
public:
    explicit SweepPage(Session& session, QWidget* parent = nullptr);
    ~SweepPage() override;
    bool running() const { return lane_ != nullptr; }
    const std::optional<SweepResult>& result() const { return result_; }
    SmallMultiples* plots() const { return plots_; }
    QTableView* table() const { return table_; }
    void saveTo(const QString& path); ///< a report; its kind by the ending

Q_SIGNALS:
    void settled();
    void saved(const QString& path);

protected:
    void showEvent(QShowEvent*) override;

private:
    struct Inbox;
    QWidget* sidebar();
    QWidget* results();
    void connectSession();
    void addTyped();
    std::vector<std::string> lines() const;
    Result<SweepPlan> plan() const;
    void modelChanged();
    void estimate(); ///< what a press of the button would do
    void begin();
    void keep();         ///< for session files
    bool takeRestored(); ///< what an opened session held; false: nothing
    void poll();
    void draw();
    void showClass(int index);
    void open(int classIndex, int spec);
    void say(const QString& text, bool warn = false);

    Session& session_;
    std::unique_ptr<LaneWork> lane_;
    Job restoring_;
    QElapsedTimer sinceKept_;
    std::shared_ptr<Inbox> inbox_;
    std::optional<SweepPlan> plan_; ///< of the result
    std::optional<SweepResult> result_;
    bool finished_ = false, fresh_ = true; ///< fresh: nothing was asked of this model yet
    int class_ = 0;
    QStackedLayout* stack_;
    EmptyState* empty_;
    QLabel *facts_, *status_ = nullptr;
    TickList* formats_ = nullptr;
    QLineEdit* typed_ = nullptr;
    std::vector<QCheckBox*> blocks_;
    QPushButton *start_ = nullptr, *stop_ = nullptr, *save_ = nullptr;
    Card *plotsCard_ = nullptr, *tableCard_ = nullptr;
    SmallMultiples* plots_ = nullptr;
    QTableView* table_ = nullptr;
    RowModel<SweepPoint>* model_;
    QTimer poll_;
};

} // namespace qs::gui
