// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A variant on its way to the clock: asked, checked on small shapes, prepared, checked on the real one.

#include "core/bench/report/figures.h"
#include "core/bench/run/rounds.h"

namespace qs {

/// Operands of one spec with their reference, evaluated when the first variant wants it.
class Checked {
public:
    Checked(Operands operands, std::uint64_t seed) : operands_(std::move(operands)), seed_(seed) {}
    const Operands& operands() const { return operands_; }
    /// Of the weights' own levels, or of those that an approximate variant has.
    Result<const Reference*> reference(const Job& job, const std::vector<float>& levels = {});

private:
    Operands operands_;
    std::uint64_t seed_;
    std::map<std::vector<float>, Result<Reference>> references_;
};

struct Contender {
    BenchmarkRow row; ///< without cache state and times
    OpenedBackend* opened = nullptr;
    std::uint32_t device = 0;
    std::shared_ptr<Checked> checked;
    std::uint64_t handle = 0;
    std::uint64_t copyBytes = 0; ///< memory of one more copy of the weights, as the backend says; 0: not known
    bool alive = false;          ///< prepared and correct: may be timed
    bool isBaseline = false;     ///< the f32 product that speed-ups are ratios to
    double limit = 0;
};

/// What a row is about, before anybody has answered.
struct Question {
    const BenchmarkPlan* plan = nullptr;
    OperandRequest request;
    std::string specTyped;
    QuantSpec spec;
    BenchShape shape;
};
BenchmarkRow questionRow(const Question& question, const OpenedBackend& opened, std::uint32_t device);

/// One contender per variant that a device offers, unprepared; or a single dead one whose row says why.
std::vector<Contender> askDevice(const Question& question, OpenedBackend& opened, std::uint32_t device,
                                 const std::shared_ptr<Checked>& checked);
/// Gate, prepare, execute and compare; alive afterwards when it passed, else its row says why not.
void qualify(Contender& contender, const Question& question, Gate& gate, const Job& job);
void release(Contender& contender);

} // namespace qs
