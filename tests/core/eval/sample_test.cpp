// SPDX-License-Identifier: GPL-3.0-or-later
// The forward pass over the sample model, against what PyTorch computed for every byte of its held-out text.
#include "core/eval/forward/hidden_states.h"
#include "core/eval/run/evaluate.h"
#include "core/value/npy.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QFile>
#include <QtTest>

using namespace qs;
using namespace qs::eval;
using namespace qs::test;

namespace {

constexpr auto kSampleFolder = "resources/samples/tiny-llama";
// PyTorch gave a figure for each of 70,876 bytes. These are the first of them; sanitized builds compare fewer.
constexpr std::size_t kSampleContext = 256, kSampleChunks = qs::test::kThinning > 1 ? 2 : 9;
constexpr std::size_t kShort = 64; ///< the context of tests whose figures are compared with each other only

QByteArray sampleBytes(const QString& name) {
    return bytesOf(QString::fromLatin1(kSampleFolder) + QLatin1Char('/') + name);
}

/// The sample's tokens are the bytes of its text.
EvaluationPlan samplePlan(std::initializer_list<const char*> specs) {
    EvaluationPlan plan;
    for (const char byte : sampleBytes(QStringLiteral("heldout.txt"))) plan.text.tokens.push_back(std::uint8_t(byte));
    plan.context = kSampleContext, plan.chunks = kSampleChunks, plan.scored = Scored::All;
    for (const char* text : specs) plan.changes.push_back(quantizedAs(*parseSpec(text)));
    return plan;
}

Evaluation sampleEvaluation(const EvaluationPlan& plan) {
    const auto model = openModel(kSampleFolder);
    if (!model) qFatal("%s", model.error().message.c_str());
    auto result = evaluate(*model, plan, Job());
    if (!result) qFatal("%s", result.error().message.c_str());
    return std::move(*result);
}

} // namespace

class SampleTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyTokenIsPyTorchs();
    void specsAreOrderedByTheirBits();
    void threadsChangeNothing();
    void groupsChangeNothing();
    void memoryStaysInItsBudget();
    void badPlansAreRefused();
};

void SampleTest::everyTokenIsPyTorchs() {
    const auto result = sampleEvaluation(samplePlan({"f32"}));
    const QByteArray file = sampleBytes(QStringLiteral("reference_nll.npy"));
    const auto expected = value::parseNpy(std::as_bytes(std::span(file.constData(), std::size_t(file.size()))));
    QVERIFY(expected);
    const auto& scores = result.scores.front();
    QCOMPARE(scores.size(), kSampleChunks * kSampleContext);
    double worst = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        QVERIFY(scores[i].finite);
        worst = std::max(worst, std::fabs(scores[i].referenceNll - double(expected->values[i])));
        QCOMPARE(scores[i].divergence, 0.0); // f32 changes no weight
        QVERIFY(scores[i].sameTop);
        QCOMPARE(scores[i].chunk, i / kSampleContext);
        QCOMPARE(scores[i].position, i % kSampleContext);
    }
    // PyTorch's own f32 is within 1.4e-5 of its f64 here.
    QVERIFY2(worst < 5e-5, qPrintable(QString::number(worst)));
}

void SampleTest::specsAreOrderedByTheirBits() {
    auto plan = samplePlan({"int8:block=32", "int4:block=32", "int3:block=32", "int2:block=32"});
    plan.scored = Scored::SecondHalf, plan.context = kShort;
    const auto result = sampleEvaluation(plan);
    double before = 0;
    for (std::size_t i = 0; i < plan.changes.size(); ++i) {
        QCOMPARE(result.scores[i].size(), kSampleChunks * (kShort - 1 - kShort / 2));
        const auto summary = summarize(result.scores[i]);
        QVERIFY(summary);
        QVERIFY2(summary->divergence.mean > 3 * before, qPrintable(QString::number(summary->divergence.mean)));
        QVERIFY(summary->divergence.byChunk && summary->divergence.independent);
        before = summary->divergence.mean;
    }
    QVERIFY2(before > 0.1 && before < 10, qPrintable(QString::number(before))); // two bits break the model
}

void SampleTest::threadsChangeNothing() {
    const auto model = openModel(kSampleFolder);
    QVERIFY(model);
    auto net = readNetwork(**model);
    QVERIFY(net);
    const auto weights = NetworkWeights::of(*model, *net);
    QVERIFY(weights);
    const auto tokens = samplePlan({}).text.tokens;
    const auto statesWith = [&](unsigned threads, std::size_t chunks) {
        PassRoom room(*net, PassSizes(kShort, chunks), threads);
        HiddenStates states(*net, *weights->embed(std::span(tokens).first(kShort * 3), kShort, nullptr, Job()), kShort);
        for (std::size_t layer = 0; layer < net->layers.size(); ++layer) {
            const PreparedLayer prepared(*net, *weights->layer(layer, nullptr, Job()), net->layers[layer], room);
            if (!states.pass(prepared, room, Job())) qFatal("cancelled");
        }
        return std::vector<float>(states.values().begin(), states.values().end());
    };
    const auto one = statesWith(1, 1);
    for (const unsigned threads : {2u, 3u, 5u}) QCOMPARE(statesWith(threads, 1), one);
    QCOMPARE(statesWith(2, 3), one); // nor do chunks that go together
}

