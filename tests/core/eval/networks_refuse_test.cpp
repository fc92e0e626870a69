// SPDX-License-Identifier: GPL-3.0-or-later
// What a config.json says of a network: what is refused, and by what name.
#include "tests/core/eval/small_networks.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <map>

using namespace qs;
using namespace qs::test;

class NetworksRefuseTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void languageModelsBesidePicturesRun();
    void unknownKeysAreRefusedByName();
    void shapesAreChecked();
};

// Both prefixes are tested by the logits of gemma3_vision and llava_vision; here what the outer configuration may say.
void NetworksRefuseTest::languageModelsBesidePicturesRun() {
    const QString name = QStringLiteral("gemma3_vision");
    auto config = configOf(name);
    config["text_config"].erase("model_type"); // the class default
    config["text_config"].erase("tie_word_embeddings");
    QCOMPARE(Changed(name, config).refusal(), QString());
    config["model_type"] = "unheard_of";
    QVERIFY(Changed(name, config).refusal().contains(QLatin1String("has no model_type in its text_config")));
    config = configOf(name);
    config["text_config"]["embedding_multiplier"] = 12.0;
    QVERIFY(Changed(name, config).refusal().contains(QLatin1String("\"embedding_multiplier\"")));
    config = configOf(QStringLiteral("llava_vision"));
    config["text_config"]["model_type"] = "mamba";
    QVERIFY(Changed(QStringLiteral("llava_vision"), config).refusal().contains(QLatin1String("\"mamba\"")));
}

void NetworksRefuseTest::unknownKeysAreRefusedByName() {
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
    QVERIFY(Changed(QStringLiteral("llama"), config)
                .refusal()
                .contains(QLatin1String("has no bias \"model.layers.0.self_attn.q_proj.bias\"")));
    QCOMPARE(Changed(QStringLiteral("llama"), configOf(QStringLiteral("llama"))).refusal(), QString());
}

void NetworksRefuseTest::shapesAreChecked() {
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

QS_TEST(NetworksRefuseTest)
#include "networks_refuse_test.moc"
