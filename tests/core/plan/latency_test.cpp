// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of the sample model with invented times: budgets of time, what has no time, two budgets, a target, and speed
// beside error beside size.
#include "core/plan/heuristic.h"
#include "core/plan/report.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include "made_up_times.h"
#include "sample_plan.h"
#include "tests/core/bench/fake_world.h"

#include <cmath>
#include <set>

using namespace qs;
using namespace qs::plan;
using plantest::addTimes;

namespace {

constexpr const char* kSpecs[] = {"nf4:block=32", "int8", "ternary:scale=channel"};

std::vector<std::pair<std::int64_t, std::int64_t>> sampleShapes() {
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    for (const ModelShape& shape : modelShapes(*sampleModel())) out.emplace_back(shape.n, shape.k);
    return out;
}

/// nf4 is slow, int8 fast, ternary between: what is small is not what is fast.
std::vector<BenchmarkRow> sampleRows() {
    std::vector<BenchmarkRow> rows;
    addTimes(rows, sampleShapes(), "cpu", kSpecs[0], 1, 3.0);
    addTimes(rows, sampleShapes(), "cpu", kSpecs[1], 1, 1.0);
    addTimes(rows, sampleShapes(), "cpu", kSpecs[2], 1, 2.0);
    return rows;
}

OptionRequest requestOf() {
    OptionRequest out{sampleModel(), {}, {}, "", {}, {}};
    for (const char* spec : kSpecs) out.specs.push_back(*parseSpec(spec));
    for (const TensorInfo& tensor : sampleModel()->tensors)
        if (tensor.isWeight()) out.tensors.push_back(&tensor);
    return out;
}

const Losses& sampleLosses() {
    static const Losses losses = [] {
        const auto request = requestOf();
        const Objective& objective = objectives().front();
        auto made = objective.measure(objective, {request.model, request.tensors, request.specs, {}}, Job());
        if (!made) qFatal("%s", made.error().message.c_str());
        return std::move(*made);
    }();
    return losses;
}

std::shared_ptr<const Latencies> latenciesFrom(const std::vector<BenchmarkRow>& rows) {
    auto times = plan::latenciesOf(*sampleModel(), rows, "", 0);
    if (!times) qFatal("%s", times.error().message.c_str());
    return std::make_shared<const Latencies>(std::move(*times));
}

plan::Options timedOptions(const OptionRequest& request) {
    auto options = sizedOptions(request, sampleLosses());
    if (!options) qFatal("%s", options.error().message.c_str());
    return std::move(*options);
}

Budget within(std::optional<std::uint64_t> bytes, std::optional<std::uint64_t> ns) {
    Budget out;
    out.bytes = bytes, out.ns = ns;
    return out;
}

} // namespace

class LatencyTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void budgetsAsPeopleWriteThem();
    void timesAreThoseOfTheShapes();
    void theFastestUnderABudgetOfTime();
    void whatHasNoTimeIsNoChoice();
    void sizeAndTime();
    void aTargetRefusesSpecs();
    void speedErrorAndSize();
    void whichTimesCount();
    void theReportHasBoth();
};

