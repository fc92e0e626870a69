// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Measured times of the products of a model under every spec: what a budget of time is held against. They come from the
// rows of a benchmark, by shape, spec, backend and M.

#include "core/bench/run/shapes.h"

#include <map>
#include <tuple>

namespace qs::plan {

/// Conditions under which times can be added up.
struct LatencyCase {
    std::string backend, device, op, act;
    CacheState cache = CacheState::Cold;
    std::vector<std::int64_t> ms; ///< rows of x that were measured, ascending
    bool isOf(const BenchmarkRow::Question& asked) const;
};
/// "cpu, f32 activations, cold cache".
std::string caseText(const LatencyCase& one);
/// Whether a plan can use the time: a product at M rows that was right, of no approximate or experimental variant.
bool isUsable(const BenchmarkRow& row);
/// The usable rows without their samples and texts.
std::vector<BenchmarkRow> timesOf(std::span<const BenchmarkRow> rows);
/// Of the usable rows at shapes of the model, in the order of the rows.
std::vector<LatencyCase> latencyCases(const Model& model, std::span<const BenchmarkRow> rows);

struct Latencies {
    struct Time {
        double ns = 0;              ///< median of one product
        std::optional<Interval> ci; ///< 95 % interval of the median
        bool busy = false;          ///< something else ran on the machine: the time is too long
    };
    using Key = std::tuple<std::int64_t, std::int64_t, std::string>; ///< N, K, canonicalText() of the spec
    LatencyCase where;
    std::int64_t m = 1;        ///< tokens in one pass
    std::map<Key, Time> times; ///< of the fastest variant
    const Time* find(const TensorInfo& matrix, const std::string& canonical) const;
};
/// `backend`: "" is the only one of the rows. `m`: 0 is the least that was measured. Errors: no usable row at a shape of
/// the model, several backends and none named, an M that was not measured.
Result<Latencies> latenciesOf(const Model& model, std::span<const BenchmarkRow> rows, const std::string& backend,
                              std::int64_t m);

/// The spec that multiplies a tensor as it is stored; "" where there is none. As canonicalText().
std::string storedSpec(const TensorInfo& tensor);
/// The command that measures specs at the shapes of a model.
std::string benchCommand(const Model& model, const std::string& backend, std::int64_t m,
                         std::span<const QuantSpec> specs);

} // namespace qs::plan
