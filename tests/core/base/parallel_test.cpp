// SPDX-License-Identifier: GPL-3.0-or-later
// parallelFor uses all cores and visits each index once. Job stops long work.
#include "core/base/job.h"
#include "core/base/parallel.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <sched.h>
#include <set>
#include <stdexcept>
#include <thread>

using namespace qs;

class ParallelTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        qputenv("QS_THREADS", "5"); // read once; more than a small machine has, and not a power of two
        QCOMPARE(workerCount(), 5u);
    }
    void eachIndexOnce_data();
    void eachIndexOnce();
    void nothingToDo();
    void sizesNearTheLimit();
    void usesItsWorkers();
    void leavesTakenCores();
    void leavesTheCallerOnItsCpus();
    void exceptionsArrive();
    void nested();
    void job();
};

void ParallelTest::eachIndexOnce_data() {
    QTest::addColumn<quint64>("count");
    QTest::addColumn<quint64>("grain");
    for (const quint64 count : {1, 2, 4, 5, 6, 63, 64, 65, 997, 10007})
        for (const quint64 grain : {0, 1, 3, 64, 10006, 10007, 10008})
            QTest::addRow("%llu by %llu", static_cast<unsigned long long>(count),
                          static_cast<unsigned long long>(grain))
                << count << grain;
}

void ParallelTest::eachIndexOnce() {
    QFETCH(quint64, count);
    QFETCH(quint64, grain);
    const auto hits = std::make_unique<std::atomic<int>[]>(count);
    std::atomic<bool> wrong{false};
    parallelFor(count, grain, [&](std::size_t begin, std::size_t end, unsigned worker) {
        if (begin >= end || end > count || end - begin > std::max<quint64>(1, grain) || worker >= workerCount()) {
            wrong = true;
            return;
        }
        for (auto i = begin; i < end; ++i) ++hits[i];
    });
    QVERIFY(!wrong);
    for (quint64 i = 0; i < count; ++i) QCOMPARE(hits[i].load(), 1);
}

void ParallelTest::nothingToDo() {
    bool called = false;
    parallelFor(0, 16, [&](std::size_t, std::size_t, unsigned) { called = true; });
    QVERIFY(!called);
}

// Rounding up must not overflow: the work would silently not be done.
void ParallelTest::sizesNearTheLimit() {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    std::atomic<int> calls{0};
    std::atomic<std::size_t> covered{0};
    parallelFor(most, most / 2 + 1, [&](std::size_t begin, std::size_t end, unsigned) {
        ++calls;
        covered += end - begin;
    });
    QCOMPARE(calls.load(), 2);
    QCOMPARE(covered.load(), most);
}

// Each piece waits until all threads have one. The test passes only with that many threads, each with its own number.
void ParallelTest::usesItsWorkers() {
    std::atomic<unsigned> arrived{0};
    std::atomic<unsigned> seen{0};
    std::atomic<bool> callerToo{false};
    const auto caller = std::this_thread::get_id();
    parallelFor(workerCount(), 1, [&](std::size_t, std::size_t, unsigned worker) {
        ++arrived;
        seen |= 1u << worker;
        if (std::this_thread::get_id() == caller) callerToo = true;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (arrived < workerCount() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    });
    QCOMPARE(seen.load(), (1u << workerCount()) - 1);
    QVERIFY(callerToo);
}

void ParallelTest::leavesTakenCores() {
    const auto workersSeen = [] {
        std::atomic<unsigned> seen{0};
        parallelFor(200, 1, [&](std::size_t, std::size_t, unsigned worker) {
            seen |= 1u << worker;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        });
        return std::popcount(seen.load());
    };
    {
        const TakenCore one;
        QVERIFY(workersSeen() <= 4);
        const TakenCore two, three, four, five, six;
        QCOMPARE(workersSeen(), 1);
    }
    QVERIFY(workersSeen() > 1);
}

// Regression: threads that ended at once were pinned by the handle of an ended thread, which is the calling thread.
void ParallelTest::leavesTheCallerOnItsCpus() {
    cpu_set_t before, after;
    QCOMPARE(sched_getaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) < 2) QSKIP("one CPU");
    for (int i = 0; i < 2000; ++i) parallelFor(8, 1, [](std::size_t, std::size_t, unsigned) {});
    QCOMPARE(sched_getaffinity(0, sizeof after, &after), 0);
    QCOMPARE(CPU_COUNT(&after), CPU_COUNT(&before));
}

void ParallelTest::exceptionsArrive() {
    constexpr std::size_t count = 100000;
    for (const std::size_t bad : {std::size_t(0), count / 2, count - 1}) {
        std::atomic<std::size_t> done{0};
        bool caught = false;
        try {
            parallelFor(count, 1, [&](std::size_t begin, std::size_t, unsigned) {
                if (begin == bad) throw std::runtime_error("piece");
                ++done;
            });
        } catch (const std::runtime_error& error) {
            caught = std::string(error.what()) == "piece";
        }
        QVERIFY(caught);
        QVERIFY(done < count);
    }
    // All throw at once: one exception arrives, and the next call works.
    QVERIFY_EXCEPTION_THROWN(
        parallelFor(50, 1, [](std::size_t, std::size_t, unsigned) { throw std::logic_error("x"); }), std::logic_error);
    std::atomic<int> after{0};
    parallelFor(50, 1, [&](std::size_t, std::size_t, unsigned) { ++after; });
    QCOMPARE(after.load(), 50);
}

void ParallelTest::nested() {
    std::atomic<std::uint64_t> sum{0};
    parallelFor(17, 2, [&](std::size_t begin, std::size_t end, unsigned) {
        for (auto outer = begin; outer < end; ++outer)
            parallelFor(13, 3, [&, outer](std::size_t from, std::size_t to, unsigned) {
                for (auto inner = from; inner < to; ++inner) sum += outer * 13 + inner;
            });
    });
    QCOMPARE(sum.load(), std::uint64_t(17 * 13) * (17 * 13 - 1) / 2);
}

void ParallelTest::job() {
    const Job silent;
    silent.progress({1, 2, "nobody listens", 0, 0});
    QVERIFY(!silent.cancelled());
    const Job other;
    const Job copy = silent; // NOLINT(performance-unnecessary-copy-initialization)
    copy.cancel();
    QVERIFY(silent.cancelled() && copy.cancelled());
    QVERIFY(!other.cancelled());

    std::atomic<int> calls{0};
    std::atomic<std::uint64_t> items{0};
    const Job listened([&](const Progress& p) {
        ++calls;
        items += p.items;
    });
    parallelFor(100, 1, [&](std::size_t begin, std::size_t, unsigned) { listened.progress({0, 0, "x", begin, 100}); });
    QCOMPARE(calls.load(), 100);
    QCOMPARE(items.load(), std::uint64_t(4950));

    // Work that checks the job stops soon after a cancel from another thread.
    std::jthread stopper([&] { listened.cancel(); });
    QTRY_VERIFY(listened.cancelled());
}

QS_TEST(ParallelTest)
#include "parallel_test.moc"
