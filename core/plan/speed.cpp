// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/speed.h"

#include "core/base/cell.h"
#include "core/base/text.h"
#include "core/plan/heuristic.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs::plan {
namespace {

LatencyCase caseOf(const ModelPassRow& pass) { return {pass.backend, pass.device, pass.op, pass.act, pass.cache, {}}; }
bool areSame(const LatencyCase& a, const LatencyCase& b) {
    return std::tie(a.backend, a.device, a.op, a.act, a.cache) == std::tie(b.backend, b.device, b.op, b.act, b.cache);
}

std::optional<double> measuredKl(const PlanProof* proof, const std::string& uniform) {
    if (!proof) return {};
    for (const Contender& one : proof->contenders)
        if (one.kind == ContenderKind::Uniform && one.mixture.name == uniform && one.summary)
            return one.summary->divergence.mean;
    return {};
}

/// Passes of one case and spec, by ascending M.
using Series = std::vector<const SpeedPoint*>;

void addCrossovers(const Series& a, const Series& b, std::vector<Crossover>& out) {
    // The last M at which b was surely faster; a crosses it at the next M at which a surely is.
    const SpeedPoint* before = nullptr;
    for (const SpeedPoint* one : a) {
        const auto at = std::ranges::find_if(b, [&](const SpeedPoint* other) { return other->m == one->m; });
        if (at == b.end()) continue;
        const Verdict verdict = compareTimes(one->ci, (*at)->ci);
        if (verdict == Verdict::Slower) before = one;
        if (verdict != Verdict::Faster || !before) continue;
        out.push_back({one->where, one->specText, (*at)->specText, one->m, before->m});
        before = nullptr;
    }
}

std::vector<Crossover> crossoversOf(const std::vector<SpeedPoint>& points) {
    std::vector<Series> all;
    for (const SpeedPoint& point : points) {
        auto at = std::ranges::find_if(all, [&](const Series& series) {
            return series.front()->spec == point.spec && areSame(series.front()->where, point.where);
        });
        if (at == all.end()) at = all.insert(all.end(), Series());
        at->push_back(&point);
    }
    std::vector<Crossover> out;
    for (Series& series : all)
        std::ranges::stable_sort(series, [](const auto* a, const auto* b) { return a->m < b->m; });
    for (const Series& a : all)
        for (const Series& b : all)
            if (&a != &b && areSame(a.front()->where, b.front()->where)) addCrossovers(a, b, out);
    return out;
}

/// The columns that name the case of a row.
template<class R> Columns<R> caseColumns() {
    const auto text = [](const char* id, const char* title, const char* tip, auto get) {
        return columnOf<R>({id, title, "", Show::Text, 0, Direction::None, tip}, get);
    };
    return {text("backend", "Backend", "Id of the backend", [](const R& r) { return r.where.backend; }),
            text("device", "Device", "Id of the device", [](const R& r) { return r.where.device; }),
            text("act", "Activations", "Type of x", [](const R& r) { return r.where.act; }),
            text("cache", "Cache", "State of the cache", [](const R& r) { return cacheText(r.where.cache); })};
}

} // namespace

double SpeedPoint::radius(std::uint64_t most) const {
    constexpr double largest = 9, least = 2.4;
    return most == 0 ? least : std::max(least, largest * std::sqrt(double(bytes) / double(most)));
}

std::uint64_t SpeedMap::mostBytes() const {
    std::uint64_t most = 0;
    for (const SpeedPoint& one : points) most = std::max(most, one.bytes);
    return most;
}

bool SpeedMap::isMeasured() const {
    return std::ranges::any_of(points, [](const SpeedPoint& one) { return one.kl.has_value(); });
}

