// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/two_budgets.h"

#include <cmath>

namespace qs::plan {
namespace {

using Picked = std::vector<std::size_t>;

struct TimedChoice {
    double loss = 0;
    std::uint64_t bytes = 0, ns = 0;
};
using Sums = TimedChoice; ///< over the classes

constexpr int kMostPrices = 24;             ///< prices that are tried; each costs a knapsack
constexpr std::size_t kMostPairs = 250'000; ///< pairs of changes that one pass of improve() looks at

class TwoBudgets {
public:
    TwoBudgets(const TimedChoiceLists& classes, std::uint64_t bytes, std::uint64_t ns, std::size_t mostStates)
        : classes_(classes), bytes_(bytes), ns_(ns), mostStates_(mostStates) {}

    std::optional<TimedSelection> solve(std::uint64_t* fastest) {
        const auto free = at(0);
        if (!free) return {};
        if (isWithin(*free)) return answer();
        // The fastest selection within the bytes: where it is too slow, none is fast enough.
        const auto quick = within([](const TimedChoice& one) { return double(one.ns); });
        const Sums sums = sumsOf(quick->picked);
        if (fastest) *fastest = sums.ns;
        if (sums.ns > ns_) return {};
        offer(quick->picked);
        raisePrice(sumsOf(*free), sums);
        improve();
        return answer();
    }

private:
    template<class Loss> std::optional<Selection> within(Loss loss) const {
        std::vector<double> priced;
        priced.reserve(classes_.loss.size());
        for (std::size_t at = 0; at < classes_.loss.size(); ++at) priced.push_back(loss(choice(at)));
        return pickChoices({classes_.first, priced, classes_.bytes}, bytes_, mostStates_);
    }

    TimedChoice choice(std::size_t at) const { return {classes_.loss[at], classes_.bytes[at], classes_.ns[at]}; }
    TimedChoice choice(std::size_t unit, std::size_t index) const { return choice(classes_.first[unit] + index); }
    std::size_t choices(std::size_t unit) const { return classes_.first[unit + 1] - classes_.first[unit]; }

    Sums sumsOf(const Picked& picked) const {
        Sums out;
        for (std::size_t i = 0; i < picked.size(); ++i) {
            const TimedChoice one = choice(i, picked[i]);
            out.loss += one.loss, out.bytes += one.bytes, out.ns += one.ns;
        }
        return out;
    }
    bool isWithin(const Picked& picked) const { return sumsOf(picked).ns <= ns_; }

    void offer(const Picked& picked) {
        const Sums sums = sumsOf(picked);
        if (sums.ns <= ns_ && sums.bytes <= bytes_ && (best_.empty() || sums.loss < bestLoss_))
            best_ = picked, bestLoss_ = sums.loss;
    }

    /// The best selection at a price of a nanosecond; raises the bound and offers what it finds.
    std::optional<Picked> at(double price) {
        const auto found = within([&](const TimedChoice& one) { return one.loss + price * double(one.ns); });
        if (!found) return {};
        const double bound = found->bound - price * double(ns_);
        if (!hasBound_ || bound > bound_) bound_ = bound, price_ = price, hasBound_ = true;
        offer(found->picked);
        return found->picked;
    }

    /// Each selection is a line over the price: loss + price * (ns - budget). The dual is the least of all lines. `slow`
    /// rises, `quick` falls or is level; where they cross, either another selection lies below, and replaces one of them,
    /// or the greatest bound is found.
    void raisePrice(Sums slow, Sums quick) {
        for (int i = 0; i < kMostPrices && slow.ns > quick.ns; ++i) {
            const double price = (quick.loss - slow.loss) / double(slow.ns - quick.ns);
            if (!(price > 0) || !std::isfinite(price)) return;
            const auto found = at(price);
            const Sums sums = sumsOf(*found);
            const double crossing = slow.loss + price * double(slow.ns), now = sums.loss + price * double(sums.ns);
            if (now >= crossing - 1e-12 * std::fabs(crossing)) break;
            (sums.ns > ns_ ? slow : quick) = sums;
        }
        // From the side that is too slow: change what saves the most time for its loss.
        if (auto repaired = at(price_)) {
            repair(*repaired);
            offer(*repaired);
        }
    }

