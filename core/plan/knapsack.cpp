// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/knapsack.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace qs::plan {
namespace {

struct Candidate {
    double loss;
    std::int64_t bytes;
};

/// The choices of each class without those that another one beats in bytes and in loss: bytes rise, losses fall. There may
/// be a million classes, so they are numbers of choices in flat lists.
class Candidates {
public:
    explicit Candidates(const ChoiceLists& choices) : choices_(choices) {
        first_.reserve(choices.size() + 1), numbers_.reserve(choices.loss.size());
        first_.push_back(0);
        std::vector<std::uint32_t> all;
        for (std::size_t k = 0; k < choices.size(); ++k) {
            assert(choices.first[k] < choices.first[k + 1]);
            all.resize(choices.first[k + 1] - choices.first[k]);
            std::iota(all.begin(), all.end(), choices.first[k]);
            std::ranges::sort(all, [&](std::uint32_t a, std::uint32_t b) {
                return std::tuple(choices.bytes[a], choices.loss[a], a) <
                       std::tuple(choices.bytes[b], choices.loss[b], b);
            });
            for (const std::uint32_t one : all)
                if (first_.back() == numbers_.size() || choices.loss[one] < choices.loss[numbers_.back()])
                    numbers_.push_back(one);
            first_.push_back(std::uint32_t(numbers_.size()));
        }
    }
    std::size_t classes() const { return choices_.size(); }
    std::size_t count() const { return numbers_.size(); } ///< of all classes
    std::size_t count(std::size_t k) const { return first_[k + 1] - first_[k]; }
    Candidate of(std::size_t k, std::size_t i) const {
        const std::uint32_t number = numbers_[first_[k] + i];
        return {choices_.loss[number], std::int64_t(choices_.bytes[number])};
    }
    /// The index of the choice in its class.
    std::size_t indexOf(std::size_t k, std::size_t i) const { return numbers_[first_[k] + i] - choices_.first[k]; }

private:
    ChoiceLists choices_;
    std::vector<std::uint32_t> first_;   ///< of each class: its first candidate; and the end
    std::vector<std::uint32_t> numbers_; ///< of the choices
};

/// A step from one corner of a class's lower convex hull to the next.
struct HullStep {
    double perByte;   ///< loss that a byte removes
    std::uint32_t of; ///< class
    std::uint32_t to; ///< candidate
};

double slope(const Candidate& a, const Candidate& b) { return (a.loss - b.loss) / double(b.bytes - a.bytes); }

/// Sets `hull` to the candidates that are corners.
void findHull(const Candidates& all, std::size_t k, std::vector<std::uint32_t>& hull) {
    hull.clear();
    const auto between = [&](std::size_t a, std::size_t b) { return slope(all.of(k, a), all.of(k, b)); };
    for (std::uint32_t i = 0; i < all.count(k); ++i) {
        while (hull.size() >= 2 && between(hull[hull.size() - 2], hull.back()) <= between(hull.back(), i))
            hull.pop_back();
        hull.push_back(i);
    }
}

/// A partial selection: the classes that joined have a choice each, the others their base.
struct State {
    std::int64_t bytes;
    double loss;
    std::int32_t node;        ///< of the last choice that is not the base; -1: there is none
    std::uint32_t joined = 0; ///< candidate of the class that joins now
};
struct Node {
    std::uint32_t group, candidate;
    std::int32_t before;
};

class Solver {
public:
    Solver(const ChoiceLists& classes, std::uint64_t budget, std::size_t mostStates)
        : all_(classes),
          budget_(std::int64_t(std::min<std::uint64_t>(budget, std::numeric_limits<std::int64_t>::max() / 2))),
          mostStates_(mostStates), base_(classes.size()), greedy_(classes.size()) {}

    Selection solve() {
        relax();
        if (best_ > bound_) expand();
        return selection();
    }

private:
    double slack() const { return 1e-12 * (std::abs(best_) + std::abs(bound_)); } ///< rounding of sums
    double dualOf(double loss, std::int64_t bytes) const { return loss + price_ * double(bytes - budget_); }

