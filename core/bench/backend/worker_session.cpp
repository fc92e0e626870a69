// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/worker_session.h"

#include "core/base/text.h"
#include "core/bench/backend/quarantine.h"
#include "core/bench/backend/wire_values.h"
#include "core/bench/backend/worker_environment.h"
#include "core/process/deadline.h"

#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace qs {
namespace {

using nlohmann::json;

constexpr double kGrace = 2; ///< seconds in which a cancelled step must stop

} // namespace

Outcome<std::unique_ptr<WorkerSession>> WorkerSession::start(const BackendSource& source, const Deadlines& deadlines,
                                                             const Job& job) {
    const auto refused = [](RowState state, std::string reason) {
        return tl::unexpected(Failure{state, std::move(reason)});
    };
    if (!source.built) return refused(RowState::NotBuilt, "this build has no " + source.id + " backend");
    if (const auto known = quarantined(source)) return tl::unexpected(*known);
    if (job.cancelled()) return refused(RowState::Cancelled, "cancelled");
    std::error_code error;
    if (!source.path.empty() && !std::filesystem::is_regular_file(source.path, error))
        return refused(RowState::Unavailable,
                       shownPath(source.path) +
                           (std::filesystem::exists(source.path, error) ? " is not a file" : " does not exist"));
    auto process = WorkerProcess::start({.arguments = {"--backend", source.path.empty() ? source.base : source.path},
                                         .environment = workerEnvironment(environ),
                                         .startsOthers = true});
    if (!process) return refused(RowState::Unavailable, process.error().sentence());
    return std::unique_ptr<WorkerSession>(new WorkerSession(std::move(*process), source, deadlines, job));
}

WorkerSession::WorkerSession(std::unique_ptr<WorkerProcess> process, BackendSource source, const Deadlines& deadlines,
                             const Job& job)
    : process_(std::move(process)), source_(std::move(source)), deadlines_(deadlines), job_(job) {}

/// Lets the plugin end its threads and release its device. A hang or crash here leads to quarantine, too.
WorkerSession::~WorkerSession() {
    if (!over_) (void)ask({{"call", "close"}}, job_.cancelled() ? kGrace : deadlines_.query);
    process_->end();
}

Outcome<json> WorkerSession::ask(json request, double seconds, std::span<const int> descriptors) {
    if (over_) return tl::unexpected(*over_);
    // For users, loading is part of the probe.
    const std::string step = request["call"] == "load" ? std::string("probe") : request["call"].get<std::string>();
    const auto number = step_.load() + 1;
    step_ = number;
    request["id"] = number;
    if (const auto sent = process_->control().send(request, descriptors); !sent)
        return tl::unexpected(sent.error().closed
                                  ? gone(step)
                                  : end({RowState::Hung, "hung before " + step + ": " + sent.error().what}, true));
    return await(step, seconds);
}

Outcome<json> WorkerSession::await(const std::string& step, double seconds) {
    Deadline deadline(seconds);
    bool stopping = false;
    const auto awaited = awaitFrame(*process_, deadline, {}, [&] {
        // close is also sent after a cancelled step; it is short.
        if (stopping || step == "close" || !(job_.cancelled() || cancelled_ == step_)) return false;
        stopping = true;
        deadline.shorten(kGrace);
        (void)process_->control().send({{"call", "cancel"}, {"id", step_.load()}});
        return false;
    });
    switch (awaited.how) {
    case Waited::Arrived: return answerIn(step, awaited.frame);
    case Waited::Gone: return tl::unexpected(gone(step));
    case Waited::Garbage: return tl::unexpected(refuse(step, awaited.why));
    default: break;
    }
    if (stopping)
        return tl::unexpected(end({RowState::Cancelled, "cancelled in " + step + "; its worker was ended"}, false));
    return tl::unexpected(end({RowState::Hung, fmt::format("hung in {} for {:.4g} s", step, seconds)}, true));
}

Outcome<json> WorkerSession::answerIn(const std::string& step, const Frame& frame) {
    Fields fields(frame.body);
    const auto id = fields.count("id", UINT64_MAX);
    if (!fields.problem() && id != step_) fields.refuse("an answer to another question");
    if (!fields.problem() && fields.has("failure")) {
        Fields told(fields.object("failure"));
        auto failure = valueFrom<Failure>(told);
        if (!told.problem()) {
            failure.reason = oneSentence(failure.reason);
            if (failure.state == RowState::Crashed) return tl::unexpected(end(std::move(failure), true));
            return tl::unexpected(std::move(failure));
        }
        fields.take(told);
    }
    const json& answer = fields.object("answer");
    if (fields.problem()) return tl::unexpected(refuse(step, *fields.problem()));
    return answer;
}

Failure WorkerSession::refuse(const std::string& step, const std::string& what) {
    return end({RowState::Crashed, fmt::format("answered with garbage in {}: {}", step, what)}, true);
}

/// The worker has closed its end: it is dead, or gets a second to die so that its signal is known.
Failure WorkerSession::gone(const std::string& step) {
    const auto how = process_->end(1);
    const std::string line = process_->lastErrorLine();
    std::string reason = fmt::format("crashed in {} ({})", step,
                                     how.text.empty() ? "closed its connection"
                                     : how.exited     ? how.text + " without an answer"
                                                      : how.text);
    if (!line.empty()) reason += ": " + line;
    return end({RowState::Crashed, reason}, true);
}

Failure WorkerSession::end(Failure failure, bool atFault) {
    process_->end();
    if (atFault) quarantine(source_, failure);
    over_ = failure;
    return failure;
}

} // namespace qs
