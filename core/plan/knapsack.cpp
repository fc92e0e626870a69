// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/knapsack.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace qs::plan {
namespace {

struct Candidate {
    double loss;
    std::int64_t bytes;
    std::size_t index;  ///< in its class
    double reduced = 0; ///< loss + price * bytes, above the least of its class
};

/// A class without choices that another one beats in bytes and in loss: bytes rise, losses fall.
struct Class {
    std::vector<Candidate> candidates;
    std::size_t base = 0;    ///< the candidate that the dual takes
    double nearest = 0;      ///< the least reduced loss of its other candidates
    std::int64_t saving = 0; ///< bytes that its cheapest candidate saves against `base`
    const Candidate& taken() const { return candidates[base]; }
};

Class efficient(const std::vector<Choice>& choices) {
    assert(!choices.empty());
    Class out;
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < choices.size(); ++i)
        all.push_back({choices[i].loss, std::int64_t(choices[i].bytes), i});
    std::ranges::stable_sort(all, [](const Candidate& a, const Candidate& b) {
        return a.bytes != b.bytes ? a.bytes < b.bytes : a.loss < b.loss;
    });
    for (const auto& one : all)
        if (out.candidates.empty() || one.loss < out.candidates.back().loss) out.candidates.push_back(one);
    return out;
}

/// A step from one corner of a class's lower convex hull to the next.
struct HullStep {
    double perByte; ///< loss that a byte removes
    std::size_t of; ///< class
    std::size_t to; ///< candidate
};

std::vector<std::size_t> hullOf(const Class& group) {
    std::vector<std::size_t> hull;
    const auto& c = group.candidates;
    const auto slope = [&](std::size_t a, std::size_t b) {
        return (c[a].loss - c[b].loss) / double(c[b].bytes - c[a].bytes);
    };
    for (std::size_t i = 0; i < c.size(); ++i) {
        while (hull.size() >= 2 && slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), i)) hull.pop_back();
        hull.push_back(i);
    }
    return hull;
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
    Solver(std::span<const std::vector<Choice>> classes, std::uint64_t budget, std::size_t mostStates)
        : budget_(std::int64_t(std::min<std::uint64_t>(budget, std::numeric_limits<std::int64_t>::max() / 2))),
          mostStates_(mostStates) {
        for (const auto& choices : classes) classes_.push_back(efficient(choices));
    }

    Selection solve() {
        relax();
        if (best_ > bound_) expand();
        return selection();
    }

