// SPDX-License-Identifier: GPL-3.0-or-later
// An evaluation that was cancelled goes on behind the chunks that it had finished, and its scores are those of one that
// was never cancelled.
#include "core/eval/run/evaluate.h"
#include "core/eval/tokenizer/token_file.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <cstring>

using namespace qs;
using namespace qs::eval;

class ResumeTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void goesOnBehindFinishedChunks_data();
    void goesOnBehindFinishedChunks();
    void aChangeThatFailedStaysOut();
    void allPartsTogetherAreTheResult();
};

namespace {

constexpr const char* kNetwork = "tests/data/eval/llama";

/// Six chunks of 4 tokens, each a group of its own.
EvaluationPlan planOfChunks(Scored scored) {
    EvaluationPlan plan;
    plan.text.tokens = *readTokens(std::string(kNetwork) + "/tokens.npy");
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
    const auto model = openModel(std::string(kNetwork));
    QVERIFY(model);
    EvaluationPlan plan = planOfChunks(all ? Scored::All : Scored::SecondHalf);
    std::size_t passed = 0;
    const Job counts([&](const Progress&) { ++passed; });
    const auto whole = evaluate(*model, plan, counts);
    QVERIFY(whole);
    QCOMPARE(whole->chunks, std::size_t(6));
    const std::size_t passedByWhole = std::exchange(passed, 0);

    const Job stopped;
    EvaluationPlan first = plan;
    EvaluationParts parts;
    first.finished = [&](std::shared_ptr<const EvaluationPart> part) {
        parts.push_back(std::move(part));
        if (int(parts.size()) == finished) stopped.cancel();
    };
    const auto cut = evaluate(*model, first, stopped);
    QCOMPARE(bool(cut), finished == 6); // after the last chunk nothing is left to cancel
    QCOMPARE(int(parts.size()), finished);

    plan.done = parts;
    std::vector<std::vector<TokenScore>> arrived(2);
    plan.arrived = [&](std::size_t change, std::span<const TokenScore> scores) {
        arrived[change].insert(arrived[change].end(), scores.begin(), scores.end());
    };
    std::size_t rows = 0, firstRow = SIZE_MAX;
    plan.compared = [&](const LogitRows& compared) -> Result<void> {
        if (compared.change) return {};
        firstRow = std::min(firstRow, compared.row), rows += compared.next.size();
        return {};
    };
    const auto rest = evaluate(*model, plan, counts);
    QVERIFY2(rest, rest ? "" : rest.error().message.c_str());
    QCOMPARE(passed, passedByWhole / 6 * std::size_t(6 - finished)); // no layer is passed again
    for (std::size_t i = 0; i < 2; ++i) {
        QVERIFY(areEqual(rest->scores[i], whole->scores[i]));
        QVERIFY(areEqual(arrived[i], whole->scores[i]));
    }
    std::size_t known = 0;
    for (const auto& part : parts) known += part->scores[0].size();
    QCOMPARE(rows, whole->scores[0].size() - known);
    if (finished < 6) QCOMPARE(firstRow, known);
    QCOMPARE(rest->tokens, whole->tokens);
    QCOMPARE(rest->chunks, whole->chunks);
}

void ResumeTest::aChangeThatFailedStaysOut() {
    const auto model = openModel(std::string(kNetwork));
    QVERIFY(model);
    EvaluationPlan plan = planOfChunks(Scored::SecondHalf);
    auto part = std::make_shared<EvaluationPart>();
    const auto whole = evaluate(*model, plan, Job());
    QVERIFY(whole);
    part->reasons = {"", "It failed before."};
    part->scores = {{whole->scores[0][0]}, {}}; // of a chunk of 4 one token counts
    plan.done = {part};
    const auto rest = evaluate(*model, plan, Job());
    QVERIFY(rest);
    QVERIFY(areEqual(rest->scores[0], whole->scores[0]));
    QVERIFY(rest->scores[1].empty());
    QCOMPARE(rest->reasons[1], std::string("It failed before."));
}

void ResumeTest::allPartsTogetherAreTheResult() {
    const auto model = openModel(std::string(kNetwork));
    QVERIFY(model);
    EvaluationPlan plan = planOfChunks(Scored::All);
    std::vector<TokenScore> together;
    std::size_t chunks = 0;
    plan.finished = [&](const std::shared_ptr<const EvaluationPart>& part) {
        ++chunks;
        together.insert(together.end(), part->scores[1].begin(), part->scores[1].end());
    };
    const auto whole = evaluate(*model, plan, Job());
    QVERIFY(whole);
    QCOMPARE(chunks, whole->chunks);
    QVERIFY(areEqual(together, whole->scores[1]));
}

QS_TEST(ResumeTest)
#include "resume_test.moc"
