// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/conformance.h"

#include "core/base/text.h"
#include "core/bench/gate.h"
#include "core/quant/formats.h"
#include "plugins/abi/quantscope_backend.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::int64_t kM = 3, kN = 33, kK = 130; ///< fill neither tiles nor blocks
constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kMostNamed = 4; ///< variants that fail at tail shapes

/// A problem that the backend offers to do.
struct Offer {
    std::string name; ///< "nf4 matmul_t f32"
    QuantSpec spec;
    OperandRequest request;
    Operands operands;
    std::vector<Variant> variants;
};

bool same(const Variant& a, const Variant& b) {
    return a.id == b.id && a.title == b.title && a.note == b.note && a.approx == b.approx && a.baseline == b.baseline &&
           a.nmseLimit == b.nmseLimit && a.levels == b.levels;
}
bool same(const Support& a, const Support& b) {
    return a.level == b.level && a.reason == b.reason &&
           std::equal(a.variants.begin(), a.variants.end(), b.variants.begin(), b.variants.end(),
                      [](const Variant& x, const Variant& y) { return same(x, y); });
}

/// A tensor that holds a row less than it should, and says so.
HostTensor rowShort(HostTensor tensor) {
    tensor.bytes = tensor.bytes / std::uint64_t(tensor.dims[0]) * std::uint64_t(tensor.dims[0] - 1);
    --tensor.dims[0];
    return tensor;
}

class Suite {
public:
    Suite(const BackendSource& source, const ConformancePlan& plan, const Job& job,
          const std::function<void(const ConformanceCheck&)>& onCheck)
        : source_(source), plan_(plan), job_(job), onCheck_(onCheck), id_(source.id) {}

    Result<void> run() {
        if (!probe()) return ended();
        auto opened = openBackend(source_, plan_.deadlines, job_);
        if (!opened) {
            failed("open", opened.error().reason);
            return ended();
        }
        backend_ = std::move(*opened);
        passed("open", "a context in a worker of its own");
        if (!devices()) return ended();
        if (auto done = ask(); !done) return done;
        if (alive_) declines();
        if (!alive_) return ended();
        if (offers_.empty()) {
            skipped("products", "no problem of this list is supported");
        } else if (compileOnly_) {
            skipped("products", "the device is not there: programs can only be compiled");
        } else {
            refusals(offers_.front());
            if (alive_) handles(offers_.front());
            if (alive_) timing(offers_.front());
            if (alive_) artifacts(offers_.front());
            if (alive_) tails();
        }
        return ended();
    }

private:
    void say(std::string check, CheckResult result, std::string detail) {
        onCheck_({id_, std::move(check), result, std::move(detail)});
    }
    void passed(const char* check, std::string detail) { say(check, CheckResult::Passed, std::move(detail)); }
    void failed(const char* check, std::string detail) { say(check, CheckResult::Failed, std::move(detail)); }
    void skipped(const char* check, std::string why) { say(check, CheckResult::Skipped, std::move(why)); }
    /// A Failure that no backend may answer with here; the worker may be gone after it.
    void broke(const char* check, const std::string& where, const Failure& failure) {
        failed(check, where + ": " + failure.reason);
        alive_ = failure.state != RowState::Crashed && failure.state != RowState::Hung;
    }
    Result<void> ended() const {
        if (job_.cancelled()) return cancelledError();
        return {};
    }

    bool probe() {
        const auto first = probeBackend(source_, plan_.deadlines, job_);
        if (!first) return failed("probe", first.error().reason), false;
        if (!first->id.empty()) id_ = first->id;
        const auto again = probeBackend(source_, plan_.deadlines, job_);
        if (!again) return failed("probe", "the second time: " + again.error().reason), false;
        const bool alike = first->state == again->state && first->id == again->id && first->reason == again->reason &&
                           first->version == again->version;
        if (!alike) return failed("probe", "the second answer is another one"), false;
        const bool runs = first->state == RowState::Available || first->state == RowState::CompileOnly;
        if (!runs && first->reason.empty())
            return failed("probe", std::string(rowStateText(first->state)) + " without a reason"), false;
        passed("probe", fmt::format("{} twice, version {}", rowStateText(first->state), first->version));
        if (!runs) skipped("open", fmt::format("{}: {}", rowStateText(first->state), first->reason));
        return runs;
    }

