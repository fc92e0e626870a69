// SPDX-License-Identifier: GPL-3.0-or-later
// What a backend must do: refuse wrong calls, handle several kernels at once, time, and give results that match f64.
#include "core/bench/conformance/conformance_parts.h"

#include "core/base/text.h"
#include "core/bench/run/gate.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::size_t kMostNamed = 4;  ///< failing variants that are named
constexpr double kLongestOneShape = 3; ///< in units of the plan's seconds: every variant should be checked

/// A tensor with one row less than needed, which says so.
HostTensor rowShort(HostTensor tensor) {
    tensor.bytes = tensor.bytes / std::uint64_t(tensor.dims[0]) * std::uint64_t(tensor.dims[0] - 1);
    --tensor.dims[0];
    return tensor;
}

/// Checks the first variant of an offer.
class Calls {
public:
    Calls(Backend& backend, const Offer& offer, const Job& job, Checks& checks)
        : backend_(backend), offer_(offer), o_(offer.operands), id_(offer.variants.front().id), job_(job),
          checks_(checks) {}

    /// Calls that must return a code and a sentence.
    void refusals() {
        const auto refused = [&](const char* what, const Outcome<PreparedKernel>& answer) {
            if (answer) return checks_.failed("refusals", fmt::format("{}: {} was accepted", offer_.name, what)), false;
            if (answer.error().state == RowState::Crashed || answer.error().state == RowState::Hung)
                return checks_.broke("refusals", what, answer.error()), false;
            return true;
        };
        if (!refused("an unknown variant", backend_.prepare(0, o_.problem, "no_such_variant", o_.inputs))) return;
        if (!refused("a product without its weight", backend_.prepare(0, o_.problem, id_, {}))) return;
        auto inputs = o_.inputs;
        inputs.front() = rowShort(inputs.front());
        if (!refused("a weight with one row too few", backend_.prepare(0, o_.problem, id_, inputs))) return;
        const auto kernel = backend_.prepare(0, o_.problem, id_, o_.inputs);
        if (!kernel) return checks_.broke("refusals", offer_.name, kernel.error());
        auto output = GuardedOutput::create(o_.outs);
        auto act = o_.act;
        if (!act.empty()) act.front() = rowShort(act.front());
        if (output && !act.empty() && backend_.execute(kernel->handle, act, output->tensors()))
            return checks_.failed("refusals", offer_.name + ": activations with one row too few were accepted");
        backend_.destroy(kernel->handle);
        checks_.passed("refusals", "an unknown variant, a missing tensor, tensors of another size");
    }

    /// Kernels exist at once and are destroyed in any order.
    void handles() {
        const auto first = backend_.prepare(0, o_.problem, id_, o_.inputs);
        const auto second = backend_.prepare(0, o_.problem, id_, o_.inputs);
        if (!first || !second) return checks_.broke("handles", offer_.name, first ? second.error() : first.error());
        if (!runs("handles", second->handle) || !runs("handles", first->handle)) return;
        backend_.destroy(first->handle);
        if (!runs("handles", second->handle)) return;
        backend_.destroy(second->handle);
        checks_.passed("handles", "two kernels at once, the older one ends first");
    }

    void timing() {
        const auto kernel = backend_.prepare(0, o_.problem, id_, o_.inputs);
        if (!kernel) return checks_.broke("timing", offer_.name, kernel.error());
        auto last = GuardedOutput::create({o_.outs.front()});
        if (!last) return checks_.failed("timing", last.error().sentence());
        RunOptions options;
        options.iterations = 5, options.bufferSets = 3, options.cold = true, options.maxSeconds = 5;
        const auto samples = backend_.bench(kernel->handle, o_.act, options, last->tensors().data());
        if (!samples) return checks_.broke("timing", offer_.name, samples.error());
        if (samples->ns.empty() || samples->ns.size() > options.iterations)
            return checks_.failed("timing", fmt::format("{} samples instead of 5", samples->ns.size()));
        if (samples->timingValid && std::count(samples->ns.begin(), samples->ns.end(), 0u))
            return checks_.failed("timing", "a run of 0 ns");
        const std::string wrong = wrongResult(*last);
        if (!wrong.empty()) return checks_.failed("timing", offer_.name + ", the last timed result: " + wrong);
        backend_.destroy(kernel->handle);
        checks_.passed("timing", fmt::format("{} samples over 3 copies, the last result is right", samples->ns.size()));
    }

