// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A variant before it is timed: asked, checked on small shapes, prepared, checked on the real shape.

#include "core/bench/report/figures.h"
#include "core/bench/run/rounds.h"

namespace qs {

/// Operands of one spec with their reference, which is computed when the first variant needs it.
class Checked {
public:
    Checked(Operands operands, std::uint64_t seed) : operands_(std::move(operands)), seed_(seed) {}
    const Operands& operands() const { return operands_; }
    /// For the levels of the weights, or for those of an approximate variant.
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
    std::uint64_t copyBytes = 0; ///< memory of one more copy of the weights, by the backend; 0: not known
    bool alive = false;          ///< prepared and correct: may be timed
    bool isBaseline = false;     ///< the f32 product that speed-ups refer to
    double limit = 0;
};

/// What a row asks.
struct Question {
    const BenchmarkPlan* plan = nullptr;
    OperandRequest request;
    std::string specTyped;
    QuantSpec spec;
    BenchShape shape;
};
BenchmarkRow questionRow(const Question& question, const OpenedBackend& opened, std::uint32_t device);

/// One contender per variant of a device, unprepared; or a single dead one whose row has the reason.
std::vector<Contender> askDevice(const Question& question, OpenedBackend& opened, std::uint32_t device,
                                 const std::shared_ptr<Checked>& checked);
/// Gate, prepare, execute and compare. Sets `alive` if all passed; otherwise the row has the reason.
void qualify(Contender& contender, const Question& question, Gate& gate, const Job& job);
void release(Contender& contender);

} // namespace qs
