// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_evaluation.h"

#include "app/gui/pages/evidence/evidence_records.h"

namespace qs::gui {

EvidenceEvaluation::EvidenceEvaluation(TaskList& tasks) : task_(&tasks), turn_(std::make_shared<std::mutex>()) {
    task_.setKept([this] {
        const EvidenceReach now = shared_ && shared_->keeps ? shared_->reach() : EvidenceReach();
        return now.done == 0 ? QString() : tr("%1 of %2 chunks are kept").arg(now.done).arg(now.chunks);
    });
    connect(&task_, &Task::cancelled, this, [this] {
        reach_ = shared_->keeps ? shared_->reach() : EvidenceReach();
        lookedUp_ = begun_;
        Q_EMIT cancelled(reach_);
    });
}

EvidenceReach EvidenceEvaluation::reach(const EvidenceSettings& settings) const {
    if (running()) return shared_->reach();
    return lookedUp_ == settings ? reach_ : EvidenceReach();
}

void EvidenceEvaluation::lookUp(const std::shared_ptr<const Model>& model, const EvidenceSettings& settings) {
    if (running() || !model || settings == lookedUp_) return;
    lookedUp_ = settings, reach_ = {};
    if (std::exchange(isFound_, false)) Q_EMIT found({});
    if (!settings.hasText() || !settings.hasChanges()) return looking_.drop();
    const auto work = [model, settings](const Job&) -> Result<EvidenceReach> { return reachOf(*model, settings); };
    looking_.run({}, work, [this](EvidenceReach reach) {
        if (reach.done == 0) return;
        reach_ = reach, isFound_ = true;
        Q_EMIT found(reach);
    });
}

void EvidenceEvaluation::run(const std::shared_ptr<const Model>& model, const EvidenceSettings& settings, bool goesOn,
                             const std::function<void(EvidenceMail)>& arrived,
                             const std::function<void(EvidenceAnswer)>& done) {
    looking_.drop();
    begun_ = settings;
    lookedUp_ = {}, isFound_ = false;
    shared_ = std::make_shared<EvidenceShared>();
    const auto work = [model, settings, goesOn, shared = shared_, turn = turn_](const Job& job,
                                                                                Inbox<EvidenceMail>& inbox) {
        const std::lock_guard guard(*turn);
        return runEvidence(model, settings, goesOn, *shared, job, inbox);
    };
    task_.run<EvidenceMail>("Evaluating the model's output", work, arrived, done);
}

void EvidenceEvaluation::drop() {
    task_.drop();
    looking_.drop();
    lookedUp_ = {}, reach_ = {}, isFound_ = false;
}

} // namespace qs::gui