    void artifacts() {
        const auto kernel = backend_.prepare(0, o_.problem, id_, o_.inputs);
        if (!kernel) return checks_.broke("artifacts", offer_.name, kernel.error());
        const auto text = backend_.artifact(kernel->handle, "no_such_artifact");
        if (!text) return checks_.broke("artifacts", "an unknown kind", text.error());
        if (*text) return checks_.failed("artifacts", "an unknown kind has a text");
        backend_.destroy(kernel->handle);
        checks_.passed("artifacts", "an unknown kind has no text");
    }

private:
    /// Empty: the result is correct.
    std::string wrongResult(const GuardedOutput& output) const {
        const Variant& variant = offer_.variants.front();
        const auto reference = evaluateReference(o_, kConformanceSeed, job_, kFullProducts, variant.levels);
        if (!reference) return reference.error().sentence();
        return checkOutput(o_, *reference, output, nmseLimitFor(variant, o_.problem)).reason;
    }
    bool runs(const char* check, std::uint64_t handle) {
        auto output = GuardedOutput::create(o_.outs);
        if (!output) return checks_.failed(check, output.error().sentence()), false;
        const auto done = backend_.execute(handle, o_.act, output->tensors());
        if (!done) return checks_.broke(check, offer_.name, done.error()), false;
        const std::string wrong = wrongResult(*output);
        if (!wrong.empty()) return checks_.failed(check, offer_.name + ": " + wrong), false;
        return true;
    }

    Backend& backend_;
    const Offer& offer_;
    const Operands& o_;
    const std::string& id_;
    const Job& job_;
    Checks& checks_;
};

struct Tails {
    std::size_t variants = 0, wrong = 0;
    std::uint64_t shapes = 0;
    double worst = 0;

    /// False: no more questions are possible.
    bool judged(const Offer& offer, const Variant& variant, const GateVerdict& verdict, Checks& checks) {
        shapes += verdict.shapes, worst = std::max(worst, verdict.worstNmse);
        if (verdict.status == RowState::Ok) return true;
        if (verdict.status == RowState::Cancelled) return false;
        const bool gone = verdict.status == RowState::Crashed || verdict.status == RowState::Hung;
        if (++wrong > kMostNamed && !gone) return true;
        checks.broke("tail shapes", offer.name + ", " + variant.id, {verdict.status, verdict.reason});
        return checks.alive();
    }
};

} // namespace

void checkCalls(Backend& backend, const Offer& offer, const Job& job, Checks& checks) {
    Calls calls(backend, offer, job, checks);
    calls.refusals();
    if (checks.alive()) calls.handles();
    if (checks.alive()) calls.timing();
    if (checks.alive()) calls.artifacts();
}

/// First one shape for each variant, a different one each time, so that no variant is left out if every shape must be
/// compiled; then all shapes.
void checkTails(Backend& backend, const std::vector<Offer>& offers, const ConformancePlan& plan, const Job& job,
                Checks& checks) {
    const auto start = std::chrono::steady_clock::now();
    const auto over = [&](double seconds) {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds;
    };
    Gate gate;
    Tails one, all;
    std::size_t left = 0, partly = 0, shortened = 0, declining = 0;
    std::string firstDeclining;
    std::vector<std::pair<const Offer*, const Variant*>> right;
    for (const auto& offer : offers)
        for (const auto& variant : offer.variants) {
            if (over(kLongestOneShape * plan.seconds) || job.cancelled()) {
                ++left;
                continue;
            }
            const auto verdict = gate.oneTail(backend, 0, offer.request, offer.spec, variant, one.variants++, job);
            if (!one.judged(offer, variant, verdict, checks)) return;
            if (verdict.status != RowState::Ok) continue;
            if (verdict.shapes)
                right.emplace_back(&offer, &variant);
            else if (declining++ == 0)
                firstDeclining = offer.name + ", " + variant.id;
        }
    for (const auto& [offer, variant] : right) {
        if (over(plan.seconds) || job.cancelled()) {
            ++partly;
            continue;
        }
        const auto verdict = gate.tails(backend, checks.id(), 0, offer->request, offer->spec, *variant, job);
        if (verdict.status == RowState::Ok && !verdict.reason.empty()) ++shortened;
        all.wrong = std::max(all.wrong, one.wrong);
        if (!all.judged(*offer, *variant, verdict, checks)) return;
    }
    const std::size_t wrong = std::max(all.wrong, one.wrong);
    if (wrong > kMostNamed) checks.failed("tail shapes", fmt::format("{} variants more", wrong - kMostNamed));
    if (wrong == 0)
        checks.passed("tail shapes",
                      fmt::format("{} variants at {} shapes against f64, NMSE up to {}", one.variants - declining,
                                  one.shapes + all.shapes, significantText(std::max(one.worst, all.worst), 3)));
    if (declining)
        checks.skipped("tail shapes", fmt::format("{} variants decline every small shape; the first is {}", declining,
                                                  firstDeclining));
    if (shortened)
        checks.skipped("tail shapes",
                       fmt::format("{} variants were stopped after {} s each: their last shapes were not checked",
                                   shortened, gate.patience()));
    if (partly)
        checks.skipped("tail shapes", fmt::format("{} variants were checked at one shape only, because {} s are over",
                                                  partly, plan.seconds));
    if (left)
        checks.skipped("tail shapes", fmt::format("{} variants were not checked, because {} s are over", left,
                                                  kLongestOneShape * plan.seconds));
}

} // namespace qs
