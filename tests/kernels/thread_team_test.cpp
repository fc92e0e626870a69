// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/thread_team.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <chrono>
#include <sched.h>

using namespace qs;

class Team : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyWorkerOnce();
    void wakesAfterSleep();
    void sharesCoverAll();
    void pinGivesBack();
};

void Team::everyWorkerOnce() {
    for (const int size : {1, 2, 3, 7}) {
        ThreadTeam team(size);
        QCOMPARE(team.size(), size);
        std::vector<int> seen(std::size_t(size), 0);
        for (int round = 0; round < 2000; ++round) team.run([&](int worker) { ++seen[std::size_t(worker)]; });
        for (const int times : seen) QCOMPARE(times, 2000);
    }
}

void Team::wakesAfterSleep() {
    ThreadTeam team(2);
    std::atomic<int> sum{0};
    for (int round = 0; round < 20; ++round) {
        team.run([&](int worker) {
            if (worker == round % 2)
                std::this_thread::sleep_for(std::chrono::milliseconds(2)); // each thread waits for the other in turn
            sum += 1;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    QCOMPARE(sum.load(), 40);
}

void Team::sharesCoverAll() {
    for (const std::size_t count : {0, 1, 2, 7, 64, 65, 1000})
        for (const int workers : {1, 2, 3, 8})
            for (const std::size_t unit : {1, 16, 64}) {
                std::size_t at = 0;
                for (int w = 0; w < workers; ++w) {
                    const auto [begin, end] = shareOf(count, w, workers, unit);
                    QCOMPARE(begin, at);
                    QVERIFY(begin % unit == 0 || begin == count);
                    at = end;
                }
                QCOMPARE(at, count);
            }
}

void Team::pinGivesBack() {
    ThreadTeam team;
    cpu_set_t before, during, after;
    sched_getaffinity(0, sizeof before, &before);
    {
        const ThreadTeam::Pin pin(team);
        sched_getaffinity(0, sizeof during, &during);
        QCOMPARE(CPU_COUNT(&during), 1);
    }
    sched_getaffinity(0, sizeof after, &after);
    QVERIFY(CPU_EQUAL(&before, &after));
}

QS_TEST(Team)
#include "thread_team_test.moc"
