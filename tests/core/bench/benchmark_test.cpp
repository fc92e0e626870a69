// SPDX-License-Identifier: GPL-3.0-or-later
// Whole benchmark runs with fake backends: what is timed, in which order, and the resulting rows.
#include "core/bench/report/bench_table.h"
#include "core/quant/encode/encode.h"
#include "fake_world.h"
#include "tests/support/test_program.h"

#include <QTest>
#include <set>

using namespace qs;
using namespace benchtest;

class BenchmarkTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aWrongAnswerIsNeverTimed_data() {
        QTest::addColumn<int>("fault");
        QTest::newRow("one element") << int(Fault::OneElement);
        QTest::newRow("NaN") << int(Fault::NotANumber);
        QTest::newRow("short write") << int(Fault::ShortWrite);
        QTest::newRow("overrun") << int(Fault::Overrun);
        QTest::newRow("wrong on tails") << int(Fault::TailsWrong);
    }
    void aWrongAnswerIsNeverTimed() {
        QFETCH(int, fault);
        World world;
        world.add("fake", {variantOf("bad", Fault(fault))});
        const auto run = world.run();
        QCOMPARE(run.rows.size(), std::size_t(1));
        QCOMPARE(run.rows[0].verdict.status, RowState::Wrong);
        QVERIFY(!run.rows[0].verdict.reason.empty() && !run.rows[0].timing.medianNs &&
                run.rows[0].timing.samples.empty());
        QCOMPARE(world.seen.benchCalls, 0);
        QCOMPARE(world.seen.prepared, world.seen.destroyed);
    }
    void oneUlpOfAnExactVariantIsNeverTimed() {
        World world;
        auto bad = variantOf("bad", Fault::OneUlp);
        bad.variant.nmseLimit = -1;
        auto good = variantOf("good");
        good.variant.nmseLimit = -1;
        world.add("fake", {bad, good});
        world.plan.specs = {{"int8", *parseSpec("int8")}};
        world.plan.acts = {"int8"};
        const auto run = world.run();
        QCOMPARE(find(run, "bad")->verdict.status, RowState::Wrong);
        QCOMPARE(find(run, "good")->verdict.status, RowState::Ok);
        QCOMPARE(*find(run, "good")->check.nmseLimit, 0.0);
        for (const auto& call : world.seen.order) QCOMPARE(call, std::string("fake.good"));
    }
    /// An approximate variant is checked against the levels it reports. Its error against the format's own levels is a
    /// separate figure and always present.
    void anApproximateVariantIsHeldToItsOwnRule() {
        World world;
        auto approx = variantOf("approx"), liar = variantOf("liar", Fault::OtherLevels), vague = variantOf("vague");
        for (auto* v : {&approx, &liar, &vague}) v->variant.approx = true;
        const auto* levels = EncodePlan(*parseSpec("nf4")).run().levels;
        approx.variant.levels.assign(levels, levels + 16);
        for (auto& level : approx.variant.levels) level += 0.005f;
        liar.variant.levels = approx.variant.levels;
        vague.variant.nmseLimit = 1e-3;
        auto few = approx;
        few.variant.id = "few";
        few.variant.levels.resize(3);
        world.add("fake", {approx, liar, vague, few, variantOf("plain")});
        const auto run = world.run();
        const auto* row = find(run, "approx");
        QVERIFY2(row->verdict.status == RowState::Ok, row->verdict.reason.c_str());
        QVERIFY(*row->check.nmse < 1e-12 && *row->check.approxNmse > 1e-6 && *row->check.approxNmse < 1e-2 &&
                row->timing.medianNs);
        QVERIFY2(row->verdict.reason.find("approximate: NMSE") != std::string::npos, row->verdict.reason.c_str());
        QCOMPARE(*row->check.formatNmse, *find(run, "plain")->check.formatNmse);
        QCOMPARE(find(run, "liar")->verdict.status, RowState::Wrong);
        QVERIFY(find(run, "vague")->verdict.status == RowState::Ok && *find(run, "vague")->check.approxNmse < 1e-12);
        const auto& plain = *find(run, "plain"); // on a slow machine its reason says which shapes were left out
        QVERIFY2(!plain.check.approxNmse && plain.verdict.reason.find("approximate") == std::string::npos,
                 plain.verdict.reason.c_str());
        QCOMPARE(find(run, "few")->verdict.status, RowState::Failed);
        QVERIFY(find(run, "few")->verdict.reason.find("3 levels for codes of 16") != std::string::npos);
    }
    void wrongOnlyInTheTimedLoop() {
        World world;
        world.add("fake", {variantOf("sly", Fault::LastOut)});
        const auto run = world.run();
        QCOMPARE(run.rows[0].verdict.status, RowState::Wrong);
        QVERIFY(run.rows[0].verdict.reason.find("last timed run") != std::string::npos);
        QVERIFY(!run.rows[0].timing.medianNs && run.rows[0].timing.samples.empty());
    }
    void aboveTheRoofIsInvalid() {
        World world;
        world.add("fake", {variantOf("fast", Fault::TooFast), variantOf("honest")});
        const auto run = world.run();
        const auto* fast = find(run, "fast");
        QCOMPARE(fast->verdict.status, RowState::Invalid);
        QVERIFY(fast->verdict.roofShare && *fast->verdict.roofShare > 1.05 && fast->verdict.roofKind == "read_bw");
        QVERIFY(!fast->timing.medianNs && !fast->timing.gflops && !fast->timing.weightGbps && !fast->verdict.speedup &&
                fast->timing.samples.empty());
        QVERIFY(fast->verdict.reason.find("read_bw roof") != std::string::npos);
        QCOMPARE(find(run, "honest")->verdict.status, RowState::Ok);
        QVERIFY(*find(run, "honest")->verdict.roofShare < 0.1);
        // From the cache no memory roof holds, but that of the cache does, and that of arithmetic.
        world.plan.caches = {CacheState::Warm};
        world.prototypes["fake"].computeRoof = 1e12;
        const auto warm = world.run();
        QCOMPARE(find(warm, "fast")->verdict.status, RowState::Invalid);
        QCOMPARE(find(warm, "fast")->verdict.roofKind, std::string("f32"));
        world.prototypes["fake"].computeRoof = 1e15;
        world.prototypes["fake"].cacheRoof = 1e11;
        const auto cached = world.run();
        QCOMPARE(find(cached, "fast")->verdict.status, RowState::Invalid);
        QCOMPARE(find(cached, "fast")->verdict.roofKind, std::string("cache_bw"));
        QCOMPARE(find(cached, "honest")->verdict.status, RowState::Ok);
        QVERIFY(std::any_of(cached.roofs.begin(), cached.roofs.end(),
                            [](const auto& roof) { return roof.kind == "cache_bw" && roof.perSecond == 1e11; }));
    }
    /// The compiler turned the weights into constants: the result is right, but it is not a quantized product.
    void foldedWeightsAreNeverTimed() {
        World world;
        world.add("fake", {variantOf("folded", Fault::Folded), variantOf("honest")});
        const auto run = world.run();
        const auto* folded = find(run, "folded");
        QCOMPARE(folded->verdict.status, RowState::Invalid);
        QVERIFY2(folded->verdict.reason.find("constants of the weights") != std::string::npos,
                 folded->verdict.reason.c_str());
        QVERIFY(!folded->timing.medianNs && folded->check.nmse && find(run, "honest")->timing.medianNs);
        for (const auto& call : world.seen.order) QCOMPARE(call, std::string("fake.honest"));
        QCOMPARE(world.seen.prepared, world.seen.destroyed);
    }
    /// Other load made the measured roof too low; it is gone when the kernel is timed.
    void aRoofThatWasTooLowIsMeasuredAgain() {
        World world;
        auto& fake = world.add("fake", {variantOf("honest", Fault::None, 1e6)});
        const double operations = 2 * 2 * 300 * 320;
        fake.computeRoof = operations / 1e-3 * 1.2; // a run of 1 ms reaches 83 % of it
        fake.hasRoofs = true;
        for (const int slow : {1, 3, 1000}) {
            fake.slowRoofs = slow;
            const auto run = world.run();
            const auto* row = find(run, "honest");
            const bool itStays = slow == 1000;
            QCOMPARE(row->verdict.status, itStays ? RowState::Invalid : RowState::Ok);
            QVERIFY2(itStays || std::fabs(*row->verdict.roofShare - 1 / 1.2) < 0.01, row->verdict.reason.c_str());
        }
    }
    void inTurns() {
        World world;
        world.addOpenblas(4e6);
        world.add("a", {variantOf("v1"), variantOf("v2")});
        world.add("b", {variantOf("v3")});
        const auto run = world.run();
        // Each is calibrated and may read all its copies, then come rounds A B C D.
        const auto rounds = find(run, "v3")->timing.roundMedians.size();
        QVERIFY(rounds >= 20 && world.seen.order.size() > 4 * rounds);
        const std::vector<std::string> order(world.seen.order.end() - std::ptrdiff_t(4 * rounds),
                                             world.seen.order.end());
        const std::vector<std::string> turn(order.begin(), order.begin() + 4);
        QCOMPARE(std::set<std::string>(turn.begin(), turn.end()).size(), std::size_t(4));
        for (std::size_t i = 0; i < order.size(); ++i) QCOMPARE(order[i], turn[i % 4]);
        for (const auto& row : run.rows)
            QVERIFY(row.verdict.status == RowState::Declined || row.timing.roundMedians.size() == rounds);
        // What nobody could answer comes after what was measured.
        QVERIFY(run.rows.front().timing.medianNs && run.rows.back().verdict.status == RowState::Declined);
    }
    void coldAndWarm() {
        World world;
        world.add("fake", {variantOf("v")});
        world.plan.caches = {CacheState::Cold, CacheState::Warm};
        const auto run = world.run();
        QCOMPARE(run.rows.size(), std::size_t(2));
        QVERIFY(run.rows[0].question.cache == CacheState::Cold && run.rows[1].question.cache == CacheState::Warm);
        // 4 MiB of copies of 300 rows of 160 bytes and 5 scales.
        QCOMPARE(run.rows[0].timing.bufferSets, std::uint32_t(((4 << 20) + 300 * 180 - 1) / (300 * 180)));
        QCOMPARE(run.rows[1].timing.bufferSets, 1u);
        for (const auto& options : world.seen.options) QCOMPARE(options.cold, options.bufferSets > 1);
        QCOMPARE(world.seen.prepared, world.seen.destroyed);
        // Large weights still have two copies.
        world.plan.cacheBytes = 1;
        QCOMPARE(world.run().rows[0].timing.bufferSets, 2u);
    }
    /// The copies of all variants timed together, and the buffers of roofs, stay within the memory limit. Copies that
    /// fit the caches are not called cold and are not compared with the memory roof.
    void aMemoryLimit() {
        World world;
        world.addOpenblas(4e6);
        auto& fake = world.add("fake", {variantOf("a"), variantOf("b"), variantOf("c"), variantOf("d")});
        // A memory too slow to deliver one copy per millisecond. Devices of the host share the best measured value.
        fake.readRoof = world.prototypes["openblas"].readRoof = 1e6;
        fake.cacheRoof = 1e13;
        QCOMPARE(find(world.run(), "a")->verdict.status, RowState::Invalid);
        QCOMPARE(world.seen.mostAlive, 5);
        world.seen = {};
        world.plan.memoryBytes = 4 << 20; // as much as needed for copies that do not fit the caches
        const auto run = world.run();
        QVERIFY(world.seen.mostAlive <= 3); // the baseline, one that is timed, and the next
        QCOMPARE(world.seen.roofMemory, std::set<std::uint64_t>{1 << 20});
        for (const char* variant : {"a", "b", "c", "d"}) {
            const auto& row = *find(run, variant);
            QVERIFY2(row.verdict.status == RowState::Ok && row.timing.inCaches && row.timing.medianNs,
                     row.verdict.reason.c_str());
            QVERIFY(row.timing.bufferSets * std::uint64_t(300 * 180) <= (3 << 20) / 2);
            QVERIFY2(row.verdict.reason.find("not cold: within the memory limit of 4.00 MiB") != std::string::npos,
                     row.verdict.reason.c_str());
        }
        const Table table = benchTable(world.plan, run.rows, false);
        const auto cache = std::find_if(table.columns.begin(), table.columns.end(),
                                        [](const auto& column) { return column.id == "cache"; });
        QVERIFY(cache != table.columns.end());
        QCOMPARE(std::get<std::string>(table.rows.front()[std::size_t(cache - table.columns.begin())]),
                 std::string("not cold"));
        QVERIFY(benchRemarks(run.rows).find(" rows are not cold") != std::string::npos);
        // Enough memory: no change. Too little for one copy: a row with the reason.
        world.plan.memoryBytes = std::uint64_t(64) << 20;
        QVERIFY(!find(world.run(), "a")->timing.inCaches);
        world.plan.memoryBytes = 1 << 20;
        world.plan.shapes = {{1, 3000, 3200, {}}};
        const auto none = world.run();
        QCOMPARE(find(none, "a")->verdict.status, RowState::Declined);
        QVERIFY2(find(none, "a")->verdict.reason.find("one copy of the weights takes") != std::string::npos,
                 find(none, "a")->verdict.reason.c_str());
        world.plan.memoryBytes = 1000;
        QVERIFY(!runBenchmark(world.plan, {}));
    }
    void aCrashIsARow() {
        World world;
        world.add("bad", {variantOf("b1"), variantOf("b2", Fault::CrashInBench), variantOf("b3")});
        world.add("good", {variantOf("g")});
        world.plan.shapes = {{1, 300, 320, {}}, {2, 300, 320, {}}};
        const auto run = world.run();
        QCOMPARE(run.rows.size(), std::size_t(3 + 1 + 1 + 1));
        for (const auto& row : run.rows) {
            if (row.question.backend == "good") {
                QVERIFY(row.verdict.status == RowState::Ok && row.timing.samples.size() >= 20);
                continue;
            }
            QCOMPARE(row.verdict.status, RowState::Crashed);
            QVERIFY2(row.verdict.reason.find("SIGABRT") != std::string::npos, row.verdict.reason.c_str());
            QVERIFY(row.timing.samples.empty() && !row.timing.medianNs);
        }
    }
    void failuresAreRows() {
        World world;
        world.add("a", {variantOf("broken", Fault::FailInBench), variantOf("fine")});
        world.add("b", {variantOf("v", Fault::CrashInPrepare)});
        world.add("c", {variantOf("v")}).declines = "no nf4 here";
        world.add("d", {variantOf("v")});
        world.absent["d"] = {RowState::NeedsConfig, "give a plugin path"};
        world.add("e", {variantOf("simulated", Fault::NotTiming)});
        BackendSource none;
        none.id = "cuda";
        none.built = false;
        world.plan.backends.push_back(none);
        const auto run = world.run();
        const auto of = [&](const char* backend) {
            return *std::find_if(run.rows.begin(), run.rows.end(),
                                 [&](const auto& r) { return r.question.backend == backend; });
        };
        QCOMPARE(find(run, "broken")->verdict.status, RowState::Failed);
        QCOMPARE(find(run, "broken")->verdict.reason, std::string("out of memory in bench"));
        QCOMPARE(find(run, "fine")->verdict.status, RowState::Ok);
        QCOMPARE(of("b").verdict.status, RowState::Crashed);
        QCOMPARE(of("c").verdict.status, RowState::Declined);
        QCOMPARE(of("c").verdict.reason, std::string("no nf4 here"));
        QCOMPARE(of("d").verdict.status, RowState::NeedsConfig);
        QCOMPARE(of("cuda").verdict.status, RowState::NotBuilt);
        const auto simulated = of("e");
        QVERIFY(simulated.verdict.status == RowState::Ok && !simulated.timing.medianNs &&
                simulated.timing.samples.empty() && simulated.check.nmse);
    }
    void compiledOnly() {
        World world;
        world.add("pjrt", {variantOf("v")}).deviceKind = QS_DEVICE_COMPILE_ONLY;
        const auto run = world.run();
        QCOMPARE(run.rows[0].verdict.status, RowState::CompileOnly);
        QVERIFY(run.rows[0].answer.kernel.prepareNs && !run.rows[0].timing.medianNs && !run.rows[0].check.nmse);
        QCOMPARE(world.seen.prepared, 1); // the small shapes are not compiled for nothing
        QCOMPARE(world.seen.benchCalls, 0);
    }
    void slowRoundsAreRepeated() {
        World world;
        auto& fake = world.add("cpu", {variantOf("v")});
        fake.probeFactors = {1, 0.5, 1, 1, 1};
        const auto run = world.run();
        QCOMPARE(run.rows[0].timing.repeatedRounds, std::size_t(1));
        QCOMPARE(world.seen.benchCalls, 2 + 25 + 1); // length, first reading, rounds, one of them again
        QCOMPARE(run.rows[0].timing.roundMedians.size(), std::size_t(25));
        // A machine that never recovers does not keep us for ever.
        world.prototypes["cpu"].probeFactors.assign(200, 0.5);
        world.prototypes["cpu"].probeFactors[0] = 1;
        world.seen = {};
        QCOMPARE(world.run().rows[0].timing.repeatedRounds, std::size_t(9));
    }
    void everyOperation() {
        World world;
        world.add("fake", {variantOf("v")});
        world.plan.ops = {"matmul_t", "matmul", "dequantize"};
        world.plan.acts = {"f32", "bf16", "int8"};
        world.plan.bias = true;
        world.plan.specs = {
            {"nf4", *parseSpec("nf4")}, {"int8", *parseSpec("int8")}, {"ternary", *parseSpec("ternary")}};
        const auto run = world.run();
        QCOMPARE(run.rows.size(), std::size_t(3 * (3 + 3 + 1)));
        for (const auto& row : run.rows) {
            QVERIFY2(row.verdict.status == RowState::Ok, row.verdict.reason.c_str());
            const bool product = row.question.op != "dequantize";
            QCOMPARE(row.timing.gflops.has_value(), product);
            QCOMPARE(row.question.bias, product);
            QCOMPARE(row.question.act.empty(), !product);
            QCOMPARE(row.question.m, std::int64_t(product ? 2 : 1));
        }
        QCOMPARE(world.opened, 1);
    }
    void cancelled() {
        World world;
        world.add("fake", {variantOf("v")});
        world.plan.shapes = {{1, 300, 320, {}}, {2, 300, 320, {}}, {3, 300, 320, {}}};
        Job job;
        int rows = 0;
        const auto result = runBenchmark(world.plan, job, [&](const BenchmarkRow&) {
            ++rows;
            job.cancel();
        });
        QVERIFY(!result && result.error().cancelled);
        QCOMPARE(rows, 1);
    }
    void nonsenseIsRefused() {
        World world;
        QVERIFY(!runBenchmark(world.plan, {})); // no backend
        world.add("fake", {variantOf("v")});
        for (const auto& spoil : std::vector<std::function<void(BenchmarkPlan&)>>{
                 [](auto& p) { p.specs.clear(); }, [](auto& p) { p.shapes.clear(); }, [](auto& p) { p.ops = {"mul"}; },
                 [](auto& p) { p.acts = {"f64"}; }, [](auto& p) { p.secondsPerRow = 0; },
                 [](auto& p) {
                     p.shapes = {{1, 1 << 20, 1 << 20, {}}};
                 },
                 [](auto& p) { p.backends.push_back(p.backends[0]); }}) {
            auto plan = world.plan;
            spoil(plan);
            QVERIFY(!checkPlan(plan) && !runBenchmark(plan, {}));
        }
        for (const char* text : {"", "1", "1x2", "1x2x3x4", "0x1x1", "1xx1", "1x-2x3", "1x2x3 ", "1x2x99999999999"})
            QVERIFY2(!parseShape(text), text);
        QCOMPARE(shapeKey(*parseShape("3x128x4096")), std::string("3x128x4096"));
    }
};

QS_TEST(BenchmarkTest)
#include "benchmark_test.moc"
