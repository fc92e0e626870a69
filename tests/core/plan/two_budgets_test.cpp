// SPDX-License-Identifier: GPL-3.0-or-later
// The knapsack with two budgets against brute force: what it finds is within both, never worse than its bound allows,
// and its bound is never above the optimum.
#include "choice_lists.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace qs::plan;

namespace {

constexpr std::size_t kStates = std::size_t(1) << 16;

/// The least loss within both budgets by trying all selections; infinite: there is none.
double byTryingBoth(const TimedClasses& classes, std::uint64_t bytesBudget, std::uint64_t nsBudget) {
    double best = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> at(classes.size());
    for (;;) {
        double loss = 0;
        std::uint64_t bytes = 0, ns = 0;
        for (std::size_t i = 0; i < classes.size(); ++i) {
            const TimedChoice& one = classes[i][at[i]];
            loss += one.loss, bytes += one.bytes, ns += one.ns;
        }
        if (bytes <= bytesBudget && ns <= nsBudget) best = std::min(best, loss);
        std::size_t i = 0;
        while (i < classes.size() && ++at[i] == classes[i].size()) at[i++] = 0;
        if (i == classes.size()) return best;
    }
}

/// `isWorn`: fewer bytes are slower, as where codes must be decoded; else time is in no relation to bytes.
TimedClasses randomClasses(std::mt19937& random, bool isWorn) {
    TimedClasses out(2 + random() % 4);
    for (auto& choices : out)
        for (std::size_t i = 1 + random() % 4; i > 0; --i) {
            const std::uint64_t bytes = 1 + random() % 50;
            choices.push_back({double(random() % 1000) / double(bytes), bytes, isWorn ? 60 - bytes : random() % 50});
        }
    return out;
}

} // namespace

class TwoBudgetsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void knownAnswers();
    void boundsHoldWhereAllCanBeTried();
    void nothingFits();
    void aPlanOfAThousandChoices();
};

/// Three tensors; the second budget changes the answer, and a third one has no answer.
void TwoBudgetsTest::knownAnswers() {
    const TimedClasses classes = {{{10, 1, 5}, {2, 2, 9}, {0, 4, 3}}, {{8, 1, 4}, {1, 3, 8}}, {{6, 1, 2}, {5, 2, 1}}};
    const auto free = pickWithinBoth(Lists(classes), 9, 100, kStates);
    QVERIFY(free);
    QCOMPARE(free->loss, 6.0); // the best of each
    QCOMPARE(free->gap(), 0.0);
    QCOMPARE(free->lossPerNs, 0.0);
    const auto quick = pickWithinBoth(Lists(classes), 9, 9, kStates);
    QVERIFY(quick);
    QCOMPARE(quick->loss, byTryingBoth(classes, 9, 9));
    QVERIFY(quick->ns <= 9 && quick->bytes <= 9);
    QCOMPARE(quick->picked, (std::vector<std::size_t>{2, 0, 1})); // 0 + 8 + 5 in 3 + 4 + 1
    std::uint64_t fastest = 0;
    QVERIFY(!pickWithinBoth(Lists(classes), 4, 7, kStates, &fastest));
    QCOMPARE(fastest, std::uint64_t(10)); // with 4 bytes: 5 + 4 + 1
}

void TwoBudgetsTest::boundsHoldWhereAllCanBeTried() {
    std::mt19937 random(3);
    int solved = 0, proved = 0, best = 0;
    for (int round = 0; round < 600; ++round) {
        const TimedClasses classes = randomClasses(random, round % 2 == 0);
        const std::uint64_t bytes = 40 + random() % 200, ns = 40 + random() % 200;
        const double optimum = byTryingBoth(classes, bytes, ns);
        const auto found = pickWithinBoth(Lists(classes), bytes, ns, kStates);
        if (!std::isfinite(optimum)) {
            QVERIFY(!found);
            continue;
        }
        QVERIFY(found); // the fastest within the bytes is a solution
        double loss = 0;
        std::uint64_t usedBytes = 0, usedNs = 0;
        for (std::size_t i = 0; i < classes.size(); ++i) {
            const TimedChoice& one = classes[i][found->picked[i]];
            loss += one.loss, usedBytes += one.bytes, usedNs += one.ns;
        }
        QCOMPARE(found->loss, loss);
        QCOMPARE(found->bytes, usedBytes);
        QCOMPARE(found->ns, usedNs);
        QVERIFY(usedBytes <= bytes && usedNs <= ns);
        QVERIFY2(found->bound <= optimum + 1e-9, qPrintable(QStringLiteral("round %1").arg(round)));
        QVERIFY(found->loss >= optimum - 1e-9);
        // Called the best only where it is.
        if (found->gap() == 0) QVERIFY(std::fabs(found->loss - optimum) <= 1e-9 * (1 + std::fabs(optimum)));
        ++solved, proved += found->gap() == 0, best += std::fabs(found->loss - optimum) <= 1e-9;
    }
    QVERIFY2(solved > 200, qPrintable(QString::number(solved)));
    QVERIFY2(proved > solved / 3 && best > solved * 8 / 10,
             qPrintable(QStringLiteral("%1 solved, %2 proved, %3 best").arg(solved).arg(proved).arg(best)));
}

void TwoBudgetsTest::nothingFits() {
    const TimedClasses classes = {{{1, 10, 1}}, {{1, 10, 1}}};
    QVERIFY(!pickWithinBoth(Lists(classes), 19, 100, kStates));
    QVERIFY(!pickWithinBoth(Lists(classes), 20, 1, kStates));
    QVERIFY(pickWithinBoth(Lists(classes), 20, 2, kStates));
}

/// Of the size of a model: the gap is small, and stated.
void TwoBudgetsTest::aPlanOfAThousandChoices() {
    std::mt19937 random(5);
    TimedClasses classes(120);
    std::uint64_t bytes = 0, ns = 0;
    for (auto& choices : classes) {
        const std::uint64_t elements = 4096 * (1 + random() % 64);
        for (int bits = 2; bits <= 8; ++bits) {
            const double loss = double(elements) * std::exp2(-2.0 * bits) * (0.8 + 0.4 * double(random() % 100) / 100);
            choices.push_back({loss, elements * std::uint64_t(bits) / 8, elements * (10 + random() % 10)});
        }
        bytes += choices[3].bytes, ns += choices[3].ns * 9 / 10;
    }
    const auto found = pickWithinBoth(Lists(classes), bytes, ns, kStates);
    QVERIFY(found && found->bytes <= bytes && found->ns <= ns && found->bound <= found->loss);
    QVERIFY2(found->gap() < 0.01, qPrintable(QString::number(found->gap())));
    QVERIFY(found->lossPerNs > 0);
}

QS_TEST(TwoBudgetsTest)
#include "two_budgets_test.moc"
