// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/compare.h"

#include "core/base/text.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using Json = nlohmann::json;
constexpr std::uintmax_t kLargest = std::uintmax_t(256) << 20;

std::string textAt(const Json& row, const char* key) {
    const auto at = row.find(key);
    return at != row.end() && at->is_string() ? at->get<std::string>() : std::string();
}
std::int64_t countAt(const Json& row, const char* key) {
    const auto at = row.find(key);
    return at != row.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}
std::optional<double> figureAt(const Json& row, const char* key) {
    const auto at = row.find(key);
    return at != row.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

BaselineRow rowOf(const Json& json) {
    BenchmarkRow named;
    named.backend = textAt(json, "backend");
    named.device = textAt(json, "device");
    named.spec = textAt(json, "spec");
    named.op = textAt(json, "op");
    named.act = textAt(json, "act");
    named.variant = textAt(json, "variant");
    named.bias = json.contains("bias") && json["bias"].is_boolean() && json["bias"].get<bool>();
    named.cache = textAt(json, "cache") == "warm" ? CacheState::Warm : CacheState::Cold;
    named.m = countAt(json, "m");
    named.n = countAt(json, "n");
    named.k = countAt(json, "k");
    named.threads = unsigned(countAt(json, "threads"));
    BaselineRow out;
    out.key = rowKey(named);
    out.status = textAt(json, "status");
    out.medianNs = figureAt(json, "median_ns");
    out.nmse = figureAt(json, "nmse");
    out.samples = std::size_t(std::max<std::int64_t>(0, countAt(json, "sample_count")));
    if (const auto ci = json.find("ci_ns");
        ci != json.end() && ci->is_array() && ci->size() == 2 && (*ci)[0].is_number() && (*ci)[1].is_number())
        out.ciNs = Interval{(*ci)[0].get<double>(), (*ci)[1].get<double>()};
    return out;
}

std::string verdictOf(const ComparedRow& row, const std::optional<Interval>& before,
                      const std::optional<Interval>& now) {
    if (!row.ns || !row.oldNs)
        return !row.ns ? fmt::format("now {}", row.status) : fmt::format("was {}", row.oldStatus);
    if (!before || !now) return "no interval";
    switch (compareTimes(now, before)) {
    case Verdict::Faster: return "faster";
    case Verdict::Slower: return "slower";
    case Verdict::NoWinner: break;
    }
    return "within noise";
}

} // namespace

Result<BenchBaseline> parseBenchBaseline(std::string_view text, const std::string& path) {
    const auto json = Json::parse(text, nullptr, false);
    const std::string name = escapeForPeople(path);
    if (json.is_discarded()) return fail(fmt::format("{} is not JSON.", name), path);
    const auto rows = json.is_object() ? json.find("rows") : json.end();
    if (!json.is_object() || rows == json.end() || !rows->is_array())
        return fail(fmt::format("{} has no rows of a benchmark; give a file that `bench --json` wrote.", name), path);
    BenchBaseline out;
    for (const auto& row : *rows) {
        if (!row.is_object() || !row.contains("variant") || !row.contains("median_ns"))
            return fail(fmt::format("Row {} of {} is not one of a benchmark.", out.rows.size() + 1, name), path);
        out.rows.push_back(rowOf(row));
    }
    if (const auto lines = json.find("provenance"); lines != json.end() && lines->is_object())
        for (const auto& [key, value] : lines->items())
            if (value.is_string()) out.provenance.emplace_back(key, value.get<std::string>());
    return out;
}

Result<BenchBaseline> readBenchBaseline(const std::string& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (!error && size > kLargest)
        return fail(fmt::format("{} is too large for a benchmark's result.", escapeForPeople(path)), path);
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    if (error || in.bad() || !in) {
        if (error || text.empty())
            return fail(fmt::format("{} could not be read{}.", escapeForPeople(path),
                                    error ? ": " + error.message() : std::string()),
                        path);
    }
    return parseBenchBaseline(text, path);
}

std::vector<ComparedRow> compareRuns(const BenchBaseline& before, std::span<const BenchmarkRow> rows) {
    std::map<std::string, const BaselineRow*> known;
    for (const auto& row : before.rows) known.emplace(row.key, &row);
    std::vector<ComparedRow> out;
    for (const auto& row : rows) {
        ComparedRow one;
        one.key = rowKey(row);
        one.status = rowStateText(row.status);
        one.ns = row.medianNs;
        one.nmse = row.nmse;
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
        if (row.ciNs && old.ciNs && row.ciNs->low > 0)
            one.ratioRange = Interval{old.ciNs->low / row.ciNs->high, old.ciNs->high / row.ciNs->low};
        one.verdict = verdictOf(one, old.ciNs, row.ciNs);
        known.erase(at);
        out.push_back(std::move(one));
    }
    for (const auto& row : before.rows)
        if (const auto at = known.find(row.key); at != known.end() && at->second == &row)
            out.push_back({row.key, row.status, {}, row.medianNs, {}, {}, {}, row.nmse, {}, "only before"});
    return out;
}

const Columns<ComparedRow>& comparedColumns() {
    using R = ComparedRow;
    static const Columns<R> columns = [] {
        Columns<R> out;
        const auto add = [&](ColumnInfo info, std::function<Value(const R&)> get) {
            out.push_back({std::move(info), std::move(get)});
        };
        const auto figure = [](const std::optional<double>& v) { return v ? Value(*v) : Value(); };
        constexpr auto none = Direction::None, lower = Direction::LowerIsBetter;
        add({"row", "Row", "", Show::Text, 0, none, "Backend, spec, operation, shape, cache state and variant"},
            [](const R& r) -> Value { return r.key; });
        add({"old_ns", "Before", "ns", Show::Significant, 4, lower, "Median of the earlier run"},
            [figure](const R& r) { return figure(r.oldNs); });
        add({"median_ns", "Now", "ns", Show::Significant, 4, lower, "Median of this run"},
            [figure](const R& r) { return figure(r.ns); });
        add({"ratio", "Speed-up", "x", Show::Fixed, 3, Direction::HigherIsBetter,
             "Before / now; above 1 is faster now"},
            [figure](const R& r) { return figure(r.ratio); });
        add({"ratio_low", "Low", "x", Show::Fixed, 3, none, "From the ends of both 95 % intervals"},
            [](const R& r) { return r.ratioRange ? Value(r.ratioRange->low) : Value(); });
        add({"ratio_high", "High", "x", Show::Fixed, 3, none, "From the ends of both 95 % intervals"},
            [](const R& r) { return r.ratioRange ? Value(r.ratioRange->high) : Value(); });
        add({"verdict", "Verdict", "", Show::Text, 0, none,
             "within noise: the 95 % intervals of the medians overlap, so no winner is named"},
            [](const R& r) -> Value { return r.verdict; });
        add({"old_nmse", "NMSE before", "", Show::Significant, 3, lower, "Kernel error of the earlier run"},
            [figure](const R& r) { return figure(r.oldNmse); });
        add({"nmse", "NMSE now", "", Show::Significant, 3, lower, "Kernel error of this run"},
            [figure](const R& r) { return figure(r.nmse); });
        return out;
    }();
    return columns;
}

} // namespace qs
