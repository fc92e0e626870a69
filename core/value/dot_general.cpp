// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/dot_general.h"

#include "core/base/text.h"
#include "core/value/piece.h"
#include "core/value/product.h"
#include "core/value/shape_operations.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::value {
namespace {

constexpr std::int64_t kPanelElements = std::int64_t(1) << 20; ///< elements decoded at a time: 4 MiB

/// The axes with negative ones counted from the end.
Result<std::vector<int>> normal(const std::vector<int>& axes, std::size_t rank) {
    std::vector<int> out;
    for (const int axis : axes) {
        const auto at = axisOf(axis, rank);
        if (!at) return tl::unexpected(at.error());
        if (std::count(out.begin(), out.end(), *at)) return fail(fmt::format("axis {} is named twice", axis));
        out.push_back(*at);
    }
    return out;
}

struct Side {
    std::vector<int> batch, contract, free;
};

Result<Side> sideOf(const std::vector<int>& batch, const std::vector<int>& contract, std::size_t rank) {
    std::vector<int> both = batch;
    both.insert(both.end(), contract.begin(), contract.end());
    const auto all = normal(both, rank);
    if (!all) return tl::unexpected(all.error());
    Side side{{all->begin(), all->begin() + std::ptrdiff_t(batch.size())},
              {all->begin() + std::ptrdiff_t(batch.size()), all->end()},
              {}};
    for (int i = 0; i < int(rank); ++i)
        if (!std::count(all->begin(), all->end(), i)) side.free.push_back(i);
    return side;
}

Shape sizes(const Shape& shape, const std::vector<int>& axes) {
    Shape out;
    for (const int axis : axes) out.push_back(shape[std::size_t(axis)]);
    return out;
}

/// A copy with the axes [batch, free, contract].
Tensor arranged(const Tensor& x, const Side& side) {
    std::vector<int> order = side.batch;
    order.insert(order.end(), side.free.begin(), side.free.end());
    order.insert(order.end(), side.contract.begin(), side.contract.end());
    if (std::ranges::is_sorted(order)) return x;
    return *transpose(x, order);
}

/// The decoded rows [begin, begin + rows) of the first axis.
Result<Tensor> panel(const QuantizedTensor& w, std::int64_t begin, std::int64_t rows) {
    const auto part = piece(w, {begin, 0}, {rows, w.shape[1]});
    if (!part) return tl::unexpected(part.error());
    return materialized(*part);
}

std::int64_t panelRows(const Shape& shape) {
    return std::clamp<std::int64_t>(kPanelElements / std::max<std::int64_t>(shape[1], 1), 1,
                                    std::max<std::int64_t>(shape[0], 1));
}

/// x[..., K] W[K, N] as a sum over panels of k.
Result<Tensor> kernelRhs(const Tensor& x, const QuantizedTensor& w, const Job& job) {
    const std::int64_t k = w.shape[0], n = w.shape[1], m = k == 0 ? 0 : elementsOf(x.shape) / k,
                       step = panelRows(w.shape);
    Tensor out{x.shape, std::vector<float>(std::size_t(m * n))};
    out.shape.back() = n;
    std::vector<float> columns, part(out.values.size());
    for (std::int64_t begin = 0; begin < k; begin += step) {
        const std::int64_t rows = std::min(step, k - begin);
        const auto decoded = panel(w, begin, rows);
        if (!decoded) return tl::unexpected(decoded.error());
        columns.resize(std::size_t(m * rows));
        for (std::int64_t i = 0; i < m; ++i)
            std::copy_n(x.values.begin() + i * k + begin, rows, columns.begin() + i * rows);
        if (!product(columns.data(), decoded->values.data(), std::size_t(m), std::size_t(n), std::size_t(rows), true,
                     part.data(), job))
            return cancelledError();
        for (std::size_t i = 0; i < part.size(); ++i) out.values[i] += part[i];
    }
    return out;
}

/// W[N, K] x[K, ...], one panel of output rows at a time. (eformer's transposed kernel reads codes as packed bytes,
/// which is wrong.)
Result<Tensor> kernelLhs(const QuantizedTensor& w, const Tensor& x, const Job& job) {
    const std::int64_t n = w.shape[0], k = w.shape[1], m = k == 0 ? 0 : elementsOf(x.shape) / k,
                       step = panelRows(w.shape);
    Tensor out{x.shape, std::vector<float>(std::size_t(n * m))};
    out.shape.front() = n;
    for (std::int64_t begin = 0; begin < n; begin += step) {
        const std::int64_t rows = std::min(step, n - begin);
        const auto decoded = panel(w, begin, rows);
        if (!decoded) return tl::unexpected(decoded.error());
        if (!product(decoded->values.data(), x.values.data(), std::size_t(rows), std::size_t(m), std::size_t(k), true,
                     out.values.data() + begin * m, job))
            return cancelledError();
    }
    return out;
}

} // namespace