    void repair(Picked& picked) const {
        Sums sums = sumsOf(picked);
        while (sums.ns > ns_) {
            double least = INFINITY;
            std::size_t unit = 0, to = 0;
            for (std::size_t i = 0; i < picked.size(); ++i)
                for (std::size_t c = 0; c < choices(i); ++c) {
                    const TimedChoice now = choice(i, picked[i]), then = choice(i, c);
                    if (then.ns >= now.ns || sums.bytes + then.bytes > bytes_ + now.bytes) continue;
                    const double perNs = (then.loss - now.loss) / double(now.ns - then.ns);
                    if (perNs < least) least = perNs, unit = i, to = c;
                }
            if (least == INFINITY) return;
            change(picked, sums, unit, to);
        }
    }

    void change(Picked& picked, Sums& sums, std::size_t unit, std::size_t to) const {
        const TimedChoice now = choice(unit, picked[unit]), then = choice(unit, to);
        sums.loss += then.loss - now.loss;
        sums.bytes = sums.bytes + then.bytes - now.bytes, sums.ns = sums.ns + then.ns - now.ns;
        picked[unit] = to;
    }

    struct Change {
        std::size_t unit, to;
        double loss;
        std::int64_t bytes, ns;
    };

    /// All changes of one unit of the best selection.
    std::vector<Change> changes() const {
        std::vector<Change> out;
        for (std::size_t i = 0; i < best_.size(); ++i)
            for (std::size_t c = 0; c < choices(i); ++c) {
                const TimedChoice now = choice(i, best_[i]), then = choice(i, c);
                if (c != best_[i])
                    out.push_back({i, c, then.loss - now.loss, std::int64_t(then.bytes) - std::int64_t(now.bytes),
                                   std::int64_t(then.ns) - std::int64_t(now.ns)});
            }
        return out;
    }

    /// Changes one unit, or two at once, as long as that helps.
    void improve() {
        for (int pass = 0; pass < 200 && !best_.empty(); ++pass) {
            Sums sums = sumsOf(best_);
            const auto room = std::pair(std::int64_t(bytes_ - sums.bytes), std::int64_t(ns_ - sums.ns));
            const auto all = changes();
            double gain = -1e-12 * std::fabs(sums.loss);
            const Change *first = nullptr, *second = nullptr;
            for (const Change& one : all)
                if (one.loss < gain && one.bytes <= room.first && one.ns <= room.second) gain = one.loss, first = &one;
            if (!first && all.size() * all.size() / 2 <= kMostPairs)
                for (std::size_t a = 0; a < all.size(); ++a)
                    for (std::size_t b = a + 1; b < all.size(); ++b)
                        if (all[a].unit != all[b].unit && all[a].loss + all[b].loss < gain &&
                            all[a].bytes + all[b].bytes <= room.first && all[a].ns + all[b].ns <= room.second)
                            gain = all[a].loss + all[b].loss, first = &all[a], second = &all[b];
            if (!first) return;
            for (const Change* one : {first, second})
                if (one) change(best_, sums, one->unit, one->to);
            bestLoss_ = sumsOf(best_).loss;
        }
    }

    TimedSelection answer() const {
        TimedSelection out;
        const Sums sums = sumsOf(best_);
        out.picked = best_, out.loss = sums.loss, out.bytes = sums.bytes, out.ns = sums.ns, out.lossPerNs = price_;
        const double slack = 1e-12 * (std::fabs(sums.loss) + price_ * double(ns_)); // rounding of sums
        out.bound = bound_ >= sums.loss - slack ? sums.loss : bound_;
        return out;
    }

    TimedChoiceLists classes_;
    std::uint64_t bytes_, ns_;
    std::size_t mostStates_;
    Picked best_;
    double bestLoss_ = 0, bound_ = 0, price_ = 0;
    bool hasBound_ = false;
};

} // namespace

std::optional<TimedSelection> pickWithinBoth(const TimedChoiceLists& classes, std::uint64_t bytes, std::uint64_t ns,
                                             std::size_t mostStates, std::uint64_t* fastest) {
    return TwoBudgets(classes, bytes, ns, mostStates).solve(fastest);
}

} // namespace qs::plan
