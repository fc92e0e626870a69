// SPDX-License-Identifier: GPL-3.0-or-later
// An evaluation that was cancelled goes on behind the chunks that it had finished, and its scores are those of one that
// was never cancelled.
#include "core/eval/run/embeddings.h"
#include "core/eval/tokenizer/token_file.h"
#include "tests/core/eval/shards.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cstring>

using namespace qs;
using namespace qs::eval;
using namespace qs::eval::test;

class ResumeTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void goesOnBehindFinishedChunks_data();
    void goesOnBehindFinishedChunks();
    void anEncoderGoesOn();
};

namespace {

constexpr const char* kResumed = "tests/data/eval/llama";

/// Six chunks of 4 tokens, each a group of its own.
EvaluationPlan planOfChunks(Scored scored) {
    EvaluationPlan plan;
    plan.text.tokens = *readTokens(std::string(kResumed) + "/tokens.npy");
    plan.context = 4, plan.scored = scored;
    plan.memory = 1; // a chunk at a time
    plan.changes = {quantizedAs(*parseSpec("int4:block=16")), quantizedAs(*parseSpec("int2:block=16"))};
    return plan;
}

bool areEqual(const std::vector<TokenScore>& a, const std::vector<TokenScore>& b) {
    const auto same = [](const TokenScore& x, const TokenScore& y) {
        return x.token == y.token && x.chunk == y.chunk && x.position == y.position && x.nll == y.nll &&
               x.referenceNll == y.referenceNll && x.divergence == y.divergence && x.sameTop == y.sameTop;
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

} // namespace

void ResumeTest::goesOnBehindFinishedChunks_data() {
    QTest::addColumn<bool>("all");
    QTest::addColumn<int>("finished");
    for (const bool all : {false, true})
        for (const int finished : {1, 5, 6})
            QTest::addRow("%s, %d chunks", all ? "all tokens" : "second half", finished) << all << finished;
}

void ResumeTest::goesOnBehindFinishedChunks() {
    QFETCH(bool, all);
    QFETCH(int, finished);
    const auto model = openModel(std::string(kResumed));
    QVERIFY(model);
    EvaluationPlan plan = planOfChunks(all ? Scored::All : Scored::SecondHalf);
    std::size_t passed = 0;
    const Job counts([&](const Progress& progress) { passed += progress.what.starts_with("Evaluating layer"); });
    std::vector<std::size_t> reached;
    plan.reached = [&](std::size_t known, std::size_t chunks) {
        reached.push_back(known);
        QCOMPARE(chunks, std::size_t(6));
    };
    const auto whole = evaluate(*model, plan, counts);
    QVERIFY(whole);
    QCOMPARE(whole->chunks, std::size_t(6));
    QCOMPARE(reached, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
    const std::size_t passedByWhole = std::exchange(passed, 0);

    const Shards folder;
    {
        const Job stopped;
        const auto records = folder.part(0, 1); // writes what waits when it is deleted
        EvaluationPlan first = plan;
        first.units = records.get();
        first.reached = [&](std::size_t known, std::size_t) {
            if (known == std::size_t(finished)) stopped.cancel();
        };
        const auto cut = evaluate(*model, first, stopped);
        QCOMPARE(bool(cut), finished == 6); // after the last chunk nothing is left to cancel
    }
    const auto records = folder.part(0, 1);
    QCOMPARE(records->records(), std::size_t(finished));
    plan.units = records.get();
    reached.clear();
    std::vector<std::vector<TokenScore>> arrived(2);
    plan.arrived = [&](std::size_t change, std::span<const TokenScore> scores) {
        arrived[change].insert(arrived[change].end(), scores.begin(), scores.end());
    };
    const auto rest = evaluate(*model, plan, counts);
    QVERIFY2(rest, rest ? "" : rest.error().message.c_str());
    QCOMPARE(passed, passedByWhole / 6 * std::size_t(6 - finished)); // no layer is passed again
    QCOMPARE(reached.front(), std::size_t(finished));
    QCOMPARE(reached.back(), std::size_t(6));
    for (std::size_t i = 0; i < 2; ++i) {
        QVERIFY(areEqual(rest->scores[i], whole->scores[i]));
        QVERIFY(areEqual(arrived[i], whole->scores[i]));
    }
    QCOMPARE(rest->tokens, whole->tokens);
    QCOMPARE(rest->chunks, whole->chunks);
}

/// An encoder passes 16384 tokens together; it is stopped behind them.
void ResumeTest::anEncoderGoesOn() {
    const auto model = openModel(std::string("tests/data/eval/bert"));
    QVERIFY(model);
    EvaluationPlan plan;
    const auto some = *readTokens("tests/data/eval/bert/tokens.npy");
    for (std::size_t i = 0; i < 16384 + 40; ++i) plan.text.tokens.push_back(some[i * i % some.size()]);
    plan.context = 8, plan.changes = {quantizedAs(*parseSpec("int4:block=16"))};
    const auto whole = evaluateEmbeddings(*model, plan, Job());
    QVERIFY2(whole, whole ? "" : whole.error().message.c_str());
    QCOMPARE(whole->chunks, std::size_t(2053));
    const Shards folder;
    {
        const Job stopped;
        const auto records = folder.part(0, 1);
        EvaluationPlan first = plan;
        first.units = records.get();
        first.reached = [&](std::size_t known, std::size_t) {
            if (known == 2048) stopped.cancel();
        };
        QVERIFY(!evaluateEmbeddings(*model, first, stopped));
    }
    const auto records = folder.part(0, 1);
    QCOMPARE(records->records(), std::size_t(2048));
    plan.units = records.get();
    const auto rest = evaluateEmbeddings(*model, plan, Job());
    QVERIFY(rest);
    QCOMPARE(records->computed(), std::size_t(5));
    QCOMPARE(rest->cosines, whole->cosines);
}

QS_TEST(ResumeTest)
#include "resume_test.moc"
