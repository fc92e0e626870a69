// SPDX-License-Identifier: GPL-3.0-or-later
// Every family of architectures() against the logits of transformers (tests/data/eval/make_networks.py).
#include "core/eval/run/evaluate.h"
#include "core/eval/tokenizer/token_file.h"
#include "core/value/npy.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

using namespace qs;
using namespace qs::eval;

namespace {

const QString kFolder = QStringLiteral("tests/data/eval/");
constexpr double kMostDifference = 1e-4; ///< relative to the largest logit of the text

QStringList networks() {
    QStringList out;
    for (const QString& name : QDir(kFolder).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
        if (QFile::exists(kFolder + name + QStringLiteral("/config.json"))) out << name;
    return out;
}

QByteArray bytesOf(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) qFatal("%s is missing", qPrintable(path));
    return file.readAll();
}

nlohmann::json configOf(const QString& name) {
    return nlohmann::json::parse(bytesOf(kFolder + name + QStringLiteral("/config.json")).toStdString());
}

/// A copy of a network's folder whose config.json is changed.
class Changed {
public:
    Changed(const QString& name, const nlohmann::json& config) {
        QFile::copy(kFolder + name + QStringLiteral("/model.safetensors"),
                    dir_.filePath(QStringLiteral("model.safetensors")));
        QFile file(dir_.filePath(QStringLiteral("config.json")));
        if (!file.open(QIODevice::WriteOnly)) qFatal("no file");
        file.write(QByteArray::fromStdString(config.dump()));
    }
    QString refusal() const {
        const auto model = openModel(dir_.path().toStdString());
        if (!model) return QString::fromStdString(model.error().message);
        const std::vector<std::int32_t> tokens = {3, 4, 5};
        const auto logits = logitsOf(*model, tokens, 3, Job());
        return logits ? QString() : QString::fromStdString(logits.error().message);
    }

private:
    QTemporaryDir dir_;
};

} // namespace

class NetworksTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void logitsAreThoseOfTransformers_data();
    void logitsAreThoseOfTransformers();
    void everyFamilyHasANetwork();
    void chunksDoNotSeeEachOther();
    void unknownKeysAreRefusedByName();
    void shapesAreChecked();
};

void NetworksTest::logitsAreThoseOfTransformers_data() {
    QTest::addColumn<QString>("name");
    for (const QString& name : networks()) QTest::newRow(qPrintable(name)) << name;
}

void NetworksTest::logitsAreThoseOfTransformers() {
    QFETCH(QString, name);
    const QString folder = kFolder + name;
    const auto model = openModel(folder.toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    const auto tokens = readTokens((folder + QStringLiteral("/tokens.npy")).toStdString());
    QVERIFY2(tokens, tokens ? "" : tokens.error().message.c_str());
    const QByteArray file = bytesOf(folder + QStringLiteral("/logits.npy"));
    const auto expected = value::parseNpy(std::as_bytes(std::span(file.constData(), std::size_t(file.size()))));
    QVERIFY(expected);
    const auto logits = logitsOf(*model, *tokens, tokens->size(), Job());
    QVERIFY2(logits, logits ? "" : logits.error().message.c_str());
    QCOMPARE(logits->size(), expected->values.size());
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < logits->size(); ++i) {
        worst = std::max(worst, std::fabs(double((*logits)[i]) - double(expected->values[i])));
        largest = std::max(largest, std::fabs(double(expected->values[i])));
    }
    QVERIFY2(worst <= kMostDifference * largest, qPrintable(QStringLiteral("%1 of %2").arg(worst).arg(largest)));
}

void NetworksTest::everyFamilyHasANetwork() {
    std::set<std::string> types;
    for (const QString& name : networks()) types.insert(configOf(name)["model_type"].get<std::string>());
    for (const Architecture& family : architectures())
        for (const std::string_view type : family.modelTypes)
            QVERIFY2(types.contains(std::string(type)), std::string(type).c_str());
}

