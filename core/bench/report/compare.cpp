// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/report/compare.h"

#include "core/base/cell.h"
#include "core/base/text.h"
#include "core/model/companion.h"
#include "plugins/abi/quantscope_backend.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kLargest = std::size_t(256) << 20;

std::int64_t wholeAt(const Json& row, const char* key) {
    const auto at = row.find(key);
    return at != row.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}
std::optional<double> figureAt(const Json& row, const char* key) {
    const auto at = row.find(key);
    return at != row.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

std::vector<double> listAt(const Json& row, const char* key) {
    std::vector<double> out;
    const auto at = row.find(key);
    if (at == row.end() || !at->is_array()) return out;
    for (const auto& value : *at)
        if (value.is_number()) out.push_back(value.get<double>());
    return out;
}
/// Files without `round_medians_ns` have the samples of all rounds, one after another.
std::vector<double> roundMediansOf(const Json& row) {
    auto medians = listAt(row, "round_medians_ns");
    if (!medians.empty()) return medians;
    const auto samples = listAt(row, "samples");
    const auto rounds = std::size_t(std::clamp<std::int64_t>(wholeAt(row, "rounds"), 0, std::int64_t(samples.size())));
    for (std::size_t r = 0; r < rounds; ++r) {
        const std::size_t begin = samples.size() * r / rounds, end = samples.size() * (r + 1) / rounds;
        medians.push_back(medianOf({samples.begin() + std::ptrdiff_t(begin), samples.begin() + std::ptrdiff_t(end)}));
    }
    return medians;
}

bool isTrueAt(const Json& row, const char* key) {
    const auto at = row.find(key);
    return at != row.end() && at->is_boolean() && at->get<bool>();
}

std::optional<Interval> intervalAt(const Json& row, const char* key) {
    const auto at = row.find(key);
    if (at == row.end() || !at->is_array() || at->size() != 2 || !(*at)[0].is_number() || !(*at)[1].is_number())
        return {};
    return Interval{(*at)[0].get<double>(), (*at)[1].get<double>()};
}

RowState stateOf(const std::string& text) {
    for (int i = 0; i <= int(RowState::Cancelled); ++i)
        if (text == rowStateText(RowState(i))) return RowState(i);
    return RowState::Failed;
}

BenchmarkRow valuesOf(const Json& json) {
    BenchmarkRow out;
    auto& q = out.question;
    q.backend = textAt(json, "backend"), q.device = textAt(json, "device");
    q.spec = textAt(json, "spec"), q.specFull = textAt(json, "spec_full");
    q.op = textAt(json, "op"), q.act = textAt(json, "act"), q.bias = isTrueAt(json, "bias");
    q.cache = textAt(json, "cache") == cacheText(CacheState::Warm) ? CacheState::Warm : CacheState::Cold;
    q.m = wholeAt(json, "m"), q.n = wholeAt(json, "n"), q.k = wholeAt(json, "k");
    q.threads = unsigned(wholeAt(json, "threads"));
    Variant& variant = out.answer.variant;
    variant.id = textAt(json, "variant"), variant.approx = isTrueAt(json, "approx");
    variant.experimental = isTrueAt(json, "experimental"), variant.baseline = isTrueAt(json, "baseline");
    out.verdict.status = stateOf(textAt(json, "status")), out.verdict.reason = textAt(json, "reason");
    out.timing.medianNs = figureAt(json, "median_ns"), out.timing.ciNs = intervalAt(json, "ci_ns");
    out.timing.busy = isTrueAt(json, "busy"), out.verdict.speedup = figureAt(json, "speedup_vs_f32");
    return out;
}

BaselineRow rowOf(const Json& json, const BenchmarkRow& named) {
    BaselineRow out;
    out.key = rowKey(named);
    out.parts = rowParts(named);
    out.status = textAt(json, "status");
    out.medianNs = figureAt(json, "median_ns");
    out.nmse = figureAt(json, "nmse");
    out.samples = std::size_t(std::max<std::int64_t>(0, wholeAt(json, "sample_count")));
    const auto giga = [&](const char* key) {
        const auto value = figureAt(json, key);
        return value && *value > 0 ? std::optional(*value * 1e9) : std::nullopt;
    };
    out.probeRead = giga("probe_read_gbps");
    out.probeF32 = giga("probe_f32_gflops");
    out.roundsNs = roundInterval(roundMediansOf(json));
    out.ciNs = named.timing.ciNs;
    return out;
}

std::optional<double> roofOf(std::span<const MeasuredRoof> roofs, const BenchmarkRow& row, const char* kind) {
    double best = 0, host = 0;
    for (const auto& roof : roofs) {
        if (roof.kind != kind) continue;
        if (roof.device == row.question.device)
            host = std::max(host, roof.perSecond); // all backends of the host share one roof
        if (roof.device == row.question.device && roof.backend == row.question.backend)
            best = std::max(best, roof.perSecond);
    }
    best = row.timing.clock == QS_CLOCK_DEVICE ? best : std::max(best, host);
    return best > 0 ? std::optional(best) : std::nullopt;
}

/// What connects a row with the baseline of its turns.
std::string turnsOf(const BenchmarkRow& r) {
    return fmt::format("{} {} {} {}x{}x{} {} {}", r.question.device, r.question.op, r.question.bias, r.question.m,
                       r.question.n, r.question.k, cacheText(r.question.cache), r.question.threads);
}

/// How much faster the machine was now than before, for each probe that both runs have.
std::vector<double> driftsOf(const BaselineRow& old, const BenchmarkRow& row, const BenchBaseline& before,
                             std::span<const MeasuredRoof> roofs) {
    std::vector<double> out;
    const auto add = [&](const std::optional<double>& then, const std::optional<double>& now, const char* kind) {
        if (then && now) return out.push_back(*now / *then);
        const auto oldRoof = roofOf(before.roofs, row, kind), roof = roofOf(roofs, row, kind);
        if (oldRoof && roof) out.push_back(*roof / *oldRoof);
    };
    add(old.probeRead, row.timing.probeRead, "read_bw");
    add(old.probeF32, row.timing.probeF32, "f32");
    return out;
}

/// The wider one, so that one round or few samples do not look certain.
std::optional<Interval> spanOf(const std::optional<Interval>& rounds, const std::optional<Interval>& ci) {
    if (!rounds || !ci) return rounds ? rounds : ci;
    return Interval{std::min(rounds->low, ci->low), std::max(rounds->high, ci->high)};
}

void judge(ComparedRow& one, const BaselineRow& old, const BenchmarkRow& row, const std::vector<double>& drifts) {
    const auto then = spanOf(old.roundsNs, old.ciNs),
               now = spanOf(roundInterval(row.timing.roundMedians), row.timing.ciNs);
    if (!one.ns || !one.oldNs) {
        one.verdict = !one.ns ? fmt::format("now {}", one.status) : fmt::format("was {}", one.oldStatus);
        return;
    }
    one.verdict = "no interval";
    if (!then || !now || !(now->low > 0) || !(then->low > 0)) return;
    Interval range{then->low / now->high, then->high / now->low}, drift{1, 1};
    const Interval raw = range;
    for (const double f : drifts) {
        if (!(f > 0)) continue;
        drift = {std::min(drift.low, f), std::max(drift.high, f)};
        range = {std::min(range.low, raw.low / f), std::max(range.high, raw.high / f)};
    }
    one.ratioRange = range;
    if (!drifts.empty()) one.drift = drift;
    one.verdict = range.low > 1 ? "faster" : range.high < 1 ? "slower" : "within noise";
}

} // namespace

