// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/measured_plans.h"

#include <algorithm>

namespace qs::gui {
namespace {

constexpr std::size_t kDrawsAtOnce = 5; ///< random plans of each kind, between two looks at the result
/// Plans between two looks at the result. Fewer are kept sooner, and each time the stored model is evaluated once more.
constexpr std::size_t kPlansAtOnce = 5;

} // namespace

const plan::MeasuredPlan* MeasuredPlans::of(const PlanAnswer& answer) const {
    const auto found = std::find_if(all_.rbegin(), all_.rend(), [&](const plan::MeasuredPlan& one) {
        return one.objective == answer.ground->objective->id && one.plan().mixture.bytes == answer.plan.bytes &&
               one.plan().mixture.loss == answer.plan.loss;
    });
    return found == all_.rend() ? nullptr : &*found;
}

bool MeasuredPlans::canGoOn(const plan::MeasuredPlan& measured, const PlanAnswer& answer) {
    return !measured.proof->scores.empty() && measured.plan().mixture.picked == answer.plan.picked;
}

QString MeasuredPlans::kept() const {
    if (!known_ || known_->measured() == 0) return {};
    return tr("%1 of %2 plans are measured and kept").arg(known_->measured()).arg(known_->contenders.size());
}

/// A few plans at a time, so that what is known is shown and kept while the others are measured. The plan may change
/// meanwhile: the draws are of the one that they began with.
void MeasuredPlans::measure(MeasureRequest request) {
    known_ = request.before ? request.before->proof : nullptr;
    const bool isBegun = !known_ || !known_->isWhole();
    const std::size_t all = wanted_(), draws = known_ ? known_->draws() : plan::kUsualDraws;
    if (!isBegun && draws >= all) return;
    request.draws = isBegun ? draws : std::min(all, draws + kDrawsAtOnce);
    request.most = isBegun ? kPlansAtOnce : 0;
    measuring_.run(
        !known_   ? std::string("Measuring the plan beside chance")
        : isBegun ? tr("Measuring plans: %1 of %2").arg(known_->measured()).arg(known_->contenders.size()).toStdString()
                  : tr("Random plans of each kind: %1 of %2").arg(draws).arg(all).toStdString(),
        [request](const Job& job) { return measurePlan(request, job); },
        [this, request](plan::MeasuredPlan measured) mutable {
            const auto before = std::ranges::find_if(all_, [&](const plan::MeasuredPlan& one) {
                return request.before && one.proof == request.before->proof;
            });
            if (before != all_.end())
                *before = measured;
            else
                all_.push_back(measured);
            Q_EMIT grew();
            request.before = std::move(measured);
            measure(std::move(request));
        });
    Q_EMIT began();
}

void MeasuredPlans::clear() {
    measuring_.drop();
    known_.reset();
    all_.clear();
}

} // namespace qs::gui
