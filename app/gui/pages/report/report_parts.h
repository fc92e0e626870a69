// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a report holds: the parts of the analysis, and what the session knows beside it.

#include "app/gui/widgets/card.h"
#include "core/analysis/analysis_report.h"

#include <memory>
#include <vector>

class QCheckBox;
class QGridLayout;
namespace qs::eval {
struct EvaluationRecord;
}
namespace qs::plan {
struct PlanRecord;
}

namespace qs::gui {

class Session;
struct SessionRecipe;

class ReportParts : public Card {
    Q_OBJECT
public:
    explicit ReportParts(Session& session, QWidget* parent = nullptr);
    ReportContents contents() const; ///< parts of the analysis
    // What the session has of a ticked part; null: not ticked, or there is nothing.
    std::shared_ptr<const SessionRecipe> recipe() const;
    std::shared_ptr<const plan::PlanRecord> plan() const;
    std::shared_ptr<const eval::EvaluationRecord> evidence() const;

Q_SIGNALS:
    void changed();

private:
    QCheckBox* add(QGridLayout& grid, const char* name, const QString& title, bool on, const QString& tip = {});
    void allow(); ///< enables the parts that there is something to show of

    Session& session_;
    std::vector<std::pair<bool ReportContents::*, QCheckBox*>> parts_;
    QCheckBox *recipe_, *plan_, *evidence_;
};

} // namespace qs::gui
