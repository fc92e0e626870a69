// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Every operation on quantized tensors, for given inputs. The results are compared with the vectors of
// tests/data/values and by tests/peers/compare_values.py.

#include "core/value/conv.h"
#include "core/value/dot_general.h"
#include "core/value/elementwise.h"
#include "core/value/gather.h"
#include "core/value/reduce.h"
#include "core/value/shape_operations.h"

#include <cmath>
#include <map>
#include <string>

namespace qs::test {

using Tensors = std::map<std::string, value::Tensor>;

struct ValueSpec {
    const char* name;
    const char* text;
};
/// The arrays of eformer. nf4 decodes with the polynomial, as in eformer.
inline constexpr ValueSpec kValueSpecs[] = {
    {"nf4", "nf4:block=16:decode=poly"}, {"int8", "int8"}, {"ternary", "ternary"}, {"binary", "binary"}};

/// Shapes in `in`: w and y [R, F], x [M, R], z [F, N], w3 [B, R, F], x3 [B, M, F], image [B, C, L], kernel [O, C, W].
inline Result<Tensors> valueResults(const Tensors& in, const ValueSpec& which) {
    using namespace qs::value;
    Tensors out;
    std::string wrong;
    const std::string prefix = std::string(which.name) + '.';
    const auto spec = parseSpec(which.text);
    if (!spec) return tl::unexpected(spec.error());
    const auto of = [&](const char* name) { return quantized(in.at(name), *spec); };
    const auto put = [&](const char* name, Result<Tensor> result) {
        if (result)
            out[prefix + name] = std::move(*result);
        else
            wrong = prefix + name + ": " + result.error().message;
    };
    const auto putCodes = [&](const char* name, const Result<QuantizedTensor>& result) {
        put(name, result ? Result<Tensor>(materialized(*result)) : tl::unexpected(result.error()));
    };
    const auto putDot = [&](const char* name, Result<DotResult> result) {
        put(name, result ? Result<Tensor>(std::move(result->value)) : tl::unexpected(result.error()));
    };
    const auto w = of("w"), w3 = of("w3"), kernel = of("kernel");
    for (const auto* codes : {&w, &w3, &kernel})
        if (!*codes) return tl::unexpected(codes->error());
    const Tensor &y = in.at("y"), &x = in.at("x"), &z = in.at("z");
    const std::int64_t rows = w->shape[0], features = w->shape[1];

    put("materialize", materialized(*w));
    put("straight_through",
        straightThrough(in.at("w"), planFor(in.at("w"), *spec)).map([](const auto& s) { return s.value; }));
    for (const auto& operation : binaryOperations()) put(operation.id, applied(operation, *w, y));
    for (const auto& operation : unaryOperations()) put(operation.id, applied(operation, *w));
    put("integer_pow.3", integerPow(*w, 3));
    put("integer_pow.-2", integerPow(*w, -2));
    put("reduce.sum", reduce(*w, 0, Reduction::Sum, std::vector{1}));
    put("reduce.max", reduce(*w, -INFINITY, Reduction::Max, std::vector{0}));
    put("reduce.min", reduce(*w, INFINITY, Reduction::Min, std::vector{0, 1}));
    put("concatenate.0", concatenate(std::vector<Operand>{*w, y}, 0));
    put("concatenate.1", concatenate(std::vector<Operand>{y, *w, *w}, 1));
    put("gather.rows", take(*w, std::vector<std::int64_t>{rows - 1, 0, 1, 0}, 0));
    put("gather.windows",
        gather(*w, {2, 2}, std::vector<std::int64_t>{1, 3, rows, features}, {{1, 2}, {}, {0, 1}}, {2, 5}));
    putCodes("transpose", transpose(*w, std::vector{1, 0}));
    putCodes("reshape", reshape(*w, {rows / 2, features * 2}));
    putCodes("broadcast_in_dim", broadcastInDim(*w, {3, rows, features}, std::vector{1, 2}));
    if (w->grid.kind != ScaleKind::Block) putCodes("transpose.codes", transposeCodes(*w, std::vector{1, 0}));
    putCodes("convert_element_type", converted(*w, DType::BF16));
    putDot("dot_general.rhs", dotGeneral(x, *w, {{1}, {0}, {}, {}}));
    putDot("dot_general.lhs", dotGeneral(*w, z, {{1}, {0}, {}, {}}));
    putDot("dot_general.both", dotGeneral(*w, *w, {{1}, {1}, {}, {}}));
    putDot("dot_general.batch", dotGeneral(in.at("x3"), *w3, {{2}, {2}, {0}, {0}}));
    putDot("dot_general.two_axes", dotGeneral(*w3, in.at("x3"), {{2, 0}, {2, 0}, {}, {}}));
    ConvOptions dilated;
    dilated.strides = {2}, dilated.inputDilation = {3}, dilated.kernelDilation = {2}, dilated.padding = {{2, 1}};
    put("conv.plain", convGeneralDilated(in.at("image"), *kernel, {}));
    put("conv.dilated", convGeneralDilated(in.at("image"), *kernel, dilated));
    if (!wrong.empty()) return fail(wrong);
    return out;
}

} // namespace qs::test