    bool devices() {
        const auto devices = backend_->devices();
        if (!devices) return broke("devices", "device_get", devices.error()), false;
        if (devices->empty()) return failed("devices", "available, but without a device"), false;
        compileOnly_ = devices->front().kind == QS_DEVICE_COMPILE_ONLY;
        const auto text = backend_->describe();
        if (!text && text.error().state != RowState::Declined)
            return broke("describe", "describe", text.error()), false;
        passed("devices", fmt::format("{}, the first is {}", devices->size(), devices->front().name));
        return true;
    }

    /// Every operation, format and activation: the same answer twice, a reason for every no.
    Result<void> ask() {
        auto specs = plan_.specs;
        if (specs.empty())
            for (const auto& traits : formats()) specs.push_back(traits.id);
        std::size_t asked = 0;
        for (const auto& text : specs) {
            const auto spec = parseSpec(text);
            if (!spec) return tl::unexpected(spec.error());
            for (const auto& op : benchOps()) {
                const std::int64_t rows = op.wIsKn ? kK : kN, columns = op.wIsKn ? kN : kK;
                auto values = weightValues(rows, columns, kSeed, nullptr);
                if (!values) return tl::unexpected(values.error());
                const auto weights = makeWeights(*spec, rows, columns, *values, job_);
                if (!weights) continue; // cannot cross the interface
                for (const auto& act : benchActs()) {
                    if (job_.cancelled()) return cancelledError();
                    const OperandRequest request{&op, &act, kM, kN, kK, false, kSeed};
                    auto operands = makeOperands(request, *weights);
                    if (!operands) break; // the interface has no words for it
                    Offer offer{fmt::format("{} {} {}", text, op.id, op.product ? act.id : ""),
                                *spec,
                                request,
                                std::move(*operands),
                                {}};
                    ++asked;
                    if (!askTwice(offer)) return {};
                    if (!offer.variants.empty()) offers_.push_back(std::move(offer));
                    if (!op.product) break;
                }
            }
        }
        passed("query",
               fmt::format("{} problems, of which {} are supported; the same answer twice, a reason for every no",
                           asked, offers_.size()));
        return {};
    }
    bool askTwice(Offer& offer) {
        const auto first = backend_->query(0, offer.operands.problem);
        if (!first) return broke("query", offer.name, first.error()), false;
        const auto again = backend_->query(0, offer.operands.problem);
        if (!again) return broke("query", offer.name + ", the second time", again.error()), false;
        if (!same(*first, *again)) return failed("query", offer.name + ": the second answer is another one"), false;
        if (first->level == QS_SUPPORT_NO && first->reason.empty())
            return failed("query", offer.name + ": no, without a reason"), false;
        if (first->level != QS_SUPPORT_NO) offer.variants = first->variants;
        return true;
    }

    void declines() {
        Problem problem;
        problem.m = kM, problem.n = kN, problem.k = kK;
        problem.weight = OperandFormat{}, problem.act = OperandFormat{};
        Problem operation = problem, format = problem, packing = problem;
        operation.op = "no_such_operation";
        format.weight->format = "no_such_format", format.weight->bits = 3;
        packing.weight->packing = "no_such_packing", packing.weight->packAxis = 1;
        const std::pair<const char*, const Problem*> strange[] = {
            {"an unknown operation", &operation}, {"an unknown format", &format}, {"an unknown packing", &packing}};
        for (const auto& [what, asked] : strange) {
            const auto support = backend_->query(0, *asked);
            if (!support) return broke("declines", what, support.error());
            if (support->level != QS_SUPPORT_NO || support->reason.empty())
                return failed("declines", std::string(what) + " is not declined with a reason");
        }
        passed("declines", "an unknown operation, format and packing, each with a reason");
    }

