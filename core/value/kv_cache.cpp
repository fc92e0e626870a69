// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/kv_cache.h"

#include "core/base/text.h"
#include "core/value/dot_general.h"
#include "core/value/figure.h"
#include "core/value/shape_operations.h"
#include "core/value/synthetic.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::value {
namespace {

constexpr const char* kSpecs[] = {"bf16",          "int8",        "fp8_e4m3", "fp8_e5m2", "int4:scale=channel",
                                  "int4:block=32", "nf4:block=32"};

struct Attention {
    Tensor weights, output;
};

Result<Attention> attention(const Tensor& q, const Tensor& k, const Tensor& v, const Job& job) {
    auto scores = dotGeneral(q, k, {{2}, {2}, {0}, {0}}, {}, job);
    if (!scores) return tl::unexpected(scores.error());
    Tensor& p = scores->value;
    const auto tokens = std::size_t(k.shape[1]);
    const float by = 1 / std::sqrt(float(k.shape[2]));
    for (std::size_t row = 0; row < p.values.size(); row += tokens) {
        float* s = p.values.data() + row;
        const float most = *std::max_element(s, s + tokens);
        double sum = 0;
        for (std::size_t i = 0; i < tokens; ++i) sum += double(s[i] = std::exp((s[i] - most) * by));
        for (std::size_t i = 0; i < tokens; ++i) s[i] = float(double(s[i]) / sum);
    }
    auto output = dotGeneral(p, v, {{2}, {1}, {0}, {0}}, {}, job);
    if (!output) return tl::unexpected(output.error());
    return Attention{std::move(p), std::move(output->value)};
}

double divergence(const Tensor& p, const Tensor& q) {
    const auto rows = double(p.shape[0] * p.shape[1]);
    double sum = 0;
    for (std::size_t i = 0; i < p.values.size(); ++i)
        if (p.values[i] > 0)
            sum += double(p.values[i]) * std::log(double(p.values[i]) / std::max(double(q.values[i]), 1e-45));
    return sum / rows;
}

} // namespace

std::span<const char* const> kvSpecs() { return kSpecs; }

const Columns<KvRow>& kvColumns() {
    using R = KvRow;
    constexpr auto none = Direction::None, lower = Direction::LowerIsBetter;
    static const Columns<R> columns = {
        columnOf<R>({"spec", "Spec", "", Show::Text, 0, none, "of K and of V"}, &R::spec),
        columnOf<R>(
            {"bytes_per_token", "Per token", "B", Show::Fixed, 1, lower, "K and V of all heads, codes and scales"},
            &R::bytesPerToken),
        columnOf<R>({"k_nmse", "K NMSE", "", Show::Scientific, 3, lower, "sum E^2 / sum K^2"},
                    [](const R& r) { return figureOf(r.k, &Deviation::nmse); }),
        columnOf<R>({"v_nmse", "V NMSE", "", Show::Scientific, 3, lower, "sum E^2 / sum V^2"},
                    [](const R& r) { return figureOf(r.v, &Deviation::nmse); }),
        columnOf<R>({"kl", "Attention KL", "nats", Show::Significant, 3, lower,
                     "mean KL of the attention weights over heads and queries"},
                    &R::kl),
        columnOf<R>({"output_nmse", "Output NMSE", "", Show::Scientific, 3, lower, "of softmax(Q K^T / sqrt(d)) V"},
                    [](const R& r) { return figureOf(r.output, &Deviation::nmse); }),
        columnOf<R>({"reason", "Reason", "", Show::Text, 0, none, "Why it was not measured"}, &R::reason),
    };
    return columns;
}

MemoryNeed kvNeed(std::uint64_t heads, std::uint64_t tokens, std::uint64_t dim, std::uint64_t queries) {
    const auto bytes = [heads, dim, queries](std::uint64_t count) {
        return 26 * heads * count * dim + 12 * heads * queries * count;
    };
    return {fmt::format("A cache of {} heads of {}", heads, dim), bytes, tokens, "tokens"};
}

Result<std::vector<KvRow>> runKvCache(const KvPlan& plan, const Job& job) {
    const Shape &q = plan.q.shape, &k = plan.k.shape;
    if (q.size() != 3 || k.size() != 3 || plan.v.shape != k || q[0] != k[0] || q[2] != k[2] || elementsOf(k) == 0)
        return fail(fmt::format("Q {}, K {} and V {} do not fit: Q is [heads, queries, dim], K and V are [heads, "
                                "tokens, dim]",
                                shapeText(q), shapeText(k), shapeText(plan.v.shape)));
    const auto sizeAt = [](const Shape& shape, std::size_t axis) { return std::uint64_t(shape[axis]); };
    if (auto fits = fitsMemory(kvNeed(sizeAt(k, 0), sizeAt(k, 1), sizeAt(k, 2), sizeAt(q, 1))); !fits)
        return tl::unexpected(fits.error());
    const auto exact = attention(plan.q, plan.k, plan.v, job);
    if (!exact) return tl::unexpected(exact.error());
    std::vector<KvRow> rows;
    for (const std::string& text : plan.specs) {
        if (job.cancelled()) return cancelledError();
        KvRow& row = rows.emplace_back();
        row.spec = text;
        const auto spec = parseSpec(text);
        if (!spec) {
            row.reason = spec.error().sentence();
            continue;
        }
        const auto keys = quantized(plan.k, *spec, job), values = quantized(plan.v, *spec, job);
        const auto bytes = storedSize(*spec, k, DType::F32);
        if (!keys || !values || !bytes) {
            row.reason = !keys     ? keys.error().sentence()
                         : !values ? values.error().sentence()
                                   : bytes.error().sentence();
            continue;
        }
        const Tensor kq = materialized(*keys), vq = materialized(*values);
        const auto got = attention(plan.q, kq, vq, job);
        if (!got) return tl::unexpected(got.error());
        row.bytesPerToken = 2 * double(bytes->total()) / double(k[1]);
        row.k = deviation(plan.k.values, kq.values);
        row.v = deviation(plan.v.values, vq.values);
        row.output = deviation(exact->output.values, got->output.values);
        row.kl = divergence(exact->weights, got->weights);
        job.progress(
            {double(rows.size()), double(plan.specs.size()), "Quantizing the cache", rows.size(), plan.specs.size()});
    }
    return rows;
}

KvPlan syntheticKv(std::int64_t heads, std::int64_t tokens, std::int64_t dim, std::uint64_t seed) {
    KvPlan plan;
    const auto cube = [&](Tensor flat, std::int64_t rows) {
        flat.shape = {heads, rows, dim};
        return flat;
    };
    plan.k = cube(syntheticInputs(heads * tokens, dim, seed), tokens);
    plan.v = cube(syntheticGradients(heads * tokens, dim, seed + 1), tokens);
    for (float& value : plan.v.values) value *= 1000;
    plan.q = cube(syntheticGradients(heads * kSyntheticQueries, dim, seed + 2), kSyntheticQueries);
    for (float& value : plan.q.values) value *= 200;
    plan.specs.assign(std::begin(kSpecs), std::end(kSpecs));
    return plan;
}

} // namespace qs::value
