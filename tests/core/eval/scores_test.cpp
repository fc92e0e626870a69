// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of scored tokens against values worked out by hand.
#include "core/eval/scores/score_summary.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>
#include <limits>

using namespace qs::eval;
using qs::percentile;

class ScoresTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void divergenceOfKnownDistributions();
    void cutLogProbabilitiesAddNothing();
    void logitsThatAreNotFinite();
    void errorsByTokenAndByChunk();
    void percentilesAreLinear();
    void badTokensAreCountedNotAveraged();
};

void ScoresTest::divergenceOfKnownDistributions() {
    // p = (1/2, 1/4, 1/4), q = (1/4, 1/4, 1/2): KL = 1/2 ln 2 - 1/4 ln 2.
    const std::vector<float> p = {std::log(2.0f), 0, 0}, q = {7, 7, 7 + std::log(2.0f)};
    const TokenScore score = scoreToken(p, q, 0);
    QVERIFY(std::fabs(score.divergence - 0.25 * std::log(2)) < 1e-7);
    QVERIFY(std::fabs(score.referenceNll - std::log(2)) < 1e-7);
    QVERIFY(std::fabs(score.nll - std::log(4)) < 1e-6);
    QVERIFY(std::fabs(score.probabilityChange + 0.25) < 1e-6);
    QVERIFY(!score.sameTop);
    QCOMPARE(scoreToken(p, p, 2).divergence, 0.0);
    QVERIFY(scoreToken(p, p, 2).sameTop);
    const std::vector<float> equal = {1, 1};
    QVERIFY(scoreToken(equal, equal, 1).sameTop); // the first of equals on both sides
}

void ScoresTest::cutLogProbabilitiesAddNothing() {
    // A vocabulary of 1000: three tokens, and 997 with together 1/100 of the probability, which the reference cuts.
    std::vector<float> q(1000, std::log(0.01f / 997)), p(1000, -std::numeric_limits<float>::infinity());
    const float shares[] = {0.5f, 0.3f, 0.19f};
    for (std::size_t i = 0; i < 3; ++i) p[i] = q[i] = std::log(shares[i]);
    const TokenScore same = scoreToken(p, q, 1, ReferenceKind::LogProbabilities);
    QVERIFY2(std::fabs(same.divergence) < 1e-7, qPrintable(QString::number(same.divergence)));
    QVERIFY(std::fabs(same.referenceNll + std::log(0.3)) < 1e-7 && std::fabs(same.nll + std::log(0.3)) < 1e-6);
    QVERIFY(scoreToken(p, q, 1).divergence > 0.0099); // as logits the cut tokens have a probability of 0

    std::swap(q[0], q[2]); // of both distributions whole: 0.31 ln(0.5 / 0.19)
    const double whole = 0.31 * std::log(0.5 / 0.19);
    QVERIFY(std::fabs(scoreToken(p, q, 1, ReferenceKind::LogProbabilities).divergence - whole) < 1e-6);
    std::swap(q[0], q[2]);
    for (std::size_t i = 0; i < 3; ++i) p[i] += i == 1 ? 1e-4f : -1e-4f; // the rounding of a file
    QVERIFY(scoreToken(p, q, 1, ReferenceKind::LogProbabilities).divergence < 1e-7);
}

void ScoresTest::logitsThatAreNotFinite() {
    const std::vector<float> p = {0, 1}, q = {std::numeric_limits<float>::quiet_NaN(), 1},
                             r = {std::numeric_limits<float>::infinity(), 1};
    QVERIFY(!scoreToken(p, q, 0).finite);
    QVERIFY(!scoreToken(r, p, 0).finite);
}

void ScoresTest::errorsByTokenAndByChunk() {
    std::vector<double> values;
    std::vector<std::size_t> chunks;
    for (int i = 0; i < 12; ++i) values.push_back(i < 6 ? 1 : 3), chunks.push_back(std::size_t(i / 6));
    const Estimate e = estimate(values, chunks);
    QCOMPARE(e.mean, 2.0);
    QVERIFY(std::fabs(*e.independent - std::sqrt(1.0 / 11)) < 1e-12);
    // Two chunks with means 1 and 3: sd(means) / sqrt(2) = 1.
    QVERIFY(std::fabs(*e.byChunk - 1.0) < 1e-12);
    QVERIFY(!estimate(std::span(values).first(6), std::span(chunks).first(6)).byChunk);
    QVERIFY(!estimate(std::span(values).first(10), std::span(chunks).first(10)).independent);
}

void ScoresTest::percentilesAreLinear() {
    const std::vector<double> values = {0, 1, 2, 10};
    QCOMPARE(percentile(values, 0), 0.0);
    QCOMPARE(percentile(values, 0.5), 1.5);
    QCOMPARE(percentile(values, 1), 10.0);
    QVERIFY(std::fabs(percentile(values, 0.9) - (2 + 8 * 0.7)) < 1e-12);
}

void ScoresTest::badTokensAreCountedNotAveraged() {
    std::vector<TokenScore> scores(3);
    scores[0].divergence = 1, scores[1].divergence = 3, scores[2].finite = false, scores[2].divergence = 1e9;
    scores[0].referenceNll = scores[1].referenceNll = 1, scores[0].nll = 1, scores[1].nll = 2;
    const auto summary = summarize(scores);
    QVERIFY(summary);
    QCOMPARE(summary->tokens, std::size_t(2));
    QCOMPARE(summary->notFinite, std::size_t(1));
    QCOMPARE(summary->divergence.mean, 2.0);
    QVERIFY(std::fabs(summary->perplexity - std::exp(1.5)) < 1e-12);
    QCOMPARE(summary->nllChange.mean, 0.5);
    QVERIFY(!summarize(std::span(scores).subspan(2)));
}

QS_TEST(ScoresTest)
#include "scores_test.moc"
