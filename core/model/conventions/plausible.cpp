// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/plausible.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::size_t kRows = 64, kColumns = 1024, kWide = 16;
constexpr double kLeastSize = 1e-7, kLargestSize = 30; ///< root mean squares that weights have

/// The share of the variance that a block has in common with the block `step` further on.
double agreement(const std::vector<double>& sizes, std::size_t columns, std::size_t step, bool inRow) {
    double mean = 0, variance = 0, apart = 0;
    for (const double size : sizes) mean += size;
    mean /= double(sizes.size());
    for (const double size : sizes) variance += (size - mean) * (size - mean);
    std::size_t pairs = 0;
    for (std::size_t i = 0; i + step < sizes.size(); ++i) {
        if (inRow && i % columns + step >= columns) continue;
        apart += (sizes[i + step] - sizes[i]) * (sizes[i + step] - sizes[i]);
        ++pairs;
    }
    if (pairs == 0 || variance <= 1e-9 * double(sizes.size())) return 0;
    return 1 - apart / double(pairs) / (2 * variance / double(sizes.size()));
}

} // namespace

Plausibility plausibilityOf(const Layer& layer) {
    const auto columns = std::size_t(layer.shape().back()), rows = std::size_t(layer.elements() / layer.shape().back());
    const std::size_t n = std::min(columns, kColumns), blocks = n / kWide;
    std::vector<float> row(n);
    std::vector<double> sizes; // log2 of the root mean square of each block, row by row
    double all = 0;
    std::size_t count = 0;
    for (std::size_t r = 0; r < std::min(rows, kRows); ++r) {
        layer.values(std::uint64_t(r) * columns, n, row.data());
        for (const float x : row) {
            if (!std::isfinite(x)) return {0, "it decodes to values that are not finite"};
            all += double(x) * double(x);
        }
        count += n;
        for (std::size_t b = 0; b < blocks; ++b) {
            double sum = 1e-30;
            for (std::size_t i = 0; i < kWide; ++i) sum += double(row[b * kWide + i]) * double(row[b * kWide + i]);
            sizes.push_back(0.5 * std::log2(sum));
        }
    }
    const double size = std::sqrt(all / double(std::max<std::size_t>(1, count)));
    if (size == 0) return {0.5, "it decodes to zeros"};
    if (size < kLeastSize || size > kLargestSize)
        return {0, fmt::format("it decodes to values of about {:.3g}, which weights are not", size)};
    if (sizes.empty()) return {0.5, fmt::format("it decodes to values of about {:.3g}", size)};
    const double alike = std::max(agreement(sizes, blocks, blocks, false), agreement(sizes, blocks, 1, true));
    return {std::clamp(0.5 + 0.5 * alike, kLeastPlausible, 1.0),
            fmt::format("it decodes to values of about {:.3g}, and neighbouring blocks agree to {:.0f} %", size,
                        100 * std::clamp(alike, 0.0, 1.0))};
}

} // namespace qs
