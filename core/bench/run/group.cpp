// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/group.h"

#include "core/base/text.h"
#include "plugins/abi/quantscope_backend.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

/// four times the largest cache of a device known to us
constexpr std::uint64_t kDeviceCold = std::uint64_t(512) << 20;
constexpr std::uint64_t kMostSets = 16384;
/// a probe below this share of its best means that something else runs on the machine
constexpr double kBusy = 0.6;

std::uint64_t copyBytes(const Contender& c) {
    std::uint64_t bytes = 0;
    for (const auto& tensor : c.checked->operands().inputs) bytes += tensor.bytes;
    return std::max<std::uint64_t>(1, std::max(bytes, std::uint64_t(c.row.answer.kernel.weightBytes.value_or(0))));
}

/// Memory of a contender; small copies fill up pages.
std::uint64_t heldBytes(const Contender& c) {
    constexpr std::uint64_t ofACopy = 4096; // for backends that do not report it
    return c.copyBytes ? std::max(c.copyBytes, copyBytes(c)) : copyBytes(c) + ofACopy;
}

/// The roofs of its first device are those of the host.
bool measuresHost(const OpenedBackend& opened) { return !opened.devices.empty() && opened.devices.front().hostRoofs; }

class Group {
public:
    Group(BenchState& state, const BenchOp& op, const BenchAct& act, const BenchShape& shape)
        : state_(state), plan_(state.plan), op_(op), act_(act), shape_(shape) {}

    Result<void> run(const WeightsOf& weights) {
        if (auto done = ask(weights); !done) return done;
        // The baseline is in every batch, so that each round has its own ratios.
        for (auto& c : contenders_)
            if (c.isBaseline) qualifyOne(c);
        std::uint64_t baselines = 0;
        for (const auto& c : contenders_)
            if (c.isBaseline && c.alive) baselines += memoryOf(c);
        std::vector<Contender*> batch;
        std::uint64_t bytes = baselines;
        for (auto& c : contenders_) {
            if (state_.job.cancelled()) return cancelledError();
            if (c.isBaseline) continue;
            qualifyOne(c);
            if (!c.alive) continue;
            if (const auto more = memoryOf(c); bytes + more <= state_.memoryBytes || batch.empty()) {
                bytes += more;
            } else {
                if (auto done = time(batch); !done) return done;
                batch.clear();
                bytes = baselines + more;
            }
            batch.push_back(&c);
        }
        if (auto done = time(batch); !done) return done;
        for (auto& c : contenders_) // measured rows come first
            if (c.row.answer.variant.id.empty() && !state_.job.cancelled()) emitStopped(c);
        for (auto& c : contenders_) release(c);
        return {};
    }

private:
    Question question(const std::string& typed, const QuantSpec& spec, const BenchAct& act) const {
        Question q;
        q.plan = &plan_;
        q.request = {&op_, &act, shape_.m, shape_.n, shape_.k, plan_.bias && op_.product, plan_.seed};
        q.specTyped = typed;
        q.spec = spec;
        q.shape = shape_;
        return q;
    }

    void addQuestion(const Question& q, const WeightsOf& weights, bool baselineOnly) {
        auto w = weights(q.spec);
        std::shared_ptr<Checked> checked;
        std::string refused;
        if (w) {
            auto operands = makeOperands(q.request, *w);
            if (operands)
                checked = std::make_shared<Checked>(std::move(*operands), plan_.seed);
            else
                refused = operands.error().sentence();
        } else
            refused = w.error().sentence();
        for (auto& opened : state_.backends) {
            if (baselineOnly && !opened.source.baseline) continue;
            for (std::uint32_t d = 0; d < std::max<std::size_t>(1, opened.devices.size()); ++d) {
                std::vector<Contender> answers;
                if (checked)
                    answers = askDevice(q, opened, d, checked);
                else {
                    answers.emplace_back();
                    answers[0].row = questionRow(q, opened, d);
                    answers[0].row.verdict.status = opened.backend ? RowState::Declined : opened.failure.state;
                    answers[0].row.verdict.reason = opened.backend ? refused : opened.failure.reason;
                    if (!opened.backend) answers[0].row.verdict.hint = opened.failure.hint;
                    answers[0].opened = &opened;
                }
                for (auto& c : answers) {
                    if (baselineOnly && !c.isBaseline && !c.row.answer.variant.id.empty()) continue;
                    contenders_.push_back(std::move(c));
                    questions_.push_back(q);
                    shown_.push_back(!baselineOnly || baselineShown_);
                }
            }
        }
    }

