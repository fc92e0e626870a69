// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/elementwise.h"

#include "core/base/text.h"

#include <cmath>
#include <fmt/format.h>

namespace qs::value {
namespace {

constexpr BinaryOperation kBinary[] = {
    {"add", [](float x, float y) { return x + y; }, false},
    {"mul", [](float x, float y) { return x * y; }, false},
    {"div", [](float x, float y) { return x / y; }, false},
    {"max", [](float x, float y) { return std::isnan(x) || x > y ? x : y; }, false},
    {"lt", [](float x, float y) { return x < y ? 1.0f : 0.0f; }, true},
};
constexpr UnaryOperation kUnary[] = {
    {"exp", [](float x) { return std::exp(x); }},
    {"log", [](float x) { return std::log(x); }},
    {"sqrt", [](float x) { return std::sqrt(x); }},
};

/// Strides of a shape that is broadcast to `target`: 0 along repeated axes.
Shape repeatedStrides(const Shape& shape, const Shape& target) {
    const Shape own = stridesOf(shape);
    Shape strides(target.size(), 0);
    const std::size_t lead = target.size() - shape.size();
    for (std::size_t i = 0; i < shape.size(); ++i)
        if (shape[i] != 1) strides[lead + i] = own[i];
    return strides;
}

Result<Shape> commonShape(const Shape& a, const Shape& b) {
    Shape out(std::max(a.size(), b.size()), 1);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (x != y && x != 1 && y != 1)
            return fail(fmt::format("the shapes {} and {} do not go together: dimensions must be equal or 1",
                                    shapeText(a), shapeText(b)));
        out[out.size() - 1 - i] = x == 1 ? y : x;
    }
    return out;
}

} // namespace

std::span<const BinaryOperation> binaryOperations() { return kBinary; }
std::span<const UnaryOperation> unaryOperations() { return kUnary; }

Result<Tensor> applied(const BinaryOperation& operation, const Operand& xs, const Operand& ys) {
    auto shape = commonShape(xs.shape(), ys.shape());
    if (!shape) return tl::unexpected(shape.error());
    const Tensor x = xs.value(), y = ys.value();
    Tensor out{*shape, std::vector<float>(std::size_t(elementsOf(*shape)))};
    const Shape xSteps = repeatedStrides(x.shape, *shape), ySteps = repeatedStrides(y.shape, *shape);
    Shape index(shape->size(), 0);
    for (float& value : out.values) {
        std::int64_t xAt = 0, yAt = 0;
        for (std::size_t i = 0; i < index.size(); ++i) xAt += index[i] * xSteps[i], yAt += index[i] * ySteps[i];
        value = operation.apply(x.values[std::size_t(xAt)], y.values[std::size_t(yAt)]);
        nextIndex(index, *shape);
    }
    if (!operation.comparison) return rounded(std::move(out), promoted(x.dtype, y.dtype));
    out.dtype = DType::Bool;
    return out;
}

Tensor applied(const UnaryOperation& operation, const Operand& x) {
    Tensor out = x.value();
    for (float& value : out.values) value = operation.apply(value);
    const DType dtype = promoted(out.dtype, out.dtype);
    return rounded(std::move(out), dtype);
}

Tensor integerPow(const Operand& x, int power) {
    Tensor out = x.value();
    for (float& value : out.values) {
        float result = 1, square = value;
        for (unsigned left = power < 0 ? 0u - unsigned(power) : unsigned(power); left; left >>= 1) {
            if (left & 1u) result *= square;
            square *= square;
        }
        value = power < 0 ? 1 / result : result;
    }
    const DType dtype = promoted(out.dtype, out.dtype);
    return rounded(std::move(out), dtype);
}

} // namespace qs::value