    /// Calls that must come back with a code and a sentence.
    void refusals(const Offer& offer) {
        const Operands& o = offer.operands;
        const std::string id = offer.variants.front().id;
        const auto refused = [&](const char* what, const Outcome<PreparedKernel>& answer) {
            if (answer) return failed("refusals", fmt::format("{}: {} was accepted", offer.name, what)), false;
            if (answer.error().state == RowState::Crashed || answer.error().state == RowState::Hung)
                return broke("refusals", what, answer.error()), false;
            return true;
        };
        if (!refused("an unknown variant", backend_->prepare(0, o.problem, "no_such_variant", o.inputs))) return;
        if (!refused("a product without its weight", backend_->prepare(0, o.problem, id, {}))) return;
        auto inputs = o.inputs;
        inputs.front() = rowShort(inputs.front());
        if (!refused("a weight of a row too few", backend_->prepare(0, o.problem, id, inputs))) return;
        const auto kernel = backend_->prepare(0, o.problem, id, o.inputs);
        if (!kernel) return broke("refusals", offer.name, kernel.error());
        auto output = GuardedOutput::create(o.outs);
        auto act = o.act;
        if (!act.empty()) act.front() = rowShort(act.front());
        if (output && !act.empty() && backend_->execute(kernel->handle, act, output->tensors()))
            return failed("refusals", offer.name + ": activations of a row too few were accepted");
        backend_->destroy(kernel->handle);
        passed("refusals", "an unknown variant, a missing tensor, tensors of another size");
    }

    /// Empty: the result is right.
    std::string wrongResult(const Offer& offer, const Variant& variant, const GuardedOutput& output) const {
        const auto reference = evaluateReference(offer.operands, kSeed, job_, kFullProducts, variant.levels);
        if (!reference) return reference.error().message;
        return checkOutput(offer.operands, *reference, output, nmseLimitFor(variant, offer.operands.problem)).reason;
    }
    bool runs(const char* check, const Offer& offer, std::uint64_t handle) {
        auto output = GuardedOutput::create(offer.operands.outs);
        if (!output) return failed(check, output.error().message), false;
        const auto done = backend_->execute(handle, offer.operands.act, output->tensors());
        if (!done) return broke(check, offer.name, done.error()), false;
        const std::string wrong = wrongResult(offer, offer.variants.front(), *output);
        if (!wrong.empty()) return failed(check, offer.name + ": " + wrong), false;
        return true;
    }

    /// Kernels live beside each other and end in any order.
    void handles(const Offer& offer) {
        const std::string& id = offer.variants.front().id;
        const Operands& o = offer.operands;
        const auto first = backend_->prepare(0, o.problem, id, o.inputs);
        const auto second = backend_->prepare(0, o.problem, id, o.inputs);
        if (!first || !second) return broke("handles", offer.name, first ? second.error() : first.error());
        if (!runs("handles", offer, second->handle) || !runs("handles", offer, first->handle)) return;
        backend_->destroy(first->handle);
        if (!runs("handles", offer, second->handle)) return;
        backend_->destroy(second->handle);
        passed("handles", "two kernels at once, the older one ends first");
    }

    void timing(const Offer& offer) {
        const Operands& o = offer.operands;
        const auto kernel = backend_->prepare(0, o.problem, offer.variants.front().id, o.inputs);
        if (!kernel) return broke("timing", offer.name, kernel.error());
        auto last = GuardedOutput::create({o.outs.front()});
        if (!last) return failed("timing", last.error().message);
        RunOptions options;
        options.iterations = 5, options.bufferSets = 3, options.cold = true, options.maxSeconds = 5;
        const auto samples = backend_->bench(kernel->handle, o.act, options, last->tensors().data());
        if (!samples) return broke("timing", offer.name, samples.error());
        if (samples->ns.empty() || samples->ns.size() > options.iterations)
            return failed("timing", fmt::format("{} samples where 5 were asked for", samples->ns.size()));
        if (samples->timingValid && std::count(samples->ns.begin(), samples->ns.end(), 0u))
            return failed("timing", "a run of 0 ns");
        const std::string wrong = wrongResult(offer, offer.variants.front(), *last);
        if (!wrong.empty()) return failed("timing", offer.name + ", the last timed result: " + wrong);
        backend_->destroy(kernel->handle);
        passed("timing", fmt::format("{} samples over 3 copies, the last result is right", samples->ns.size()));
    }

    void artifacts(const Offer& offer) {
        const auto kernel =
            backend_->prepare(0, offer.operands.problem, offer.variants.front().id, offer.operands.inputs);
        if (!kernel) return broke("artifacts", offer.name, kernel.error());
        const auto text = backend_->artifact(kernel->handle, "no_such_artifact");
        if (!text) return broke("artifacts", "an unknown kind", text.error());
        if (*text) return failed("artifacts", "an unknown kind has a text");
        backend_->destroy(kernel->handle);
        passed("artifacts", "an unknown kind has no text");
    }