    Result<void> ask(const WeightsOf& weights) {
        const auto f32 = std::find_if(plan_.specs.begin(), plan_.specs.end(),
                                      [](const auto& spec) { return spec.second.format == "f32"; });
        const bool among = f32 != plan_.specs.end() && std::string_view(act_.id) == "f32";
        const bool asked = std::find(plan_.acts.begin(), plan_.acts.end(), "f32") != plan_.acts.end();
        if (op_.product && !among) {
            // If f32 activations are a group of their own, that group shows the baseline.
            baselineShown_ = std::string_view(act_.id) == "f32" || (!asked && plan_.acts.front() == act_.id);
            QuantSpec plain;
            plain.format = "f32";
            addQuestion(question("f32", plain, *findBenchAct("f32")), weights, true);
        }
        for (const auto& [typed, spec] : plan_.specs) {
            if (state_.job.cancelled()) return cancelledError();
            addQuestion(question(typed, spec, act_), weights, false);
        }
        return {};
    }

    std::size_t indexOf(const Contender& c) const { return std::size_t(&c - contenders_.data()); }

    void qualifyOne(Contender& c) {
        if (state_.job.cancelled()) return;
        const Question& q = questions_[indexOf(c)];
        const bool asked = c.checked && c.opened->backend && !c.row.answer.variant.id.empty();
        if (asked && plan_.memoryBytes && copyBytes(c) > state_.memoryBytes) {
            c.row.verdict.status = RowState::Declined;
            c.row.verdict.reason =
                fmt::format("one copy of the weights takes {}, more than the memory limit of {} leaves",
                            bytesText(copyBytes(c)), bytesText(plan_.memoryBytes));
        } else if (asked) {
            state_.progress(0, fmt::format("Checking {} on {}, {}", c.row.answer.variant.id, c.row.question.backend,
                                           shapeKey(shape_)));
            qualify(c, q, state_.gate, state_.job);
        } else if (c.checked && !c.row.answer.variant.id.empty()) {
            c.row.verdict.status = c.opened->failure.state;
            c.row.verdict.reason = c.opened->failure.reason;
            c.row.verdict.hint = c.opened->failure.hint;
        }
        const bool warm = std::find(plan_.caches.begin(), plan_.caches.end(), CacheState::Warm) != plan_.caches.end();
        if (c.alive) return state_.roofs.measure(*c.opened, c.device, warm || tooFewCopies(c));
        if (!c.row.answer.variant.id.empty() && !state_.job.cancelled()) emitStopped(c);
    }

    /// The same row for every cache state, because none was reached.
    void emitStopped(const Contender& c) {
        if (!shown_[indexOf(c)]) return;
        for (const auto cache : plan_.caches) {
            BenchmarkRow row = c.row;
            row.question.cache = cache;
            row.verdict.speedupReason = fmt::format("the row is {}", rowStateText(row.verdict.status));
            row.question.command += std::string(" --cache ") + cacheText(cache);
            state_.emit(std::move(row));
        }
    }

