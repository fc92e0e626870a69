// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The parts of the conformance checks: results, questions to a backend, and calls that it must handle.

#include "core/bench/conformance/conformance.h"
#include "core/bench/run/operands.h"

namespace qs {

/// The results of the checks of one backend.
class Checks {
public:
    Checks(std::string id, const std::function<void(const ConformanceCheck&)>& onCheck)
        : id_(std::move(id)), onCheck_(onCheck) {}

    const std::string& id() const { return id_; }
    void setId(std::string id) { id_ = std::move(id); } ///< the plugin's own id, once it has answered
    /// false: its worker has ended, so that no more questions are possible
    bool alive() const { return alive_; }

    void passed(const char* check, std::string detail) { say(check, CheckResult::Passed, std::move(detail)); }
    void failed(const char* check, std::string detail) { say(check, CheckResult::Failed, std::move(detail)); }
    void skipped(const char* check, std::string why) { say(check, CheckResult::Skipped, std::move(why)); }
    /// A Failure that a backend must not answer with here; its worker may have ended.
    void broke(const char* check, const std::string& where, const Failure& failure) {
        failed(check, where + ": " + failure.reason);
        alive_ = failure.state != RowState::Crashed && failure.state != RowState::Hung;
    }

private:
    void say(const char* check, CheckResult result, std::string detail) {
        onCheck_({id_, check, result, std::move(detail)});
    }
    std::string id_;
    const std::function<void(const ConformanceCheck&)>& onCheck_;
    bool alive_ = true;
};

inline constexpr std::uint64_t kConformanceSeed = 1;

/// A problem that the backend can solve.
struct Offer {
    std::string name; ///< "nf4 matmul_t f32"
    QuantSpec spec;
    OperandRequest request;
    Operands operands;
    std::vector<Variant> variants;
};

/// Every operation, format and activation of the plan: equal answers to equal questions, a reason for each refusal.
Result<std::vector<Offer>> askForOffers(Backend& backend, const ConformancePlan& plan, const Job& job, Checks& checks);
/// Unknown operations and formats must be declined with a reason.
void askForTheUnknown(Backend& backend, Checks& checks);

/// For one offer: wrong calls are refused, several kernels can exist at once, the timed result is correct.
void checkCalls(Backend& backend, const Offer& offer, const Job& job, Checks& checks);
/// Every variant of every offer at the awkward shapes of the gate, against f64.
void checkTails(Backend& backend, const std::vector<Offer>& offers, const ConformancePlan& plan, const Job& job,
                Checks& checks);

} // namespace qs
