// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/decision.h"

#include "core/plan/report.h"

namespace qs::gui {

void Decision::setPlan(std::shared_ptr<const plan::PlanRecord> plan) {
    if (plan_ == plan) return;
    plan_ = std::move(plan);
    Q_EMIT planChanged();
}

void Decision::setBudget(std::optional<double> bpw) {
    if (budget_ == bpw) return;
    budget_ = bpw;
    Q_EMIT budgetChanged();
}

void Decision::setStart(PlanStart start) {
    if (start_.name == start.name && start_.rules == start.rules) return;
    start_ = std::move(start);
    Q_EMIT startChanged();
}

void Decision::setBenchRows(BenchRows rows) {
    if (benchRows_ == rows) return;
    benchRows_ = std::move(rows);
    Q_EMIT benchRowsChanged();
}

void Decision::askBench(std::vector<QuantSpec> specs) {
    benchWish_ = std::move(specs);
    Q_EMIT benchAsked();
}

void Decision::setLayout(const QString& id) {
    if (layout_ == id) return;
    layout_ = id;
    Q_EMIT layoutChanged();
}

void Decision::clear() {
    setPlan(nullptr);
    budget_.reset();
    start_ = {};
    benchRows_.reset();
    benchWish_.clear();
    layout_.clear();
}

} // namespace qs::gui
