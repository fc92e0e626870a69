// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Correct before fast: what a variant must show before it is timed.

#include "core/bench/run/reference.h"

#include <map>

namespace qs {

struct Check {
    bool passed = false;
    double nmse = 0;    ///< over the checked outputs; infinite when a value is not finite or was not written
    std::string reason; ///< what is wrong, with the first place
};

/// Room for a result, filled with NaN (integers: 0xA5 bytes) and guarded at both ends.
class GuardedOutput {
public:
    static Result<GuardedOutput> create(const std::vector<HostTensor>& like);
    void refill();
    std::span<const HostTensor> tensors() const { return tensors_; }
    /// A sentence when bytes outside the result were written.
    std::optional<std::string> overrun() const;

private:
    std::vector<HostTensor> tensors_;
};

/// Largest NMSE that passes: that of the variant, at most 1e-3; 0: exact. If the variant gives none, by type of
/// products.
double nmseLimitFor(const Variant& variant, const Problem& problem);
/// The limit for operands whose terms cancel, where rounding has a larger effect. At most 1e-3.
double nmseLimitHere(double limit, const Reference& reference);
Check checkOutput(const Operands& operands, const Reference& reference, const GuardedOutput& output, double limit);

struct GateVerdict {
    RowState status = RowState::Ok; ///< Ok, Wrong, Crashed, Hung, Failed, Cancelled
    std::string reason;             ///< why not Ok; if Ok, the shapes that there was no time for
    double worstNmse = 0;
    std::uint64_t shapes = 0, declined = 0;
};

struct TailShape {
    std::int64_t m, n, k;
};
/// Small shapes below and above tiles and blocks of a spec.
std::vector<TailShape> tailShapes(const QuantSpec& spec, const BenchOp& op);

/// Runs a variant on the tail shapes, once per backend, device, spec, activation, op, bias and variant.
class Gate {
public:
    /// Seconds that a variant of a compiling backend may take. After them only the first shapes, which have a case of
    /// each kind, are run, and the verdict says so.
    Gate(double patience = 4) : patience_(patience) {}
    double patience() const { return patience_; }
    GateVerdict tails(Backend& backend, const std::string& backendId, std::uint32_t device,
                      const OperandRequest& request, const QuantSpec& spec, const Variant& variant, const Job& job);
    /// Runs one tail shape: the first that the variant supports, starting at number `first` and going around the list.
    GateVerdict oneTail(Backend& backend, std::uint32_t device, const OperandRequest& request, const QuantSpec& spec,
                        const Variant& variant, std::size_t first, const Job& job);

private:
    struct Case {
        Operands operands;
        Reference reference;
        GuardedOutput output;
    };
    /// Updates the verdict; false: stop.
    bool check(Case& one, Backend& backend, std::uint32_t device, const OperandRequest& request, const Variant& variant,
               const Job& job, GateVerdict& verdict) const;
    Result<std::shared_ptr<std::vector<Case>>> cases(const OperandRequest& request, const QuantSpec& spec,
                                                     const Job& job);
    double patience_;
    std::map<std::string, std::shared_ptr<std::vector<Case>>> cases_;
    std::map<std::string, GateVerdict> verdicts_;
};

} // namespace qs