void NetworksTest::chunksDoNotSeeEachOther() {
    const auto model = openModel((kFolder + QStringLiteral("mistral")).toStdString());
    QVERIFY(model);
    const auto tokens = readTokens((kFolder + QStringLiteral("mistral/tokens.npy")).toStdString());
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

void NetworksTest::unknownKeysAreRefusedByName() {
    auto config = configOf(QStringLiteral("llama"));
    config["embedding_multiplier"] = 12.0;
    QVERIFY2(Changed(QStringLiteral("llama"), config).refusal().contains(QLatin1String("\"embedding_multiplier\"")),
             qPrintable(Changed(QStringLiteral("llama"), config).refusal()));
    config = configOf(QStringLiteral("llama"));
    config["rope_parameters"] = {{"rope_type", "yarn"}, {"factor", 4.0}};
    QVERIFY(Changed(QStringLiteral("llama"), config).refusal().contains(QLatin1String("\"yarn\"")));
    config = configOf(QStringLiteral("llama"));
    config["model_type"] = "mamba";
    const QString refusal = Changed(QStringLiteral("llama"), config).refusal();
    QVERIFY(refusal.contains(QLatin1String("\"mamba\"")) && refusal.contains(QLatin1String("Llama")));
    config = configOf(QStringLiteral("llama"));
    config["attention_bias"] = true;
    QVERIFY(Changed(QStringLiteral("llama"), config).refusal().contains(QLatin1String("biases of attention")));
    QCOMPARE(Changed(QStringLiteral("llama"), configOf(QStringLiteral("llama"))).refusal(), QString());
}

void NetworksTest::shapesAreChecked() {
    for (const auto& [key, value] : std::map<std::string, int>{{"intermediate_size", 47},
                                                               {"num_attention_heads", 8},
                                                               {"num_hidden_layers", 4},
                                                               {"vocab_size", 95},
                                                               {"hidden_size", 16}}) {
        auto config = configOf(QStringLiteral("llama"));
        config[key] = value;
        QVERIFY2(!Changed(QStringLiteral("llama"), config).refusal().isEmpty(), key.c_str());
    }
    // Sizes whose product is beyond 64 bits, and shares that no integer holds.
    auto large = configOf(QStringLiteral("llama"));
    large["num_attention_heads"] = large["head_dim"] = std::uint64_t(1) << 40;
    QVERIFY(Changed(QStringLiteral("llama"), large).refusal().contains(QLatin1String("2^24")));
    for (const double share : {1e300, -1.0, 0.0}) {
        auto config = configOf(QStringLiteral("llama"));
        config["partial_rotary_factor"] = share;
        QVERIFY(Changed(QStringLiteral("llama"), config).refusal().contains(QLatin1String("partial_rotary_factor")));
    }
    auto stretched = configOf(QStringLiteral("phi3"));
    stretched["original_max_position_embeddings"] = nullptr;
    stretched["rope_parameters"] = {{"rope_type", "longrope"},
                                    {"short_factor", std::vector<double>(4, 1.0)},
                                    {"original_max_position_embeddings", -1e300}};
    QVERIFY(Changed(QStringLiteral("phi3"), stretched).refusal().contains(QLatin1String("original_max_position")));
    for (const char* key : {"hidden_size", "num_attention_heads", "num_hidden_layers"}) {
        for (const nlohmann::json& bad : {nlohmann::json(), nlohmann::json(0), nlohmann::json(-3), nlohmann::json("8"),
                                          nlohmann::json(1e300), nlohmann::json(std::uint64_t(1) << 60)}) {
            auto config = configOf(QStringLiteral("llama"));
            config[key] = bad;
            QVERIFY2(!Changed(QStringLiteral("llama"), config).refusal().isEmpty(), key);
        }
    }
}

QS_TEST(NetworksTest)
#include "networks_test.moc"