    bool isHost(const Contender& c) const { return c.opened->devices[c.device].kind == QS_DEVICE_CPU; }
    std::uint64_t coldBytesOf(const Contender& c) const { return isHost(c) ? state_.coldBytes : kDeviceCold; }
    std::uint64_t setsOf(const Contender& c) const {
        const std::uint64_t bytes = copyBytes(c), wanted = coldBytesOf(c), least = plan_.memoryBytes ? 1 : 2;
        const std::uint64_t most = std::min(kMostSets, std::max(least, state_.memoryBytes / 2 / heldBytes(c)));
        return std::clamp<std::uint64_t>((wanted + bytes - 1) / bytes, least, std::max<std::uint64_t>(least, most));
    }
    /// The memory limit allows fewer copies than twice what caches hold.
    bool tooFewCopies(const Contender& c) const {
        return plan_.memoryBytes && setsOf(c) < kMostSets && 2 * setsOf(c) * copyBytes(c) < coldBytesOf(c);
    }
    std::uint64_t memoryOf(const Contender& c) const {
        const bool cold = std::find(plan_.caches.begin(), plan_.caches.end(), CacheState::Cold) != plan_.caches.end();
        std::uint64_t bytes = (cold ? setsOf(c) : 1) * heldBytes(c);
        for (const auto& tensor : c.checked->operands().outs) bytes += 2 * tensor.bytes;
        return bytes;
    }

    Result<void> time(const std::vector<Contender*>& batch) {
        std::vector<Contender*> all;
        for (auto& c : contenders_)
            if (c.isBaseline && c.alive) all.push_back(&c);
        const bool alone = batch.empty();
        if (alone && (all.empty() || baselineTimed_)) return {};
        all.insert(all.end(), batch.begin(), batch.end());
        for (const auto cache : plan_.caches)
            if (auto done = timeCache(all, cache); !done) return done;
        baselineTimed_ = true;
        for (auto* c : batch) release(*c);
        return {};
    }

