// SPDX-License-Identifier: GPL-3.0-or-later
// Paired differences and figures by chunk against values worked out by hand.
#include "core/eval/scores/chunk_rows.h"
#include "core/eval/scores/paired.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cmath>

using namespace qs::eval;

namespace {

/// Tokens in chunks of 2 with these KL.
std::vector<TokenScore> scoresOf(std::initializer_list<double> divergences) {
    std::vector<TokenScore> out;
    for (const double divergence : divergences) {
        TokenScore score;
        score.chunk = out.size() / 2, score.position = out.size() % 2, score.divergence = divergence;
        out.push_back(score);
    }
    return out;
}

} // namespace

class PairedTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void studentsTable();
    void differencesAreClusteredByChunk();
    void tokensThatAreNotFiniteAreLeftOut();
    void oneChunkHasNoInterval();
    void manyAreComparedWithTheFirst();
    void chunksByThemselves();
};

void PairedTest::studentsTable() {
    // Two-sided 95 % of Student's t, from printed tables.
    QVERIFY(std::fabs(studentHalfWidth(1) - 12.7062) < 1e-3);
    QVERIFY(std::fabs(studentHalfWidth(2) - 4.30265) < 1e-4);
    QVERIFY(std::fabs(studentHalfWidth(10) - 2.22814) < 1e-4);
    QVERIFY(std::fabs(studentHalfWidth(1000) - 1.96234) < 1e-4);
}

void PairedTest::differencesAreClusteredByChunk() {
    // Differences 1 and 3, 2 and 4, 6 and 8: chunk means 2, 3, 7, mean 4; sd of the means sqrt(7), SE sqrt(7 / 3).
    const auto first = scoresOf({5, 5, 5, 5, 5, 5}), second = scoresOf({6, 8, 7, 9, 11, 13});
    const auto paired = pairedDifference(first, second);
    QVERIFY(paired);
    QCOMPARE(paired->difference.mean, 4.0);
    QVERIFY(std::fabs(*paired->difference.byChunk - std::sqrt(7.0 / 3)) < 1e-12);
    QVERIFY(std::fabs(paired->high - (4 + 4.30265 * std::sqrt(7.0 / 3))) < 1e-3);
    QVERIFY(!paired->firstIsBetter() && !paired->secondIsBetter()); // the interval holds 0
    const auto close = pairedDifference(first, scoresOf({4, 4.1, 4, 4.1, 4, 4.1}));
    QVERIFY(close->secondIsBetter() && !close->firstIsBetter());
}

void PairedTest::tokensThatAreNotFiniteAreLeftOut() {
    auto first = scoresOf({1, 1, 1, 1}), second = scoresOf({2, 2, 2, 2});
    first[0].finite = false, second[3].finite = false, second[3].divergence = 1e300;
    const auto paired = pairedDifference(first, second);
    QCOMPARE(paired->tokens, std::size_t(2));
    QCOMPARE(paired->difference.mean, 1.0);
    for (auto& score : first) score.finite = false;
    QVERIFY(!pairedDifference(first, second));
}

void PairedTest::oneChunkHasNoInterval() {
    const auto paired = pairedDifference(scoresOf({1, 1}), scoresOf({2, 2}));
    QVERIFY(paired && !paired->hasInterval && !paired->firstIsBetter() && !paired->secondIsBetter());
}

void PairedTest::manyAreComparedWithTheFirst() {
    const std::vector<std::vector<TokenScore>> few(4, scoresOf({1, 2})), many(7, scoresOf({1, 2}));
    std::vector<std::string> names(7, "x");
    QCOMPARE(pairedRows(std::span(names).first(4), few).size(), std::size_t(6));
    QCOMPARE(pairedRows(names, many).size(), std::size_t(6)); // 21 pairs are too many
    auto failed = few;
    failed[0].clear();
    QCOMPARE(pairedRows(std::span(names).first(4), failed).size(), std::size_t(3));
    QVERIFY(pairedRows({}, {}).empty());
}

void PairedTest::chunksByThemselves() {
    auto scores = scoresOf({1, 3, 5, 1});
    scores[1].sameTop = true, scores[3].finite = false;
    scores[0].nll = 2, scores[0].referenceNll = 1;
    std::vector<ChunkRow> rows;
    appendChunkRows("a", scores, rows);
    QCOMPARE(rows.size(), std::size_t(2));
    QCOMPARE(rows[0].divergence, 2.0);
    QCOMPARE(rows[0].largest, 3.0);
    QCOMPARE(rows[0].worstPosition, std::size_t(1));
    QCOMPARE(rows[0].nllChange, 0.5);
    QCOMPARE(rows[0].sameTop, 0.5);
    QCOMPARE(rows[1].tokens, std::size_t(1));
    QCOMPARE(rows[1].divergence, 5.0);
}

QS_TEST(PairedTest)
#include "paired_test.moc"
