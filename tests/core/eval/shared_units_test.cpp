// SPDX-License-Identifier: GPL-3.0-or-later
// Evaluations and sensitivities whose units are shared: put together they equal those of one process, bit for bit.
#include "core/eval/run/embeddings.h"
#include "core/eval/run/record.h"
#include "core/eval/run/self_noise.h"
#include "core/eval/scores/paired.h"
#include "core/eval/tokenizer/token_file.h"
#include "tests/core/eval/sensitivity_plans.h"
#include "tests/core/eval/shards.h"
#include "tests/support/changed_records.h"
#include "tests/support/test_program.h"

#include <QtTest>

using namespace qs;
using namespace qs::eval;
using namespace qs::eval::test;

class SharedUnitsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void evaluationsEqualThatOfOneProcess_data();
    void evaluationsEqualThatOfOneProcess();
    void aMissingShardIsNamed();
    void aSecondStartComputesWhatIsMissing();
    void aChangeThatFailsKeepsItsReason();
    void othersRecordsAreNotTaken();
    void cosinesEqualThoseOfOneProcess();
    void sensitivitiesEqualThatOfOneProcess_data();
    void sensitivitiesEqualThatOfOneProcess();
    void whatIsInTheCacheIsKept();
    void whenARunEndsDoesNotDependOnTheCache();
    void aPositionOutsideOfTheChunkIsNotTaken();
    void changedRecordsDoNoHarm_data();
    void changedRecordsDoNoHarm();
};

