// SPDX-License-Identifier: GPL-3.0-or-later
// Profiles that are gathered while scores come, against figures over all of them at once.
#include "core/eval/scores/score_profile.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>
#include <numeric>

using namespace qs::eval;

class ScoreProfileTest : public QObject {
    Q_OBJECT
    /// Chunks of 100 positions, of which the second half is scored; KL between 1e-6 and 10 nats.
    static std::vector<TokenScore> scores(std::size_t chunks) {
        std::vector<TokenScore> out;
        for (std::size_t chunk = 0; chunk < chunks; ++chunk)
            for (std::size_t position = 50; position < 100; ++position) {
                const std::size_t i = out.size();
                TokenScore score;
                score.chunk = chunk, score.position = position, score.token = std::int32_t(i);
                score.divergence = std::pow(10.0, double(i * 7919 % 701) / 100.0 - 6);
                out.push_back(score);
            }
        return out;
    }
    static bool near(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::fabs(b); }
private Q_SLOTS:
    void runningMeansAreThoseOfAllTokens();
    void binsPositionsAndWorst();
    void longTextsStaySmall();
    void notFiniteIsLeftOut();
};

void ScoreProfileTest::runningMeansAreThoseOfAllTokens() {
    const auto all = scores(12);
    ProfileGatherer gatherer(100);
    for (std::size_t i = 0; i < all.size(); i += 77) // in pieces of any size
        gatherer.add(std::span(all).subspan(i, std::min<std::size_t>(77, all.size() - i)));
    const auto profile = gatherer.profile();
    QCOMPARE(profile.running.back().tokens, all.size());
    for (const auto& point : profile.running) {
        std::vector<double> values;
        std::vector<std::size_t> chunks;
        for (std::size_t i = 0; i < point.tokens; ++i)
            values.push_back(all[i].divergence), chunks.push_back(all[i].chunk);
        const Estimate expected = estimate(values, chunks);
        QVERIFY(near(point.divergence.mean, expected.mean));
        QCOMPARE(point.divergence.byChunk.has_value(), expected.byChunk.has_value());
        if (expected.byChunk) QVERIFY(near(*point.divergence.byChunk, *expected.byChunk));
        QCOMPARE(point.divergence.independent.has_value(), expected.independent.has_value());
        if (expected.independent) QVERIFY(near(*point.divergence.independent, *expected.independent));
    }
}

void ScoreProfileTest::binsPositionsAndWorst() {
    auto all = scores(12);
    all[3].divergence = 0, all[4].divergence = 1e6; // outside of the bins
    ProfileGatherer gatherer(100);
    gatherer.add(all);
    const auto profile = gatherer.profile();
    QCOMPARE(profile.tokens(), std::uint64_t(all.size()));
    QCOMPARE(profile.below, std::uint64_t(1));
    QCOMPARE(profile.above, std::uint64_t(1));
    const auto bin = [&](double kl) { return std::size_t((std::log10(kl) - kFirstPower) * kBinsPerPower); };
    QVERIFY(profile.bins[bin(all[5].divergence)] > 0);
    QCOMPARE(profile.worst.size(), kWorstTokens);
    QCOMPARE(profile.worst.front().token, 4);
    for (std::size_t i = 1; i < profile.worst.size(); ++i)
        QVERIFY(profile.worst[i - 1].divergence >= profile.worst[i].divergence);
    std::size_t larger = 0;
    for (const auto& score : all) larger += score.divergence > profile.worst.back().divergence;
    QVERIFY(larger < kWorstTokens);
    std::size_t tokens = 0;
    for (const auto& range : profile.positions) {
        QVERIFY(range.begin < range.end && range.end <= 100);
        double sum = 0;
        std::size_t count = 0;
        for (const auto& score : all)
            if (score.position >= range.begin && score.position < range.end) sum += score.divergence, ++count;
        QCOMPARE(range.tokens, count);
        QVERIFY(near(range.divergence.mean, sum / double(count)));
        tokens += count;
    }
    QCOMPARE(tokens, all.size());
}

void ScoreProfileTest::longTextsStaySmall() {
    ProfileGatherer gatherer(100);
    gatherer.add(scores(400)); // 20,000 tokens
    const auto profile = gatherer.profile();
    QVERIFY(profile.running.size() <= kRunningPoints + 1 && profile.running.size() >= kRunningPoints / 2);
    for (std::size_t i = 1; i < profile.running.size(); ++i)
        QVERIFY(profile.running[i - 1].tokens < profile.running[i].tokens);
}

void ScoreProfileTest::notFiniteIsLeftOut() {
    auto all = scores(2);
    all[10].finite = false, all[10].divergence = std::nan("");
    ProfileGatherer gatherer(100);
    gatherer.add(all);
    QCOMPARE(gatherer.profile().tokens(), std::uint64_t(all.size() - 1));
    QVERIFY(std::isfinite(gatherer.profile().running.back().divergence.mean));
    QVERIFY(ProfileGatherer(100).profile().running.empty());
}

QS_TEST(ScoreProfileTest)
#include "score_profile_test.moc"
