// SPDX-License-Identifier: GPL-3.0-or-later
// Random plans keep what they promise, the test against them has known answers, and a whole proof of the sample model.
#include "core/plan/proof.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QtTest>

#include "sized_options.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace qs;
using namespace qs::plan;

namespace {

/// Made-up options: 40 units of two sizes with three specs.
plan::Options made() {
    plan::Options out;
    for (const char* spec : {"ternary", "int4:block=32", "int8"}) out.specs.push_back(*parseSpec(spec));
    std::vector<std::uint32_t> places(40);
    std::iota(places.begin(), places.end(), 0u);
    out.units = PlanUnits(std::vector<const TensorInfo*>(places.size()), places);
    out.of = OptionTable(places.size(), 3 * places.size(), true);
    for (std::size_t u = 0; u < places.size(); ++u) {
        const std::uint64_t elements = u % 2 ? 4096 : 16384;
        UnitOption options[] = {{0, elements / 4, 1.0 + double(u)}, {1, elements / 2, 0.1}, {2, elements, 0.001}};
        // Among units of one size half are slower.
        const std::uint64_t slow = u % 4 < 2 ? 3 : 1;
        const std::uint64_t times[] = {4, 7, 11};
        for (std::size_t i = 0; i < 3; ++i) options[i].ns = times[i] * slow * elements;
        out.of.add(options, {});
        out.elements += elements;
    }
    return out;
}

std::vector<eval::TokenScore> scores(std::initializer_list<double> byChunk) {
    std::vector<eval::TokenScore> out;
    std::size_t chunk = 0;
    for (const double value : byChunk) {
        for (int i = 0; i < 10; ++i) {
            out.emplace_back();
            out.back().chunk = chunk, out.back().divergence = value;
        }
        ++chunk;
    }
    return out;
}

} // namespace

class ChanceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void shufflesKeepBytesAndSpecs();
    void randomPlansKeepBytes();
    void drawsAreWithinTheTime();
    void ranksAndIntervals();
    void proofOfTheSample();
};

void ChanceTest::shufflesKeepBytesAndSpecs() {
    const plan::Options options = made();
    const auto best = bestMixture(options, (options.leastBytes() + options.mostBytes()) / 2);
    QVERIFY(best);
    bool anyMoved = false;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Mixture shuffled = permutedMixture(*best, options, seed);
        QCOMPARE(shuffled.bytes, best->bytes);
        QVERIFY(shuffled.loss >= best->loss * (1 - 1e-12));
        auto one = shuffled.picked, other = best->picked;
        anyMoved = anyMoved || one != other;
        std::sort(one.begin(), one.end()), std::sort(other.begin(), other.end());
        QCOMPARE(one, other);
        QCOMPARE(permutedMixture(*best, options, seed).picked, shuffled.picked);
    }
    QVERIFY(anyMoved);
}

void ChanceTest::randomPlansKeepBytes() {
    const plan::Options options = made();
    const auto best = bestMixture(options, (options.leastBytes() + options.mostBytes()) / 2);
    QVERIFY(best);
    std::set<std::vector<std::size_t>> different;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const auto random = randomMixture(*best, options, seed);
        QVERIFY(random);
        QVERIFY(std::fabs(double(random->bytes) - double(best->bytes)) <= kByteTolerance * double(best->bytes));
        different.insert(random->picked);
    }
    QVERIFY(different.size() > 5);
}

/// Under a budget of time, alone or beside a size, every draw is one that the budget allows.
void ChanceTest::drawsAreWithinTheTime() {
    plan::Options options = made();
    options.latencies = std::make_shared<const Latencies>();
    for (const bool bySize : {false, true})
        for (const double share : {0.25, 0.5}) {
            Budget budget;
            budget.ns = options.leastNs() + std::uint64_t(share * double(options.mostNs() - options.leastNs()));
            if (bySize) budget.bytes = (options.leastBytes() + 2 * options.mostBytes()) / 3;
            const auto best = bestMixture(options, budget);
            QVERIFY2(best, best ? "" : best.error().message.c_str());
            std::set<std::vector<std::size_t>> different;
            bool anySlower = false; // without the budget of time some draws would not be allowed
            for (std::uint64_t seed = 1; seed <= 10; ++seed) {
                const Mixture shuffled = permutedMixture(*best, options, seed, budget.ns);
                QCOMPARE(shuffled.bytes, best->bytes);
                QCOMPARE(shuffled.ns, best->ns);
                anySlower |= permutedMixture(*best, options, seed).ns > *budget.ns;
                const auto random = randomMixture(*best, options, seed, budget.ns);
                QVERIFY(random);
                QVERIFY(random->ns <= *budget.ns);
                QVERIFY(std::fabs(double(random->bytes) - double(best->bytes)) <= kByteTolerance * double(best->bytes));
                different.insert(random->picked);
                if (const auto any = randomMixture(*best, options, seed)) anySlower |= any->ns > *budget.ns;
            }
            QVERIFY(different.size() > 5);
            QVERIFY(anySlower);
        }
}