    Candidate taken(std::size_t k) const { return all_.of(k, base_[k]); }
    /// loss + price * bytes, above that of the class's base.
    double reduced(const Candidate& one, const Candidate& taken) const {
        return one.loss - taken.loss + price_ * double(one.bytes - taken.bytes);
    }
    /// The least reduced loss of the candidates that are not the base.
    double nearest(std::size_t k) const {
        double out = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < all_.count(k); ++i)
            if (i != base_[k]) out = std::min(out, std::max(0.0, reduced(all_.of(k, i), taken(k))));
        return out;
    }
    /// Bytes that the cheapest candidate of a class saves against its base.
    std::int64_t saving(std::size_t k) const { return taken(k).bytes - all_.of(k, 0).bytes; }

    /// Sets the price of a byte, every class's base, the bound, and a first answer.
    void relax() {
        std::int64_t bytes = 0;
        for (std::size_t k = 0; k < all_.classes(); ++k) bytes += all_.of(k, 0).bytes;
        bool first = true;
        for (const auto& step : hullSteps()) {
            const std::int64_t more = all_.of(step.of, step.to).bytes - all_.of(step.of, greedy_[step.of]).bytes;
            if (bytes + more <= budget_) {
                bytes += more, greedy_[step.of] = step.to;
                if (first) base_[step.of] = step.to;
            } else if (std::exchange(first, false))
                price_ = step.perByte; // the first step that does not fit
        }
        fill(bytes);
        price();
    }

    /// Those of all classes, by falling loss that a byte removes.
    std::vector<HullStep> hullSteps() const {
        std::vector<HullStep> steps;
        steps.reserve(all_.count() - all_.classes());
        std::vector<std::uint32_t> hull;
        for (std::size_t k = 0; k < all_.classes(); ++k) {
            findHull(all_, k, hull);
            for (std::size_t i = 1; i < hull.size(); ++i)
                steps.push_back({slope(all_.of(k, hull[i - 1]), all_.of(k, hull[i])), std::uint32_t(k), hull[i]});
        }
        std::ranges::sort(steps, [](const HullStep& a, const HullStep& b) {
            return std::tuple(b.perByte, a.of, a.to) < std::tuple(a.perByte, b.of, b.to);
        });
        return steps;
    }

    /// Takes choices that still fit, the greatest gain first.
    void fill(std::int64_t bytes) {
        for (bool found = true; found;) {
            found = false;
            double gain = 0;
            std::size_t group = 0, to = 0;
            for (std::size_t k = 0; k < all_.classes(); ++k) {
                const Candidate now = all_.of(k, greedy_[k]);
                for (std::size_t i = greedy_[k] + 1; i < all_.count(k); ++i) {
                    const Candidate then = all_.of(k, i);
                    if (bytes + then.bytes - now.bytes > budget_ || now.loss - then.loss <= gain) continue;
                    gain = now.loss - then.loss, group = k, to = i, found = true;
                }
            }
            if (!found) return;
            bytes += all_.of(group, to).bytes - all_.of(group, greedy_[group]).bytes;
            greedy_[group] = std::uint32_t(to);
        }
    }

    void price() {
        bound_ = 0, start_ = {0, 0, -1}, best_ = 0;
        std::int64_t bytes = 0;
        for (std::size_t k = 0; k < all_.classes(); ++k) {
            const Candidate base = taken(k), first = all_.of(k, greedy_[k]);
            start_.bytes += base.bytes, start_.loss += base.loss;
            best_ += first.loss, bytes += first.bytes;
        }
        bound_ = std::min(best_, price_ == 0 ? start_.loss : dualOf(start_.loss, start_.bytes));
        assert(bytes <= budget_);
    }

