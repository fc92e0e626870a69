// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/batch.h"

#include "core/base/text.h"
#include "core/bench/run/copies.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

/// A probe below this share of its best means that something else runs on the machine
constexpr double kBusy = 0.6;

/// The roofs of its first device are those of the host.
bool measuresHost(const OpenedBackend& opened) { return !opened.devices.empty() && opened.devices.front().hostRoofs; }

bool runsOnHost(const Contender& c) { return c.opened->backend && isHost(c); }

class Batch {
public:
    Batch(BenchState& state, const BenchOp& op, const BenchShape& shape, const std::vector<Contender*>& all,
          CacheState cache, const std::string& whyNoBaseline)
        : state_(state), op_(op), shape_(shape), all_(all), cache_(cache), whyNoBaseline_(whyNoBaseline) {}

    Result<std::vector<BenchmarkRow>> run() {
        std::vector<TimedKernel> kernels(all_.size());
        std::vector<GuardedOutput> outputs;
        std::vector<TimedKernel*> turns;
        for (auto* c : all_) {
            auto output = GuardedOutput::create({c->checked->operands().outs.front()});
            if (!output) return tl::unexpected(output.error());
            outputs.push_back(std::move(*output));
        }
        for (std::size_t i = 0; i < all_.size(); ++i) {
            auto& c = *all_[i];
            if (!c.alive || !c.opened->backend) continue; // its worker ended in the other cache state
            kernels[i].backend = c.opened->backend.get();
            kernels[i].handle = c.handle;
            kernels[i].operands = &c.checked->operands();
            kernels[i].lastOut = &outputs[i];
            const bool cold = cache_ == CacheState::Cold;
            kernels[i].options = {.warmup = cold ? 1u : 2u,
                                  .iterations = 1,
                                  .chain = 1,
                                  .bufferSets = std::uint32_t(cold ? copies_.setsOf(c) : 1),
                                  .cold = cold,
                                  .maxSeconds = 1};
            turns.push_back(&kernels[i]);
        }
        const auto done = runRounds(turns, roundPlan(kernels), state_.job);
        if (!done) return tl::unexpected(done.error());

        std::vector<BenchmarkRow> rows;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            auto row = timedRow(*all_[i], kernels[i], outputs[i]);
            if (!row) return tl::unexpected(row.error());
            row->timing.repeatedRounds = done->repeated;
            if (runsOnHost(*all_[i]) && done->probeMedians.size() == 2) { // read_bw, f32: see roundPlan()
                row->timing.probeRead = done->probeMedians[0];
                row->timing.probeF32 = done->probeMedians[1];
                noteBusy(*row, *all_[i]);
            }
            rows.push_back(std::move(*row));
        }
        compareWithBaseline(rows);
        for (std::size_t i = 0; i < all_.size(); ++i) {
            judge(rows[i], *all_[i]);
            if (rows[i].verdict.status != RowState::Ok && rows[i].verdict.speedupReason.empty())
                rows[i].verdict.speedupReason = fmt::format("the row is {}", rowStateText(rows[i].verdict.status));
        }
        return rows;
    }

private:
    /// A roof that was measured while something else ran is too low: it is measured again before a time is refused.
    void judge(BenchmarkRow& row, const Contender& c) {
        constexpr int kTries = 5;
        constexpr double kHopeless = 8; // times the roof: no other load explains this
        for (int tries = 0;; ++tries) {
            shareOfRoofs(row, c.checked->operands(), *c.opened, c.device, state_.roofs, state_.coldBytes / 4);
            if (!aboveTheRoof(row) || *row.verdict.roofShare > kHopeless || tries == kTries || state_.job.cancelled())
                break;
            bool measured = state_.roofs.again(*c.opened, c.device, row.verdict.roofKind);
            for (auto& other : state_.backends) // backends of the host share one machine and so one roof
                if (runsOnHost(c) && &other != c.opened && measuresHost(other))
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

    RoundPlan roundPlan(std::vector<TimedKernel>& kernels) {
        RoundPlan rounds;
        rounds.secondsPerKernel = state_.plan.secondsPerRow;
        const auto host = std::ranges::find_if(all_, [](const Contender* c) { return runsOnHost(*c); });
        if (host != all_.end() && state_.roofs.best(*(*host)->opened, (*host)->device, "read_bw")) {
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
        const std::string what = fmt::format("Timing {} variants, {} {}", all_.size(), op_.id,
                                             op_.product ? shapeKey(shape_) : fmt::format("{}x{}", shape_.n, shape_.k));
        rounds.onShare = [this, what](double share) { state_.progress(share, what); };
        rounds.onFailure = [this, &kernels](TimedKernel& kernel) {
            const auto i = std::size_t(&kernel - kernels.data());
            all_[i]->opened->note(*kernel.failure);
            return all_[i]->opened->backend == nullptr;
        };
        return rounds;
    }

    Result<BenchmarkRow> timedRow(Contender& c, const TimedKernel& kernel, const GuardedOutput& output) {
        BenchmarkRow row = c.row;
        row.question.cache = cache_;
        row.question.command += std::string(" --cache ") + cacheText(cache_);
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
        row.timing.inCaches = cache_ == CacheState::Cold && copies_.tooFew(c);
        if (row.timing.inCaches)
            remark(row,
                   fmt::format("not cold: within the memory limit of {} the copies hold {}{}, and {} would be more "
                               "than caches keep",
                               bytesText(state_.plan.memoryBytes), bytesText(held),
                               heldBytes(c) > 2 * copyBytes(c)
                                   ? fmt::format(" in {} of memory", bytesText(row.timing.bufferSets * heldBytes(c)))
                                   : std::string(),
                               bytesText(copies_.coldBytesOf(c))));
        else if (cache_ == CacheState::Cold && isHost(c) && held < state_.coldBytes)
            remark(row, fmt::format("not wholly cold: the copies hold only {}", bytesText(held)));
        return row;
    }

    void compareWithBaseline(std::vector<BenchmarkRow>& rows) const {
        const BenchmarkRow* baseline = nullptr;
        std::string why = whyNoBaseline_;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (!all_[i]->isBaseline) continue;
            if (!rows[i].timing.medianNs)
                why = "openblas f32: " + rows[i].verdict.reason;
            else if (!baseline || *rows[i].timing.medianNs < *baseline->timing.medianNs)
                baseline = &rows[i];
        }
        const BenchmarkRow against = baseline ? *baseline : BenchmarkRow(); // rows are marked one after another
        for (auto& row : rows) {
            if (!row.timing.medianNs) continue;
            if (baseline && against.timing.busy && !row.timing.busy)
                row.verdict.speedupReason = "openblas f32 was timed on a busy machine";
            else if (baseline)
                fillSpeedup(row, against);
            else
                row.verdict.speedupReason = why;
        }
    }

    BenchState& state_;
    const BenchOp& op_;
    const BenchShape& shape_;
    const std::vector<Contender*>& all_;
    const CacheState cache_;
    const std::string& whyNoBaseline_;
    const Copies copies_{state_};
};

} // namespace

Result<std::vector<BenchmarkRow>> timeBatch(BenchState& state, const BenchOp& op, const BenchShape& shape,
                                            const std::vector<Contender*>& all, CacheState cache,
                                            const std::string& whyNoBaseline) {
    return Batch(state, op, shape, all, cache, whyNoBaseline).run();
}

} // namespace qs
