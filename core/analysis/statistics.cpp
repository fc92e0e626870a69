// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/statistics.h"

#include "core/base/text.h"
#include "core/quant/encode/float_values.h"
#include "core/quant/encode/pass.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace qs {

double TensorStatistics::absMax() const {
    return std::max(std::fabs(double(moments.min)), std::fabs(double(moments.max)));
}

TensorStatistics statisticsOf(const Moments& m) {
    TensorStatistics out;
    out.moments = m;
    if (m.n == 0) return out;
    const double d = m.s1 / m.n, e2 = m.s2 / m.n, e3 = m.s3 / m.n, e4 = m.s4 / m.n; // about the pivot
    out.mean = double(m.pivot) + d;
    // Equal values: the power sums would leave a rounding error where the spread is 0.
    const double m2 = m.min == m.max ? 0.0 : std::max(0.0, e2 - d * d);
    out.std = std::sqrt(m2);
    const double m4 = e4 - d * (4 * e3 - d * (6 * e2 - d * 3 * d));
    out.kurtosis = m2 > 0 ? m4 / (m2 * m2) - 3 : std::nan("");
    const double rms = std::sqrt(m.squares() / m.n);
    out.crest = rms > 0 ? out.absMax() / rms : std::nan("");
    return out;
}

double conversionErrorOf(const TensorView& view, std::uint64_t begin, std::size_t n) {
    double largest = 0;
    thread_local std::vector<std::byte> scratch;
    const std::byte* bytes = view.read(8 * begin, 8 * n, scratch).data();
    for (std::size_t i = 0; i < n; ++i) {
        double value;
        std::memcpy(&value, bytes + 8 * i, 8);
        if (std::isfinite(value)) largest = std::max(largest, std::fabs(value - double(float(value))));
    }
    return largest;
}

StatisticsGatherer::StatisticsGatherer(const TensorView& view)
    : view_(&view), maxima_(view.info->elements, view.info->lastAxis()), pieces_(kMaxPieces),
      conversion_(view.info->dtype == DType::F64 ? kMaxPieces : 0) {}

void StatisticsGatherer::add(const PassRange& range) {
    const Moments found = bestKernels().moments(range.x, range.n);
    pieces_[range.piece].merge(found);
    if (!conversion_.empty())
        conversion_[range.piece] = std::max(conversion_[range.piece], conversionErrorOf(*view_, range.begin, range.n));
    maxima_.add(range, found.nan + found.inf == 0);
}

Moments StatisticsGatherer::moments() const {
    Moments all;
    for (const Moments& piece : pieces_) all.merge(piece);
    return all;
}

TensorStatistics StatisticsGatherer::finish() const {
    TensorStatistics out = statisticsOf(moments());
    out.outlierChannels = maxima_.outlierRows(), out.outlierColumns = maxima_.outlierColumns();
    if (!conversion_.empty()) out.conversionError = *std::ranges::max_element(conversion_);
    return out;
}

Result<TensorStatistics> measureStatistics(const Model& model, const TensorInfo& tensor, const Job& job) {
    if (!hasFloats(tensor))
        return fail(fmt::format("tensor '{}' is {}: statistics are of floats of 8 to 64 bits",
                                escapeForPeople(tensor.name), tensor.typeId()));
    const auto opened = model.view(tensor);
    if (!opened) return tl::unexpected(opened.error());
    const TensorView view = forScan(*opened);
    QuantSpec plain;
    plain.format = "f32";
    const auto grid = scaleGrid(plain, tensor.shape);
    StatisticsGatherer gatherer(view);
    const auto done = forEachRange(view, plain, *grid, job, [&](const PassRange& range) { gatherer.add(range); });
    if (!done) return tl::unexpected(done.error());
    releasePages(model, tensor);
    if (auto same = model.unchanged(tensor); !same) return tl::unexpected(same.error());
    return gatherer.finish();
}

} // namespace qs