Result<BenchBaseline> parseBenchBaseline(std::string_view text, const std::string& path) {
    const auto tree = readJsonTree(text, kLargest);
    const std::string name = escapeForPeople(path);
    if (!tree) return fail(fmt::format("{} {}.", name, tree.error().sentence()), path);
    const Json& json = *tree;
    const auto rows = json.is_object() ? json.find("rows") : json.end();
    if (!json.is_object() || rows == json.end() || !rows->is_array())
        return fail(fmt::format("{} has no rows of a benchmark; give a file that `bench --json` wrote.", name), path);
    BenchBaseline out;
    for (const auto& row : *rows) {
        if (!row.is_object() || !row.contains("variant") || !row.contains("median_ns"))
            return fail(fmt::format("Row {} of {} is not a row of a benchmark.", out.rows.size() + 1, name), path);
        out.asRows.push_back(valuesOf(row));
        out.rows.push_back(rowOf(row, out.asRows.back()));
    }
    if (const auto roofs = json.find("roofs"); roofs != json.end() && roofs->is_array())
        for (const auto& roof : *roofs)
            if (const auto speed = roof.is_object() ? figureAt(roof, "per_second") : std::nullopt)
                out.roofs.push_back(
                    {textAt(roof, "backend"), textAt(roof, "device"), textAt(roof, "kind"), *speed * 1e9, 0, {}});
    if (const auto lines = json.find("provenance"); lines != json.end() && lines->is_object())
        for (const auto& [key, value] : lines->items())
            if (value.is_string()) out.provenance.emplace_back(key, value.get<std::string>());
    return out;
}

