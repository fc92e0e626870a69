// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The error of values against their reference, in f64. All labs use these figures.

#include <optional>
#include <span>

namespace qs::value {

struct Deviation {
    double errorPower = 0, power = 0; ///< sums of squares of the difference and of the reference
    double maxAbs = 0;
    bool finite = true;
    bool exact() const { return finite && errorPower == 0; }
    /// nullopt if the power of the reference is 0, or a value is not finite.
    std::optional<double> nmse() const;
    std::optional<double> sqnrCell() const; ///< for a table, see decibel.h
    std::optional<double> sqnrDb() const;   ///< also nullopt if nothing differs, because it would be infinite
};
Deviation deviation(std::span<const float> should, std::span<const float> is);

} // namespace qs::value
