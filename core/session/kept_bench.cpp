// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/kept_json.h"
#include "core/session/kept_results.h"
#include "core/session/session_file.h"

namespace qs {
namespace kept {
namespace {

constexpr int kRowStates = int(RowState::Cancelled) + 1;

struct PlanKept {
    std::vector<std::string> ops, acts, specs;
    std::vector<BenchShape> shapes;
    bool cold = false, warm = false, bias = false;
    double seconds = 2;
    unsigned threads = 0;
    std::uint64_t seed = 1, memory = 0;
};
struct BenchKept {
    PlanKept plan;
    std::vector<std::string> backends;
    std::vector<BenchmarkRow> rows;
    std::vector<MeasuredRoof> roofs;
    std::vector<ModelPassRow> passes;
    std::vector<std::pair<std::string, std::string>> provenance;
    double seconds = 0;
    bool complete = false;
};

} // namespace

template<class Io> static void fields(Io& io, BenchShape& shape) {
    io("m", shape.m);
    io("n", shape.n);
    io("k", shape.k);
    io("tensor", shape.tensor);
}
template<class Io> static void fields(Io& io, PlanKept& plan) {
    io("ops", plan.ops);
    io("acts", plan.acts);
    io("specs", plan.specs);
    io("shapes", plan.shapes);
    io("cold", plan.cold);
    io("warm", plan.warm);
    io("bias", plan.bias);
    io("seconds", plan.seconds);
    io("threads", plan.threads);
    io("seed", plan.seed);
    io("memory", plan.memory);
}
template<class Io> static void asked(Io& io, BenchmarkRow& row) {
    io("backend", row.backend);
    io("device", row.device);
    io("spec", row.spec);
    io("full", row.specFull);
    io("op", row.op);
    io("act", row.act);
    io("m", row.m);
    io("n", row.n);
    io("k", row.k);
    io.named("cache", row.cache, 2, cacheText);
    io("bias", row.bias);
    io("threads", row.threads);
    io("tensor", row.tensor);
    io("device_name", row.deviceName);
    io("device_arch", row.deviceArch);
    io("variant", row.variant);
    io("variant_title", row.variantTitle);
    io("variant_note", row.variantNote);
    io("approx", row.approx);
    io("experimental", row.experimental);
    io("baseline", row.baseline);
    io("repacks", row.repacks);
    io("emulated", row.emulated);
}
template<class Io> static void checked(Io& io, BenchmarkRow& row) {
    io.named("status", row.status, kRowStates, rowStateText);
    io("reason", row.reason);
    io("nmse", row.nmse);
    io("worst_nmse", row.worstNmse);
    io("nmse_limit", row.nmseLimit);
    io("format_nmse", row.formatNmse);
    io("approx_nmse", row.approxNmse);
    io("checked_outputs", row.checkedOutputs);
    io("outputs", row.outputs);
    io("checked_shapes", row.checkedShapes);
    io("prepare_ns", row.prepareNs);
    io("repack_ms", row.repackMs);
    io("upload_ms", row.uploadMs);
    io("compile_ms", row.compileMs);
    io("weight_bytes", row.weightBytes);
    io("temp_bytes", row.tempBytes);
    io("peak_bytes", row.peakBytes);
    io("code_bytes", row.codeBytes);
    io("fusion", row.fusion);
}
template<class Io> static void timed(Io& io, BenchmarkRow& row) {
    io("clock", row.clock);
    io("samples", row.samples);
    io("round_medians", row.roundMedians);
    io("median_ns", row.medianNs);
    io("min_ns", row.minNs);
    io("p95_ns", row.p95Ns);
    io("ci_ns", row.ciNs);
    io("gflops", row.gflops);
    io("weight_gbps", row.weightGbps);
    io("speedup", row.speedup);
    io("speedup_ci", row.speedupCi);
    io("speedup_reason", row.speedupReason);
    io("intensity", row.intensity);
    io("roof_share", row.roofShare);
    io("roof_kind", row.roofKind);
    io("in_caches", row.inCaches);
    io("without_cache_roof", row.withoutCacheRoof);
    io("buffer_sets", row.bufferSets);
    io("iterations", row.iterations);
    io("chain", row.chain);
    io("probe_read", row.probeRead);
    io("probe_f32", row.probeF32);
    io("repeated_rounds", row.repeatedRounds);
    io("busy", row.busy);
    io("command", row.command);
    io("artifacts", row.artifacts);
}
template<class Io> static void fields(Io& io, BenchmarkRow& row) {
    asked(io, row);
    checked(io, row);
    timed(io, row);
}
template<class Io> static void fields(Io& io, MeasuredRoof& roof) {
    io("backend", roof.backend);
    io("device", roof.device);
    io("kind", roof.kind);
    io("per_second", roof.perSecond);
    io("samples", roof.samples);
    io("reason", roof.reason);
}
template<class Io> static void fields(Io& io, ModelPassRow& row) {
    io("backend", row.backend);
    io("device", row.device);
    io("spec", row.spec);
    io("act", row.act);
    io("op", row.op);
    io("m", row.m);
    io.named("cache", row.cache, 2, cacheText);
    io("products", row.products);
    io("missing", row.missing);
    io("busy", row.busy);
    io("ns", row.ns);
    io("tokens_per_second", row.tokensPerSecond);
    io("speedup", row.speedup);
    io("variants", row.variants);
    io("reason", row.reason);
}
template<class Io> static void fields(Io& io, BenchKept& all) {
    io("plan", all.plan);
    io("backends", all.backends);
    io("roofs", all.roofs);
    io("passes", all.passes);
    io("provenance", all.provenance);
    io("seconds", all.seconds);
    io("complete", all.complete);
    io("rows", all.rows); // last: keptBench() puts texts there
}

} // namespace kept

std::string keptBenchRow(const BenchmarkRow& row) { return kept::textOf(row); }

/// Of a run of a hundred million samples the figures are kept.
static std::string withoutSamples(const std::string& row) {
    auto json = nlohmann::json::parse(row, nullptr, false);
    if (!json.is_object()) return row;
    json["samples"] = json["artifacts"] = nlohmann::json::array();
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string keptBench(const KeptBench& bench, const std::vector<std::shared_ptr<const std::string>>& rows) {
    const auto& plan = bench.plan;
    kept::BenchKept all;
    all.plan = {plan.ops,  plan.acts,          {},           plan.shapes, false,           false,
                plan.bias, plan.secondsPerRow, plan.threads, plan.seed,   plan.memoryBytes};
    for (const auto& [text, spec] : plan.specs) all.plan.specs.push_back(text);
    for (const auto cache : plan.caches) (cache == CacheState::Cold ? all.plan.cold : all.plan.warm) = true;
    all.backends = bench.backends;
    all.roofs = bench.run.roofs, all.passes = bench.run.passes, all.provenance = bench.run.provenance;
    all.seconds = bench.run.seconds;
    all.complete = bench.complete;
    std::string text = kept::textOf(all);
    static constexpr std::string_view none = "\"rows\":[]";
    const auto at = text.rfind(none);
    if (at == text.npos) return text;
    std::size_t total = text.size();
    for (const auto& row : rows) total += row->size() + 1;
    std::string joined;
    for (const auto& row : rows)
        joined += (joined.empty() ? "" : ",") + (total > kLongestKept ? withoutSamples(*row) : *row);
    return text.insert(at + none.size() - 1, joined);
}

Result<KeptBench> benchKept(const std::string& text, const std::shared_ptr<const Model>& model) {
    auto all = kept::fromText<kept::BenchKept>(text);
    if (!all) return fail("the kept benchmark is damaged: " + all.error());
    KeptBench bench;
    auto& plan = bench.plan;
    plan.ops = std::move(all->plan.ops), plan.acts = std::move(all->plan.acts);
    plan.shapes = std::move(all->plan.shapes);
    plan.bias = all->plan.bias, plan.secondsPerRow = all->plan.seconds, plan.threads = all->plan.threads;
    plan.seed = all->plan.seed, plan.memoryBytes = all->plan.memory;
    plan.caches.clear();
    if (all->plan.cold) plan.caches.push_back(CacheState::Cold);
    if (all->plan.warm) plan.caches.push_back(CacheState::Warm);
    plan.model = model;
    plan.artifacts = true;
    for (auto& one : all->plan.specs) {
        auto spec = parseSpec(one);
        if (!spec) return tl::unexpected(spec.error());
        plan.specs.emplace_back(std::move(one), std::move(*spec));
    }
    for (const auto& row : all->rows)
        if (!findBenchOp(row.op) || (!row.act.empty() && !findBenchAct(row.act)))
            return fail("the kept benchmark is of other operations");
    bench.backends = std::move(all->backends);
    bench.run = {std::move(all->rows), std::move(all->roofs), std::move(all->passes), std::move(all->provenance),
                 all->seconds};
    bench.complete = all->complete;
    return bench;
}

} // namespace qs
