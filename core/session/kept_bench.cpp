// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/row_fields.h"
#include "core/session/kept_json.h"
#include "core/session/kept_results.h"
#include "core/session/session_file.h"

namespace qs {
namespace kept {
namespace {

struct PlanKept {
    std::vector<std::string> ops, acts, specs;
    std::vector<BenchShape> shapes;
    bool cold = false, warm = false, bias = false;
    double seconds = 2;
    unsigned threads = 0;
    std::uint64_t seed = 1, memory = 0;
};
/// All but the rows, each of which is kept as text when it arrives.
struct BenchHead {
    PlanKept plan;
    std::vector<std::string> backends;
    std::vector<MeasuredRoof> roofs;
    std::vector<ModelPassRow> passes;
    std::vector<std::pair<std::string, std::string>> provenance;
    double seconds = 0;
    bool complete = false;
};
struct BenchKept : BenchHead {
    std::vector<BenchmarkRow> rows;
};

} // namespace

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
template<class Io> static void fields(Io& io, BenchHead& all) {
    io("plan", all.plan);
    io("backends", all.backends);
    io("roofs", all.roofs);
    io("passes", all.passes);
    io("provenance", all.provenance);
    io("seconds", all.seconds);
    io("complete", all.complete);
}
template<class Io> static void fields(Io& io, BenchKept& all) {
    fields(io, static_cast<BenchHead&>(all));
    io("rows", all.rows);
}

} // namespace kept

std::string keptBenchRow(const BenchmarkRow& row) { return kept::textOf(row); }

/// Removes samples and program texts from a row. A run may have a hundred million samples; only its figures are stored.
static std::string withoutSamples(const std::string& row) {
    auto json = nlohmann::json::parse(row, nullptr, false);
    if (!json.is_object()) return row;
    json["timing"]["samples"] = json["answer"]["artifacts"] = nlohmann::json::array();
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string keptBench(const KeptBench& bench, const std::vector<std::shared_ptr<const std::string>>& rows) {
    const auto& plan = bench.plan;
    kept::BenchHead all;
    all.plan = {plan.ops,  plan.acts,          {},           plan.shapes, false,           false,
                plan.bias, plan.secondsPerRow, plan.threads, plan.seed,   plan.memoryBytes};
    for (const auto& [text, spec] : plan.specs) all.plan.specs.push_back(text);
    for (const auto cache : plan.caches) (cache == CacheState::Cold ? all.plan.cold : all.plan.warm) = true;
    all.backends = bench.backends;
    all.roofs = bench.run.roofs, all.passes = bench.run.passes, all.provenance = bench.run.provenance;
    all.seconds = bench.run.seconds;
    all.complete = bench.complete;
    std::string text = kept::textOf(all);
    std::size_t total = text.size();
    for (const auto& row : rows) total += row->size() + 1;
    text.back() = ','; // of an object that is not empty: the rows are its last member
    text += "\"rows\":[";
    for (const auto& row : rows) {
        text += total > kLongestKept ? withoutSamples(*row) : *row;
        text += ',';
    }
    if (rows.empty()) return text + "]}";
    text.back() = ']';
    return text + '}';
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
        if (!findBenchOp(row.question.op) || (!row.question.act.empty() && !findBenchAct(row.question.act)))
            return fail("the kept benchmark is of other operations");
    bench.backends = std::move(all->backends);
    bench.run = {std::move(all->rows), std::move(all->roofs), std::move(all->passes), std::move(all->provenance),
                 all->seconds};
    bench.complete = all->complete;
    return bench;
}

} // namespace qs
