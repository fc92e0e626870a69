// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/gather.h"

#include "core/base/lists.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::value {
namespace {

bool within(const std::vector<int>& axes, std::size_t rank) {
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (axes[i] < 0 || std::size_t(axes[i]) >= rank || std::count(axes.begin(), axes.end(), axes[i]) > 1)
            return false;
    return true;
}

} // namespace

Result<Tensor> gather(const Operand& operand, const Shape& startsShape, std::span<const std::int64_t> starts,
                      const GatherDimensions& d, const Shape& sliceSizes) {
    const Shape& shape = operand.shape();
    const std::size_t rank = shape.size();
    if (startsShape.empty() || elementsOf(startsShape) != std::int64_t(starts.size()) ||
        startsShape.back() != std::int64_t(d.startIndexMap.size()) || sliceSizes.size() != rank ||
        !within(d.startIndexMap, rank) || !within(d.collapsed, rank) || d.offset.size() + d.collapsed.size() != rank)
        return fail(fmt::format("the dimensions of this gather do not describe slices of {}", shapeText(shape)));
    for (std::size_t i = 0; i < rank; ++i)
        if (sliceSizes[i] < 0 || sliceSizes[i] > shape[i] || (contains(d.collapsed, int(i)) && sliceSizes[i] != 1))
            return fail(fmt::format("slices of {} do not fit into {}", shapeText(sliceSizes), shapeText(shape)));

    // Axes of the result: those in `offset` are axes of a slice, the others count the starts, each in rising order.
    const std::size_t outRank = d.offset.size() + startsShape.size() - 1;
    if (!within(d.offset, outRank)) return fail("the offset axes of this gather lie outside its result");
    std::vector<std::size_t> inside, over;
    for (std::size_t i = 0; i < rank; ++i)
        if (!contains(d.collapsed, int(i))) inside.push_back(i);
    Tensor out{Shape(outRank), {}, operand.dtype()};
    std::vector<int> offset = d.offset;
    std::ranges::sort(offset);
    for (std::size_t to = 0, o = 0, b = 0; to < outRank; ++to)
        if (contains(offset, int(to)))
            out.shape[to] = sliceSizes[inside[o++]];
        else
            over.push_back(to), out.shape[to] = startsShape[b++];
    const Tensor x = operand.value();
    const Shape strides = stridesOf(shape), rows = stridesOf(startsShape);
    out.values.resize(std::size_t(elementsOf(out.shape)));
    Shape index(outRank, 0);
    for (float& value : out.values) {
        std::int64_t row = 0, at = 0;
        for (std::size_t b = 0; b < over.size(); ++b) row += index[over[b]] * rows[b];
        for (std::size_t k = 0; k < d.startIndexMap.size(); ++k) {
            const auto axis = std::size_t(d.startIndexMap[k]);
            const std::int64_t last = shape[axis] - sliceSizes[axis];
            at += std::clamp<std::int64_t>(starts[std::size_t(row) + k], 0, last) * strides[axis];
        }
        for (std::size_t o = 0; o < offset.size(); ++o) at += index[std::size_t(offset[o])] * strides[inside[o]];
        value = x.values[std::size_t(at)];
        nextIndex(index, out.shape);
    }
    return out;
}

Result<Tensor> take(const Operand& operand, std::span<const std::int64_t> indices, int axis) {
    const auto at = axisOf(axis, operand.rank());
    if (!at) return tl::unexpected(at.error());
    const std::int64_t size = operand.shape()[std::size_t(*at)];
    for (const std::int64_t index : indices)
        if (index < 0 || index >= size)
            return fail(fmt::format("index {} is outside axis {} of {} elements", index, axis, size));
    GatherDimensions d;
    Shape sizes = operand.shape();
    for (int i = 0; i < int(operand.rank()); ++i)
        if (i != *at) d.offset.push_back(i);
    d.collapsed = d.startIndexMap = {*at};
    sizes[std::size_t(*at)] = 1;
    return gather(operand, {std::int64_t(indices.size()), 1}, indices, d, sizes);
}

} // namespace qs::value
