// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/latency.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace qs::plan {
namespace {

/// The spec of a row with every key; "" where it is none that this version knows.
std::string canonicalOf(const BenchmarkRow& row) {
    const auto spec = parseSpec(row.question.spec);
    return spec ? canonicalText(*spec) : std::string();
}

std::set<std::pair<std::int64_t, std::int64_t>> shapesOf(const Model& model) {
    std::set<std::pair<std::int64_t, std::int64_t>> out;
    for (const ModelShape& shape : modelShapes(model)) out.emplace(shape.n, shape.k);
    return out;
}

template<class List, class Text> std::string joined(const List& list, Text text) {
    std::string out;
    for (const auto& one : list) out += (out.empty() ? "" : ", ") + text(one);
    return out;
}

const LatencyCase* chosenCase(const std::vector<LatencyCase>& cases, const std::string& backend) {
    const auto found =
        std::ranges::find_if(cases, [&](const LatencyCase& one) { return backend.empty() || one.backend == backend; });
    return found == cases.end() ? nullptr : &*found;
}

} // namespace

bool LatencyCase::isOf(const BenchmarkRow::Question& asked) const {
    return backend == asked.backend && device == asked.device && op == asked.op && act == asked.act &&
           cache == asked.cache;
}

std::string caseText(const LatencyCase& one) {
    return fmt::format("{}, {} activations, {} cache", escapeForPeople(one.backend, 60), one.act, cacheText(one.cache));
}

bool isUsable(const BenchmarkRow& row) {
    const BenchOp* op = findBenchOp(row.question.op);
    return op && op->product && row.verdict.status == RowState::Ok && row.timing.medianNs && *row.timing.medianNs > 0 &&
           row.question.m > 0 && !row.answer.variant.approx && !row.answer.variant.experimental;
}

std::vector<BenchmarkRow> timesOf(std::span<const BenchmarkRow> rows) {
    std::vector<BenchmarkRow> out;
    for (const BenchmarkRow& row : rows) {
        if (!isUsable(row)) continue;
        BenchmarkRow& one = out.emplace_back();
        one.question = row.question, one.verdict.status = row.verdict.status;
        one.answer.variant.id = row.answer.variant.id;
        one.timing.medianNs = row.timing.medianNs, one.timing.ciNs = row.timing.ciNs, one.timing.busy = row.timing.busy;
    }
    return out;
}

std::vector<LatencyCase> latencyCases(const Model& model, std::span<const BenchmarkRow> rows) {
    const auto shapes = shapesOf(model);
    std::vector<LatencyCase> out;
    for (const BenchmarkRow& row : rows) {
        const auto& asked = row.question;
        if (!isUsable(row) || !shapes.contains({asked.n, asked.k})) continue;
        auto at = std::ranges::find_if(out, [&](const LatencyCase& one) { return one.isOf(asked); });
        if (at == out.end()) {
            out.push_back({asked.backend, asked.device, asked.op, asked.act, asked.cache, {}});
            at = out.end() - 1;
        }
        const auto place = std::lower_bound(at->ms.begin(), at->ms.end(), asked.m);
        if (place == at->ms.end() || *place != asked.m) at->ms.insert(place, asked.m);
    }
    return out;
}

const Latencies::Time* Latencies::find(const TensorInfo& matrix, const std::string& canonical) const {
    if (matrix.shape.size() != 2) return nullptr;
    const auto found = times.find({matrix.shape[0], matrix.shape[1], canonical});
    return found == times.end() ? nullptr : &found->second;
}

Result<Latencies> latenciesOf(const Model& model, std::span<const BenchmarkRow> rows, const std::string& backend,
                              std::int64_t m) {
    const auto cases = latencyCases(model, rows);
    if (cases.empty())
        return fail(fmt::format("None of the {} rows of the benchmark has a time of a product of this model's shapes; "
                                "`{}` measures some.",
                                rows.size(), benchCommand(model, backend, std::max<std::int64_t>(1, m), {})));
    std::set<std::string> known;
    for (const LatencyCase& one : cases) known.insert(one.backend);
    const std::string names = joined(known, [](const std::string& id) { return escapeForPeople(id, 60); });
    if (backend.empty() && known.size() > 1)
        return fail(fmt::format("The benchmark has times of several backends ({}): say which with --backend.", names));
    const LatencyCase* where = chosenCase(cases, backend);
    if (!where)
        return fail(fmt::format("The benchmark has no time of {} at this model's shapes; it has times of {}.",
                                escapeForPeople(backend, 60), names));
    Latencies out;
    out.where = *where, out.m = m > 0 ? m : where->ms.front();
    if (!std::binary_search(where->ms.begin(), where->ms.end(), out.m))
        return fail(fmt::format("No time at M = {} was measured on {}; M was {}.", out.m,
                                escapeForPeople(where->backend, 60),
                                joined(where->ms, [](std::int64_t one) { return std::to_string(one); })));
    for (const BenchmarkRow& row : rows) {
        if (!isUsable(row) || !where->isOf(row.question) || row.question.m != out.m) continue;
        const std::string spec = canonicalOf(row);
        if (spec.empty()) continue;
        const Latencies::Time time{*row.timing.medianNs, row.timing.ciNs, row.timing.busy};
        const auto [at, isNew] = out.times.try_emplace({row.question.n, row.question.k, spec}, time);
        if (!isNew && time.ns < at->second.ns) at->second = time;
    }
    return out;
}

std::string storedSpec(const TensorInfo& tensor) {
    std::string id = info(tensor.dtype).id;
    std::transform(id.begin(), id.end(), id.begin(), [](char c) { return char(c >= 'A' && c <= 'Z' ? c + 32 : c); });
    const auto spec = parseSpec(id);
    return spec && spec->traits().kind == FormatKind::Identity ? canonicalText(*spec) : std::string();
}

std::string benchCommand(const Model& model, const std::string& backend, std::int64_t m,
                         std::span<const QuantSpec> specs) {
    std::string out = "quantscope-cli bench --model " + shellWord(model.path);
    if (!backend.empty()) out += " --backend " + shellWord(backend);
    for (const QuantSpec& spec : specs) out += " --spec " + shellWord(specText(spec));
    return out + fmt::format(" --shape {} --json F", m);
}

} // namespace qs::plan
