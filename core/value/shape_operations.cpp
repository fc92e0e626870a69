// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/shape_operations.h"

#include "core/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs::value {
namespace {

Result<std::vector<int>> permutationOf(std::span<const int> permutation, std::size_t rank) {
    std::vector<int> order(permutation.begin(), permutation.end());
    std::vector<bool> seen(rank, false);
    bool good = order.size() == rank;
    for (int& axis : order) {
        const auto at = axisOf(axis, rank);
        good = good && at && !seen[std::size_t(*at)];
        if (!good) break;
        axis = *at, seen[std::size_t(axis)] = true;
    }
    if (!good)
        return fail(
            fmt::format("({}) is not an order of the {} axes: name each once", fmt::join(permutation, ", "), rank));
    return order;
}

/// values[i] = from[sum of index * steps], in C order of `shape`.
template<class T> std::vector<T> walked(const std::vector<T>& from, const Shape& shape, const Shape& steps) {
    std::vector<T> out(std::size_t(elementsOf(shape)));
    Shape index(shape.size(), 0);
    for (T& value : out) {
        std::int64_t at = 0;
        for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * steps[i];
        value = from[std::size_t(at)];
        nextIndex(index, shape);
    }
    return out;
}

template<class T>
std::vector<T> transposedValues(const std::vector<T>& from, const Shape& shape, const std::vector<int>& order,
                                Shape* moved) {
    const Shape strides = stridesOf(shape);
    Shape steps;
    moved->clear();
    for (const int axis : order)
        moved->push_back(shape[std::size_t(axis)]), steps.push_back(strides[std::size_t(axis)]);
    return walked(from, *moved, steps);
}

Result<QuantizedTensor> again(const Result<Tensor>& moved, const QuantizedTensor& x, const Job& job) {
    if (!moved) return tl::unexpected(moved.error());
    return quantized(*moved, x.spec, job);
}

} // namespace

Result<Tensor> transpose(const Tensor& x, std::span<const int> permutation) {
    const auto order = permutationOf(permutation, x.rank());
    if (!order) return tl::unexpected(order.error());
    Tensor out{{}, {}, x.dtype};
    out.values = transposedValues(x.values, x.shape, *order, &out.shape);
    return out;
}

Result<Tensor> reshape(const Tensor& x, Shape shape) {
    bool good = true;
    for (const std::int64_t size : shape) good = good && size >= 0;
    if (!good || elementsOf(shape) != elementsOf(x.shape))
        return fail(
            fmt::format("{} cannot become {}: the number of elements differs", shapeText(x.shape), shapeText(shape)));
    return Tensor{std::move(shape), x.values, x.dtype};
}

Result<Tensor> broadcastInDim(const Tensor& x, const Shape& shape, std::span<const int> dimensions) {
    bool good = dimensions.size() == x.rank();
    Shape steps(shape.size(), 0);
    const Shape strides = stridesOf(x.shape);
    for (std::size_t i = 0; good && i < x.rank(); ++i) {
        const int to = dimensions[i];
        good = to >= 0 && std::size_t(to) < shape.size() && (i == 0 || to > dimensions[i - 1]) &&
               (x.shape[i] == 1 || x.shape[i] == shape[std::size_t(to)]);
        if (good && x.shape[i] != 1) steps[std::size_t(to)] = strides[i];
    }
    if (!good)
        return fail(fmt::format("{} does not broadcast to {} along axes ({}): each axis needs one of its own, of its "
                                "size, in rising order",
                                shapeText(x.shape), shapeText(shape), fmt::join(dimensions, ", ")));
    return Tensor{shape, walked(x.values, shape, steps), x.dtype};
}

Result<Tensor> slice(const Operand& operand, const Shape& begin, const Shape& limit) {
    const Shape& shape = operand.shape();
    bool good = begin.size() == shape.size() && limit.size() == shape.size();
    for (std::size_t i = 0; good && i < shape.size(); ++i)
        good = 0 <= begin[i] && begin[i] <= limit[i] && limit[i] <= shape[i];
    if (!good)
        return fail(fmt::format("[{}) to [{}) is not inside {}", fmt::join(begin, ", "), fmt::join(limit, ", "),
                                shapeText(shape)));
    const Tensor x = operand.value();
    Tensor out{{}, {}, x.dtype};
    const Shape strides = stridesOf(shape);
    std::int64_t first = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        out.shape.push_back(limit[i] - begin[i]);
        first += begin[i] * strides[i];
    }
    out.values.resize(std::size_t(elementsOf(out.shape)));
    Shape index(shape.size(), 0);
    for (float& value : out.values) {
        std::int64_t at = first;
        for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
        value = x.values[std::size_t(at)];
        nextIndex(index, out.shape);
    }
    return out;
}

Result<QuantizedTensor> transpose(const QuantizedTensor& x, std::span<const int> permutation, const Job& job) {
    return again(transpose(materialized(x), permutation), x, job);
}
Result<QuantizedTensor> reshape(const QuantizedTensor& x, Shape shape, const Job& job) {
    return again(reshape(materialized(x), std::move(shape)), x, job);
}
Result<QuantizedTensor> broadcastInDim(const QuantizedTensor& x, const Shape& shape, std::span<const int> dimensions,
                                       const Job& job) {
    return again(broadcastInDim(materialized(x), shape, dimensions), x, job);
}

Result<QuantizedTensor> transposeCodes(const QuantizedTensor& x, std::span<const int> permutation) {
    const auto order = permutationOf(permutation, x.shape.size());
    if (!order) return tl::unexpected(order.error());
    if ((x.grid.kind != ScaleKind::Axes && x.grid.kind != ScaleKind::Tensor && x.grid.kind != ScaleKind::None) ||
        !x.blocks.empty())
        return fail(fmt::format("{} has blocks along the last axis: its codes cannot be moved, only quantized again",
                                specText(x.spec)));
    QuantizedTensor out = x;
    if (x.grid.kind == ScaleKind::Axes) {
        std::vector<int> axes;
        for (std::size_t to = 0; to < order->size(); ++to)
            if (x.grid.reduced[std::size_t((*order)[to])]) axes.push_back(int(to));
        out.spec.scale = ScaleSpelling::Default;
        out.spec.axes = std::move(axes);
    }
    if (x.codes.empty())
        out.values = transposedValues(x.values, x.shape, *order, &out.shape);
    else
        out.codes = transposedValues(x.codes, x.shape, *order, &out.shape);
    if (x.grid.kind == ScaleKind::Axes) {
        Shape moved;
        out.scales = transposedValues(x.scales, x.grid.scaleShape, *order, &moved);
        if (!x.zeros.empty()) out.zeros = transposedValues(x.zeros, x.grid.scaleShape, *order, &moved);
    }
    auto grid = scaleGrid(out.spec, out.shape);
    if (!grid) return tl::unexpected(grid.error());
    if (std::size_t(grid->scales) != out.scales.size())
        return fail(fmt::format("the scales of {} cannot be moved, only quantized again", specText(x.spec)));
    out.grid = std::move(*grid);
    return out;
}

} // namespace qs::value