    Result<void> timeCache(const std::vector<Contender*>& all, CacheState cache) {
        std::vector<TimedKernel> kernels(all.size());
        std::vector<GuardedOutput> outputs;
        std::vector<TimedKernel*> turns;
        for (auto* c : all) {
            auto output = GuardedOutput::create({c->checked->operands().outs.front()});
            if (!output) return tl::unexpected(output.error());
            outputs.push_back(std::move(*output));
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto& c = *all[i];
            if (!c.alive || !c.opened->backend) continue; // its worker ended in the other cache state
            kernels[i].backend = c.opened->backend.get();
            kernels[i].handle = c.handle;
            kernels[i].operands = &c.checked->operands();
            kernels[i].lastOut = &outputs[i];
            const bool cold = cache == CacheState::Cold;
            kernels[i].options = {.warmup = cold ? 1u : 2u,
                                  .iterations = 1,
                                  .chain = 1,
                                  .bufferSets = std::uint32_t(cold ? setsOf(c) : 1),
                                  .cold = cold,
                                  .maxSeconds = 1};
            turns.push_back(&kernels[i]);
        }
        const auto done = runRounds(turns, roundPlan(all, kernels), state_.job);
        if (!done) return tl::unexpected(done.error());

        std::vector<BenchmarkRow> rows;
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto row = timedRow(*all[i], kernels[i], outputs[i], cache);
            if (!row) return tl::unexpected(row.error());
            row->timing.repeatedRounds = done->repeated;
            const bool host = all[i]->opened->backend && all[i]->opened->devices[all[i]->device].kind == QS_DEVICE_CPU;
            if (host && done->probeMedians.size() == 2) { // read_bw, f32: see roundPlan()
                row->timing.probeRead = done->probeMedians[0];
                row->timing.probeF32 = done->probeMedians[1];
                noteBusy(*row, *all[i]);
            }
            rows.push_back(std::move(*row));
        }
        compareWithBaseline(all, rows);
        for (std::size_t i = 0; i < all.size(); ++i) {
            judge(rows[i], *all[i]);
            if (rows[i].verdict.status != RowState::Ok && rows[i].verdict.speedupReason.empty())
                rows[i].verdict.speedupReason = fmt::format("the row is {}", rowStateText(rows[i].verdict.status));
            if (shown_[indexOf(*all[i])] && !(all[i]->isBaseline && baselineTimed_)) state_.emit(std::move(rows[i]));
        }
        return {};
    }

    /// A roof that was measured while something else ran is too low: it is measured again before a time is refused.
    void judge(BenchmarkRow& row, const Contender& c) {
        constexpr int kTries = 5;
        constexpr double kHopeless = 8; // times the roof: no other load explains this
        for (int tries = 0;; ++tries) {
            shareOfRoofs(row, c.checked->operands(), *c.opened, c.device, state_.roofs, state_.coldBytes / 4);
            if (!aboveTheRoof(row) || *row.verdict.roofShare > kHopeless || tries == kTries || state_.job.cancelled())
                break;
            bool measured = state_.roofs.again(*c.opened, c.device, row.verdict.roofKind);
            const bool host = c.opened->backend && c.opened->devices[c.device].kind == QS_DEVICE_CPU;
            for (auto& other : state_.backends) // backends of the host share one machine and so one roof
                if (host && &other != c.opened && measuresHost(other))
                    measured |= state_.roofs.again(other, 0, row.verdict.roofKind);
            if (!measured) break;
        }
        refuseAboveTheRoof(row);
    }

    /// If something else runs on the machine, times are too long: thousands of times if threads wait for each other.
    void noteBusy(BenchmarkRow& row, const Contender& c) const {
        const auto share = [&](const char* kind, double now) {
            const auto best = state_.roofs.best(*c.opened, c.device, kind);
            return best ? now / *best : 1.0;
        };
        const double memory = share("read_bw", *row.timing.probeRead), f32 = share("f32", *row.timing.probeF32);
        if (!row.timing.medianNs || std::min(memory, f32) >= kBusy) return;
        row.timing.busy = true;
        row.timing.busyProbe = memory < f32 ? "read_bw" : "f32";
        row.timing.busyShare = std::min(memory, f32);
        remark(row, "the machine was busy: " + busyProbeText(row.timing));
    }

    RoundPlan roundPlan(const std::vector<Contender*>& all, std::vector<TimedKernel>& kernels) {
        RoundPlan rounds;
        rounds.secondsPerKernel = plan_.secondsPerRow;
        const auto host = std::find_if(all.begin(), all.end(), [](const Contender* c) {
            return c->opened->backend && c->opened->devices[c->device].kind == QS_DEVICE_CPU;
        });
        if (host != all.end() && state_.roofs.best(*(*host)->opened, (*host)->device, "read_bw")) {
            OpenedBackend* prober = (*host)->opened;
            // A backend without its own roofs is compared with those of another backend on the same machine.
            for (auto& opened : state_.backends)
                if (opened.backend && measuresHost(opened)) prober = &opened;
            rounds.probe = [this, prober] {
                std::vector<double> speeds;
                for (const char* kind : {"read_bw", "f32"})
                    if (const auto speed = state_.roofs.probe(*prober, 0, kind)) speeds.push_back(*speed);
                return speeds;
            };
        }
        const std::string what = fmt::format("Timing {} variants, {} {}", all.size(), op_.id,
                                             op_.product ? shapeKey(shape_) : fmt::format("{}x{}", shape_.n, shape_.k));
        rounds.onShare = [this, what](double share) { state_.progress(share, what); };
        rounds.onFailure = [&all, &kernels](TimedKernel& kernel) {
            const auto i = std::size_t(&kernel - kernels.data());
            all[i]->opened->note(*kernel.failure);
            return all[i]->opened->backend == nullptr;
        };
        return rounds;
    }

    Result<BenchmarkRow> timedRow(Contender& c, const TimedKernel& kernel, const GuardedOutput& output,
                                  CacheState cache) {
        BenchmarkRow row = c.row;
        row.question.cache = cache;
        row.question.command += std::string(" --cache ") + cacheText(cache);
        if (!kernel.backend) {
            dropTimes(row, c.opened->failure.state, c.opened->failure.reason);
            return row;
        }
        if (kernel.failure) {
            if (kernel.failure->state == RowState::Cancelled || state_.job.cancelled()) return cancelledError();
            dropTimes(row, kernel.failure->state, kernel.failure->reason);
            return row;
        }
        row.timing.samples = kernel.samples;
        row.timing.roundMedians = kernel.roundMedians;
        row.timing.clock = kernel.clock;
        row.timing.bufferSets = kernel.options.bufferSets;
        row.timing.iterations = kernel.options.iterations;
        row.timing.chain = kernel.options.chain;
        if (!kernel.timingValid) {
            dropTimes(row, RowState::Ok, "correct, but its times are no measurement: the device is simulated");
            return row;
        }
        const auto reference = c.checked->reference(state_.job, c.row.answer.variant.levels);
        if (!reference) return tl::unexpected(reference.error());
        const Check check = checkOutput(c.checked->operands(), **reference, output, c.limit);
        if (!check.passed) {
            row.check.nmse = std::isfinite(check.nmse) ? std::optional(check.nmse) : std::nullopt;
            dropTimes(row, RowState::Wrong, "the result of the last timed run is wrong: " + check.reason);
            return row;
        }
        fillFigures(row, c.checked->operands());
        const std::uint64_t held = row.timing.bufferSets * copyBytes(c);
        row.timing.inCaches = cache == CacheState::Cold && tooFewCopies(c);
        if (row.timing.inCaches)
            remark(row,
                   fmt::format("not cold: within the memory limit of {} the copies hold {}{}, and {} would be more "
                               "than caches keep",
                               bytesText(plan_.memoryBytes), bytesText(held),
                               heldBytes(c) > 2 * copyBytes(c)
                                   ? fmt::format(" in {} of memory", bytesText(row.timing.bufferSets * heldBytes(c)))
                                   : std::string(),
                               bytesText(coldBytesOf(c))));
        else if (cache == CacheState::Cold && isHost(c) && held < state_.coldBytes)
            remark(row, fmt::format("not wholly cold: the copies hold only {}", bytesText(held)));
        return row;
    }

    void compareWithBaseline(const std::vector<Contender*>& all, std::vector<BenchmarkRow>& rows) const {
        const BenchmarkRow* baseline = nullptr;
        std::string why = fmt::format("there is no f32 product to compare {} with", op_.id);
        if (op_.product) {
            why = "openblas is not part of this run";
            for (const auto& c : contenders_)
                if (c.opened->source.baseline && !c.isBaseline && c.row.answer.variant.id.empty() &&
                    c.row.verdict.status != RowState::Ok)
                    why = "openblas f32: " + c.row.verdict.reason;
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!all[i]->isBaseline) continue;
            if (!rows[i].timing.medianNs)
                why = "openblas f32: " + rows[i].verdict.reason;
            else if (!baseline || *rows[i].timing.medianNs < *baseline->timing.medianNs)
                baseline = &rows[i];
        }
        const std::vector<double> rounds = baseline ? baseline->timing.roundMedians : std::vector<double>{};
        for (auto& row : rows) {
            if (!row.timing.medianNs) continue;
            if (baseline && baseline->timing.busy && !row.timing.busy)
                row.verdict.speedupReason = "openblas f32 was timed on a busy machine";
            else if (baseline)
                fillSpeedup(row, rounds);
            else
                row.verdict.speedupReason = why;
        }
    }

    BenchState& state_;
    const BenchmarkPlan& plan_;
    const BenchOp& op_;
    const BenchAct& act_;
    const BenchShape& shape_;
    std::vector<Contender> contenders_;
    std::vector<Question> questions_; ///< for each contender
    std::vector<bool> shown_;         ///< whether the rows are part of the result
    bool baselineShown_ = true, baselineTimed_ = false;
};

} // namespace

Result<void> runGroup(BenchState& state, const BenchOp& op, const BenchAct& act, const BenchShape& shape,
                      const WeightsOf& weights) {
    return Group(state, op, act, shape).run(weights);
}

} // namespace qs
