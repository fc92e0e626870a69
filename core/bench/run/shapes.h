// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The matrix products of an opened model, and their time per token.

#include "core/bench/run/bench_row.h"

namespace qs {

/// Weights of one shape: y = x Wᵀ with W [n, k] as checkpoints store linear layers.
struct ModelShape {
    std::int64_t n = 0, k = 0;
    std::size_t count = 0;            ///< number of products with this shape in one pass over the model
    std::vector<std::string> tensors; ///< their names, in the order of the model
};
/// The float weights of rank 2 that are products in one pass: see modelShapes().
std::vector<const TensorInfo*> modelProducts(const Model& model);
/// The distinct shapes of float weights of rank 2, most weights first. An embedding table is left out if the model has
/// an output head of its own, because looking up a row is no product. Otherwise it counts as the tied head.
std::vector<ModelShape> modelShapes(const Model& model);
/// Each shape at every `m`, with W from the first tensor of the shape.
std::vector<BenchShape> benchShapes(std::span<const ModelShape> shapes, std::span<const std::int64_t> ms);

/// All products of one pass over the model: sum of count x median over its shapes.
struct ModelPassRow {
    std::string backend, device, spec, act, op;
    std::int64_t m = 1;
    CacheState cache = CacheState::Cold;
    std::size_t products = 0, missing = 0; ///< measured, and not measured
    std::size_t busy = 0;                  ///< of the measured: timed while something else ran on the machine
    std::optional<double> ns;              ///< for m tokens; none if a product is missing
    std::optional<Interval> nsCi;          ///< the sums of both ends; none if a product has no interval or was busy
    /// for the products only: attention, norms and sampling take additional time
    std::optional<double> tokensPerSecond;
    std::optional<double> speedup; ///< over openblas f32; none if a product was timed on a busy machine
    /// the fastest of each shape that is neither approximate nor experimental
    std::string variants;
    std::string reason;
};
std::vector<ModelPassRow> modelPasses(std::span<const ModelShape> shapes, std::span<const BenchmarkRow> rows);
const Columns<ModelPassRow>& modelPassColumns();

} // namespace qs