namespace {

constexpr const char* kLlama = "tests/data/eval/llama";

std::shared_ptr<const Model> llama() {
    const auto model = openModel(std::string(kLlama));
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

/// Six chunks of 4 tokens.
EvaluationPlan evaluationOf(const char* spec = "int4:block=16") {
    EvaluationPlan plan;
    plan.text.tokens = *readTokens(std::string(kLlama) + "/tokens.npy");
    plan.context = 4, plan.scored = Scored::All;
    plan.changes = {quantizedAs(*parseSpec(spec)), quantizedAs(*parseSpec("int2:block=16"))};
    return plan;
}

/// All bits of a score.
std::string bitsOf(const TokenScore& s) {
    std::string out;
    const auto add = [&](const auto& value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
    add(s.token), add(s.chunk), add(s.position), add(s.referenceNll), add(s.nll), add(s.divergence);
    add(s.probabilityChange), add(s.sameTop), add(s.finite);
    return out;
}
std::vector<std::string> bitsOf(const Evaluation& result) {
    std::vector<std::string> out;
    for (const auto& scores : result.scores) {
        out.emplace_back();
        for (const TokenScore& score : scores) out.back() += bitsOf(score);
    }
    return out;
}

Evaluation evaluated(EvaluationPlan plan, UnitRun* units) {
    plan.units = units;
    auto result = evaluate(llama(), plan, Job());
    if (!result) qFatal("%s", result.error().message.c_str());
    return std::move(*result);
}

/// Every figure of every row.
std::vector<Value> figuresOf(const Sensitivity& result) {
    std::vector<Value> out;
    for (const auto& row : result.rows)
        for (const auto& column : sensitivityColumns()) out.push_back(column.value(row));
    for (const auto& row : result.additivity)
        for (const auto& column : additivityColumns()) out.push_back(column.value(row));
    return out;
}

} // namespace

void SharedUnitsTest::evaluationsEqualThatOfOneProcess_data() {
    QTest::addColumn<int>("shards");
    for (const int shards : {1, 3, 5}) QTest::addRow("%d shards", shards) << shards;
}

void SharedUnitsTest::evaluationsEqualThatOfOneProcess() {
    QFETCH(int, shards);
    const auto plan = evaluationOf();
    const Evaluation whole = evaluated(plan, nullptr);
    const auto floor = selfNoise(llama(), plan, Job());
    QVERIFY(floor && *floor);
    const Shards folder;
    std::size_t computed = 0;
    for (int i = shards; i-- > 0;) { // in any order
        const auto part = folder.part(std::size_t(i), std::size_t(shards));
        evaluated(plan, part.get());
        auto own = plan;
        own.units = part.get();
        QVERIFY(selfNoise(llama(), own, Job()));
        QVERIFY(part->finish());
        computed += part->computed();
    }
    QCOMPARE(computed, whole.chunks + kFloorChunks);
    const auto merge = folder.merge();
    const Evaluation merged = evaluated(plan, merge.get());
    QCOMPARE(bitsOf(merged), bitsOf(whole));
    QCOMPARE(merged.reasons, whole.reasons);
    QCOMPARE(merged.tokens, whole.tokens);
    auto own = plan;
    own.units = merge.get();
    const auto mergedFloor = selfNoise(llama(), own, Job());
    QVERIFY(mergedFloor && *mergedFloor);
    QCOMPARE(**mergedFloor, **floor);
    QCOMPARE(merge->computed(), std::size_t(0));
    const auto finished = merge->finish();
    QVERIFY(finished && *finished);
}

void SharedUnitsTest::aMissingShardIsNamed() {
    const Shards folder;
    for (const std::size_t i : {0u, 2u}) {
        const auto part = folder.part(i, 3);
        evaluated(evaluationOf(), part.get());
        QVERIFY(part->finish());
    }
    const auto merge = folder.merge();
    evaluated(evaluationOf(), merge.get());
    const auto finished = merge->finish();
    QVERIFY(!finished);
    QVERIFY2(finished.error().message.starts_with("2 of 6 units are missing: chunk 3 under int4:block=16 and 1 more; "
                                                  "chunk 4 under int4:block=16 and 1 more."),
             finished.error().message.c_str());
}

void SharedUnitsTest::aSecondStartComputesWhatIsMissing() {
    const auto plan = evaluationOf();
    const Shards folder;
    const auto part = folder.part(1, 3);
    evaluated(plan, part.get());
    QVERIFY(part->finish());
    const auto rest = folder.part(0, 1);
    std::vector<std::string> arrived(2);
    auto again = plan;
    again.arrived = [&](std::size_t change, std::span<const TokenScore> scores) {
        for (const TokenScore& score : scores) arrived[change] += bitsOf(score);
    };
    const Evaluation result = evaluated(again, rest.get());
    QCOMPARE(rest->computed(), std::size_t(4));
    QCOMPARE(rest->found(), std::size_t(2));
    QCOMPARE(bitsOf(result), bitsOf(evaluated(plan, nullptr)));
    QCOMPARE(arrived, bitsOf(result)); // in the order of the text, with those that were found
}

void SharedUnitsTest::aChangeThatFailsKeepsItsReason() {
    auto plan = evaluationOf();
    plan.changes[1].values = [](const TensorInfo&, const TensorView&, const Job&) -> Result<std::vector<float>> {
        return fail("It has no values.");
    };
    const Evaluation whole = evaluated(plan, nullptr);
    QCOMPARE(whole.reasons[1], std::string("It has no values."));
    const Shards folder;
    for (const std::size_t i : {0u, 1u}) {
        const auto part = folder.part(i, 2);
        evaluated(plan, part.get());
        QVERIFY(part->finish());
    }
    const auto merge = folder.merge();
    const Evaluation merged = evaluated(plan, merge.get());
    QVERIFY(merge->isWhole());
    QCOMPARE(merged.reasons, whole.reasons);
    QCOMPARE(bitsOf(merged), bitsOf(whole));
}

void SharedUnitsTest::othersRecordsAreNotTaken() {
    const Shards folder;
    {
        const auto part = folder.part(0, 1);
        evaluated(evaluationOf(), part.get());
        QVERIFY(part->finish());
    }
    auto scored = evaluationOf(), text = evaluationOf(), recipe = evaluationOf();
    scored.scored = Scored::SecondHalf;
    text.text.tokens[0] ^= 1;
    const auto other = std::make_shared<const QuantSpec>(*parseSpec("int8"));
    recipe.changes[0].specOf = [other](const TensorInfo&) { return other.get(); };
    for (const auto& plan : {evaluationOf("int5:block=16"), scored, recipe}) {
        const auto part = folder.part(0, 1);
        evaluated(plan, part.get());
        QCOMPARE(part->found(), std::size_t(0));
    }
    const auto part = folder.part(0, 1);
    evaluated(text, part.get());
    QCOMPARE(part->found(), std::size_t(5)); // only the first chunk has other tokens
}

void SharedUnitsTest::cosinesEqualThoseOfOneProcess() {
    const auto model = openModel(std::string("tests/data/eval/bert"));
    QVERIFY(model);
    EvaluationPlan plan;
    plan.text.tokens = *readTokens("tests/data/eval/bert/tokens.npy");
    plan.context = 4;
    plan.changes = {quantizedAs(*parseSpec("int4:block=16"))};
    const auto whole = evaluateEmbeddings(*model, plan, Job());
    QVERIFY(whole && whole->chunks > 3);
    const Shards folder;
    for (const std::size_t i : {2u, 0u, 1u}) {
        const auto part = folder.part(i, 3);
        plan.units = part.get();
        QVERIFY(evaluateEmbeddings(*model, plan, Job()) && part->finish());
    }
    const auto merge = folder.merge();
    plan.units = merge.get();
    const auto merged = evaluateEmbeddings(*model, plan, Job());
    QVERIFY(merged && merge->isWhole() && merge->computed() == 0);
    QCOMPARE(merged->cosines, whole->cosines);
    QCOMPARE(merged->reasons, whole->reasons);
}

void SharedUnitsTest::sensitivitiesEqualThatOfOneProcess_data() {
    QTest::addColumn<QString>("how");
    QTest::addColumn<int>("shards");
    for (const SensitivityHow& how : sensitivityHows())
        QTest::addRow("%s, 3 shards", how.id) << QString::fromLatin1(how.id) << 3;
    QTest::addRow("alone, 5 shards") << QStringLiteral("alone") << 5;
}

void SharedUnitsTest::sensitivitiesEqualThatOfOneProcess() {
    QFETCH(QString, how);
    QFETCH(int, shards);
    auto plan = planOf(how.toLatin1().constData(), {"nf4:block=16", "int8"});
    plan.by = findGrouping("layer");
    const auto whole = measured(plan);
    const Shards folder;
    for (int i = shards; i-- > 0;) {
        const auto part = folder.part(std::size_t(i), std::size_t(shards));
        plan.units = part.get();
        measured(plan);
        QVERIFY(part->finish());
    }
    const auto merge = folder.merge();
    plan.units = merge.get();
    const auto merged = measured(plan);
    const auto finished = merge->finish();
    QVERIFY2(finished, finished ? "" : finished.error().message.c_str());
    QCOMPARE(merge->computed(), std::size_t(0));
    QCOMPARE(merged.runs, std::size_t(0));
    QCOMPARE(merged.keptRuns, whole.runs);
    QVERIFY(figuresOf(merged) == figuresOf(whole));
}

void SharedUnitsTest::whatIsInTheCacheIsKept() {
    for (const char* how : {"alone", "output"}) {
        auto plan = planOf(how, {"int8"});
        plan.by = findGrouping("layer"), plan.chunks = 1;
        const QTemporaryDir cache;
        plan.cache = cache.path().toStdString();
        const auto whole = measured(plan);
        const Shards folder;
        const auto part = folder.part(0, 1);
        plan.units = part.get();
        const auto again = measured(plan);
        QCOMPARE(again.runs, std::size_t(0));
        QVERIFY(part->finish());
        const auto merge = folder.merge();
        plan.units = merge.get(), plan.cache.clear();
        QVERIFY(figuresOf(measured(plan)) == figuresOf(whole));
        QVERIFY(merge->isWhole());
    }
}

void SharedUnitsTest::whenARunEndsDoesNotDependOnTheCache() {
    auto plan = planOf("alone", {"nf4:block=16"});
    plan.by = findGrouping("layer");
    plan.context = kContext / 4, plan.chunks = 3 * kChunksToEnd, plan.until = 0.5;
    const auto expected = measured(plan);
    const QTemporaryDir cache;
    plan.cache = cache.path().toStdString(), plan.until = 0;
    measured(plan); // whole runs
    plan.until = 0.5;
    const auto fromCache = measured(plan);
    QCOMPARE(fromCache.runs, std::size_t(0));
    QCOMPARE(fromCache.endedRuns, expected.endedRuns);
    QVERIFY(figuresOf(fromCache) == figuresOf(expected));
}

void SharedUnitsTest::aPositionOutsideOfTheChunkIsNotTaken() {
    const auto plan = evaluationOf();
    const Shards folder;
    {
        const auto part = folder.part(0, 1);
        evaluated(plan, part.get());
        QVERIFY(part->finish());
    }
    // Of the first score of the first change: two counts, token, chunk.
    constexpr qsizetype position = 8 + 8 + 4 + 8;
    for (const QString& name : QDir(folder.path()).entryList({QStringLiteral("*.records")})) {
        auto file = qs::test::RecordsFile::read(folder.path() + QLatin1Char('/') + name);
        for (auto& record : file.records) qs::test::overwrite(record.bytes, position, std::uint64_t(1) << 40);
        file.write(folder.path() + QLatin1Char('/') + name);
    }
    const auto merge = folder.merge();
    auto own = plan;
    ProfileGatherer profile(plan.context);
    own.arrived = [&](std::size_t, std::span<const TokenScore> scores) { profile.add(scores); };
    evaluated(own, merge.get());
    const auto finished = merge->finish();
    QVERIFY(!finished && finished.error().message.starts_with("6 of 6 units are missing"));
    QCOMPARE(profile.profile().tokens(), std::uint64_t(0));
}

void SharedUnitsTest::changedRecordsDoNoHarm_data() {
    QTest::addColumn<QString>("what");
    for (const char* what : {"evaluation", "cosines", "alone", "output", "slope"})
        QTest::addRow("%s", what) << QString::fromLatin1(what);
}

void SharedUnitsTest::changedRecordsDoNoHarm() {
    QFETCH(QString, what);
    const auto bert = openModel(std::string("tests/data/eval/bert"));
    const auto compute = [&](UnitRun* units) {
        if (what == QLatin1String("evaluation")) {
            auto plan = evaluationOf();
            plan.units = units;
            ProfileGatherer profile(plan.context);
            plan.arrived = [&](std::size_t, std::span<const TokenScore> scores) { profile.add(scores); };
            const auto result = evaluate(llama(), plan, Job());
            if (!result || !units->isWhole()) return;
            const auto record = recordOf(plan, *result, {profile.profile(), profile.profile()}, nullptr);
            recordSection(record);
            pairedRows(std::vector<std::string>{"a", "b"}, result->scores);
        } else if (what == QLatin1String("cosines")) {
            EvaluationPlan plan;
            plan.text.tokens = *readTokens("tests/data/eval/bert/tokens.npy");
            plan.context = 4, plan.units = units;
            plan.changes = {quantizedAs(*parseSpec("int4:block=16"))};
            const auto result = evaluateEmbeddings(*bert, plan, Job());
            if (result) recordSection(recordOf(plan, *result));
        } else {
            auto plan = planOf(what.toLatin1().constData(), {"int8"});
            plan.by = findGrouping("layer"), plan.units = units;
            figuresOf(measured(plan));
        }
    };
    const Shards good, changed;
    {
        const auto part = good.part(0, 1);
        compute(part.get());
        QVERIFY(part->finish());
    }
    std::mt19937 random(2);
    for (int round = 0; round < 60; ++round) {
        qs::test::copyFiles(good.path(), changed.path());
        qs::test::changeRecords(changed.path(), random);
        const auto merge = changed.merge();
        compute(merge.get());
        (void)merge->finish();
    }
}

QS_TEST(SharedUnitsTest)
#include "shared_units_test.moc"
