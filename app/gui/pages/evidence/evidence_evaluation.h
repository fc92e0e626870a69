// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The evaluation of the page: the one that runs, and what the records have of one that was stopped before.

#include "app/gui/pages/evidence/evidence_run.h"

#include <mutex>

namespace qs::gui {

class EvidenceEvaluation : public QObject {
    Q_OBJECT
public:
    explicit EvidenceEvaluation(TaskList& tasks);

    const Task& task() const { return task_; }
    bool running() const { return task_.running(); }
    /// Of what runs, or of the records for these settings.
    EvidenceReach reach(const EvidenceSettings& settings) const;
    /// Asks what the records have of these settings; see found().
    void lookUp(const std::shared_ptr<const Model>& model, const EvidenceSettings& settings);
    /// `arrived` gets the profiles so far. `goesOn`: as in runEvidence().
    void run(const std::shared_ptr<const Model>& model, const EvidenceSettings& settings, bool goesOn,
             const std::function<void(EvidenceMail)>& arrived, const std::function<void(EvidenceAnswer)>& done);
    void drop(); ///< for another model

Q_SIGNALS:
    /// The records have something of the settings that were looked up; 0 chunks: they have nothing any more.
    void found(const qs::gui::EvidenceReach& reach);
    void cancelled(const qs::gui::EvidenceReach& reach); ///< what can be resumed

private:
    Task task_, looking_;
    EvidenceSettings begun_;                 ///< of the last run
    std::shared_ptr<EvidenceShared> shared_; ///< with it; null: there was none
    std::shared_ptr<std::mutex> turn_;       ///< a run that was cancelled writes its records before the next one reads
    EvidenceSettings lookedUp_;              ///< what reach_ is of
    EvidenceReach reach_;                    ///< of the records
    bool isFound_ = false;                   ///< found() was emitted for it
};

} // namespace qs::gui
