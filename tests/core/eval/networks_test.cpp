// SPDX-License-Identifier: GPL-3.0-or-later
// Every family of architectures() against the logits of transformers (tests/data/eval/make_networks.py).
#include "core/eval/forward/experts.h"
#include "core/eval/network/network_weights.h"
#include "core/eval/run/embeddings.h"
#include "core/eval/run/scored_text.h"
#include "core/eval/tokenizer/token_file.h"
#include "core/value/npy.h"
#include "tests/core/eval/small_networks.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <set>

using namespace qs;
using namespace qs::eval;
using namespace qs::test;

namespace {

const QString kGguf = kNetworks + QStringLiteral("gguf/");
constexpr double kMostDifference = 1e-4; ///< relative to the largest logit of the text

QStringList networks() {
    QStringList out;
    for (const QString& name : QDir(kNetworks).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
        if (QFile::exists(kNetworks + name + QStringLiteral("/config.json"))) out << name;
    return out;
}

std::vector<std::int32_t> tokensOf(const QString& name) {
    const auto tokens = readTokens((kNetworks + name + QStringLiteral("/tokens.npy")).toStdString());
    return tokens ? *tokens : std::vector<std::int32_t>();
}

bool isEncoder(const QString& name) { return QFile::exists(kNetworks + name + QStringLiteral("/embeddings.npy")); }

/// Values against those of a .npy file.
void compareValues(const Result<std::vector<float>>& values, const QString& golden) {
    QVERIFY2(values, values ? "" : values.error().message.c_str());
    const QByteArray file = bytesOf(golden);
    const auto expected = value::parseNpy(std::as_bytes(std::span(file.constData(), std::size_t(file.size()))));
    QVERIFY(expected);
    QCOMPARE(values->size(), expected->values.size());
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < values->size(); ++i) {
        worst = std::max(worst, std::fabs(double((*values)[i]) - double(expected->values[i])));
        largest = std::max(largest, std::fabs(double(expected->values[i])));
    }
    QVERIFY2(worst <= kMostDifference * largest, qPrintable(QStringLiteral("%1 of %2").arg(worst).arg(largest)));
}

void compareLogits(const QString& path, const QString& name, const QString& golden) {
    const auto model = openModel(path.toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    const auto tokens = tokensOf(name);
    QVERIFY(!tokens.empty());
    compareValues(logitsOf(*model, tokens, tokens.size(), Job()), golden);
}

/// Mean KL of a model under a spec, over its tokens.
double meanKl(const QString& path, const QString& name, const char* spec) {
    const auto model = openModel(path.toStdString());
    if (!model) qFatal("%s", model.error().message.c_str());
    EvaluationPlan plan;
    plan.text.tokens = tokensOf(name);
    plan.context = plan.text.tokens.size();
    plan.scored = Scored::All;
    plan.changes.push_back(quantizedAs(*parseSpec(spec)));
    const auto result = evaluate(*model, plan, Job());
    if (!result || !result->reasons.front().empty()) qFatal("no figures");
    return summarize(result->scores.front())->divergence.mean;
}

} // namespace

class NetworksTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void logitsAreThoseOfTransformers_data();
    void logitsAreThoseOfTransformers();
    void logitsOfGgufFilesAreTheSame_data();
    void logitsOfGgufFilesAreTheSame();
    void embeddingsAreThoseOfTransformers();
    void cosinesAreThoseOfEmbeddings();
    void tokensGoToTheirLargestExperts();
    void expertsAreQuantizedSliceBySlice();
    void neitherRowsThatAreLeftOutNorMemoryChangeScores_data() { logitsAreThoseOfTransformers_data(); }
    void neitherRowsThatAreLeftOutNorMemoryChangeScores();
    void everyFamilyHasANetwork();
    void chunksDoNotSeeEachOther();
    void longChunksHaveAnglesOfTheirOwn();
};

void NetworksTest::logitsAreThoseOfTransformers_data() {
    QTest::addColumn<QString>("name");
    for (const QString& name : networks())
        if (!isEncoder(name)) QTest::newRow(qPrintable(name)) << name;
}

void NetworksTest::logitsAreThoseOfTransformers() {
    QFETCH(QString, name);
    compareLogits(kNetworks + name, name, kNetworks + name + QStringLiteral("/logits.npy"));
}

void NetworksTest::logitsOfGgufFilesAreTheSame_data() {
    QTest::addColumn<QString>("name");
    for (const QString& file : QDir(kGguf).entryList({QStringLiteral("*.gguf")}))
        if (!isEncoder(file.chopped(5))) QTest::newRow(qPrintable(file)) << file.chopped(5);
}

void NetworksTest::logitsOfGgufFilesAreTheSame() {
    QFETCH(QString, name);
    const QString own = kGguf + name + QStringLiteral(".npy"); // where a GGUF file says something else
    compareLogits(kGguf + name + QStringLiteral(".gguf"), name,
                  QFile::exists(own) ? own : kNetworks + name + QStringLiteral("/logits.npy"));
}