std::vector<std::int64_t> SpeedMap::ms() const {
    std::vector<std::int64_t> out;
    for (const SpeedPoint& one : points) out.push_back(one.m);
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

SpeedMap speedMap(const Options& options, std::span<const BenchmarkRow> rows, const PlanProof* proof) {
    SpeedMap out;
    const auto passes = modelPasses(modelShapes(*options.model), timesOf(rows));
    for (std::size_t s = 0; s < options.choices; ++s) {
        const std::string canonical = canonicalText(options.specs[s]), text = specText(options.specs[s]);
        const auto remark = [&](const std::string& why) { out.remarks.push_back(text + " has no point: " + why); };
        if (!options.isEverywhere(s)) {
            remark("some tensors cannot have it.");
            continue;
        }
        const Mixture uniform = uniformMixture(s, options);
        std::string missing = "no time was measured.";
        std::size_t found = 0;
        for (const ModelPassRow& pass : passes) {
            const auto spec = parseSpec(pass.spec);
            if (!spec || canonicalText(*spec) != canonical) continue;
            if (!pass.ns) {
                missing = pass.reason + '.';
                continue;
            }
            out.points.push_back({caseOf(pass), pass.m, s, text, *pass.ns, pass.nsCi, pass.busy, uniform.bytes,
                                  uniform.loss, measuredKl(proof, uniform.name)});
            ++found;
        }
        if (found == 0) remark(missing);
    }
    std::ranges::stable_sort(out.points, [](const SpeedPoint& a, const SpeedPoint& b) {
        return std::tie(a.where.backend, a.where.device, a.where.act, a.where.cache, a.m) <
               std::tie(b.where.backend, b.where.device, b.where.act, b.where.cache, b.m);
    });
    out.crossovers = crossoversOf(out.points);
    return out;
}

const Columns<SpeedPoint>& speedColumns() {
    using R = SpeedPoint;
    static const Columns<R> columns = [] {
        Columns<R> out = caseColumns<R>();
        const auto add = [&](ColumnInfo info, auto get) { out.push_back(columnOf<R>(std::move(info), get)); };
        constexpr auto none = Direction::None, lower = Direction::LowerIsBetter;
        add({"m", "M", "", Show::Integer, 0, none, "Tokens in one pass"}, &R::m);
        add({"spec", "Spec", "", Show::Text, 0, none, "Of all tensors"}, &R::specText);
        add({"token_ns", "Time a token", "µs", Show::Time, 4, lower,
             "Measured time of the products of one pass / M: attention, norms and sampling come on top"},
            [](const R& r) { return r.nsPerToken(); });
        add({"pass_ns", "One pass", "µs", Show::Time, 4, lower, "Measured time of the products of one pass"}, &R::ns);
        add({"pass_low_ns", "Pass, low", "µs", Show::Time, 4, none, "With the lower ends of the medians' intervals"},
            [](const R& r) { return r.ci ? Value(r.ci->low) : Value(); });
        add({"pass_high_ns", "Pass, high", "µs", Show::Time, 4, none, "With the upper ends"},
            [](const R& r) { return r.ci ? Value(r.ci->high) : Value(); });
        add({"busy", "Busy", "", Show::Integer, 0, lower, "Products timed while something else ran on the machine"},
            &R::busy);
        add({"kl", "KL", "nats", Show::Scientific, 4, lower, "Mean KL on held-out text; empty: not measured"}, &R::kl);
        add({"loss", "Loss", "", Show::Scientific, 4, lower, "Sum over the tensors, by the objective of the plan"},
            &R::loss);
        add({"bytes", "Size", "", Show::Bytes, 0, lower, "Bytes of the whole file in the layout"}, &R::bytes);
        return out;
    }();
    return columns;
}

const Columns<Crossover>& crossoverColumns() {
    using R = Crossover;
    static const Columns<R> columns = [] {
        Columns<R> out = caseColumns<R>();
        const auto add = [&](ColumnInfo info, auto get) { out.push_back(columnOf<R>(std::move(info), get)); };
        constexpr auto none = Direction::None;
        add({"spec", "Faster", "", Show::Text, 0, none, "The spec that becomes the faster one"}, &R::spec);
        add({"over", "Than", "", Show::Text, 0, none, "The spec that was the faster one"}, &R::over);
        add({"m", "From M", "", Show::Integer, 0, none, "First M at which it is, with intervals apart"}, &R::m);
        add({"before", "Not at M", "", Show::Integer, 0, none, "Last M at which the other one was"}, &R::before);
        return out;
    }();
    return columns;
}

std::string crossoverText(const Crossover& one) {
    return fmt::format("On {} {} becomes faster than {} between M = {} and M = {}.",
                       escapeForPeople(one.where.backend, 60), one.spec, one.over, one.before, one.m);
}

} // namespace qs::plan
