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
    void numbersAreChecked();
    void angles();
    void windowsOfQwen3Moe();
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

// A number out of its range, or of another kind, is never taken and never left out in silence.
void NetworksRefuseTest::numbersAreChecked() {
    const QString name = QStringLiteral("llama");
    for (const auto& [key, bad] :
         std::vector<std::pair<const char*, nlohmann::json>>{{"rms_norm_eps", -1.0},
                                                             {"rms_norm_eps", 1e308},
                                                             {"rms_norm_eps", "1e-5"},
                                                             {"rope_theta", 1e-320},
                                                             {"rope_theta", -1e4},
                                                             {"rope_theta", 1e300},
                                                             {"partial_rotary_factor", true},
                                                             {"rope_scaling", "linear"},
                                                             {"rope_scaling", nlohmann::json::array({4.0})},
                                                             {"rope_parameters", 3}}) {
        auto config = configOf(name);
        config.erase("rope_parameters");
        config[key] = bad;
        const QString refusal = Changed(name, config).refusal();
        QVERIFY2(refusal.contains(QLatin1String(key)), qPrintable(refusal + QLatin1String(key)));
    }
    for (const nlohmann::json& bad : {nlohmann::json(0.5), nlohmann::json("4"), nlohmann::json(1e308)}) {
        auto config = configOf(name);
        config.erase("rope_parameters");
        config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", bad}};
        const QString refusal = Changed(name, config).refusal();
        QVERIFY2(refusal.contains(QLatin1String("rope scaling.factor")), qPrintable(refusal));
    }
}

// transformers 5.23 takes rope_scaling where it says anything, and rope_parameters otherwise.
void NetworksRefuseTest::angles() {
    const QString name = QStringLiteral("llama");
    const auto frequencies = [&](const nlohmann::json& scaling, const nlohmann::json& parameters) {
        auto config = configOf(name);
        config["rope_scaling"] = scaling, config["rope_parameters"] = parameters;
        config["rope_theta"] = 1e4;
        return Changed(name, config).network().ropes.front().frequency;
    };
    const nlohmann::json plain = {{"rope_type", "default"}, {"rope_theta", 1e4}},
                         half = {{"rope_type", "linear"}, {"factor", 2.0}}, none;
    const auto straight = frequencies(none, plain), stretched = frequencies(half, none);
    QVERIFY(straight.size() > 1);
    for (std::size_t i = 0; i < straight.size(); ++i) QCOMPARE(stretched[i], straight[i] / 2);
    QCOMPARE(frequencies(half, plain), stretched);
    QCOMPARE(frequencies(plain, half), straight);
    QCOMPARE(frequencies(nlohmann::json::object(), half), stretched);
}

// transformers 5.23 has one mask for all layers of Qwen3-MoE, whatever max_window_layers says.
void NetworksRefuseTest::windowsOfQwen3Moe() {
    const QString name = QStringLiteral("qwen3_moe");
    auto config = configOf(name);
    config["use_sliding_window"] = true, config["sliding_window"] = 7, config["max_window_layers"] = 1;
    for (const auto& layer : Changed(name, config).network().layers) QCOMPARE(layer.window, std::int64_t(7));
    config["sliding_window"] = nullptr;
    for (const auto& layer : Changed(name, config).network().layers) QCOMPARE(layer.window, std::int64_t(0));
}

QS_TEST(NetworksRefuseTest)
#include "networks_refuse_test.moc"