void LatencyTest::budgetsAsPeopleWriteThem() {
    QCOMPARE(**parseTime("12ms"), std::uint64_t(12'000'000));
    QCOMPARE(**parseTime("800us"), std::uint64_t(800'000));
    QCOMPARE(**parseTime("1.5s"), std::uint64_t(1'500'000'000));
    QCOMPARE(**parseTime("250ns"), std::uint64_t(250));
    QVERIFY(!*parseTime("4.5bpw") && !*parseTime("3.2GiB"));
    for (const char* wrong : {"ms", "-1ms", "0us", "12 ms", "1e99s", "nanms"}) QVERIFY2(!parseTime(wrong), wrong);
    const std::vector<std::string> both = {"12ms", "4.5bpw"};
    const auto budget = parseBudgets(both, 1000);
    QVERIFY(budget && budget->bytes == std::uint64_t(562) && budget->ns == std::uint64_t(12'000'000));
    for (const auto& wrong : {std::vector<std::string>{"4bpw", "1GiB"}, {"1ms", "2ms"}, {"much"}}) {
        const auto refused = parseBudgets(wrong, 1000);
        QVERIFY(!refused);
        QVERIFY2(refused.error().message.find("udget") != std::string::npos, refused.error().message.c_str());
    }
    QCOMPARE(timeText(3'417'000), std::string("3.417 ms"));
    QCOMPARE(timeText(812'500), std::string("812.5 µs"));
}

/// The time of a plan is the sum over its products; the embedding beside a head is looked up, which is no product.
void LatencyTest::timesAreThoseOfTheShapes() {
    auto request = requestOf();
    request.latencies = latenciesFrom(sampleRows()), request.needsTimes = true;
    const plan::Options options = timedOptions(request);
    double weights = 0;
    for (const ModelShape& shape : modelShapes(*sampleModel()))
        weights += double(shape.count) * double(shape.n) * double(shape.k);
    const Mixture fast = uniformMixture(1, options), slow = uniformMixture(0, options);
    QCOMPARE(fast.ns, std::uint64_t(weights));
    QCOMPARE(slow.ns, std::uint64_t(3 * weights));
    QVERIFY(fast.untimed == 0 && options.fixedNs == 0 && options.untimedSpecs.empty());
    QVERIFY(std::fabs(fast.nsRange.low / (0.99 * weights) - 1) < 1e-9);
    QVERIFY(std::fabs(fast.nsRange.high / (1.01 * weights) - 1) < 1e-9);
    QCOMPARE(options.leastNs(), fast.ns);
    QCOMPARE(options.mostNs(), slow.ns);
    for (const MixtureRow& row : mixtureRows(fast, options)) {
        QVERIFY(row.ns);
        const bool isTable = row.unit.find("embed_tokens") != std::string::npos;
        QCOMPARE(*row.ns, isTable ? 0.0 : double(row.elements));
    }
}

void LatencyTest::theFastestUnderABudgetOfTime() {
    auto request = requestOf();
    request.latencies = latenciesFrom(sampleRows()), request.needsTimes = true;
    const plan::Options options = timedOptions(request);
    // int8 is the fastest and loses least, so it is the plan under any time.
    const auto fast = bestMixture(options, within({}, options.leastNs()));
    QVERIFY(fast);
    QCOMPARE(fast->ns, options.leastNs());
    QCOMPARE(fast->gap(), 0.0);
    const auto none = bestMixture(options, within({}, options.leastNs() - 1));
    QVERIFY(!none);
    QVERIFY2(none.error().message.find("fastest choices need") != std::string::npos, none.error().message.c_str());

    // With int8 as the slowest, more time never loses more, and the time is kept to the nanosecond.
    std::vector<BenchmarkRow> rows;
    addTimes(rows, sampleShapes(), "cpu", kSpecs[0], 1, 2.0);
    addTimes(rows, sampleShapes(), "cpu", kSpecs[1], 1, 3.0);
    addTimes(rows, sampleShapes(), "cpu", kSpecs[2], 1, 1.0);
    request.latencies = latenciesFrom(rows);
    const plan::Options other = timedOptions(request);
    double last = INFINITY;
    for (int step = 0; step <= 8; ++step) {
        const std::uint64_t budget = other.leastNs() + (other.mostNs() - other.leastNs()) * std::uint64_t(step) / 8;
        const auto best = bestMixture(other, within({}, budget));
        QVERIFY(best && best->ns <= budget && best->loss <= last && best->gap() == 0);
        for (const Mixture& uniform : uniformMixtures(other, within({}, budget))) {
            QVERIFY(uniform.ns <= budget);
            QVERIFY(best->loss <= uniform.loss);
        }
        last = best->loss;
    }
}

void LatencyTest::whatHasNoTimeIsNoChoice() {
    std::vector<BenchmarkRow> rows;
    const auto shapes = sampleShapes();
    addTimes(rows, shapes, "cpu", kSpecs[0], 1, 2.0);
    addTimes(rows, {shapes.front()}, "cpu", kSpecs[1], 1, 1.0);
    auto request = requestOf();
    request.latencies = latenciesFrom(rows), request.needsTimes = true;
    const plan::Options options = timedOptions(request);
    QVERIFY(!options.isEverywhere(1) && !options.isEverywhere(2));
    std::set<std::size_t> untimed(options.untimedSpecs.begin(), options.untimedSpecs.end());
    QCOMPARE(untimed, (std::set<std::size_t>{1, 2}));
    bool saysHow = false, saysWhy = false;
    for (const std::string& remark : options.remarks) {
        saysHow |= remark.find("quantscope-cli bench --model") != std::string::npos &&
                   remark.find("--spec int8") != std::string::npos && remark.find("--shape 1") != std::string::npos;
        saysWhy |= remark.find("no time of") != std::string::npos;
    }
    QVERIFY(saysHow && saysWhy);
    for (std::size_t u = 0; u < options.units.size(); ++u)
        for (const UnitOption& option : options.of[u]) QVERIFY(option.isTimed);
    // Without a budget of time they can be chosen, and the sum says what it lacks.
    request.needsTimes = false;
    const plan::Options free = timedOptions(request);
    QVERIFY(free.isEverywhere(2));
    QVERIFY(uniformMixture(2, free).untimed > 0);
    // A tensor that is kept has the time of what it is stored as, or none.
    request.locks = {{"down_proj", std::nullopt}};
    const plan::Options kept = timedOptions(request);
    QVERIFY(mixtureOf("x", std::vector<std::size_t>(kept.units.size(), 0), kept).untimed > 0);
    addTimes(rows, shapes, "cpu", "bf16", 1, 4.0);
    request.latencies = latenciesFrom(rows);
    const plan::Options timed = timedOptions(request);
    for (std::size_t u = 0; u < timed.units.size(); ++u)
        if (!timed.units.lock(u).empty()) {
            QVERIFY(timed.of[u][0].isTimed);
            QCOMPARE(timed.of[u][0].ns, 4 * timed.units.tensors(u).front()->elements);
        }
}

void LatencyTest::sizeAndTime() {
    auto request = requestOf();
    request.latencies = latenciesFrom(sampleRows()), request.needsTimes = true;
    const plan::Options options = timedOptions(request);
    const std::uint64_t bytes = (options.leastBytes() + options.mostBytes()) / 2;
    const auto bySize = bestMixture(options, bytes);
    QVERIFY(bySize);
    const std::uint64_t ns = options.leastNs() + (bySize->ns - options.leastNs()) * 9 / 10;
    const auto both = bestMixture(options, within(bytes, ns));
    QVERIFY2(both, both ? "" : both.error().message.c_str());
    QVERIFY(both->bytes <= bytes && both->ns <= ns);
    QVERIFY(both->loss >= bySize->loss); // one budget more
    QVERIFY(both->bound && *both->bound <= both->loss && *both->bound >= bySize->loss - 1e-12);
    QVERIFY(isWithin(*both, within(bytes, ns)) && !isWithin(*bySize, within(bytes, ns)));
    // A part that everything fits changes nothing.
    const auto free = bestMixture(options, within(bytes, options.mostNs()));
    QVERIFY(free);
    QCOMPARE(free->loss, bySize->loss);
    QCOMPARE(free->gap(), 0.0);
    // The smallest file is of the slow specs alone.
    const auto none = bestMixture(options, within(options.leastBytes(), options.leastNs()));
    QVERIFY(!none);
    QVERIFY2(none.error().message.find("within both budgets") != std::string::npos, none.error().message.c_str());
}

void LatencyTest::aTargetRefusesSpecs() {
    benchtest::World world;
    world.add("cpu", {benchtest::variantOf("v")}).only = "int8";
    auto request = requestOf();
    const auto target = askTarget({world.plan.backends.front(), request.model, request.specs, 1, world.plan.open}, {});
    QVERIFY2(target, target ? "" : target.error().message.c_str());
    QCOMPARE(world.opened, 1); // once for all shapes
    request.target = std::make_shared<const Target>(*target);
    const plan::Options options = timedOptions(request);
    bool said = false;
    for (const std::string& remark : options.remarks)
        said |= remark.find("cpu does not take it: only int8") != std::string::npos;
    QVERIFY(said);
    for (std::size_t u = 0; u < options.units.size(); ++u) {
        // The embedding beside a head is no product, so no kernel has to take it.
        const bool isTable = options.units.name(u).find("embed_tokens") != std::string::npos;
        QCOMPARE(options.of[u].size(), std::size_t(isTable ? 3 : 1));
        QCOMPARE(options.of.refused(u).size(), std::size_t(isTable ? 0 : 2));
        if (isTable) continue;
        QCOMPARE(specText(*options.specOf(options.of[u][0])), std::string("int8"));
    }
    world.absent.emplace("gone", Failure{RowState::Unavailable, "there is no device"});
    BackendSource gone;
    gone.id = "gone";
    const auto failed = askTarget({gone, request.model, request.specs, 1, world.plan.open}, {});
    QVERIFY(!failed && failed.error().message.find("there is no device") != std::string::npos);
}

void LatencyTest::speedErrorAndSize() {
    auto rows = sampleRows();
    const auto shapes = sampleShapes();
    // At M = 16 nf4 is the fastest; at M = 4 the intervals of nf4 and int8 overlap.
    addTimes(rows, shapes, "cpu", kSpecs[0], 4, 6.0);
    addTimes(rows, shapes, "cpu", kSpecs[1], 4, 6.05);
    addTimes(rows, shapes, "cpu", kSpecs[0], 16, 8.0);
    addTimes(rows, shapes, "cpu", kSpecs[1], 16, 20.0);
    addTimes(rows, {shapes.front()}, "other", kSpecs[1], 1, 1.0); // lacks shapes: no sum
    const plan::Options options = timedOptions(requestOf());
    const SpeedMap map = speedMap(options, rows, nullptr);
    QCOMPARE(map.points.size(), std::size_t(7));
    QVERIFY(!map.isMeasured());
    QCOMPARE(map.ms(), (std::vector<std::int64_t>{1, 4, 16}));
    double weights = 0;
    for (const ModelShape& shape : modelShapes(*sampleModel()))
        weights += double(shape.count) * double(shape.n) * double(shape.k);
    for (const SpeedPoint& point : map.points) {
        const Mixture uniform = uniformMixture(point.spec, options);
        QCOMPARE(point.bytes, uniform.bytes);
        QCOMPARE(point.loss, uniform.loss);
        QVERIFY(!point.kl && point.ci && point.where.backend == "cpu");
        if (point.m == 16 && point.spec == 0) QVERIFY(std::fabs(point.nsPerToken() / (weights / 2) - 1) < 1e-9);
    }
    QCOMPARE(map.crossovers.size(), std::size_t(1));
    const Crossover& one = map.crossovers.front();
    QCOMPARE(one.spec, std::string(kSpecs[0]));
    QCOMPARE(one.over, std::string("int8"));
    QVERIFY(one.m == 16 && one.before == 1);
    QVERIFY(crossoverText(one).find("between M = 1 and M = 16") != std::string::npos);
    // A measured KL of a uniform spec becomes its error.
    PlanProof proof;
    Contender uniform;
    uniform.kind = ContenderKind::Uniform, uniform.mixture = uniformMixture(1, options);
    uniform.summary.emplace();
    uniform.summary->divergence.mean = 0.25;
    proof.contenders = {uniform};
    const SpeedMap measured = speedMap(options, rows, &proof);
    QVERIFY(measured.isMeasured());
    for (const SpeedPoint& point : measured.points) QCOMPARE(point.kl.value_or(-1), point.spec == 1 ? 0.25 : -1.0);
}

void LatencyTest::whichTimesCount() {
    auto rows = sampleRows();
    const auto shapes = sampleShapes();
    addTimes(rows, shapes, "cuda", "int8", 8, 0.5);
    const Model& model = *sampleModel();
    const auto refused = [&](const std::string& backend, std::int64_t m, const char* why) {
        const auto times = plan::latenciesOf(model, rows, backend, m);
        return !times && times.error().message.find(why) != std::string::npos;
    };
    QVERIFY(refused("", 0, "cpu, cuda"));
    QVERIFY(refused("tpu", 0, "no time of tpu"));
    QVERIFY(refused("cpu", 8, "M was 1"));
    const auto cuda = plan::latenciesOf(model, rows, "cuda", 0);
    QVERIFY(cuda && cuda->m == 8 && cuda->times.size() == shapes.size());
    // Wrong, approximate and slower variants do not count.
    auto fast = plantest::timedRow("cuda", "int8", 8, shapes[0].first, shapes[0].second, 1);
    auto wrong = fast, approximate = fast;
    wrong.verdict.status = RowState::Wrong, approximate.answer.variant.approx = true;
    rows.push_back(wrong), rows.push_back(approximate);
    const auto same = plan::latenciesOf(model, rows, "cuda", 8);
    QVERIFY(same && same->times.begin()->second.ns == cuda->times.begin()->second.ns);
    rows.clear();
    QVERIFY(refused("", 0, "quantscope-cli bench --model"));
}

void LatencyTest::theReportHasBoth() {
    auto request = requestOf();
    request.latencies = latenciesFrom(sampleRows()), request.needsTimes = true;
    PlanRecord record;
    record.objective = &objectives().front();
    record.options = std::make_shared<const plan::Options>(timedOptions(request));
    record.losses = std::make_shared<const Losses>(sampleLosses());
    record.budget = within(record.options->mostBytes() - 1000, record.options->leastNs() + 10'000);
    const auto best = bestMixture(*record.options, record.budget);
    QVERIFY(best);
    record.plan = *best;
    record.speed = std::make_shared<const SpeedMap>(speedMap(*record.options, sampleRows(), nullptr));
    const auto report = planReport(*sampleModel(), record, "test", Job());
    QVERIFY(report);
    std::set<std::string> keys;
    for (const auto& [key, value] : report->provenance) keys.insert(key);
    QVERIFY(keys.contains("time_backend") && keys.contains("time_device"));
    keys.clear();
    for (std::size_t i = 0; i < report->summary.columns.size(); ++i)
        if (!std::holds_alternative<std::monostate>(report->summary.rows.front()[i]))
            keys.insert(report->summary.columns[i].id);
    for (const char* key : {"budget_bytes", "budget_ns", "bytes", "time_ns", "gap", "bound", "time_m"})
        QVERIFY2(keys.contains(key), key);
    bool hasSection = false;
    for (const Section& section : report->sections)
        hasSection |= section.title == "Speed, error and size" && !section.plots.empty() && !section.tables.empty();
    QVERIFY(hasSection);
    for (const ReportWriter& writer : reportWriters()) QVERIFY2(writer.render(*report), writer.id);
}

QS_TEST(LatencyTest)
#include "latency_test.moc"
