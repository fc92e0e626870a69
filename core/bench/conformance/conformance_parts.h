// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The parts of the conformance suite: where checks are told, what a backend is asked, and what it is made to do.

#include "core/bench/conformance/conformance.h"
#include "core/bench/run/operands.h"

namespace qs {

/// The checks of one backend.
class Checks {
public:
    Checks(std::string id, const std::function<void(const ConformanceCheck&)>& onCheck)
        : id_(std::move(id)), onCheck_(onCheck) {}

    const std::string& id() const { return id_; }
    void setId(std::string id) { id_ = std::move(id); } ///< the plugin's own word, once it has answered
    bool alive() const { return alive_; }               ///< false: its worker is gone, nothing more can be asked

    void passed(const char* check, std::string detail) { say(check, CheckResult::Passed, std::move(detail)); }
    void failed(const char* check, std::string detail) { say(check, CheckResult::Failed, std::move(detail)); }
    void skipped(const char* check, std::string why) { say(check, CheckResult::Skipped, std::move(why)); }
    /// A Failure that no backend may answer with here; the worker may be gone after it.
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

/// A problem that the backend offers to do.
struct Offer {
    std::string name; ///< "nf4 matmul_t f32"
    QuantSpec spec;
    OperandRequest request;
    Operands operands;
    std::vector<Variant> variants;
};

/// Every operation, format and activation of the plan: the same answer twice, a reason for every no.
Result<std::vector<Offer>> askForOffers(Backend& backend, const ConformancePlan& plan, const Job& job, Checks& checks);
/// What nobody can do must be declined with a reason.
void askForTheUnknown(Backend& backend, Checks& checks);

/// One offer: wrong calls are refused, kernels live beside each other, the timed result is right.
void checkCalls(Backend& backend, const Offer& offer, const Job& job, Checks& checks);
/// Every variant of every offer, at the awkward shapes of the gate, against f64.
void checkTails(Backend& backend, const std::vector<Offer>& offers, const ConformancePlan& plan, const Job& job,
                Checks& checks);

} // namespace qs
