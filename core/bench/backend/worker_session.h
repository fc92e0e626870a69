// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Asks a worker, each question with a deadline. A failure of the worker becomes a Failure, quarantines the plugin and
// ends the worker; every later question gets the same Failure.

#include "core/bench/backend/backend.h"
#include "core/process/worker_process.h"

#include <atomic>

namespace qs {

class WorkerSession {
public:
    static Outcome<std::unique_ptr<WorkerSession>> start(const BackendSource& source, const Deadlines& deadlines,
                                                         const Job& job);
    ~WorkerSession();
    WorkerSession(const WorkerSession&) = delete;
    WorkerSession& operator=(const WorkerSession&) = delete;

    /// `request["call"]` names the step. The caller reads the object of the answer with Fields.
    Outcome<nlohmann::json> ask(nlohmann::json request, double seconds, std::span<const int> descriptors = {});
    /// The answer does not belong to the step.
    Failure refuse(const std::string& step, const std::string& what);
    void cancel() { cancelled_.store(step_.load()); } ///< callable from any thread
    const Deadlines& deadlines() const { return deadlines_; }
    std::string log() const { return process_->log(); }

private:
    WorkerSession(std::unique_ptr<WorkerProcess> process, BackendSource source, const Deadlines& deadlines,
                  const Job& job);
    Outcome<nlohmann::json> await(const std::string& step, double seconds);
    Outcome<nlohmann::json> answerIn(const std::string& step, const Frame& frame);
    Failure gone(const std::string& step);
    Failure end(Failure failure, bool atFault);

    std::unique_ptr<WorkerProcess> process_;
    BackendSource source_;
    Deadlines deadlines_;
    Job job_;
    std::optional<Failure> over_;
    std::atomic<std::uint64_t> step_{0}, cancelled_{0};
};

} // namespace qs
