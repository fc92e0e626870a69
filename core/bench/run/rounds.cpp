// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/rounds.h"

#include "core/bench/run/statistics.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace qs {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// nanoseconds; shorter runs are chained until the resolution of the clock does not matter
constexpr double kShortestSample = 20e3;
// factor on its seconds that a kernel may use: rounds are cut to fit on average
constexpr double kOverdrawn = 1.1;
constexpr double kCheapProbe = 3e-3; // seconds; a faster probe runs after every round
constexpr double kProbeShare = 0.2;  // share of the time for probes

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Turn {
    TimedKernel* kernel;
    std::vector<std::vector<std::uint64_t>> rounds; ///< samples by round
    double spent = 0;                               ///< seconds of samples
};

class Turns {
public:
    Turns(std::vector<TimedKernel*> kernels, const RoundPlan& plan, const Job& job) : plan_(plan), job_(job) {
        for (auto* kernel : kernels) turns_.push_back({kernel, {}, 0});
    }

    Result<RoundsDone> run() {
        if (plan_.onShare) plan_.onShare(0); // the first runs and the copies of the weights take time, too
        for (auto& turn : turns_) calibrate(turn);
        const std::size_t count = std::max<std::size_t>(1, plan_.rounds);
        for (auto& turn : turns_) turn.rounds.resize(count);
        probes_.resize(count);
        repeats_.resize(count);
        for (std::size_t r = 0; r < count; ++r) {
            if (job_.cancelled()) return cancelledError();
            round(r, r + 1 == count);
            if (plan_.onShare) plan_.onShare(double(r + 1) / double(count));
        }
        std::size_t repeated = 0;
        for (auto bad = slowRound(); bad && repeated < (count + 2) / 3; bad = slowRound()) {
            if (job_.cancelled()) return cancelledError();
            ++repeated;
            ++repeats_[*bad];
            again(*bad);
        }
        if (job_.cancelled()) return cancelledError();
        for (auto& turn : turns_) finish(turn);
        return RoundsDone{repeated, probeMedians()};
    }

private:
    bool call(Turn& turn, std::vector<std::uint64_t>* into) {
        auto& kernel = *turn.kernel;
        const HostTensor* last = kernel.lastOut ? &kernel.lastOut->tensors()[0] : nullptr;
        auto samples = kernel.backend->bench(kernel.handle, kernel.operands->act, kernel.options, last);
        if (!samples) {
            kernel.failure = samples.error();
            // Its worker has ended, and with it everything that it held.
            if (plan_.onFailure && plan_.onFailure(kernel))
                for (auto& other : turns_)
                    if (other.kernel->backend == kernel.backend && !other.kernel->failure)
                        other.kernel->failure = kernel.failure;
            return false;
        }
        kernel.clock = samples->clock;
        kernel.timingValid = samples->timingValid;
        if (samples->ns.empty()) {
            kernel.failure = Failure{RowState::Failed, "the backend returned no sample"};
            return false;
        }
        for (const auto ns : samples->ns) turn.spent += double(ns) * 1e-9 * kernel.options.chain;
        *into = std::move(samples->ns);
        return true;
    }

    /// Measures the duration of a run, which gives the number of runs per round.
    void calibrate(Turn& turn) {
        auto& options = turn.kernel->options;
        if (turn.kernel->failure || job_.cancelled()) return;
        const auto warmup = options.warmup;
        options.warmup = 1;
        options.iterations = 3;
        options.chain = 1;
        options.maxSeconds = plan_.secondsPerKernel / 4;
        std::vector<std::uint64_t> samples;
        if (!call(turn, &samples)) return;
        const double ns = std::max(1.0, summarize(std::span<const std::uint64_t>(samples))->median);
        options.warmup = warmup;
        options.chain =
            std::uint32_t(std::clamp(ns < kShortestSample / 2 ? std::ceil(kShortestSample / ns) : 1.0, 1.0, 1e4));
        const double perRound = plan_.secondsPerKernel * 1e9 / double(plan_.rounds);
        const double most = std::max(1.0, double(plan_.mostSamples / plan_.rounds));
        options.iterations = std::uint32_t(std::clamp(perRound / (ns * options.chain), 1.0, most));
        options.maxSeconds = std::max(2 * perRound * 1e-9, 1e-3);
        // The first read of fresh pages is slower: every copy is read once before.
        const double reading = ns * 1e-9 * options.bufferSets;
        if (options.cold && options.bufferSets > 1 && reading <= plan_.secondsPerKernel / 2) {
            auto timed = options;
            options.warmup = options.bufferSets, options.iterations = options.chain = 1;
            call(turn, &samples);
            options = timed;
        }
        turn.spent = 0;
    }

