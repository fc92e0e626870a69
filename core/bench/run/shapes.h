// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The matrix products of an opened model, and what a token costs by them.

#include "core/bench/run/bench_row.h"

namespace qs {

/// Weights of one shape: y = x Wᵀ with W [n, k] as checkpoints store linear layers.
struct ModelShape {
    std::int64_t n = 0, k = 0;
    std::size_t count = 0;            ///< products of this shape in one pass over the model
    std::vector<std::string> tensors; ///< their names, in the model's order
};
/// Distinct shapes of the rank-2 float weights, most weights first. An embedding table is left out when the model has
/// an output head of its own: looking a row up is no product. Without one it counts as the tied head.
std::vector<ModelShape> modelShapes(const Model& model);
/// Each at every `m`, with W from the first tensor of its shape.
std::vector<BenchShape> benchShapes(std::span<const ModelShape> shapes, std::span<const std::int64_t> ms);

/// All products of one pass over the model: sum of count x median over its shapes.
struct ModelPassRow {
    std::string backend, device, spec, act, op;
    std::int64_t m = 1;
    CacheState cache = CacheState::Cold;
    std::size_t products = 0, missing = 0; ///< measured and not measured
    std::size_t busy = 0;                  ///< of the measured, timed while something else ran on the machine
    std::optional<double> ns;              ///< of m tokens; none when a product is missing
    std::optional<double> tokensPerSecond; ///< of the products alone: attention, norms and sampling come on top
    std::optional<double> speedup;         ///< to openblas f32; none when a product was timed on a busy machine
    std::string variants;                  ///< fastest of each shape that is neither approximate nor experimental
    std::string reason;
};
std::vector<ModelPassRow> modelPasses(std::span<const ModelShape> shapes, std::span<const BenchmarkRow> rows);
const Columns<ModelPassRow>& modelPassColumns();

} // namespace qs
