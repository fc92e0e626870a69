// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the pages Plan, Backends and Export decide together: the plan, what it starts from, measured times, and the
// layout of the files.

#include "app/gui/session_recipe.h"
#include "core/quant/spec/spec.h"

#include <QObject>

#include <memory>
#include <optional>
#include <vector>

namespace qs {
struct BenchmarkRow;
}
namespace qs::plan {
struct PlanRecord;
}

namespace qs::gui {

class Decision : public QObject {
    Q_OBJECT
public:
    /// The last plan of the page Plan; null: none.
    const std::shared_ptr<const plan::PlanRecord>& plan() const { return plan_; }
    void setPlan(std::shared_ptr<const plan::PlanRecord> plan);
    /// The budget in bits per weight of the whole file; none: nobody has chosen one.
    const std::optional<double>& budget() const { return budget_; }
    void setBudget(std::optional<double> bpw);
    /// The recipe that the plan starts from.
    const PlanStart& start() const { return start_; }
    void setStart(PlanStart start);
    /// Rows of benchmarks with a time that plans can use, without samples; null: nothing was measured.
    using BenchRows = std::shared_ptr<const std::vector<BenchmarkRow>>;
    const BenchRows& benchRows() const { return benchRows_; }
    void setBenchRows(BenchRows rows);
    /// Specs that the page Backends is asked to measure at all shapes of the model; empty: none.
    const std::vector<QuantSpec>& benchWish() const { return benchWish_; }
    void askBench(std::vector<QuantSpec> specs);
    /// Layout of the page Export; "": none was chosen.
    const QString& layout() const { return layout_; }
    void setLayout(const QString& id);
    /// For another model. Sends planChanged() only: Session::modelChanged() says the rest.
    void clear();

Q_SIGNALS:
    void planChanged();
    void budgetChanged();
    void startChanged();
    void benchRowsChanged();
    void benchAsked(); ///< benchWish()
    void layoutChanged();

private:
    std::shared_ptr<const plan::PlanRecord> plan_;
    std::optional<double> budget_;
    PlanStart start_;
    BenchRows benchRows_;
    std::vector<QuantSpec> benchWish_;
    QString layout_;
};

} // namespace qs::gui