    void round(std::size_t r, bool lastOfAll) {
        const auto start = Clock::now();
        for (auto& turn : turns_) {
            if (turn.kernel->failure || job_.cancelled()) continue;
            if (turn.spent >= kOverdrawn * plan_.secondsPerKernel && r > 0) continue;
            // The result that is checked at the end must come from a timed run.
            if (turn.kernel->lastOut && (lastOfAll || nearlySpent(turn))) turn.kernel->lastOut->refill();
            call(turn, &turn.rounds[r]);
        }
        const double taken = secondsSince(start);
        probe(r, taken);
    }

    /// Kernels that took part take part again, even if they have used their seconds.
    void again(std::size_t r) {
        for (auto& turn : turns_) {
            if (turn.kernel->failure || turn.rounds[r].empty() || job_.cancelled()) continue;
            turn.rounds[r].clear();
            if (turn.kernel->lastOut) turn.kernel->lastOut->refill();
            call(turn, &turn.rounds[r]);
        }
        probeCost_ = 0; // its cost is not known yet
        probes_[r].clear();
        probe(r, 0);
    }

    bool nearlySpent(const Turn& turn) const { return turn.spent * 2 >= plan_.secondsPerKernel; }

    void probe(std::size_t r, double roundSeconds) {
        if (!plan_.probe) return;
        sinceProbe_ += roundSeconds;
        if (probeCost_ > kCheapProbe && probeCost_ > kProbeShare * sinceProbe_ && r + 1 < probes_.size()) return;
        const auto start = Clock::now();
        const auto values = plan_.probe();
        probeCost_ = secondsSince(start);
        sinceProbe_ = 0;
        // This probe judges all rounds since the last probe.
        for (std::size_t i = r + 1; i-- > 0 && (i == r || probes_[i].empty());) probes_[i] = values;
        best_.resize(std::max(best_.size(), values.size()), 0.0);
        for (std::size_t i = 0; i < values.size(); ++i) best_[i] = std::max(best_[i], values[i]);
    }

    /// The slow round that was repeated least often.
    std::optional<std::size_t> slowRound() const {
        std::optional<std::size_t> out;
        for (std::size_t r = 0; r < probes_.size(); ++r)
            for (std::size_t i = 0; i < probes_[r].size(); ++i)
                if (probes_[r][i] < plan_.leastProbe * best_[i] && anySamples(r) &&
                    (!out || repeats_[r] < repeats_[*out]))
                    out = r;
        return out;
    }
    std::vector<double> probeMedians() const {
        std::vector<double> out;
        for (std::size_t i = 0; i < best_.size(); ++i) {
            std::vector<double> speeds;
            for (const auto& values : probes_)
                if (i < values.size()) speeds.push_back(values[i]);
            out.push_back(medianOf(std::move(speeds)));
        }
        return out;
    }
    bool anySamples(std::size_t r) const {
        return std::ranges::any_of(turns_, [r](const Turn& t) { return !t.kernel->failure && !t.rounds[r].empty(); });
    }

    static void finish(Turn& turn) {
        auto& kernel = *turn.kernel;
        kernel.samples.clear();
        kernel.roundMedians.clear();
        if (kernel.failure) return;
        for (const auto& round : turn.rounds) {
            const auto summary = summarize(std::span<const std::uint64_t>(round));
            kernel.roundMedians.push_back(summary ? summary->median : kNaN);
            kernel.samples.insert(kernel.samples.end(), round.begin(), round.end());
        }
    }

    const RoundPlan& plan_;
    const Job& job_;
    std::vector<Turn> turns_;
    std::vector<std::vector<double>> probes_;
    std::vector<double> best_;
    std::vector<std::size_t> repeats_;
    double probeCost_ = 0, sinceProbe_ = 0;
};

} // namespace

Result<RoundsDone> runRounds(std::vector<TimedKernel*> kernels, const RoundPlan& plan, const Job& job) {
    return Turns(std::move(kernels), plan, job).run();
}

} // namespace qs