/// A figure of this process in /proc/self/status, in bytes.
std::uint64_t processBytes(const char* key) {
    QFile file(QStringLiteral("/proc/self/status"));
    if (!file.open(QIODevice::ReadOnly)) return 0;
    for (const QByteArray& line : file.readAll().split('\n'))
        if (line.startsWith(key)) return line.simplified().split(' ').at(1).toULongLong() * 1024;
    return 0;
}
/// The most memory that `run` added to that of the process.
template<class Run> std::uint64_t peakOf(const Run& run) {
    QFile file(QStringLiteral("/proc/self/clear_refs"));
    if (!file.open(QIODevice::WriteOnly) || file.write("5") != 1) return 0; // resets VmHWM
    file.close();
    const std::uint64_t before = processBytes("VmRSS");
    run();
    return processBytes("VmHWM") - before;
}

void SampleTest::memoryStaysInItsBudget() {
    if (qs::test::kThinning > 1) QSKIP("the sanitizer's own memory is many times the program's");
    constexpr std::uint64_t kBudget = std::uint64_t(120) << 20;
    auto plan = samplePlan({});
    for (int i = 0; i < 24; ++i) plan.changes.push_back(quantizedAs(*parseSpec("int4:block=32")));
    plan.chunks = 2, plan.context = kShort;
    Evaluation within, free;
    plan.memory = kBudget;
    const std::uint64_t peak = peakOf([&] { within = sampleEvaluation(plan); });
    if (peak == 0) QSKIP("The peak of the process cannot be reset here.");
    QVERIFY2(peak < kBudget, qPrintable(QString::number(peak)));
    plan.memory = std::uint64_t(4) << 30; // keeps the weights of 25 networks of 7 MB
    const std::uint64_t most = peakOf([&] { free = sampleEvaluation(plan); });
    QVERIFY2(most > kBudget, qPrintable(QString::number(most)));
    for (std::size_t i = 0; i < within.scores[0].size(); ++i) {
        QCOMPARE(within.scores[0][i].nll, free.scores[0][i].nll);
        QCOMPARE(within.scores[0][i].divergence, free.scores[0][i].divergence);
    }
}

void SampleTest::groupsChangeNothing() {
    auto plan = samplePlan({"nf4:block=32"});
    plan.chunks = 3, plan.context = kShort;
    const auto together = sampleEvaluation(plan);
    plan.memory = 1; // a chunk at a time
    const auto alone = sampleEvaluation(plan);
    QCOMPARE(alone.scores[0].size(), together.scores[0].size());
    for (std::size_t i = 0; i < alone.scores[0].size(); ++i) {
        QCOMPARE(alone.scores[0][i].nll, together.scores[0][i].nll);
        QCOMPARE(alone.scores[0][i].divergence, together.scores[0][i].divergence);
        QCOMPARE(alone.scores[0][i].chunk, together.scores[0][i].chunk);
    }
}

void SampleTest::badPlansAreRefused() {
    const auto model = openModel(kSampleFolder);
    QVERIFY(model);
    const auto refusal = [&](const EvaluationPlan& plan) {
        const auto result = evaluate(*model, plan, Job());
        return result ? QString() : QString::fromStdString(result.error().message);
    };
    auto plan = samplePlan({"nf4:block=32"});
    plan.text.tokens[3] = 256;
    QCOMPARE(refusal(plan), QStringLiteral("Token 4 of the text is 256; the vocabulary has 256 tokens, from 0 on."));
    plan = samplePlan({"nf4:block=32"});
    plan.context = 512;
    QCOMPARE(refusal(plan),
             QStringLiteral("The network was made for 256 positions: use a context of at most 256, not 512."));
    plan = samplePlan({"nf4:block=32"});
    plan.text.tokens.resize(200), plan.scored = Scored::SecondHalf;
    QCOMPARE(refusal(plan), QStringLiteral("The text has 200 tokens; a context of 256 needs at least 256."));
    plan = samplePlan({"q4_k"}); // rows of 192 are no whole blocks
    const auto result = evaluate(*model, plan, Job());
    QVERIFY(result);
    QVERIFY(!result->reasons.front().empty() && result->scores.front().empty());
}

QS_TEST(SampleTest)
#include "sample_test.moc"
