// SPDX-License-Identifier: GPL-3.0-or-later
// The exact knapsack against brute force, on shapes that plans have and on awkward ones.
#include "choice_lists.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <random>

using namespace qs::plan;

namespace {

using Classes = TimedClasses; // times do not matter here

/// The least loss within the budget by trying all selections; infinite: there is none.
double byTrying(const Classes& classes, std::uint64_t budget) {
    double best = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> at(classes.size());
    for (;;) {
        double loss = 0;
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < classes.size(); ++i)
            loss += classes[i][at[i]].loss, bytes += classes[i][at[i]].bytes;
        if (bytes <= budget) best = std::min(best, loss);
        std::size_t i = 0;
        while (i < classes.size() && ++at[i] == classes[i].size()) at[i++] = 0;
        if (i == classes.size()) return best;
    }
}

/// Tensors of a network: bits from 2 to 8, losses that fall fourfold with a bit, factors of very different sizes.
Classes network(std::size_t tensors, std::size_t specs, unsigned seed) {
    std::mt19937 random(seed);
    const auto unit = [&] { return double(random()) / 4294967296.0; };
    Classes out(tensors);
    for (auto& choices : out) {
        const std::uint64_t elements = 512 * 1024 * (1 + random() % 40);
        const double factor = std::exp(3 * unit());
        for (std::size_t s = 0; s < specs; ++s) {
            const double bits = 2 + 6.0 * double(s) / double(specs - 1);
            choices.push_back({factor * std::exp2(-2 * bits) * (0.8 + 0.4 * unit()),
                               std::uint64_t(double(elements) * bits / 8) + 64});
        }
    }
    return out;
}

} // namespace

class KnapsackTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void asGoodAsTryingAll();
    void budgetsAtTheEdges();
    void aLimitOfStatesIsSaid();
    void networksAreProved();
    void asFastAsASliderMoves();
};

void KnapsackTest::asGoodAsTryingAll() {
    std::mt19937 random(1);
    for (int round = 0; round < 1500; ++round) {
        Classes classes(1 + random() % 6);
        std::uint64_t most = 0;
        for (auto& choices : classes) {
            std::uint64_t largest = 0;
            for (std::size_t i = 1 + random() % 5; i > 0; --i) {
                // Whole losses make many ties; some are negative.
                const double loss = round % 3 == 0 ? double(random() % 20) - 5 : double(random()) / 1e9;
                choices.push_back({loss, round % 2 ? random() % 30 : random() % 1000});
                largest = std::max(largest, choices.back().bytes);
            }
            most += largest;
        }
        const std::uint64_t least = leastBytes(Lists(classes));
        const std::uint64_t budget = least + random() % (most - least + 2);
        const auto found = pickChoices(Lists(classes), budget);
        QVERIFY(found);
        QVERIFY(found->bytes <= budget);
        QVERIFY(std::fabs(found->loss - byTrying(classes, budget)) <= 1e-9 * (1 + std::fabs(found->loss)));
        QCOMPARE(found->gap(), 0.0);
        double loss = 0;
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < classes.size(); ++i)
            loss += classes[i][found->picked[i]].loss, bytes += classes[i][found->picked[i]].bytes;
        QCOMPARE(bytes, found->bytes);
        QVERIFY(std::fabs(loss - found->loss) <= 1e-12 * (1 + std::fabs(loss)));
        if (least > 0) QVERIFY(!pickChoices(Lists(classes), least - 1));
    }
}

void KnapsackTest::budgetsAtTheEdges() {
    const Classes classes{{{3, 10}, {1, 20}}, {{5, 4}, {5, 4}, {0, 8}}, {{7, 1}}};
    QCOMPARE(leastBytes(Lists(classes)), std::uint64_t(15));
    QVERIFY(!pickChoices(Lists(classes), 14));
    QCOMPARE(pickChoices(Lists(classes), 15)->loss, 15.0);
    QCOMPARE(pickChoices(Lists(classes), 19)->loss, 10.0);
    QCOMPARE(pickChoices(Lists(classes), 28)->loss, 10.0);
    QCOMPARE(pickChoices(Lists(classes), 29)->loss, 8.0);
    QCOMPARE(pickChoices(Lists(classes), std::numeric_limits<std::uint64_t>::max())->loss, 8.0);
}

/// With too little memory the answer stays within the budget, and the gap covers its distance to the best.
void KnapsackTest::aLimitOfStatesIsSaid() {
    bool anyGap = false;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        const Classes classes = network(60, 12, seed);
        const std::uint64_t budget = leastBytes(Lists(classes)) * 2;
        const auto exact = pickChoices(Lists(classes), budget), limited = pickChoices(Lists(classes), budget, 2);
        QVERIFY(exact && limited && limited->bytes <= budget);
        QVERIFY(limited->loss >= exact->loss * (1 - 1e-12));
        QVERIFY(limited->bound <= exact->loss * (1 + 1e-12));
        anyGap = anyGap || limited->gap() > 0;
    }
    QVERIFY(anyGap);
}

void KnapsackTest::networksAreProved() {
    for (unsigned seed = 1; seed <= 4; ++seed)
        for (const auto& [tensors, specs] : {std::pair(24, 8), {154, 12}, {500, 12}, {1000, 12}}) {
            const Classes classes = network(std::size_t(tensors), std::size_t(specs), seed);
            const std::uint64_t least = leastBytes(Lists(classes));
            for (const double share : {1.1, 1.7, 2.3, 3.1}) {
                const auto found = pickChoices(Lists(classes), std::uint64_t(double(least) * share));
                QVERIFY(found && found->bytes <= std::uint64_t(double(least) * share));
                QCOMPARE(found->gap(), 0.0);
                QVERIFY(found->bound <= found->loss);
            }
        }
}

/// 500 tensors x 12 specs at 40 budgets: by the clock of the processor, so that a busy machine does not count.
void KnapsackTest::asFastAsASliderMoves() {
    std::vector<double> milliseconds;
    for (unsigned seed = 1; seed <= 2; ++seed) {
        const Classes classes = network(500, 12, seed);
        const std::uint64_t least = leastBytes(Lists(classes));
        for (int step = 0; step < 20; ++step) {
            const auto budget = std::uint64_t(double(least) * (1.02 + 2.9 * step / 20));
            const std::clock_t begun = std::clock();
            const auto found = pickChoices(Lists(classes), budget, std::size_t(1) << 15);
            milliseconds.push_back(1e3 * double(std::clock() - begun) / CLOCKS_PER_SEC);
            QVERIFY(found);
            QCOMPARE(found->gap(), 0.0);
        }
    }
    std::sort(milliseconds.begin(), milliseconds.end());
    qInfo("500 x 12: median %.1f ms, worst %.1f ms", milliseconds[milliseconds.size() / 2], milliseconds.back());
    QVERIFY2(milliseconds[milliseconds.size() / 2] < 100, "a plan must follow a slider");
}

QS_TEST(KnapsackTest)
#include "knapsack_test.moc"