/// Where the second half of every chunk is scored, the last layer computes no other rows. With little memory, experts are loaded
/// one after another.
void NetworksTest::neitherRowsThatAreLeftOutNorMemoryChangeScores() {
    QFETCH(QString, name);
    const auto model = openModel((kNetworks + name).toStdString());
    QVERIFY(model);
    EvaluationPlan plan;
    plan.text.tokens = tokensOf(name);
    plan.context = 8;
    plan.changes.push_back(quantizedAs(*parseSpec("int8")));
    const auto scoresOf = [&](Scored scored, std::uint64_t memory) {
        plan.scored = scored, plan.memory = memory;
        const auto result = evaluate(*model, plan, Job());
        if (!result || !result->reasons.front().empty()) qFatal("no figures");
        return result->scores.front();
    };
    const auto half = scoresOf(Scored::SecondHalf, 0), all = scoresOf(Scored::All, 0);
    const auto little = scoresOf(Scored::SecondHalf, 1);
    QVERIFY(!half.empty());
    QCOMPARE(little.size(), half.size());
    for (std::size_t i = 0; i < half.size(); ++i) {
        const auto same = [&](const TokenScore& other) {
            return other.chunk == half[i].chunk && other.position == half[i].position;
        };
        const auto full = std::find_if(all.begin(), all.end(), same);
        QVERIFY(full != all.end() && same(little[i]));
        for (const TokenScore* each : {&*full, &little[i]}) {
            QVERIFY(each->divergence == half[i].divergence);
            QVERIFY(each->nll == half[i].nll);
            QVERIFY(each->referenceNll == half[i].referenceNll);
        }
    }
}

void NetworksTest::everyFamilyHasANetwork() {
    std::set<std::string> types;
    for (const QString& name : networks()) types.insert(configOf(name)["model_type"].get<std::string>());
    for (const Architecture& family : architectures())
        for (const std::string_view type : family.modelTypes)
            QVERIFY2(types.contains(std::string(type)), std::string(type).c_str());
}

void NetworksTest::embeddingsAreThoseOfTransformers() {
    const QString name = QStringLiteral("bert");
    for (const QString& path : {kNetworks + name, kGguf + name + QStringLiteral(".gguf")}) {
        const auto model = openModel(path.toStdString());
        QVERIFY2(model, model ? "" : model.error().message.c_str());
        compareValues(embeddingsOf(*model, tokensOf(name), 10, Job()),
                      kNetworks + name + QStringLiteral("/embeddings.npy"));
        QVERIFY(!logitsOf(*model, tokensOf(name), 10, Job()));
    }
}

void NetworksTest::cosinesAreThoseOfEmbeddings() {
    const auto model = openModel((kNetworks + QStringLiteral("bert")).toStdString());
    QVERIFY(model);
    EvaluationPlan plan;
    plan.text.tokens = tokensOf(QStringLiteral("bert"));
    plan.context = 10;
    for (const char* spec : {"f32", "int4:block=16"}) plan.changes.push_back(quantizedAs(*parseSpec(spec)));
    const auto result = evaluateEmbeddings(*model, plan, Job());
    QVERIFY2(result, result ? "" : result.error().message.c_str());
    QCOMPARE(result->chunks, std::size_t(3));
    const auto rows = embeddingRows(plan, *result);
    QCOMPARE(rows[0].summary->cosine.mean, 1.0);
    QVERIFY(rows[1].summary->cosine.mean < 0.999 && rows[1].summary->cosine.mean > 0.5);
    QVERIFY(rows[1].summary->least <= rows[1].summary->percentile10);
    // A chunk alone has the same embedding.
    plan.text.tokens.resize(10);
    const auto alone = evaluateEmbeddings(*model, plan, Job());
    QVERIFY(alone);
    QCOMPARE(alone->cosines[1].front(), result->cosines[1].front());
    // Tokens that the tokenizer puts around a text take the place of the first and the last of a chunk.
    plan.text.frame.emplace(3, 4);
    const auto inputs = framedInputs(plan.text, 10, 6);
    QCOMPARE(std::vector<std::int32_t>({inputs[0], inputs[5], inputs[6], inputs[9]}),
             std::vector<std::int32_t>({3, 4, 3, 4}));
    const auto decoder = openModel((kNetworks + QStringLiteral("llama")).toStdString());
    QVERIFY(decoder && !evaluateEmbeddings(*decoder, plan, Job()));
}