private:
    double slack() const { return 1e-12 * (std::abs(best_) + std::abs(bound_)); } ///< rounding of sums
    double dualOf(double loss, std::int64_t bytes) const { return loss + price_ * double(bytes - budget_); }

    /// Sets the price of a byte, every class's base and reduced losses, the bound, and a first answer.
    void relax() {
        std::vector<HullStep> steps;
        std::int64_t bytes = 0;
        for (std::size_t k = 0; k < classes_.size(); ++k) {
            const auto hull = hullOf(classes_[k]);
            const auto& c = classes_[k].candidates;
            bytes += c.front().bytes;
            for (std::size_t i = 1; i < hull.size(); ++i)
                steps.push_back(
                    {(c[hull[i - 1]].loss - c[hull[i]].loss) / double(c[hull[i]].bytes - c[hull[i - 1]].bytes), k,
                     hull[i]});
        }
        std::ranges::stable_sort(steps, [](const HullStep& a, const HullStep& b) { return a.perByte > b.perByte; });
        std::vector<std::size_t> greedy(classes_.size(), 0);
        bool first = true;
        for (const auto& step : steps) {
            auto& group = classes_[step.of];
            const std::int64_t more = group.candidates[step.to].bytes - group.candidates[greedy[step.of]].bytes;
            if (bytes + more <= budget_) {
                bytes += more, greedy[step.of] = step.to;
                if (first) group.base = step.to;
            } else if (std::exchange(first, false))
                price_ = step.perByte; // the first step that does not fit
        }
        fill(greedy, bytes);
        bases_ = greedy; // of the best answer, until the program finds a better one
        price();
    }

    /// Takes choices that still fit, the greatest gain first.
    void fill(std::vector<std::size_t>& picked, std::int64_t bytes) const {
        for (bool found = true; found;) {
            found = false;
            double gain = 0;
            std::size_t group = 0, to = 0;
            for (std::size_t k = 0; k < classes_.size(); ++k)
                for (std::size_t i = picked[k] + 1; i < classes_[k].candidates.size(); ++i) {
                    const auto &now = classes_[k].candidates[picked[k]], &then = classes_[k].candidates[i];
                    if (bytes + then.bytes - now.bytes > budget_ || now.loss - then.loss <= gain) continue;
                    gain = now.loss - then.loss, group = k, to = i, found = true;
                }
            if (!found) return;
            bytes += classes_[group].candidates[to].bytes - classes_[group].candidates[picked[group]].bytes;
            picked[group] = to;
        }
    }

    void price() {
        bound_ = 0, start_ = {0, 0, -1}, best_ = 0;
        std::int64_t bytes = 0;
        for (std::size_t k = 0; k < classes_.size(); ++k) {
            auto& group = classes_[k];
            const Candidate taken = group.taken();
            for (auto& c : group.candidates) c.reduced = c.loss - taken.loss + price_ * double(c.bytes - taken.bytes);
            group.nearest = std::numeric_limits<double>::infinity();
            for (std::size_t i = 0; i < group.candidates.size(); ++i)
                if (i != group.base)
                    group.nearest = std::min(group.nearest, std::max(0.0, group.candidates[i].reduced));
            group.saving = group.taken().bytes - group.candidates.front().bytes;
            start_.bytes += group.taken().bytes, start_.loss += group.taken().loss;
            best_ += group.candidates[bases_[k]].loss, bytes += group.candidates[bases_[k]].bytes;
        }
        bound_ = std::min(best_, price_ == 0 ? start_.loss : dualOf(start_.loss, start_.bytes));
        assert(bytes <= budget_);
    }

    void expand() {
        std::vector<std::size_t> order(classes_.size());
        std::iota(order.begin(), order.end(), std::size_t(0));
        std::ranges::stable_sort(
            order, [&](std::size_t a, std::size_t b) { return classes_[a].nearest < classes_[b].nearest; });
        std::int64_t savings = 0; // of the classes that have not joined
        for (const auto& group : classes_) savings += group.saving;
        std::vector<State> states{start_};
        double dropped = std::numeric_limits<double>::infinity(); ///< the least dual value of a state that was dropped
        for (const std::size_t k : order) {
            const Class& group = classes_[k];
            if (bound_ + group.nearest >= best_ - slack()) break; // neither this class nor those after it can help
            savings -= group.saving;
            states = joined(states, k, savings);
            if (states.size() > mostStates_) dropped = std::min(dropped, thin(states));
        }
        bound_ = std::clamp(std::min(dropped, best_), bound_, best_);
    }

    /// All states with all choices of a class, without those that cannot lead to a better answer.
    std::vector<State> joined(const std::vector<State>& states, std::size_t k, std::int64_t savings) {
        const Class& group = classes_[k];
        std::vector<State> out;
        for (std::size_t i = 0; i < group.candidates.size(); ++i) {
            const auto& c = group.candidates[i];
            if (bound_ + c.reduced >= best_ - slack() && i != group.base) continue;
            const std::int64_t more = c.bytes - group.taken().bytes;
            const double loss = c.loss - group.taken().loss;
            for (const auto& state : states) {
                const State next{state.bytes + more, state.loss + loss, state.node, std::uint32_t(i)};
                if (next.bytes - savings > budget_ || dualOf(next.loss, next.bytes) >= best_ - slack()) continue;
                if (next.bytes <= budget_ && next.loss < best_)
                    best_ = next.loss, bestNode_ = nodeOf(next, k), isBase_ = false;
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
        if (state.joined == classes_[k].base) return state.node;
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

    Selection selection() const {
        std::vector<std::size_t> picked = bases_;
        if (!isBase_) {
            for (std::size_t k = 0; k < classes_.size(); ++k) picked[k] = classes_[k].base;
            for (std::int32_t node = bestNode_; node >= 0; node = nodes_[std::size_t(node)].before)
                picked[nodes_[std::size_t(node)].group] = nodes_[std::size_t(node)].candidate;
        }
        Selection out;
        for (std::size_t k = 0; k < classes_.size(); ++k) {
            const auto& c = classes_[k].candidates[picked[k]];
            out.picked.push_back(c.index);
            out.loss += c.loss, out.bytes += std::uint64_t(c.bytes);
        }
        out.bound = bound_ >= best_ - slack() ? out.loss : std::min(bound_, out.loss);
        return out;
    }

    std::vector<Class> classes_;
    std::int64_t budget_;
    std::size_t mostStates_;
    double price_ = 0; ///< loss that a byte is worth
    double bound_ = 0, best_ = 0;
    State start_{};
    std::vector<Node> nodes_;
    std::int32_t bestNode_ = -1;
    std::vector<std::size_t> bases_; ///< candidates of the first answer
    bool isBase_ = true;             ///< the first answer is still the best
};

} // namespace

double Selection::gap() const {
    if (bound >= loss) return 0;
    return (loss - bound) / std::max(std::abs(loss), std::numeric_limits<double>::min());
}

std::uint64_t leastBytes(std::span<const std::vector<Choice>> classes) {
    std::uint64_t sum = 0;
    for (const auto& choices : classes)
        sum += std::ranges::min_element(choices, [](const Choice& a, const Choice& b) {
                   return a.bytes < b.bytes;
               })->bytes;
    return sum;
}

std::optional<Selection> pickChoices(std::span<const std::vector<Choice>> classes, std::uint64_t budget,
                                     std::size_t mostStates) {
    if (leastBytes(classes) > budget) return {};
    return Solver(classes, budget, mostStates).solve();
}

} // namespace qs::plan
