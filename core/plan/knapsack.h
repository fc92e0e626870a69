// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The multiple-choice knapsack problem: one choice for each class, so that the sum of losses is least and the sum of
// bytes is within a budget. The answer is exact.
//
// Method: the bound of the Lagrange dual (M. Fisher, The Lagrangian relaxation method for solving integer programming
// problems, 1981), then the minimal algorithm of D. Pisinger (A minimal algorithm for the multiple-choice knapsack
// problem, 1995): classes join a dynamic program one after another, those that the dual decides least first, and it ends
// when no class that is left can improve the answer.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace qs::plan {

/// The choices of all classes, one class after another. Every class has at least one.
struct ChoiceLists {
    std::span<const std::uint32_t> first; ///< of each class: the number of its first choice; and the end
    std::span<const double> loss;         ///< of each choice; finite; in any unit, the same for all classes
    std::span<const std::uint64_t> bytes; ///< of each choice
    std::size_t size() const { return first.size() - 1; } ///< classes
};

struct Selection {
    std::vector<std::size_t> picked; ///< of each class: index of its choice
    double loss = 0;                 ///< sum over the classes
    std::uint64_t bytes = 0;         ///< sum over the classes, at most the budget
    double bound = 0;                ///< no selection within the budget has a smaller loss
    /// Relative distance to the bound; 0 where the selection is proved to be the best.
    double gap() const;
};

/// `mostStates`: how many partial selections are kept at once; where more were needed, the bound says how far the answer
/// may be from the best. None if the budget is smaller than leastBytes(). Results depend on the input alone.
std::optional<Selection> pickChoices(const ChoiceLists& classes, std::uint64_t budget,
                                     std::size_t mostStates = std::size_t(1) << 20);
/// Bytes of the cheapest choices.
std::uint64_t leastBytes(const ChoiceLists& classes);

} // namespace qs::plan
