// SPDX-License-Identifier: GPL-3.0-or-later
// Tests how the fastest variant is chosen: with given times and with real ones.
#include "kernels/variant_choice.h"
#include "tests/kernels/matmul_case.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QtTest>
#include <thread>

using namespace qs;
using namespace qs::test;

class VariantChoice : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theFasterWins();
    void theExpectedStaysWithinTheMargin();
    void disturbedRacesAreNotKept();
    void everyOneTakesTurns();
    void choicesAreRememberedAndKept();
    void whatIsKeptMayBeWrong();
    void severalThreadsAskOnce();
    void likesAreAlike();
    void realRaces();
};

namespace {

/// A race with given times: seconds[i] are the times of candidate i, used in a cycle.
Race madeUp(const std::vector<std::vector<double>>& seconds, const RaceRules& rules = {}) {
    std::vector<std::size_t> turn(seconds.size());
    return race(
        seconds.size(), [&](std::size_t i) { return seconds[i][turn[i]++ % seconds[i].size()]; }, rules);
}

MatmulProblem plainProblem(std::size_t m) {
    MatmulProblem p;
    p.m = m, p.n = 4096, p.k = 4096, p.compute = NumberType::F32, p.weight.id = "f32";
    return p;
}

MatmulVariant named(const char* id) {
    MatmulVariant variant{};
    variant.id = id;
    return variant;
}

} // namespace

// Example: vdpbf16ps at half the speed of f32 products. The variant with wider instructions is expected to win, but
// loses.
void VariantChoice::theFasterWins() {
    const Race race = madeUp({{2e-4}, {1e-4}, {3e-4}});
    QCOMPARE(race.winner, std::size_t(1));
    QVERIFY(race.steady && race.seconds == std::vector<double>({2e-4, 1e-4, 3e-4}));
    // A single slow run does not decide.
    QCOMPARE(madeUp({{2e-4}, {1e-4, 1e-4, 1e-4, 9e-3}}).winner, std::size_t(1));
    QCOMPARE(madeUp({{1e-4}}).winner, std::size_t(0));
    QCOMPARE(madeUp({}).winner, std::size_t(0));
}

void VariantChoice::theExpectedStaysWithinTheMargin() {
    QCOMPARE(madeUp({{1.00e-4}, {0.96e-4}}).winner, std::size_t(0));
    QCOMPARE(madeUp({{1.00e-4}, {0.94e-4}}).winner, std::size_t(1));
    QCOMPARE(madeUp({{0}, {0}}).winner, std::size_t(0));
}

void VariantChoice::disturbedRacesAreNotKept() {
    QVERIFY(!madeUp({{1e-4, 5e-4, 6e-4}, {1e-4}}).steady);
    QVERIFY(madeUp({{1e-4, 1.2e-4, 1.1e-4}, {1e-4}}).steady);
}

void VariantChoice::everyOneTakesTurns() {
    std::vector<std::size_t> order;
    const auto count = [&](double seconds) {
        order.clear();
        race(3, [&](std::size_t i) { return order.push_back(i), seconds; });
        for (std::size_t i = 0; i < order.size(); ++i)
            if (order[i] != i % 3) return std::size_t(0);
        return order.size() / 3;
    };
    const RaceRules rules;
    QCOMPARE(count(1), rules.fewest);  // slow candidates: the fewest rounds
    QCOMPARE(count(1e-9), rules.most); // fast candidates: the most rounds, for a stable median
    QCOMPARE(count(1.1e-4), std::size_t(10));
}

