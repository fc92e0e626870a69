// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/forensics/block_cause.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

namespace qs {

BlockCause causeOf(std::span<const float> values, double rowAbsMax) {
    std::vector<float> finite;
    for (const float value : values)
        if (std::isfinite(value)) finite.push_back(value);
    const std::size_t n = finite.size();
    if (n == 0) return {"ordinary", "no value of the block is finite"};
    double sum = 0, sumAbs = 0, sumSquares = 0, absMax = 0;
    for (const float value : finite) {
        const double a = std::fabs(double(value));
        sum += double(value), sumAbs += a, sumSquares += a * a;
        absMax = std::max(absMax, a);
    }
    if (absMax == 0) return {"near zero", "every value is 0"};
    if (absMax < 0.01 * rowAbsMax)
        return {"near zero", fmt::format("the largest magnitude is {}, {} % of the row's", significantText(absMax),
                                         fixedText(100 * absMax / rowAbsMax, 2))};
    std::ranges::sort(finite);
    if (n > 1 && finite.front() == finite.back())
        return {"constant", fmt::format("all {} values are {}", n, significantText(double(finite.front())))};
    std::size_t distinct = 1;
    for (std::size_t i = 1; i < n; ++i) distinct += finite[i] != finite[i - 1];
    if (n >= 32 && distinct <= 16)
        return {"already quantized", fmt::format("{} values are only {} distinct ones", n, distinct)};
    // The largest of n normal values is about sqrt(2 ln n) standard deviations; one block in a thousand exceeds it by
    // 1.5.
    const double others = n > 1 ? std::sqrt((sumSquares - absMax * absMax) / double(n - 1)) : 0;
    const double usual = std::sqrt(2 * std::log(double(n))) + 1.5;
    if (n >= 8 && absMax > usual * others)
        return {"outlier-dominated",
                others > 0 ? fmt::format("the largest magnitude is {} x the rms of the other values, {} is usual",
                                         fixedText(absMax / others, 1), fixedText(usual - 1.5, 1))
                           : std::string("one value is not 0, all others are")};
    const double balance = std::fabs(sum) / sumAbs;
    if (n >= 16 && balance > 0.9)
        return {"one-sided",
                fmt::format("|sum x| is {} % of sum |x|: half of the codes are idle", fixedText(100 * balance, 1))};
    return {"ordinary", n < 2 ? std::string("one value, which is its own scale")
                              : fmt::format("the largest magnitude is {} x the rms of the other values",
                                            fixedText(absMax / others, 1))};
}

} // namespace qs