std::string whyNoKernel(const Operand& lhs, const Operand& rhs, const DotDimensions& d) {
    if (!lhs.isQuantized() && !rhs.isQuantized()) return "neither side is quantized";
    if (lhs.isQuantized() && rhs.isQuantized()) return "both sides are quantized";
    const bool right = rhs.isQuantized();
    const QuantizedTensor& w = right ? rhs.quantized() : lhs.quantized();
    if (!d.lhsBatch.empty() || !d.rhsBatch.empty()) return "there are batch axes";
    if (d.lhsContract.size() != 1 || d.rhsContract.size() != 1) return "it contracts another number of axes than one";
    if (d.lhsContract[0] != int(lhs.rank()) - 1) return "the left side is not contracted on its last axis";
    const int rhsAxis = !right && d.rhsContract[0] < 0 ? d.rhsContract[0] + int(rhs.rank()) : d.rhsContract[0];
    if (right && rhs.rank() != 2) return "the quantized side has another rank than 2";
    if (rhsAxis != 0) return "the right side is not contracted on its first axis";
    if (!right && lhs.rank() != 2) return "the quantized side has another rank than 2";
    if (lhs.rank() == 0 || rhs.rank() == 0 || lhs.shape().back() != rhs.shape().front())
        return "the contracted axes differ in size";
    if (w.grid.paddedFeatures != w.shape.back())
        return "its codes are stored in another shape: the last axis is padded";
    if (w.codes.empty() && w.blocks.empty()) return "it stores values, not codes";
    return {};
}

Result<DotResult> dotGeneral(const Operand& lhs, const Operand& rhs, const DotDimensions& d, const DotOptions& options,
                             const Job& job) {
    const auto left = sideOf(d.lhsBatch, d.lhsContract, lhs.rank());
    if (!left) return tl::unexpected(left.error());
    const auto right = sideOf(d.rhsBatch, d.rhsContract, rhs.rank());
    if (!right) return tl::unexpected(right.error());
    const Shape batch = sizes(lhs.shape(), left->batch), along = sizes(lhs.shape(), left->contract);
    if (batch != sizes(rhs.shape(), right->batch) || along != sizes(rhs.shape(), right->contract))
        return fail(fmt::format("{} and {} cannot be multiplied: contracted and batch axes must have equal sizes",
                                shapeText(lhs.shape()), shapeText(rhs.shape())));
    const DType dtype = promoted(lhs.dtype(), rhs.dtype());
    DotResult out;
    out.notApplicable = options.kernel ? whyNoKernel(lhs, rhs, d) : "it was not asked for";
    if (out.notApplicable.empty()) {
        auto value = rhs.isQuantized() ? kernelRhs(lhs.dense(), rhs.quantized(), job)
                                       : kernelLhs(lhs.quantized(), rhs.dense(), job);
        if (!value) return tl::unexpected(value.error());
        out.value = rounded(std::move(*value), dtype);
        return out;
    }
    const Tensor x = arranged(lhs.value(), *left), w = arranged(rhs.value(), *right);
    const Shape rows = sizes(lhs.shape(), left->free), columns = sizes(rhs.shape(), right->free);
    out.value.shape = batch;
    out.value.shape.insert(out.value.shape.end(), rows.begin(), rows.end());
    out.value.shape.insert(out.value.shape.end(), columns.begin(), columns.end());
    const auto m = std::size_t(elementsOf(rows)), n = std::size_t(elementsOf(columns)),
               k = std::size_t(elementsOf(along));
    out.value.values.resize(std::size_t(elementsOf(out.value.shape)));
    for (std::size_t b = 0; b < std::size_t(elementsOf(batch)); ++b)
        if (!product(x.values.data() + b * m * k, w.values.data() + b * n * k, m, n, k, false,
                     out.value.values.data() + b * m * n, job))
            return cancelledError();
    out.value = rounded(std::move(out.value), dtype);
    return out;
}

Result<Tensor> matmul(const Operand& x, const Operand& w, const Job& job) {
    auto out = dotGeneral(x, w, {{int(x.rank()) - 1}, {0}, {}, {}}, {}, job);
    if (!out) return tl::unexpected(out.error());
    return std::move(out->value);
}

} // namespace qs::value