void NetworksTest::tokensGoToTheirLargestExperts() {
    const float scores[] = {0, std::log(3.0f),
                            0, std::log(6.0f), // shares 1/11, 3/11, 1/11, 6/11
                            0, 0,
                            0, 0}; // equal: the first ones
    Mixture mixture{4, 2, 8, true};
    const auto factor = [&](std::size_t expert, std::size_t token) {
        const auto routes = route(mixture, scores);
        for (const Routed& routed : routes[expert])
            if (routed.token == token) return routed.factor;
        return 0.0f;
    };
    const float expected[2][2][4] = {{{0, 1 / 3.0f, 0, 2 / 3.0f}, {0.5f, 0.5f, 0, 0}},
                                     {{0, 3 / 11.0f, 0, 6 / 11.0f}, {0.25f, 0.25f, 0, 0}}};
    for (const bool sumsToOne : {true, false}) {
        mixture.sumsToOne = sumsToOne;
        for (std::size_t token = 0; token < 2; ++token)
            for (std::size_t expert = 0; expert < 4; ++expert)
                QVERIFY(std::fabs(factor(expert, token) - expected[sumsToOne ? 0 : 1][token][expert]) < 1e-6f);
    }
}

// Experts as one tensor and as a tensor each are the same under a spec whose scales lie in rows.
void NetworksTest::expertsAreQuantizedSliceBySlice() {
    const QString name = QStringLiteral("qwen3_moe");
    const double apart = meanKl(kNetworks + name, name, "int4:block=16"),
                 together = meanKl(kGguf + name + QStringLiteral(".gguf"), name, "int4:block=16");
    QVERIFY2(apart > 0.01, qPrintable(QString::number(apart)));
    QVERIFY2(std::fabs(apart - together) < 1e-4 * apart, qPrintable(QStringLiteral("%1 %2").arg(apart).arg(together)));

    // One expert in memory at a time, unless something is of all experts.
    const auto model = openModel((kGguf + name + QStringLiteral(".gguf")).toStdString());
    QVERIFY(model);
    auto network = readNetwork(**model);
    QVERIFY(network);
    const auto weights = NetworkWeights::of(*model, *network);
    QVERIFY(weights);
    const auto bytes = [&](const char* spec) {
        const WeightChange change = quantizedAs(*parseSpec(spec));
        return double(weights->layerBytesAtOnce(0, &change)) / double(weights->layerBytes(0, &change));
    };
    QVERIFY2(bytes("int4:block=16") < 0.6 * bytes("int4:scale=tensor"),
             qPrintable(QString::number(bytes("int4:block=16"))));
}

void NetworksTest::chunksDoNotSeeEachOther() {
    const auto model = openModel((kNetworks + QStringLiteral("mistral")).toStdString());
    QVERIFY(model);
    const auto tokens = readTokens((kNetworks + QStringLiteral("mistral/tokens.npy")).toStdString());
    QVERIFY(tokens);
    const auto together = logitsOf(*model, *tokens, 9, Job());
    QVERIFY(together);
    const std::size_t vocabulary = together->size() / tokens->size();
    for (std::size_t begin = 0; begin < tokens->size(); begin += 9) {
        const std::size_t count = std::min<std::size_t>(9, tokens->size() - begin);
        const auto alone = logitsOf(*model, std::span(*tokens).subspan(begin, count), 9, Job());
        QVERIFY(alone);
        QVERIFY(std::equal(alone->begin(), alone->end(), together->begin() + std::ptrdiff_t(begin * vocabulary)));
    }
}

// longrope: chunks beyond the original context, and shorter ones in the same text. The logits of both kinds are in
// phi3_longer/logits.npy and phi3_long/logits.npy.
void NetworksTest::longChunksHaveAnglesOfTheirOwn() {
    const QString name = QStringLiteral("phi3_longer"); // 16 positions at first
    for (const QString& path : {kNetworks + name, kGguf + name + QStringLiteral(".gguf")}) {
        const auto model = openModel(path.toStdString());
        QVERIFY(model);
        const auto tokens = tokensOf(name);
        const auto all = std::span(tokens);
        const auto together = logitsOf(*model, tokens, 17, Job()), first = logitsOf(*model, all.first(17), 17, Job()),
                   second = logitsOf(*model, all.subspan(17), 7, Job()),
                   whole = logitsOf(*model, tokens, tokens.size(), Job()),
                   early = logitsOf(*model, all.first(8), 8, Job());
        QVERIFY(together && first && second && whole && early);
        QVERIFY(std::equal(first->begin(), first->end(), together->begin()));
        QVERIFY(std::equal(second->begin(), second->end(), together->begin() + std::ptrdiff_t(first->size())));
        double difference = 0; // the same tokens in a long chunk and in a short one
        for (std::size_t i = 0; i < early->size(); ++i)
            difference = std::max(difference, std::fabs(double((*early)[i]) - double((*whole)[i])));
        QVERIFY2(difference > 1e-2, qPrintable(QString::number(difference)));
    }
    auto config = configOf(name);
    config["rope_parameters"].erase("long_factor");
    QVERIFY(Changed(name, config).refusal().contains(QLatin1String("long_factor")));
}

QS_TEST(NetworksTest)
#include "networks_test.moc"
