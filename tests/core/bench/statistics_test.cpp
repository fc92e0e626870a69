// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/statistics.h"
#include "tests/support/test_program.h"

#include <QTest>
#include <cmath>
#include <limits>
#include <numeric>

using namespace qs;

namespace {
std::vector<double> upTo(int n) {
    std::vector<double> out(std::size_t(n), 0.0);
    std::iota(out.begin(), out.end(), 1.0);
    std::reverse(out.begin(), out.end()); // the order of the samples must not matter
    return out;
}
} // namespace

class StatisticsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void roundsOfARun() {
        std::vector<double> rounds;
        for (int i = 0; i <= 20; ++i) rounds.push_back(100 + (i * 8) % 21); // 100 to 120 in another order
        QCOMPARE(*roundInterval(rounds), (Interval{102, 115}));
        rounds.push_back(std::numeric_limits<double>::quiet_NaN()); // a round without a time is ignored
        QCOMPARE(*roundInterval(rounds), (Interval{102, 115}));
        QVERIFY(!roundInterval(std::vector<double>{1, 2, 3, 4}));
    }
    void ranks() {
        QVERIFY(!medianRanks(0) && !medianRanks(19));
        // (n -+ 1.96 sqrt n) / 2, rounded outwards: n = 20: 5.617 and 14.383 + 1; n = 100: 40.2 and 59.8 + 1.
        QCOMPARE(*medianRanks(20), (std::pair<std::size_t, std::size_t>(5, 16)));
        QCOMPARE(*medianRanks(100), (std::pair<std::size_t, std::size_t>(40, 61)));
        for (std::size_t n = 20; n < 3000; ++n) {
            const auto r = *medianRanks(n);
            QVERIFY(r.first >= 1 && r.second <= n && 2 * r.first <= n && 2 * r.second >= n + 1);
        }
    }
    void summaries() {
        QVERIFY(!summarize(std::span<const double>()));
        const auto one = *summarize(std::span<const double>(upTo(1)));
        QVERIFY(one.median == 1 && one.min == 1 && one.p95 == 1 && !one.ci);
        QCOMPARE(summarize(std::span<const double>(upTo(4)))->median, 2.5);
        const auto hundred = *summarize(std::span<const double>(upTo(100)));
        QCOMPARE(hundred.n, std::size_t(100));
        QCOMPARE(hundred.median, 50.5);
        QCOMPARE(hundred.min, 1.0);
        QCOMPARE(hundred.p95, 95.0);
        QCOMPARE(*hundred.ci, (Interval{40, 61}));
        QVERIFY(!summarize(std::span<const double>(upTo(19)))->ci);
        const std::vector<std::uint64_t> counts = {7, 3, 5};
        QCOMPARE(summarize(std::span<const std::uint64_t>(counts))->median, 5.0);
    }
    /// The interval covers the median of a skewed distribution about as often as stated.
    void coverage() {
        std::uint64_t state = 1;
        const auto uniform = [&] {
            state = state * 6364136223846793005u + 1442695040888963407u;
            return (double(state >> 11) + 0.5) / 9007199254740992.0;
        };
        for (const int n : {20, 25, 50, 200}) {
            int covered = 0;
            constexpr int trials = 2000;
            for (int t = 0; t < trials; ++t) {
                std::vector<double> samples;
                for (int i = 0; i < n; ++i) samples.push_back(std::exp(3 * (-std::log(uniform()))));
                const auto ci = summarize(std::span<const double>(samples))->ci;
                const double median = std::exp(3 * std::log(2.0));
                covered += ci->low <= median && median <= ci->high;
            }
            QVERIFY2(covered >= int(0.94 * trials), qPrintable(QString::number(covered)));
        }
    }
    void ratios() {
        const double none = std::numeric_limits<double>::quiet_NaN();
        const std::vector<double> a = {10, none, 30, 40}, b = {5, 5, none, 10};
        const auto both = *ratioSummary(a, b);
        QCOMPARE(both.n, std::size_t(2));
        QCOMPARE(both.median, 3.0);
        QVERIFY(!ratioSummary(a, std::vector<double>{none}));
        QVERIFY(!both.ci);
        // Few rounds: by the binomial distribution. 5 cannot bound a median with 95 %; 6 do with both ends (96.9 %), 9
        // with the second value and the last but one (96.1 %).
        std::vector<double> slow, ones(9, 1);
        for (const double ratio : {9, 1, 8, 2, 7}) slow.push_back(ratio);
        QVERIFY(!ratioSummary(slow, ones)->ci);
        slow.push_back(3);
        QCOMPARE(*ratioSummary(slow, ones)->ci, (Interval{1, 9}));
        for (const double ratio : {4, 5, 6}) slow.push_back(ratio);
        QCOMPARE(*ratioSummary(slow, ones)->ci, (Interval{2, 8}));
    }
    void winners() {
        const Interval fast{1, 2}, slow{3, 4}, between{1.5, 3.5};
        QCOMPARE(compareTimes(fast, slow), Verdict::Faster);
        QCOMPARE(compareTimes(slow, fast), Verdict::Slower);
        QCOMPARE(compareTimes(fast, between), Verdict::NoWinner);
        QCOMPARE(compareTimes(fast, Interval{2, 3}), Verdict::NoWinner); // the intervals touch
        QCOMPARE(compareTimes(fast, std::nullopt), Verdict::NoWinner);
    }
};

QS_TEST(StatisticsTest)
#include "statistics_test.moc"
