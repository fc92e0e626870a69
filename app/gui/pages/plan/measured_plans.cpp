// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/measured_plans.h"

#include <algorithm>

namespace qs::gui {
namespace {

constexpr std::size_t kDrawsAtOnce = 5; ///< random plans of each kind, between two looks at the result

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

/// A few draws at a time, so that what is known of chance is shown and kept while the others are drawn. The plan may
/// change meanwhile: the draws are of the one that they began with.
void MeasuredPlans::measure(MeasureRequest request) {
    const std::size_t all = wanted_(), known = request.before ? request.before->proof->draws() : 0;
    if (request.before && known >= all) return;
    request.draws = std::min(all, request.before ? known + kDrawsAtOnce : plan::kUsualDraws);
    drawn_ = known;
    measuring_.run(
        request.before ? tr("Random plans of each kind: %1 of %2").arg(known).arg(all).toStdString()
                       : std::string("Measuring the plan beside chance"),
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
    all_.clear();
}

} // namespace qs::gui
