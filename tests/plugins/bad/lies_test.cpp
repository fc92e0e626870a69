// SPDX-License-Identifier: GPL-3.0-or-later
// A plugin that answers with wrong data. Data that is recognisably wrong is garbage, and the plugin is quarantined.
// Values it does not give stay unknown.
#include "bad_source.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

using namespace qs;
using namespace qs::test;

class TestLies : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void garbage_data() {
        QTest::addColumn<QString>("reason");
        const std::pair<const char*, const char*> lies[] = {
            {"open:null", "open: success without a context"},
            {"describe:need", "describe: a text of 9223372036854775807 bytes"},
            {"describe:text", "describe: a text without an end"},
            {"describe:json", "describe: a text that is not a JSON object"},
            {"devices:count", "devices: 4000000000 devices"},
            {"devices:kind", "devices: device kind 99"},
            {"devices:text", "devices: a text without an end"},
            {"roof:n", "roof: 11 samples in room for 10"},
            {"roof:work", "roof: nan as the work of a run"},
            {"query:level", "query: support level -3"},
            {"query:variants", "query: 4000000000 variants"},
            {"query:twins", "query: two variants called 'plain'"},
            {"query:id", "query: a variant called 'No Such \\u{1b}[31m'"},
            {"prepare:null", "prepare: success without a kernel"},
            {"bench:n", "bench: 11 samples in room for 10"},
            {"bench:cap", "bench: 1000000 samples in room for 10"},
            {"bench:none", "bench: no sample"},
            {"bench:clock", "bench: clock 7"},
            {"prepare:forge_other", "prepare: an answer to another question"},
            {"prepare:forge_empty", "prepare: 'handle' is not what it should be"}, // the seventh request of the run
            {"prepare:forge_state", "prepare: 'state' is none that a worker reports"},
            {"prepare:forge_long", "prepare: a frame of 4294967280 bytes"},
        };
        for (const auto& [fault, reason] : lies) QTest::newRow(fault) << q("answered with garbage in ") + q(reason);
    }
    void garbage() {
        QFETCH(QString, reason);
        const auto source = badSource(QTest::currentDataTag());
        auto opened = openBackend(source, patient(), {});
        Product product;
        const auto ran = opened ? wholeRun(**opened, product) : tl::unexpected(opened.error());
        QVERIFY(!ran);
        QCOMPARE(q(ran.error().reason), reason);
        QCOMPARE(ran.error().state, RowState::Crashed);
        QVERIFY(quarantineReason(source));
    }
    void probes_data() {
        QTest::addColumn<QString>("state");
        QTest::addColumn<QString>("reason");
        const std::tuple<const char*, const char*, const char*> libraries[] = {
            {"bad_state", "crashed", "answered with garbage in probe: state 17"},
            {"bad_wire", "crashed", "answered with garbage in probe: bytes that are no frame"},
            {"bad_table_tiny", "crashed", "answered with garbage in probe: a table of 12 bytes"},
            {"bad_table_huge", "crashed", "answered with garbage in probe: a table of 1073741824 bytes"},
            {"bad_table_id", "crashed", "answered with garbage in probe: an id that is not [a-z0-9_]+"},
            {"bad_table_null", "declined", "does not speak version 2 of the backend interface"},
            {"bad_table_major", "declined",
             "is built for version 3.0 of the backend interface; this program speaks 2.0"},
            {"bad_table_symbol", "declined", "is not a backend: it does not export quantscope_backend_query"},
            {"bad_table_library", "unavailable", "cannot be loaded: "},
            {"nowhere", "unavailable", ""},
        };
        for (const auto& [library, state, reason] : libraries) QTest::newRow(library) << q(state) << q(reason);
    }
    void probes() {
        QFETCH(QString, state);
        QFETCH(QString, reason);
        const auto source = badSource({}, QTest::currentDataTag());
        for (const bool open : {false, true}) {
            if (open && (reason.contains(q("state 17")) || reason.contains(q("no frame"))))
                continue; // these are faults of probe()
            releaseQuarantine(source);
            Failure failure{RowState::Ok, {}};
            if (open)
                failure = openBackend(source, patient(), {}).error();
            else
                failure = probeBackend(source, patient(), {}).error();
            QCOMPARE(q(rowStateText(failure.state)), state);
            QVERIFY2(q(failure.reason).startsWith(reason), failure.reason.c_str());
            QCOMPARE(quarantineReason(source).has_value(), state == q("crashed"));
        }
    }
    void missingLibraryIsNamed() {
        const auto failed = probeBackend(badSource({}, "bad_table_library"), patient(), {});
        QVERIFY(!failed);
        QVERIFY(q(failed.error().reason).contains(q("vendor_function_that_nobody_has")));
    }
    /// A table of an older interface: functions beyond its end are unsupported, all others work.
    void olderTable() {
        auto opened = openBackend(badSource({}, "bad_table_old"), patient(), {});
        QVERIFY(opened);
        QVERIFY((*opened)->devices());
        const auto roof = (*opened)->roof(0, "read_bw", {});
        QVERIFY(!roof);
        QCOMPARE(roof.error().state, RowState::Declined);
        QCOMPARE(q(roof.error().reason), q("the backend has no roof()"));
    }
    void numbersThatAreNone() {
        auto opened = openBackend(badSource("prepare:info"), patient(), {});
        QVERIFY(opened);
        Product product;
        const auto kernel = (*opened)->prepare(0, product.problem, "plain", {&product.weight, 1});
        QVERIFY(kernel);
        QCOMPARE(kernel->info.fusion, 0);
        QVERIFY(!kernel->info.repackMs && !kernel->info.flops && !kernel->info.weightBytes && !kernel->info.tempBytes);
        QVERIFY(kernel->info.prepareNs > 0);
    }
    void knownNumbersCross() {
        auto opened = openBackend(badSource(), patient(), {});
        QVERIFY(opened);
        Product product;
        const auto kernel = (*opened)->prepare(0, product.problem, "plain", {&product.weight, 1});
        QVERIFY(kernel);
        QCOMPARE(kernel->info.repackMs.value_or(-1), 0.5);
        QCOMPARE(kernel->info.weightBytes.value_or(-1), std::int64_t(96));
        RunOptions options;
        options.iterations = 3;
        const auto runs = (*opened)->bench(kernel->handle, {&product.act, 1}, options, nullptr);
        QVERIFY(runs);
        QCOMPARE(runs->ns, (std::vector<std::uint64_t>{1000, 1001, 1002}));
        QVERIFY(runs->timingValid);
        QCOMPARE(q((*opened)->artifact(kernel->handle, "source")->value_or("")), q("y = x W^T"));
        QVERIFY(!(*opened)->artifact(kernel->handle, "ptx")->has_value());
        const auto huge = (*opened)->artifact(kernel->handle, "huge");
        QVERIFY(!huge);
        QCOMPARE(huge.error().state, RowState::Failed); // an answer that is too long to show is a failure, not a lie
    }
    void limitThatIsNone() {
        auto opened = openBackend(badSource("query:limit"), patient(), {});
        QVERIFY(opened);
        Product product;
        const auto support = (*opened)->query(0, product.problem);
        QVERIFY(support);
        QCOMPARE(support->variants.front().nmseLimit, 0.0);
    }
    /// Isolation does not see a NaN in the output. The correctness check of the benchmark does.
    void nanCrosses() {
        auto opened = openBackend(badSource("execute:nan"), patient(), {});
        QVERIFY(opened);
        Product product;
        QVERIFY(wholeRun(**opened, product));
        QVERIFY(std::isnan(product.out.buffer->as<float>()[0]));
    }
    void tensorsThatLie() {
        auto opened = openBackend(badSource(), patient(), {});
        QVERIFY(opened);
        Product product;
        auto weight = product.weight;
        weight.bytes += 1;
        const auto long1 = (*opened)->prepare(0, product.problem, "plain", {&weight, 1});
        QVERIFY(!long1 && long1.error().reason.find("beyond the end") != std::string::npos);
        weight = product.weight;
        weight.offset = 4;
        weight.bytes -= 4;
        const auto skewed = (*opened)->prepare(0, product.problem, "plain", {&weight, 1});
        QVERIFY(!skewed && skewed.error().reason.find("aligned") != std::string::npos);
        QVERIFY(!(*opened)->execute(77, {&product.act, 1}, {&product.out, 1}));
        QVERIFY(wholeRun(**opened, product)); // none of these errors came from the worker process
    }
};

QS_TEST(TestLies)
#include "lies_test.moc"