    struct Tails {
        std::size_t variants = 0, wrong = 0;
        std::uint64_t shapes = 0;
        double worst = 0;
    };
    /// False: nothing more can be asked.
    bool judged(const Offer& offer, const Variant& variant, const GateVerdict& verdict, Tails& tails) {
        tails.shapes += verdict.shapes, tails.worst = std::max(tails.worst, verdict.worstNmse);
        if (verdict.status == RowState::Ok) return true;
        if (verdict.status == RowState::Cancelled) return false;
        const bool gone = verdict.status == RowState::Crashed || verdict.status == RowState::Hung;
        if (++tails.wrong > kMostNamed && !gone) return true;
        broke("tail shapes", offer.name + ", " + variant.id, {verdict.status, verdict.reason});
        return alive_;
    }

    /// Every variant of every supported problem, at the awkward shapes of the gate, against f64: first one shape of each
    /// variant, another one each time, so that none is left out where every shape must be compiled; then all.
    void tails() {
        const auto start = std::chrono::steady_clock::now();
        const auto over = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > plan_.seconds;
        };
        Gate gate;
        Tails one, all;
        std::size_t left = 0, partly = 0;
        std::vector<std::pair<const Offer*, const Variant*>> right;
        for (const auto& offer : offers_)
            for (const auto& variant : offer.variants) {
                if (over() || job_.cancelled()) {
                    ++left;
                    continue;
                }
                const auto verdict =
                    gate.oneTail(*backend_, 0, offer.request, offer.spec, variant, one.variants++, job_);
                if (!judged(offer, variant, verdict, one)) return;
                if (verdict.status == RowState::Ok) right.emplace_back(&offer, &variant);
            }
        for (const auto& [offer, variant] : right) {
            if (over() || job_.cancelled()) {
                ++partly;
                continue;
            }
            const auto verdict = gate.tails(*backend_, id_, 0, offer->request, offer->spec, *variant, job_);
            ++all.variants;
            all.wrong = std::max(all.wrong, one.wrong);
            if (!judged(*offer, *variant, verdict, all)) return;
        }
        const std::size_t wrong = std::max(all.wrong, one.wrong);
        if (wrong > kMostNamed) failed("tail shapes", fmt::format("{} variants more", wrong - kMostNamed));
        if (wrong == 0)
            passed("tail shapes",
                   fmt::format("{} variants at {} shapes against f64, NMSE up to {}", one.variants,
                               one.shapes + all.shapes, significantText(std::max(one.worst, all.worst), 3)));
        if (partly)
            skipped("tail shapes",
                    fmt::format("all but one shape of {} variants: {} s are over", partly, plan_.seconds));
        if (left) skipped("tail shapes", fmt::format("{} variants: {} s are over", left, plan_.seconds));
    }

    const BackendSource& source_;
    const ConformancePlan& plan_;
    const Job& job_;
    const std::function<void(const ConformanceCheck&)>& onCheck_;
    std::string id_;
    std::unique_ptr<Backend> backend_;
    std::vector<Offer> offers_;
    bool alive_ = true, compileOnly_ = false;
};

} // namespace

Result<void> checkConformance(const BackendSource& source, const ConformancePlan& plan, const Job& job,
                              const std::function<void(const ConformanceCheck&)>& onCheck) {
    return Suite(source, plan, job, onCheck).run();
}

const Columns<ConformanceCheck>& conformanceColumns() {
    using R = ConformanceCheck;
    constexpr auto none = Direction::None;
    static const Columns<R> columns = {
        {{"backend", "Backend", "", Show::Text, 0, none, "Id of the backend"},
         [](const R& r) -> Value { return r.backend; }},
        {{"check", "Check", "", Show::Text, 0, none, "What was asked of it"},
         [](const R& r) -> Value { return r.check; }},
        {{"result", "Result", "", Show::Text, 0, none, "ok, failed or skipped"},
         [](const R& r) -> Value {
             return std::string(r.result == CheckResult::Passed   ? "ok"
                                : r.result == CheckResult::Failed ? "failed"
                                                                  : "skipped");
         }},
        {{"detail", "Detail", "", Show::Text, 0, none, "What was seen"}, [](const R& r) -> Value { return r.detail; }},
    };
    return columns;
}

} // namespace qs