Result<BenchBaseline> readBenchBaseline(const std::string& path) {
    const auto text = readCompanion(path, kLargest);
    if (!text) return tl::unexpected(text.error());
    return parseBenchBaseline(*text, path);
}

std::vector<ComparedRow> compareRuns(const BenchBaseline& before, std::span<const BenchmarkRow> rows,
                                     std::span<const MeasuredRoof> roofs) {
    std::map<std::string, const BaselineRow*> known;
    for (const auto& row : before.rows) known.emplace(row.key, &row);
    // Another library's f32 product is the same code in both runs: its change shows the machine.
    std::multimap<std::string, double> baselines;
    for (const auto& row : rows)
        if (const auto old = known.find(rowKey(row));
            row.answer.variant.baseline && row.question.spec == "f32" && old != known.end())
            if (row.timing.medianNs && old->second->medianNs && *row.timing.medianNs > 0)
                baselines.emplace(turnsOf(row), *old->second->medianNs / *row.timing.medianNs);
    std::vector<ComparedRow> out;
    for (const auto& row : rows) {
        ComparedRow one;
        one.key = rowKey(row);
        one.parts = rowParts(row);
        one.status = rowStateText(row.verdict.status);
        one.ns = row.timing.medianNs;
        one.nmse = row.check.nmse;
        const auto at = known.find(one.key);
        if (at == known.end()) {
            one.verdict = "only now";
            out.push_back(std::move(one));
            continue;
        }
        const BaselineRow& old = *at->second;
        one.oldStatus = old.status;
        one.oldNs = old.medianNs;
        one.oldNmse = old.nmse;
        if (one.ns && one.oldNs && *one.ns > 0) one.ratio = *one.oldNs / *one.ns;
        auto drifts = driftsOf(old, row, before, roofs);
        const auto [first, last] = baselines.equal_range(turnsOf(row));
        for (auto baseline = first; baseline != last && !row.answer.variant.baseline; ++baseline)
            drifts.push_back(baseline->second);
        judge(one, old, row, drifts);
        known.erase(at);
        out.push_back(std::move(one));
    }
    for (const auto& row : before.rows)
        if (const auto at = known.find(row.key); at != known.end() && at->second == &row)
            out.push_back(
                {row.key, row.parts, row.status, {}, row.medianNs, {}, {}, {}, {}, row.nmse, {}, "only before"});
    return out;
}

const Columns<ComparedRow>& comparedColumns() {
    using R = ComparedRow;
    static const Columns<R> columns = [] {
        Columns<R> out;
        const auto add = [&](ColumnInfo info, auto get) { out.push_back(columnOf<R>(std::move(info), get)); };
        constexpr auto none = Direction::None, lower = Direction::LowerIsBetter;
        add({"row", "Row", "", Show::Text, 0, none, "Backend, spec, operation, shape, cache state and variant"},
            &R::key);
        add({"old_ns", "Before", "µs", Show::Time, 4, lower, "Median of the earlier run"}, &R::oldNs);
        add({"median_ns", "Now", "µs", Show::Time, 4, lower, "Median of this run"}, &R::ns);
        add({"ratio", "Speed-up", "x", Show::Fixed, 3, Direction::HigherIsBetter,
             "Before / now; above 1 is faster now"},
            &R::ratio);
        add({"ratio_low", "Low", "x", Show::Fixed, 3, none,
             "By the rounds of both runs, and by the machine's drift between them"},
            [](const R& r) { return r.ratioRange ? Value(r.ratioRange->low) : Value(); });
        add({"ratio_high", "High", "x", Show::Fixed, 3, none,
             "By the rounds of both runs, and by the machine's drift between them"},
            [](const R& r) { return r.ratioRange ? Value(r.ratioRange->high) : Value(); });
        add({"verdict", "Verdict", "", Show::Text, 0, none,
             "within noise: the rounds of both runs and the machine's drift between them explain it"},
            &R::verdict);
        add({"drift_low", "Machine, least", "x", Show::Fixed, 3, none,
             "How much faster the machine itself was now, by its probes of memory and arithmetic; the least"},
            [](const R& r) { return r.drift ? Value(r.drift->low) : Value(); });
        add({"drift_high", "Machine, most", "x", Show::Fixed, 3, none, "The same, the most"},
            [](const R& r) { return r.drift ? Value(r.drift->high) : Value(); });
        add({"old_nmse", "NMSE before", "", Show::Scientific, 3, lower, "Kernel error of the earlier run"},
            &R::oldNmse);
        add({"nmse", "NMSE now", "", Show::Scientific, 3, lower, "Kernel error of this run"}, &R::nmse);
        return out;
    }();
    return columns;
}

} // namespace qs
