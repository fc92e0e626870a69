// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The page of audits: findings about the checkpoint, and its differences from another one. A click opens the tensor.

#include "app/gui/row_model.h"
#include "app/gui/task.h"
#include "core/analysis/audit/audit.h"
#include "core/analysis/diff/diff.h"

#include <QWidget>

#include <optional>

class QLabel;
class QPushButton;
class QStackedLayout;
class QTableView;

namespace qs::gui {

class AuditedTensors;
class Card;
class EmptyState;
class Session;
class StatusLine;

class AuditPage : public QWidget {
    Q_OBJECT
public:
    explicit AuditPage(Session& session, QWidget* parent = nullptr);
    bool running() const { return task_.running(); }
    const std::optional<AuditResult>& result() const { return result_; }
    const std::optional<DiffResult>& differences() const { return diff_; }
    QTableView* findings() const { return findings_; }
    QTableView* checks() const { return checks_; }
    QTableView* differing() const { return differing_; }
    void compareWith(const QString& path); ///< the other checkpoint: a file or a folder

Q_SIGNALS:
    void settled();

protected:
    void showEvent(QShowEvent*) override;

private:
    void modelChanged();
    void audit();
    bool takeRestored(); ///< takes over what the opened session held; false: no audit
    void draw();
    void share(bool clean); ///< distributes the height of the page over the cards
    void open(const std::string& tensor);
    void show(const AuditCheck* check); ///< selects the first finding of the check

    Session& session_;
    Task task_, restoring_;
    std::optional<AuditResult> result_;
    std::optional<DiffResult> diff_;
    std::optional<DiffPlan> plan_; ///< of the differences; owns both models
    bool fresh_ = true;            ///< the user has not asked anything of this model yet
    QStackedLayout* stack_;
    EmptyState* empty_;
    QLabel* facts_;
    StatusLine* status_;
    QPushButton *start_, *file_, *folder_;
    Card *findingsCard_, *checksCard_, *differingCard_;
    QTableView *findings_, *checks_, *differing_;
    AuditedTensors* tensors_;
    RowModel<Finding>* found_;
    RowModel<CheckOutcome>* outcomes_;
    RowModel<DiffRow>* rows_;
};

} // namespace qs::gui
