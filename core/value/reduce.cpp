// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/reduce.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::value {
namespace {

double joined(Reduction reduction, double a, double b) {
    switch (reduction) {
    case Reduction::Sum: return a + b;
    case Reduction::Product: return a * b;
    case Reduction::Max: return std::isnan(a) || a > b ? a : b;
    case Reduction::Min: return std::isnan(a) || a < b ? a : b;
    }
    return a;
}

} // namespace

Result<Tensor> reduce(const Operand& operand, float initial, Reduction reduction, std::span<const int> axes) {
    std::vector<bool> gone(operand.rank(), false);
    for (const int axis : axes) {
        const auto at = axisOf(axis, operand.rank());
        if (!at) return tl::unexpected(at.error());
        if (gone[std::size_t(*at)]) return fail(fmt::format("axis {} is named twice: name each axis once", axis));
        gone[std::size_t(*at)] = true;
    }
    const Tensor x = operand.value();
    Tensor out;
    for (std::size_t i = 0; i < x.rank(); ++i)
        if (!gone[i]) out.shape.push_back(x.shape[i]);
    const Shape kept = stridesOf(out.shape);
    Shape steps(x.rank(), 0);
    for (std::size_t i = 0, k = 0; i < x.rank(); ++i)
        if (!gone[i]) steps[i] = kept[k++];
    std::vector<double> sums(std::size_t(elementsOf(out.shape)), double(initial));
    Shape index(x.rank(), 0);
    for (const float value : x.values) {
        std::int64_t at = 0;
        for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * steps[i];
        double& sum = sums[std::size_t(at)];
        sum = joined(reduction, sum, double(value));
        nextIndex(index, x.shape);
    }
    out.values.assign(sums.begin(), sums.end());
    return rounded(std::move(out), promoted(x.dtype, x.dtype));
}

Result<Tensor> concatenate(std::span<const Operand> parts, int axis) {
    if (parts.empty()) return fail("there is nothing to concatenate");
    const auto at = axisOf(axis, parts.front().rank());
    if (!at) return tl::unexpected(at.error());
    const std::size_t along = std::size_t(*at);
    Tensor out{parts.front().shape(), {}, parts.front().dtype()};
    out.shape[along] = 0;
    for (const Operand& part : parts) {
        Shape shape = part.shape();
        const bool fits = shape.size() == out.shape.size();
        const std::int64_t size = fits ? shape[along] : 0;
        if (fits) shape[along] = out.shape[along];
        if (!fits || shape != out.shape)
            return fail(fmt::format("the shapes {} and {} differ beside axis {}: they cannot be concatenated there",
                                    shapeText(parts.front().shape()), shapeText(part.shape()), axis));
        out.shape[along] += size;
        out.dtype = promoted(out.dtype, part.dtype());
    }
    const std::span<const std::int64_t> whole(out.shape);
    const auto outer = std::size_t(elementsOf(whole.first(along))),
               inner = std::size_t(elementsOf(whole.subspan(along)));
    out.values.resize(outer * inner);
    std::size_t begin = 0;
    for (const Operand& part : parts) {
        const Tensor x = part.value();
        const auto run = std::size_t(elementsOf(std::span(x.shape).subspan(along)));
        for (std::size_t i = 0; i < outer; ++i)
            std::copy_n(x.values.begin() + std::ptrdiff_t(i * run), run,
                        out.values.begin() + std::ptrdiff_t(i * inner + begin));
        begin += run;
    }
    return out;
}

} // namespace qs::value
