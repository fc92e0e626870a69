// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The specs that each unit of a plan can have, with bytes, loss and time. A model may have a million units, so they are
// flat lists of numbers: about 18 bytes for an option.

#include "core/base/common_texts.h"
#include "core/base/rare_values.h"
#include "core/bench/run/statistics.h"
#include "core/plan/two_budgets.h"

#include <iterator>
#include <limits>
#include <string>

namespace qs::plan {

constexpr std::size_t kKeep = std::numeric_limits<std::size_t>::max(); ///< in the place of a spec: as it is stored
constexpr std::size_t kMostSpecs = 65'000;                             ///< of a plan

/// A spec for a unit.
struct UnitOption {
    std::size_t spec = 0; ///< index into Options::specs, or kKeep
    std::uint64_t bytes = 0;
    double loss = 0;
    double error = 0;       ///< standard error of the loss; 0 where the objective has none
    bool isMeasured = true; ///< false: a locked spec whose loss is not known; `loss` is 0 then
    bool isTimed = true;    ///< false: a product without a measured time, which `ns` lacks
    std::uint64_t ns = 0;   ///< of its products in one pass; 0 where no times are known
    Interval nsRange = {};  ///< sums of the lower and of the upper ends of the medians' intervals; NaN: one has none
};

/// A spec that is no choice for a unit.
struct RefusedSpec {
    std::size_t spec = 0; ///< index into Options::specs
    std::string reason;
};

class OptionTable;

/// The options of one unit, as a list of values.
class UnitOptions {
public:
    struct Iterator {
        using value_type = UnitOption;
        using difference_type = std::ptrdiff_t;
        const OptionTable* table = nullptr;
        std::size_t at = 0; ///< in the whole table
        UnitOption operator*() const;
        Iterator& operator++() { return ++at, *this; }
        Iterator operator++(int) { return {table, at++}; }
        difference_type operator-(const Iterator& other) const { return difference_type(at - other.at); }
        bool operator==(const Iterator&) const = default;
    };
    UnitOptions(const OptionTable& table, std::size_t first, std::size_t end)
        : begin_{&table, first}, end_{&table, end} {}
    Iterator begin() const { return begin_; }
    Iterator end() const { return end_; }
    std::size_t size() const { return end_.at - begin_.at; }
    UnitOption operator[](std::size_t option) const { return *Iterator{begin_.table, begin_.at + option}; }
    UnitOption front() const { return *begin_; }

private:
    Iterator begin_, end_;
};

class OptionTable {
public:
    OptionTable() = default;
    OptionTable(std::size_t mostUnits, std::size_t mostOptions, bool hasTimes);          ///< with memory for so many
    void add(std::span<const UnitOption> options, std::span<const RefusedSpec> refused); ///< of the next unit

    std::size_t size() const { return first_.size() - 1; } ///< units
    UnitOptions operator[](std::size_t unit) const { return {*this, first_[unit], first_[unit + 1]}; }
    UnitOption option(std::size_t at) const; ///< by its number in the whole table
    std::vector<RefusedSpec> refused(std::size_t unit) const;
    /// The losses beside the bytes or the times.
    ChoiceLists byBytes() const { return {first_, loss_, bytes_}; }
    ChoiceLists byTime() const { return {first_, loss_, ns_}; }
    TimedChoiceLists byBoth() const { return {byBytes(), ns_}; }

private:
    struct Refused {
        std::uint32_t unit;
        std::uint16_t spec;
        std::uint32_t reason; ///< number of its text
    };
    static constexpr std::uint16_t kKept = 0xffff; ///< kKeep

    std::vector<std::uint32_t> first_{0}; ///< of each unit: the number of its first option; and the end
    std::vector<std::uint16_t> spec_;     ///< of each option, as those below
    std::vector<std::uint64_t> bytes_;
    std::vector<double> loss_;
    std::vector<std::uint64_t> ns_; ///< empty without times
    RareValues<double> error_, nsLow_, nsHigh_;
    RareValues<bool> isUnmeasured_, isUntimed_;
    std::vector<Refused> refused_; ///< by unit
    CommonTexts reasons_;
};

inline UnitOption UnitOptions::Iterator::operator*() const { return table->option(at); }

} // namespace qs::plan