void ChanceTest::ranksAndIntervals() {
    // Every chunk of the plan has half of the KL of the median draw.
    const auto plan = scores({1, 2, 3, 4});
    std::vector<std::vector<eval::TokenScore>> draws{scores({2, 4, 6, 8}), scores({1.8, 3.6, 5.4, 7.2}),
                                                     scores({4, 8, 12, 16})};
    const auto better = againstChance(plan, draws);
    QVERIFY(better);
    QCOMPARE(better->draws, std::size_t(3));
    QCOMPARE(better->rank, 0.25);
    QVERIFY(std::fabs(better->effect - std::log(0.5)) < 1e-12);
    QVERIFY(std::fabs(better->low - std::log(0.5)) < 1e-12 && std::fabs(better->high - std::log(0.5)) < 1e-12);
    QVERIFY(!better->isInside());
    QVERIFY(std::fabs(better->least - 4.5) < 1e-12 && std::fabs(better->largest - 10) < 1e-12);

    // Better in two chunks, worse in two: no difference.
    const auto same =
        againstChance(scores({1, 3, 1, 3}), std::vector<std::vector<eval::TokenScore>>{scores({3, 1, 3, 1})});
    QVERIFY(same && same->isInside());
    QCOMPARE(same->rank, 1.0);
    QVERIFY(std::fabs(same->effect) < 1e-12 && same->low < -0.3 && same->high > 0.3);
    // One chunk gives no interval, so nothing can be said.
    QVERIFY(againstChance(scores({1}), std::vector<std::vector<eval::TokenScore>>{scores({3})})->isInside());
    QVERIFY(!againstChance(plan, {}));
    // A token that is not finite in one draw counts in none.
    draws[0][0].finite = false, draws[0][0].divergence = 1e9;
    QVERIFY(againstChance(plan, draws)->largest < 12);
}

