// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantization of the key and value cache, with one scale per head and token unless the spec says otherwise. Measures
// the error of K, V, the attention weights and the output of attention.

#include "core/base/column.h"
#include "core/base/job.h"
#include "core/base/machine_memory.h"
#include "core/value/deviation.h"
#include "core/value/operand.h"

namespace qs::value {

struct KvPlan {
    Tensor q;    ///< [heads, queries, dim]; every query attends to all tokens
    Tensor k, v; ///< [heads, tokens, dim]
    std::vector<std::string> specs;
};
struct KvRow {
    std::string spec;
    std::optional<double> bytesPerToken; ///< of K and V in all heads, codes and scales
    std::optional<Deviation> k, v, output;
    std::optional<double> kl; ///< mean over heads and queries of KL(attention || attention with quantized K), nats
    std::string reason;
};
/// int8 int4 fp8_e4m3 fp8_e5m2 and other formats in use for serving.
std::span<const char* const> kvSpecs();
const Columns<KvRow>& kvColumns();
/// Memory for K, V, their quantized forms, and the attention weights of `queries`; grows with tokens.
MemoryNeed kvNeed(std::uint64_t heads, std::uint64_t tokens, std::uint64_t dim, std::uint64_t queries);
inline constexpr std::int64_t kSyntheticQueries = 32;
Result<std::vector<KvRow>> runKvCache(const KvPlan& plan, const Job& job);
/// K has channels of ten times the size, as keys of trained models do; V has none.
KvPlan syntheticKv(std::int64_t heads, std::int64_t tokens, std::int64_t dim, std::uint64_t seed);

} // namespace qs::value
