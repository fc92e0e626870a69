// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The plan of a benchmark: every op x spec x shape x activation x cache state, on every device of every backend, in
// every variant of a backend.

#include "core/bench/backend/backend.h"
#include "core/model/model.h"
#include "core/quant/spec/spec.h"

#include <functional>
#include <span>

namespace qs {

/// THE list of benchmark operations.
struct BenchOp {
    const char* id;      ///< "matmul_t", as in --op and JSON
    const char* title;   ///< "y = x Wᵀ"
    const char* summary; ///< one sentence
    const char* abiOp;   ///< Problem::op
    bool wIsKn;          ///< W is [K,N]; else [N,K]
    bool product;        ///< has activations, M and multiplications
};
std::span<const BenchOp> benchOps();
const BenchOp* findBenchOp(std::string_view id);

/// THE list of activations.
struct BenchAct {
    const char* id;    ///< "int8", as in --act and JSON; the format that rows are quantized to
    const char* title; ///< "int8, quantized per row during the run"
    const char* dtype; ///< type of x in memory
    bool dynamic;      ///< rows are quantized as part of the run
};
std::span<const BenchAct> benchActs();
const BenchAct* findBenchAct(std::string_view id);

/// Warm: one copy of the weights; never reported as memory bandwidth. Cold: copies in turn, at least two, and together
/// at least four times the last-level cache.
enum class CacheState { Cold, Warm };
const char* cacheText(CacheState cache); ///< "cold"

struct BenchShape {
    std::int64_t m = 1, n = 4096, k = 4096;
    std::string tensor; ///< tensor of the plan's model that gives the values of W; empty: seeded random values
    bool operator==(const BenchShape&) const = default;
};
Result<BenchShape> parseShape(std::string_view text); ///< "1x4096x4096": M x N x K, each from 1 to 2^31 - 1
std::string shapeKey(const BenchShape& shape);        ///< "1x4096x4096"

using OpenBackend = std::function<Outcome<std::unique_ptr<Backend>>(const BackendSource&, const Job&)>;

struct BenchmarkPlan {
    std::vector<std::string> ops = {"matmul_t"};
    std::vector<std::pair<std::string, QuantSpec>> specs; ///< as typed, and parsed
    std::vector<BenchShape> shapes;
    std::vector<std::string> acts = {"f32"};
    std::vector<CacheState> caches = {CacheState::Cold};
    std::vector<BackendSource> backends; ///< from backendSources()
    bool bias = false;
    double secondsPerRow = 2; ///< for timing; checks and preparation take additional time
    /// Upper limit in bytes for copies of the weights and buffers of roofs together; 0: half of the free memory. If it
    /// is too small for copies that no cache holds, a cold row says that it is not cold.
    std::uint64_t memoryBytes = 0;
    unsigned threads = 0; ///< 0: all cores
    std::uint64_t seed = 1;
    std::shared_ptr<const Model> model; ///< the model of BenchShape::tensor
    bool artifacts = false;             ///< store the program texts that each variant can show
    std::string commandLine;            ///< for the provenance
    OpenBackend open;                   ///< empty: openBackend() in its own worker
    std::uint64_t cacheBytes = 0;       ///< last-level cache of the host; 0: ask the system
};
/// One sentence if the plan cannot be run: an unknown op, no spec, no shape, a time that is not positive, ...
Result<void> checkPlan(const BenchmarkPlan& plan);

} // namespace qs
