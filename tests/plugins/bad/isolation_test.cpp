// SPDX-License-Identifier: GPL-3.0-or-later
// A plugin that crashes, hangs or prints garbage in any step. The host must report a Failure with step and signal
// within the deadline, then quarantine the plugin, and allow a retry.
#include "bad_source.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <thread>

using namespace qs;
using namespace qs::test;

class TestIsolation : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aGoodOne() {
        const auto source = badSource();
        const auto probe = probeBackend(source, patient(), {});
        QVERIFY2(probe, probe ? "" : probe.error().reason.c_str());
        QCOMPARE(q(probe->id), q("bad"));
        QCOMPARE(probe->isolation, 1); // it requested none, but a loaded library always runs in a worker process
        auto opened = openBackend(source, patient(), {});
        QVERIFY2(opened, opened ? "" : opened.error().reason.c_str());
        Backend& backend = **opened;
        const auto devices = backend.devices();
        QVERIFY(devices);
        QCOMPARE(devices->size(), std::size_t(2));
        QCOMPARE(q(devices->at(1).id), q("bad:1"));
        QVERIFY(!q(devices->at(1).name).contains(QChar(0x1b)));
        Product product;
        const auto done = wholeRun(backend, product);
        QVERIFY2(done, done ? "" : done.error().reason.c_str());
        for (int m = 0; m < 2; ++m)
            for (int n = 0; n < 3; ++n) QCOMPARE(product.out.buffer->as<float>()[m * 3 + n], product.expected(m, n));
        const auto roof = backend.roof(0, "f32", {});
        QVERIFY(!roof);
        QCOMPARE(roof.error().state, RowState::Declined);
        QVERIFY(backend.log().find("[info] open") != std::string::npos);
        QVERIFY(backend.describe()->find("worker_environment") != std::string::npos);
    }
    void manyBuffersComeAndGo() {
        auto opened = openBackend(badSource(), patient(), {});
        QVERIFY(opened);
        Product product;
        for (int i = 0; i < 50; ++i) {
            const auto kernel = (*opened)->prepare(0, product.problem, "plain", {&product.weight, 1});
            QVERIFY(kernel);
            Product fresh;
            fresh.act.buffer->as<float>()[0] = float(i);
            QVERIFY((*opened)->execute(kernel->handle, {&fresh.act, 1}, {&fresh.out, 1}));
            QCOMPARE(fresh.out.buffer->as<float>()[0], fresh.expected(0, 0));
            (*opened)->destroy(kernel->handle);
        }
    }
    void faults_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<QString>("state");
        QTest::addColumn<QString>("reason");
        const std::pair<const char*, const char*> kinds[] = {
            {"crash", "crashed in %1 (SIGSEGV): about to fall over"},
            {"abort", "crashed in %1 (SIGABRT)"},
            {"exit", "crashed in %1 (exited with code 0 without an answer)"},
            {"wire", "answered with garbage in %1: bytes that are no frame"}};
        for (const char* step :
             {"open", "describe", "devices", "roof", "query", "prepare", "execute", "bench", "artifact", "destroy"}) {
            for (const auto& [kind, reason] : kinds)
                QTest::addRow("%s %s", step, kind)
                    << q(step) + u':' + q(kind) << q("crashed") << q(reason).arg(q(step));
            QTest::addRow("%s hang", step) << q(step) + q(":hang") << q("hung") << q("hung in %1 for 0.4").arg(q(step));
        }
        // These are called one by one within a single request.
        QTest::newRow("a device") << q("device:crash") << q("crashed") << q("crashed in devices (SIGSEGV)");
        QTest::newRow("a variant") << q("variant:hang") << q("hung") << q("hung in query for 0.4");
        QTest::addRow("open unavailable")
            << q("open:unavailable") << q("unavailable") << q("libvendor.so.9 is not installed");
        QTest::addRow("open declined") << q("open:declined") << q("declined") << q("not this one");
        QTest::addRow("bench failed") << q("bench:failed") << q("failed") << q("no luck\\u{1b}[31m today");
        QTest::addRow("bench silent") << q("bench:silent") << q("failed")
                                      << q("failed in bench with code 13 and no message");
        QTest::addRow("bench endless") << q("bench:endless message") << q("failed") << q("xxxxxxxx");
    }
    void faults() {
        QFETCH(QString, fault);
        QFETCH(QString, state);
        QFETCH(QString, reason);
        const auto source = badSource(fault.toStdString());
        const auto start = std::chrono::steady_clock::now();
        auto opened = openBackend(source, state == q("hung") ? hurried(fault.toStdString()) : patient(), {});
        Outcome<void> ran;
        Product product;
        if (opened)
            ran = wholeRun(**opened, product);
        else
            ran = tl::unexpected(opened.error());
        QVERIFY(!ran);
        QCOMPARE(q(rowStateText(ran.error().state)), state);
        QVERIFY2(q(ran.error().reason).startsWith(reason), ran.error().reason.c_str());
        QVERIFY(secondsSince(start) < 15);
        const bool fatal = state == q("crashed") || state == q("hung");
        QCOMPARE(quarantineReason(source).has_value(), fatal);
        if (!fatal) return;
        if (opened)
            QCOMPARE(q((*opened)->devices().error().reason), q(ran.error().reason)); // the worker process stays dead
        const auto again = openBackend(source, patient(), {});
        QVERIFY(!again);
        QCOMPARE(q(again.error().reason), q(ran.error().reason));
        releaseQuarantine(source);
        QVERIFY(probeBackend(source, patient(), {}));
    }
    /// The plugin closes the socket that the worker process reads. The worker then hangs or ends.
    void hangup() {
        const auto source = badSource("prepare:hangup");
        auto opened = openBackend(source, hurried("prepare:hangup"), {});
        QVERIFY(opened);
        Product product;
        const auto ran = wholeRun(**opened, product);
        QVERIFY(!ran);
        QVERIFY(ran.error().state == RowState::Crashed || ran.error().state == RowState::Hung);
        QVERIFY2(q(ran.error().reason).contains(q(" in prepare ")), ran.error().reason.c_str());
        QVERIFY(quarantineReason(source));
    }
    void noiseIsNoAnswer() {
        Product product;
        auto opened = openBackend(badSource("prepare:noise"), patient(), {});
        QVERIFY(opened);
        QVERIFY(wholeRun(**opened, product));
        const auto log = (*opened)->log();
        QVERIFY(log.find("noise 19999") != std::string::npos);
        QVERIFY(log.size() < 200'000);
    }
    void cancel_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<bool>("byJob");
        for (const char* step : {"open", "prepare", "execute", "bench"})
            QTest::addRow("%s", step) << q(step) + q(":wait") << true;
        QTest::addRow("by backend") << q("bench:wait") << false;
    }
    void cancel() {
        QFETCH(QString, fault);
        QFETCH(bool, byJob);
        const auto source = badSource(fault.toStdString());
        const Job job;
        std::atomic<Backend*> running{nullptr};
        std::atomic<bool> done = false;
        std::thread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            if (byJob) job.cancel();
            while (!byJob && !done) { // a cancel between two steps stops neither
                if (running) running.load()->cancel();
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
            }
        });
        auto opened = openBackend(source, patient(), job);
        Outcome<void> ran;
        Product product;
        if (opened) {
            running = opened->get();
            ran = wholeRun(**opened, product);
        } else {
            ran = tl::unexpected(opened.error());
        }
        done = true;
        later.join();
        QVERIFY(!ran);
        QCOMPARE(ran.error().state, RowState::Cancelled);
        QCOMPARE(q(ran.error().reason), q("stopped as asked"));
        QVERIFY(!quarantineReason(source));
        if (!byJob) QVERIFY((*opened)->devices()); // the worker process still runs
    }
    /// The request and its cancel arrive together: the worker must not lose the cancel of a request that still waits.
    void cancelBeforeItRuns() {
        const auto source = badSource("bench:wait");
        for (int round = 0; round < 10; ++round) {
            const Job job;
            const auto opened = openBackend(source, patient(), job);
            QVERIFY(opened);
            Product product;
            const auto kernel = (*opened)->prepare(0, product.problem, "plain", {&product.weight, 1});
            QVERIFY(kernel);
            job.cancel();
            const auto ran = (*opened)->bench(kernel->handle, {&product.act, 1}, {}, &product.out);
            QVERIFY(!ran);
            QCOMPARE(q(ran.error().reason), q("stopped as asked"));
        }
    }
    void cancelThatIsIgnored() {
        const auto source = badSource("bench:hang");
        const Job job;
        std::thread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
            job.cancel();
        });
        Product product;
        const auto start = std::chrono::steady_clock::now();
        auto opened = openBackend(source, patient(), job);
        QVERIFY(opened);
        const auto ran = wholeRun(**opened, product);
        later.join();
        QVERIFY(!ran);
        QCOMPARE(ran.error().state, RowState::Cancelled);
        QVERIFY(secondsSince(start) < 10);
        QVERIFY(!quarantineReason(source));
    }
    void closeThatHangs() {
        const auto source = badSource("close:hang");
        {
            auto opened = openBackend(source, hurried("close:"), {});
            QVERIFY(opened);
        }
        QCOMPARE(q(quarantineReason(source).value_or("")), q("hung in close for 0.4 s"));
    }
};

QS_TEST(TestIsolation)
#include "isolation_test.moc"
