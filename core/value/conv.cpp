// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/conv.h"

#include "core/base/text.h"

#include <fmt/format.h>

namespace qs::value {
namespace {

bool fill(Shape& list, std::size_t spatial) {
    if (list.empty()) list.assign(spatial, 1);
    bool good = list.size() == spatial;
    for (const std::int64_t value : list) good = good && value >= 1;
    return good;
}

std::int64_t dilated(std::int64_t size, std::int64_t by) { return size == 0 ? 0 : (size - 1) * by + 1; }

} // namespace

Result<Tensor> convGeneralDilated(const Operand& left, const Operand& right, const ConvOptions& asked, const Job& job) {
    const Shape &in = left.shape(), &ker = right.shape();
    if (in.size() < 3 || ker.size() != in.size())
        return fail(fmt::format("a convolution needs (batch, features, spatial...) and (out, in, spatial...), not {} "
                                "and {}",
                                shapeText(in), shapeText(ker)));
    const std::size_t spatial = in.size() - 2;
    ConvOptions o = asked;
    if (o.padding.empty()) o.padding.assign(spatial, {0, 0});
    if (!fill(o.strides, spatial) || !fill(o.inputDilation, spatial) || !fill(o.kernelDilation, spatial) ||
        o.padding.size() != spatial)
        return fail(fmt::format("strides, dilations and padding need one value of at least 1 for each of the {} "
                                "spatial axes",
                                spatial));
    const std::int64_t groups = o.featureGroups;
    if (groups < 1 || in[1] % groups || ker[0] % groups || in[1] / groups != ker[1])
        return fail(fmt::format("{} features in {} groups do not meet a kernel of {}", in[1], groups, shapeText(ker)));
    const Tensor x = left.value(), k = right.value();
    Tensor out{{in[0], ker[0]}, {}};
    Shape window(ker.begin() + 2, ker.end()), places;
    for (std::size_t i = 0; i < spatial; ++i) {
        const std::int64_t room = dilated(in[i + 2], o.inputDilation[i]) + o.padding[i].first + o.padding[i].second;
        const std::int64_t span = dilated(window[i], o.kernelDilation[i]);
        places.push_back(room < span ? 0 : (room - span) / o.strides[i] + 1);
        out.shape.push_back(places.back());
    }
    out.values.assign(std::size_t(elementsOf(out.shape)), 0.0f);
    if (out.values.empty()) return rounded(std::move(out), promoted(x.dtype, k.dtype));
    const Shape xSteps = stridesOf(in), kSteps = stridesOf(ker);
    const std::int64_t perGroup = ker[0] / groups, windowSize = elementsOf(window);
    std::size_t at = 0;
    for (std::int64_t b = 0; b < in[0]; ++b)
        for (std::int64_t f = 0; f < ker[0]; ++f) {
            Shape place(spatial, 0);
            do {
                if (job.cancelled()) return cancelledError();
                double sum = 0;
                Shape w(spatial, 0);
                for (std::int64_t n = 0; n < windowSize; ++n, nextIndex(w, window)) {
                    std::int64_t from = b * xSteps[0] + f / perGroup * ker[1] * xSteps[1], with = f * kSteps[0];
                    bool inside = true;
                    for (std::size_t i = 0; i < spatial && inside; ++i) {
                        const std::int64_t p =
                            place[i] * o.strides[i] + w[i] * o.kernelDilation[i] - o.padding[i].first;
                        inside = p >= 0 && p % o.inputDilation[i] == 0 && p / o.inputDilation[i] < in[i + 2];
                        from += p / o.inputDilation[i] * xSteps[i + 2];
                        with += w[i] * kSteps[i + 2];
                    }
                    for (std::int64_t c = 0; inside && c < ker[1]; ++c)
                        sum += double(x.values[std::size_t(from + c * xSteps[1])]) *
                               double(k.values[std::size_t(with + c * kSteps[1])]);
                }
                out.values[at++] = float(sum);
            } while (nextIndex(place, places));
        }
    return rounded(std::move(out), promoted(x.dtype, k.dtype));
}

} // namespace qs::value
