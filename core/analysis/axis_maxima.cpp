// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/axis_maxima.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>

namespace qs {
namespace {

constexpr std::uint64_t kMostCells = std::uint64_t(1) << 24; ///< more rows or columns share one, which bounds memory
constexpr std::uint64_t kOwnColumns = 65536;                 ///< a worker keeps the maxima of so many columns by itself
constexpr std::uint64_t kShortRows = 4096;                   ///< shorter rows are taken several at a time, in elements
constexpr std::uint64_t kProfilePoints = 2048;

std::size_t sharedCell(std::uint64_t index, std::uint64_t count, std::size_t cells) {
    return std::size_t(cells == count ? index : index * cells / count);
}

std::int64_t aboveMedian(std::vector<float> maxima) {
    std::erase_if(maxima, [](float value) { return std::isnan(value); });
    if (maxima.size() < 2) return 0;
    const std::size_t middle = maxima.size() / 2;
    std::nth_element(maxima.begin(), maxima.begin() + std::ptrdiff_t(middle), maxima.end());
    double median = double(maxima[middle]);
    if (maxima.size() % 2 == 0)
        median = (median + double(*std::max_element(maxima.begin(), maxima.begin() + std::ptrdiff_t(middle)))) / 2;
    return std::ranges::count_if(maxima, [&](float value) { return double(value) > 6 * median; });
}

} // namespace

AxisMaxima::AxisMaxima(std::uint64_t elements, std::int64_t lastAxis)
    : rows_(lastAxis > 0 ? elements / std::uint64_t(lastAxis) : 0), columns_(rows_ > 0 ? std::uint64_t(lastAxis) : 0),
      rowMax_(std::size_t(std::min(rows_, kMostCells))) {
    if (columns_ > kOwnColumns)
        wideMax_ = MaxCells(std::size_t(std::min(columns_, kMostCells)));
    else
        period_ = std::size_t(columns_ * std::max<std::uint64_t>(1, kShortRows / std::max<std::uint64_t>(1, columns_)));
    own_.resize(workerCount());
}

void AxisMaxima::add(const PassRange& range, bool allFinite) {
    for (std::size_t done = 0; done < range.n;) {
        const std::uint64_t at = range.begin + done;
        const auto part = std::size_t(std::min<std::uint64_t>(range.n - done, columns_ - at % columns_));
        rowMax_.raise(sharedCell(at / columns_, rows_, rowMax_.size()),
                      bestKernels().absMax(range.x + done, part, true));
        done += part;
    }
    addColumns(range, allFinite);
}

void AxisMaxima::addColumns(const PassRange& range, bool allFinite) {
    if (period_ == 0) {
        for (std::size_t i = 0; i < range.n; ++i)
            if (std::isfinite(range.x[i]))
                wideMax_.raise(sharedCell((range.begin + i) % columns_, columns_, wideMax_.size()),
                               std::fabs(range.x[i]));
        return;
    }
    auto& maxima = own_[range.worker];
    if (maxima.empty()) maxima.assign(period_, 0.0f);
    for (std::size_t done = 0; done < range.n;) {
        const auto first = std::size_t((range.begin + done) % period_);
        const std::size_t part = std::min(range.n - done, period_ - first);
        const float* x = range.x + done;
        if (allFinite)
            bestKernels().columnAbsMax(x, part, maxima.data() + first);
        else
            for (std::size_t i = 0; i < part; ++i)
                if (std::isfinite(x[i])) maxima[first + i] = std::max(maxima[first + i], std::fabs(x[i]));
        done += part;
    }
}

std::vector<float> AxisMaxima::columnMaxima() const {
    if (period_ == 0) return wideMax_.values();
    std::vector<float> all(std::size_t(columns_), 0.0f);
    for (const auto& maxima : own_)
        for (std::size_t i = 0; i < maxima.size(); ++i) all[i % all.size()] = std::max(all[i % all.size()], maxima[i]);
    return all;
}

std::int64_t AxisMaxima::outlierRows() const { return aboveMedian(rowMax_.values()); }
std::int64_t AxisMaxima::outlierColumns() const { return aboveMedian(columnMaxima()); }

ChannelProfile AxisMaxima::columnProfile() const {
    const auto all = columnMaxima();
    MaxCells points(std::min<std::size_t>(all.size(), kProfilePoints));
    for (std::size_t i = 0; i < all.size(); ++i)
        if (!std::isnan(all[i])) points.raise(sharedCell(i, all.size(), points.size()), all[i]);
    return {std::int64_t(columns_), points.values(), {}};
}

} // namespace qs