/// A plan of the two ends of the quality scale: everything that is compared has a figure, and the sentences say it.
void ChanceTest::proofOfTheSample() {
    const auto model = openModel("resources/samples/tiny-llama");
    QVERIFY(model);
    OptionRequest wanted{*model, {}, {}, "", {}, {}};
    for (const char* spec : {"ternary:scale=channel", "int8"}) wanted.specs.push_back(*parseSpec(spec));
    for (const TensorInfo& tensor : (*model)->tensors)
        if (tensor.isWeight() && placeOf(tensor.name).layer >= 0) wanted.tensors.push_back(&tensor);
    const Objective& objective = objectives().front();
    const auto losses = objective.measure(objective, {*model, wanted.tensors, wanted.specs, {}}, Job());
    QVERIFY(losses);
    const auto options = sizedOptions(wanted, *losses);
    QVERIFY(options);
    const std::uint64_t budget = (options->leastBytes() + options->mostBytes()) / 2;
    const auto best = bestMixture(*options, budget);
    QVERIFY(best);
    ProofRequest request{*model, &*options, {}, *best, budget, 2, {}};
    // A recipe of everything in the better spec, whatever its size.
    const auto sizes = storedSizes(*model, wanted.tensors.front(), wanted.specs, "", Job());
    QVERIFY(sizes);
    const auto all = knownRecipe("all.json", specsOf(uniformMixture(1, *options), *options, {}), *sizes, *losses);
    QVERIFY(all && all->mixture.bytes > budget);
    request.recipes = {*all};
    QFile file(QStringLiteral("resources/samples/tiny-llama/heldout.txt"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    for (const char byte : file.read(3 * 64 + 1)) request.text.text.tokens.push_back(std::uint8_t(byte));
    request.text.context = 64, request.text.chunks = 3;
    const auto proof = provePlan(request, Job());
    QVERIFY2(proof, proof ? "" : proof.error().message.c_str());
    QCOMPARE(proof->chunks, std::size_t(3));
    QVERIFY(proof->contenders.size() >= 4 && proof->contenders.front().kind == ContenderKind::Plan);
    std::size_t uniform = 0;
    const Contender& recipe = proof->contenders[1];
    QCOMPARE(recipe.kind, ContenderKind::Recipe);
    QVERIFY(recipe.summary && recipe.summary->divergence.mean < proof->contenders.front().summary->divergence.mean);
    const std::string& last = proof->verdicts.back();
    QVERIFY2(last.starts_with("Against all.json (") && last.find("paired difference -") != std::string::npos,
             last.c_str());
    for (const Contender& one : proof->contenders) {
        QVERIFY2(one.summary, one.reason.c_str());
        if (one.kind != ContenderKind::Recipe) QVERIFY(one.mixture.bytes <= budget + budget / 500);
        QCOMPARE(one.againstPlan.has_value(), one.kind != ContenderKind::Plan);
        if (one.kind != ContenderKind::Uniform) continue;
        ++uniform;
        // All matrices ternary: clearly worse than a plan with half of the bytes for int8.
        QVERIFY(one.summary->divergence.mean > proof->contenders.front().summary->divergence.mean);
        QVERIFY(one.againstPlan->firstIsBetter());
    }
    QCOMPARE(uniform, std::size_t(1));
    QVERIFY(proof->permuted && proof->permuted->draws == 2);
    QVERIFY(!proof->verdicts.empty());
    for (const auto& verdict : proof->verdicts) QVERIFY(verdict.starts_with("Against ") && verdict.ends_with("."));

    // Draws that come later make the same proof as those that were there at once.
    QCOMPARE(proof->draws(), std::size_t(2));
    request.draws = 3;
    const auto more = moreDraws(request, *proof, Job());
    const auto whole = provePlan(request, Job());
    QVERIFY(more && whole);
    QCOMPARE(more->draws(), std::size_t(3));
    QCOMPARE(more->verdicts, whole->verdicts);
    QCOMPARE(more->contenders.size(), whole->contenders.size());
    for (std::size_t i = 0; i < whole->contenders.size(); ++i) {
        QCOMPARE(more->contenders[i].mixture.name, whole->contenders[i].mixture.name);
        QCOMPARE(more->contenders[i].summary->divergence.mean, whole->contenders[i].summary->divergence.mean);
    }
    QCOMPARE(more->random->rank, whole->random->rank);
    QCOMPARE(more->random->low, whole->random->low);
    // With a limit, a few contenders at a time: each step keeps what is there, and the last one is the whole proof.
    request.most = 3;
    auto part = provePlan(request, Job());
    QVERIFY(part && part->measured() == 3 && !part->isWhole());
    QCOMPARE(part->contenders.size(), whole->contenders.size());
    QVERIFY(part->verdicts.back().starts_with("3 of ") && part->verdicts.back().find("not complete") != std::string::npos);
    for (std::size_t known = 3; !part->isWhole(); known += 3) {
        const auto first = part->scores.front();
        part = moreDraws(request, *part, Job());
        QVERIFY(part && part->measured() == std::min(known + 3, part->contenders.size()));
        QVERIFY(part->scores.front() == first); // not measured again
    }
    QCOMPARE(part->verdicts, whole->verdicts);
    for (std::size_t i = 0; i < whole->contenders.size(); ++i)
        QCOMPARE(part->contenders[i].summary->divergence.mean, whole->contenders[i].summary->divergence.mean);
    request.most = 0;
    // No more than it has: nothing is measured. Without scores it begins anew.
    request.draws = 2;
    QCOMPARE(moreDraws(request, *more, Job())->contenders.size(), more->contenders.size());
    PlanProof kept = *more;
    kept.scores.clear();
    QCOMPARE(moreDraws(request, kept, Job())->verdicts, proof->verdicts);
}

QS_TEST(ChanceTest)
#include "chance_test.moc"
