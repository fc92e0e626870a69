// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The plans whose KL was measured beside chance, and the measurement that runs.

#include "app/gui/pages/plan/plan_measure.h"
#include "app/gui/task.h"

namespace qs::gui {

class MeasuredPlans : public QObject {
    Q_OBJECT
public:
    /// `wanted`: how many random plans of each kind to draw; asked again after every few.
    MeasuredPlans(TaskList& tasks, std::function<std::size_t()> wanted)
        : measuring_(&tasks), wanted_(std::move(wanted)) {
        measuring_.setKept([this] { return kept(); });
    }

    const Task& task() const { return measuring_; }
    bool running() const { return measuring_.running(); }
    const std::vector<plan::MeasuredPlan>& all() const { return all_; }
    const plan::MeasuredPlan* last() const { return all_.empty() ? nullptr : &all_.back(); }
    const plan::MeasuredPlan* of(const PlanAnswer& answer) const; ///< of this very plan; null: it was not measured
    /// More draws can join those that it has.
    static bool canGoOn(const plan::MeasuredPlan& measured, const PlanAnswer& answer);
    /// Measures a plan a few contenders at a time, or goes on with what was measured before. Ends with a signal of task().
    void measure(MeasureRequest request);
    /// What is kept if the measurement that runs is cancelled: "4 of 43 plans are measured and kept"; "": nothing.
    QString kept() const;
    void set(std::vector<plan::MeasuredPlan> all) { all_ = std::move(all); } ///< of a session file
    void clear();                                                            ///< for another model

Q_SIGNALS:
    void began();
    void grew(); ///< all()

private:
    Task measuring_;
    std::function<std::size_t()> wanted_;
    std::vector<plan::MeasuredPlan> all_;
    std::shared_ptr<const plan::PlanProof> known_; ///< of the plan that is measured; null: nothing yet
};

} // namespace qs::gui