void VariantChoice::choicesAreRememberedAndKept() {
    const MatmulVariant wide = named("wide"), narrow = named("narrow");
    const std::vector<const MatmulVariant*> both{&wide, &narrow}, one{&wide};
    int races = 0;
    bool steady = true;
    VariantKeeper::Choices file;
    const VariantKeeper keeper{[&] { return file; }, [&](const VariantKeeper::Choices& all) { file = all; }};
    const auto measure = [&](std::span<const MatmulVariant* const>, const MatmulProblem& p) {
        ++races;
        return Race{p.m > 32 ? std::size_t(1) : std::size_t(0), {}, steady};
    };
    {
        VariantChoices choices(keeper, measure);
        QCOMPARE(choices.fastest(both, plainProblem(512)).id, "narrow");
        QCOMPARE(choices.fastest(both, plainProblem(100)).id, "narrow"); // a similar problem: no new race
        QCOMPARE(races, 1);
        QCOMPARE(choices.fastest(both, plainProblem(1)).id, "wide");
        QCOMPARE(choices.fastest(one, plainProblem(512)).id, "wide"); // a single candidate needs no race
        QCOMPARE(races, 2);
        steady = false; // an unsteady race: the choice is kept in this process only, so the next process measures again
        QCOMPARE(choices.fastest(both, plainProblem(2)).id, "wide");
        QCOMPARE(choices.fastest(both, plainProblem(2)).id, "wide");
        QCOMPARE(races, 3);
    }
    QCOMPARE(file.size(), std::size_t(2));
    VariantChoices next(keeper, measure);
    QCOMPARE(next.fastest(both, plainProblem(512)).id, "narrow");
    QCOMPARE(next.fastest(both, plainProblem(1)).id, "wide");
    QCOMPARE(races, 3);
    QCOMPARE(next.fastest(both, plainProblem(2)).id, "wide");
    QCOMPARE(races, 4);
    // A variant added in a new version is measured too.
    const MatmulVariant newer = named("newer");
    const std::vector<const MatmulVariant*> three{&wide, &narrow, &newer};
    next.fastest(three, plainProblem(512));
    QCOMPARE(races, 5);
}

void VariantChoice::whatIsKeptMayBeWrong() {
    const MatmulVariant wide = named("wide"), narrow = named("narrow");
    const std::vector<const MatmulVariant*> both{&wide, &narrow};
    int races = 0;
    VariantKeeper::Choices file{{likeness(plainProblem(512)) + " of wide narrow", "one that is gone"}};
    VariantChoices choices({[&] { return file; }, [&](const VariantKeeper::Choices& all) { file = all; }},
                           [&](std::span<const MatmulVariant* const>, const MatmulProblem&) {
                               return ++races, Race{1, {}, true};
                           });
    QCOMPARE(choices.fastest(both, plainProblem(512)).id, "narrow");
    QCOMPARE(races, 1);
    QCOMPARE(file.begin()->second, std::string("narrow"));
}

void VariantChoice::severalThreadsAskOnce() {
    const MatmulVariant wide = named("wide"), narrow = named("narrow");
    const std::vector<const MatmulVariant*> both{&wide, &narrow};
    int races = 0;
    VariantChoices choices({}, [&](std::span<const MatmulVariant* const>, const MatmulProblem&) {
        return ++races, Race{1, {}, true};
    });
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] { right += &choices.fastest(both, plainProblem(64)) == &narrow; });
    for (std::thread& each : threads) each.join();
    QCOMPARE(right.load(), 4);
    QCOMPARE(races, 1);
}

void VariantChoice::likesAreAlike() {
    QCOMPARE(likeness(plainProblem(33)), likeness(plainProblem(4096)));
    MatmulProblem other = plainProblem(33);
    other.weightIsKn = true;
    QVERIFY(likeness(other) != likeness(plainProblem(33)));
    other = plainProblem(33), other.compute = NumberType::None;
    QVERIFY(likeness(other) != likeness(plainProblem(33)));
    other = plainProblem(33), other.weight.id = "nf4";
    QVERIFY(likeness(other) != likeness(plainProblem(33)));
    QVERIFY(likeness(plainProblem(1)) != likeness(plainProblem(2)));
}

// For every format and operation all variants run on a representative problem. The race takes milliseconds and has a
// winner.
void VariantChoice::realRaces() {
    std::size_t raced = 0, turn = 0;
    for (const FormatCase& format : formatCases())
        for (const MatmulOp op : {MatmulOp::Matmul, MatmulOp::Dequantize, MatmulOp::Quantize, MatmulOp::QuantizeAct})
            for (const bool kn : {false, true}) {
                if (!qs::test::taken(turn++)) continue;
                MatmulProblem p = plainProblem(kn ? 3 : 1);
                p.op = op, p.weightIsKn = kn, p.weight = format.format, p.compute = NumberType::None;
                if (op == MatmulOp::QuantizeAct) p.act = NumberType::I8;
                std::vector<const MatmulVariant*> all;
                for (const MatmulVariant* variant : matmulVariants())
                    if (variant->supported() && variant->fromM && !variant->declines(p)) all.push_back(variant);
                const Race race = raceVariants(all, p);
                QVERIFY(all.empty() || race.winner < all.size());
                QCOMPARE(race.seconds.size(), all.size() < 2 ? 0 : all.size());
                for (const double seconds : race.seconds) QVERIFY2(seconds > 0, format.name);
                raced += all.size() > 1;
            }
    QVERIFY(raced || matmulVariants().size() < 3 || !matmulVariants()[2]->supported());
}

QS_TEST(VariantChoice)
#include "variant_choice_test.moc"