    void expand() {
        std::vector<double> nearest; // of each class
        nearest.reserve(all_.classes());
        std::int64_t savings = 0; // of the classes that have not joined
        for (std::size_t k = 0; k < all_.classes(); ++k) nearest.push_back(this->nearest(k)), savings += saving(k);
        std::vector<std::uint32_t> order(all_.classes());
        std::iota(order.begin(), order.end(), 0u);
        std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
            return std::pair(nearest[a], a) < std::pair(nearest[b], b);
        });
        std::vector<State> states{start_};
        double dropped = std::numeric_limits<double>::infinity(); ///< the least dual value of a state that was dropped
        for (const std::size_t k : order) {
            if (bound_ + nearest[k] >= best_ - slack()) break; // neither this class nor those after it can help
            savings -= saving(k);
            states = joined(states, k, savings);
            if (states.size() > mostStates_) dropped = std::min(dropped, thin(states));
        }
        bound_ = std::clamp(std::min(dropped, best_), bound_, best_);
    }

    /// All states with all choices of a class, without those that cannot lead to a better answer.
    std::vector<State> joined(const std::vector<State>& states, std::size_t k, std::int64_t savings) {
        const Candidate base = taken(k);
        std::vector<State> out;
        for (std::size_t i = 0; i < all_.count(k); ++i) {
            const Candidate c = all_.of(k, i);
            if (bound_ + reduced(c, base) >= best_ - slack() && i != base_[k]) continue;
            const std::int64_t more = c.bytes - base.bytes;
            const double loss = c.loss - base.loss;
            for (const auto& state : states) {
                const State next{state.bytes + more, state.loss + loss, state.node, std::uint32_t(i)};
                if (next.bytes - savings > budget_ || dualOf(next.loss, next.bytes) >= best_ - slack()) continue;
                if (next.bytes <= budget_ && next.loss < best_)
                    best_ = next.loss, bestNode_ = nodeOf(next, k), isFirst_ = false;
                out.push_back(next);
            }
        }
        std::ranges::sort(out, [](const State& a, const State& b) {
            return a.bytes != b.bytes ? a.bytes < b.bytes
                   : a.loss != b.loss ? a.loss < b.loss
                                      : std::pair(a.node, a.joined) < std::pair(b.node, b.joined);
        });
        std::size_t kept = 0;
        for (const auto& state : out) {
            if (kept > 0 && state.loss >= out[kept - 1].loss) continue; // more bytes and no less loss
            if (dualOf(state.loss, state.bytes) >= best_ - slack()) continue;
            out[kept] = state;
            out[kept++].node = nodeOf(state, k);
        }
        out.resize(kept);
        return out;
    }

    /// The node of a state with the choice of the class that joins now.
    std::int32_t nodeOf(const State& state, std::size_t k) {
        if (state.joined == base_[k]) return state.node;
        nodes_.push_back({std::uint32_t(k), state.joined, state.node});
        return std::int32_t(nodes_.size()) - 1;
    }

    /// Keeps the states with the least dual values. Returns the least of those that go.
    double thin(std::vector<State>& states) const {
        const auto dual = [&](const State& s) { return dualOf(s.loss, s.bytes); };
        std::nth_element(states.begin(), states.begin() + std::ptrdiff_t(mostStates_), states.end(),
                         [&](const State& a, const State& b) { return dual(a) < dual(b); });
        const double least = dual(states[mostStates_]);
        states.resize(mostStates_);
        return least;
    }

    Selection selection() {
        std::vector<std::uint32_t>& picked = isFirst_ ? greedy_ : base_;
        if (!isFirst_)
            for (std::int32_t node = bestNode_; node >= 0; node = nodes_[std::size_t(node)].before)
                picked[nodes_[std::size_t(node)].group] = nodes_[std::size_t(node)].candidate;
        Selection out;
        out.picked.reserve(all_.classes());
        for (std::size_t k = 0; k < all_.classes(); ++k) {
            const Candidate c = all_.of(k, picked[k]);
            out.picked.push_back(all_.indexOf(k, picked[k]));
            out.loss += c.loss, out.bytes += std::uint64_t(c.bytes);
        }
        out.bound = bound_ >= best_ - slack() ? out.loss : std::min(bound_, out.loss);
        return out;
    }

    Candidates all_;
    std::int64_t budget_;
    std::size_t mostStates_;
    double price_ = 0; ///< loss that a byte is worth
    double bound_ = 0, best_ = 0;
    State start_{};
    std::vector<Node> nodes_;
    std::int32_t bestNode_ = -1;
    std::vector<std::uint32_t> base_;   ///< of each class: the candidate that the dual takes
    std::vector<std::uint32_t> greedy_; ///< those of the first answer
    bool isFirst_ = true;               ///< the first answer is still the best
};

} // namespace

double Selection::gap() const {
    if (bound >= loss) return 0;
    return (loss - bound) / std::max(std::abs(loss), std::numeric_limits<double>::min());
}

std::uint64_t leastBytes(const ChoiceLists& classes) {
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < classes.size(); ++k)
        sum += std::ranges::min(classes.bytes.subspan(classes.first[k], classes.first[k + 1] - classes.first[k]));
    return sum;
}

std::optional<Selection> pickChoices(const ChoiceLists& classes, std::uint64_t budget, std::size_t mostStates) {
    if (leastBytes(classes) > budget) return {};
    return Solver(classes, budget, mostStates).solve();
}

} // namespace qs::plan
