// SPDX-License-Identifier: GPL-3.0-or-later
// The names that settings for transformers give to layers, for networks whose checkpoints name them otherwise. Right
// values: named_modules() of networks of transformers 5.23, made of tiny configurations.
#include "core/layouts/layout.h"
#include "core/layouts/network_names.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::test;

class NetworkNamesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void layersHaveTheNamesOfTheNetwork_data();
    void layersHaveTheNamesOfTheNetwork();
    void prefixOfTheBaseIsAddedAndDropped();
    void settingsKeepNothingElse_data();
    void settingsKeepNothingElse();
    void mixtureNamesItsLayers();
    void gptqNamesItsBlocks();
    void whatHasNoKnownNameIsRefused();
};

namespace {

/// A folder with 64 x 64 matrices of these modules, and what config.json says.
std::shared_ptr<const Model> networkOf(const QTemporaryDir& dir, const QString& type, const QStringList& modules) {
    put(dir.path(), QStringLiteral("config.json"), QStringLiteral(R"({"model_type": "%1"})").arg(type).toUtf8());
    std::vector<float> values(64 * 64);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(int(i % 31) - 15) / 16;
    std::vector<TensorToWrite> tensors;
    for (const QString& module : modules)
        tensors.push_back(made<float>(module.toStdString() + ".weight", DType::F32, {64, 64}, values));
    opened(dir, std::move(tensors), "model.safetensors");
    const auto model = openModel(dir.path().toStdString());
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

/// quantization_config of an export in which what `rule` matches stays, or gets `second`.
Result<nlohmann::json> settingsOf(const Model& model, const char* layout, const char* spec, const char* rule,
                                  const char* second = "") {
    const QTemporaryDir out;
    QuantizeRequest request;
    request.spec = *parseSpec(spec), request.layout = layout;
    request.output = out.filePath(QStringLiteral("out")).toStdString();
    if (*rule) request.rules = {{rule, std::nullopt}};
    if (*second) request.rules.front().spec = *parseSpec(second);
    if (const auto done = quantizeModel(model, request, Job{}); !done) return tl::unexpected(done.error());
    return nlohmann::json::parse(bytesOf(out.filePath(QStringLiteral("out/config.json"))).toStdString())
        .at("quantization_config");
}

QStringList wordsOf(const nlohmann::json& list) {
    QStringList out;
    for (const auto& one : list) out << QString::fromStdString(one.get<std::string>());
    return out;
}

} // namespace

void NetworkNamesTest::layersHaveTheNamesOfTheNetwork_data() {
    QTest::addColumn<QString>("type");
    QTest::addColumn<QString>("stored");
    QTest::addColumn<QStringList>("inNetwork");
    const auto row = [](const char* type, const char* stored, const char* inNetwork) {
        QTest::addRow("%s: %s", type, stored) << QString::fromLatin1(type) << QString::fromLatin1(stored)
                                              << QString::fromLatin1(inNetwork).split(QLatin1Char(' '));
    };
    row("llama", "model.layers.1.mlp.up_proj", "model.layers.1.mlp.up_proj");
    row("nobody", "encoder.layer.1.output.dense", "encoder.layer.1.output.dense");
    for (const char* type : {"vit", "deit", "ijepa"}) {
        row(type, "encoder.layer.1.attention.attention.query", "layers.1.attention.q_proj");
        row(type, "encoder.layer.1.attention.output.dense", "layers.1.attention.o_proj");
        row(type, "encoder.layer.1.output.dense", "layers.1.mlp.fc2");
    }
    row("vit_msn", "vit.encoder.layer.1.output.dense", "vit.layers.1.mlp.fc2");
    row("beit", "beit.encoder.layer.1.intermediate.dense", "beit.layers.1.mlp.fc1");
    row("segformer", "segformer.encoder.block.1.0.attention.self.query", "segformer.stages.1.blocks.0.attention.q_proj");
    row("segformer", "segformer.encoder.block.3.1.mlp.dense2", "segformer.stages.3.blocks.1.mlp.fc2");
    row("segformer", "decode_head.linear_c.2.proj", "decode_head.linear_projections.2.proj");
    row("swin", "swin.encoder.layers.1.blocks.0.attention.self.key",
        "swin.encoder.layers.1.blocks.0.attention.k_proj");
    row("dinov2_with_registers", "encoder.layer.1.attention.attention.key", "encoder.layer.1.attention.k_proj");
    row("dinov2", "encoder.layer.0.mlp.weights_in", "encoder.layer.0.mlp.gate_proj encoder.layer.0.mlp.up_proj");
    row("gpt_neox", "embed_out", "lm_head");
    row("phimoe", "model.layers.1.block_sparse_moe.gate", "model.layers.1.mlp.router");
    for (const char* type : {"llava", "gemma3", "mistral3", "internvl"}) {
        row(type, "language_model.model.layers.1.mlp.up_proj", "model.language_model.layers.1.mlp.up_proj");
        row(type, "language_model.lm_head", "lm_head");
    }
    row("llava", "vision_tower.vision_model.encoder.layers.1.mlp.fc1", "model.vision_tower.encoder.layers.1.mlp.fc1");
    row("llava", "multi_modal_projector.linear_1", "model.multi_modal_projector.linear_1");
    row("qwen2_vl", "model.layers.1.mlp.up_proj", "model.language_model.layers.1.mlp.up_proj");
    row("qwen2_5_vl", "visual.blocks.1.attn.proj", "model.visual.blocks.1.attn.proj");
}

void NetworkNamesTest::layersHaveTheNamesOfTheNetwork() {
    QFETCH(QString, type);
    QFETCH(QString, stored);
    QFETCH(QStringList, inNetwork);
    const QTemporaryDir dir;
    const auto names = NetworkNames(*networkOf(dir, type, {stored})).inNetwork(stored.toStdString());
    QVERIFY2(names.has_value(), names ? "" : names.error().message.c_str());
    QStringList said;
    for (const std::string& name : *names) said << QString::fromStdString(name);
    QCOMPARE(said, inNetwork);
}

/// A network without a head drops the prefix, and one with a head adds it where a checkpoint has none.
void NetworkNamesTest::prefixOfTheBaseIsAddedAndDropped() {
    const QTemporaryDir with, without;
    const auto base = QStringLiteral("encoder.layer.1.output.dense"), head = QStringLiteral("bert.") + base;
    using Names = std::vector<std::string>;
    const auto stripped =
        NetworkNames(*networkOf(with, QStringLiteral("bert"), {head, QStringLiteral("classifier")}));
    QCOMPARE(*stripped.all(head.toStdString()), (Names{head.toStdString(), base.toStdString()}));
    QCOMPARE(*stripped.all("classifier"), (Names{"classifier"}));
    const auto added = NetworkNames(*networkOf(without, QStringLiteral("bert"), {base}));
    QCOMPARE(*added.all(base.toStdString()), (Names{base.toStdString(), head.toStdString()}));
}

void NetworkNamesTest::settingsKeepNothingElse_data() {
    QTest::addColumn<QString>("type");
    QTest::addColumn<QStringList>("quantized");
    QTest::addColumn<QStringList>("kept");
    QTest::addColumn<QStringList>("skipped");
    using S = QStringList;
    const auto q = [](const char* text) { return QString::fromLatin1(text).split(QLatin1Char(' ')); };
    for (const char* type : {"roberta", "xlm-roberta", "camembert", "esm", "ibert", "xmod"})
        QTest::newRow(type) << QString::fromLatin1(type) << q("lm_head.dense") << S() << q("lm_head.decoder");
    QTest::newRow("its own decoder") << QStringLiteral("roberta") << q("lm_head.dense lm_head.decoder") << S() << S();
    QTest::newRow("dense kept") << QStringLiteral("roberta") << q("classifier.dense") << q("lm_head.dense")
                                << q("lm_head.dense roberta.lm_head.dense lm_head lm_head.decoder");
    QTest::newRow("llava") << QStringLiteral("llava") << q("language_model.lm_head") << S() << S();
    QTest::newRow("another ends so") << QStringLiteral("llama") << q("tower.kept.up_proj") << q("kept.up_proj")
                                     << q("^kept.up_proj$ model.kept.up_proj transformer.kept.up_proj lm_head");
}

/// transformers keeps what begins with a name of the list, or ends with it.
void NetworkNamesTest::settingsKeepNothingElse() {
    QFETCH(QString, type);
    QFETCH(QStringList, quantized);
    QFETCH(QStringList, kept);
    QFETCH(QStringList, skipped);
    const QTemporaryDir dir;
    const auto model = networkOf(dir, type, quantized + kept);
    const std::string rule = kept.isEmpty() ? "" : "^" + kept.front().toStdString();
    for (const auto& [layout, spec] : {std::pair("bnb", "nf4:dialect=bnb"), std::pair("llm-int8", "int8:dialect=bnb")}) {
        const auto said = settingsOf(*model, layout, spec, rule.c_str());
        QVERIFY2(said.has_value(), said ? "" : said.error().message.c_str());
        QCOMPARE(wordsOf(said->at("llm_int8_skip_modules")), skipped);
    }
}

void NetworkNamesTest::mixtureNamesItsLayers() {
    const QTemporaryDir dir;
    const auto model = networkOf(dir, QStringLiteral("llava"),
                                 {QStringLiteral("language_model.model.layers.0.mlp.up_proj"),
                                  QStringLiteral("language_model.model.layers.1.mlp.up_proj")});
    const auto mixed = settingsOf(*model, "compressed-tensors", "int8:scale=channel:dialect=ct", "layers.1",
                                  "int4:dialect=ct:block=32");
    QVERIFY2(mixed.has_value(), mixed ? "" : mixed.error().message.c_str());
    const auto targets = wordsOf(mixed->at("config_groups").at("group_1").at("targets"));
    QCOMPARE(targets, (QStringList{QStringLiteral("language_model.model.layers.1.mlp.up_proj"),
                                   QStringLiteral("model.language_model.layers.1.mlp.up_proj"),
                                   QStringLiteral("language_model.layers.1.mlp.up_proj")}));
    const auto kept = settingsOf(*model, "compressed-tensors", "fp8_e4m3", "layers.1");
    QVERIFY(kept && wordsOf(kept->at("ignore")).contains(targets[1]));
}

void NetworkNamesTest::gptqNamesItsBlocks() {
    const QTemporaryDir dir;
    const auto model = networkOf(dir, QStringLiteral("mistral3"),
                                 {QStringLiteral("language_model.model.layers.0.mlp.up_proj"),
                                  QStringLiteral("language_model.model.layers.1.mlp.up_proj"),
                                  QStringLiteral("multi_modal_projector.linear_1")});
    const auto said = settingsOf(*model, "gptq", "int4:dialect=ct:block=32:scaletype=f16", "projector");
    QVERIFY2(said.has_value(), said ? "" : said.error().message.c_str());
    QCOMPARE(said->at("block_name_to_quantize").get<std::string>(), std::string("model.language_model.layers"));
    QCOMPARE(wordsOf(said->at("modules_in_block_to_quantize").at(0)),
             (QStringList{QStringLiteral("model.language_model.layers.0.mlp.up_proj"),
                          QStringLiteral("model.language_model.layers.1.mlp.up_proj")}));
}

/// Of some networks the names are not known, and codes of a matrix that a network splits are not split.
void NetworkNamesTest::whatHasNoKnownNameIsRefused() {
    const QTemporaryDir unknown, split;
    const auto tips = networkOf(unknown, QStringLiteral("tipsv2"), {QStringLiteral("a.fc1"), QStringLiteral("b.fc1")});
    const auto dino = networkOf(split, QStringLiteral("dinov2"),
                                {QStringLiteral("encoder.layer.0.mlp.weights_in"), QStringLiteral("encoder.fc1")});
    const auto refused = [](const Result<nlohmann::json>& said, const char* word) {
        return !said && said.error().message.find(word) != std::string::npos;
    };
    for (const auto& [layout, spec] : {std::pair("bnb", "nf4:dialect=bnb"), std::pair("llm-int8", "int8:dialect=bnb"),
                                       std::pair("compressed-tensors", "int8:scale=channel:dialect=ct")}) {
        QVERIFY(settingsOf(*tips, layout, spec, "").has_value());
        QVERIFY(refused(settingsOf(*tips, layout, spec, "^b"), "tipsv2 is not known"));
        QVERIFY(refused(settingsOf(*dino, layout, spec, ""), "2 layers of encoder.layer.0.mlp.weights_in"));
        QVERIFY(settingsOf(*dino, layout, spec, "weights_in").has_value());
    }
    QVERIFY(settingsOf(*dino, "compressed-tensors", "fp8_e4m3", "").has_value()); // floats are split as the matrix is
    QVERIFY(refused(settingsOf(*tips, "compressed-tensors", "int8:scale=channel:dialect=ct", "^b", "fp8_e4m3"),
                    "tipsv2 is not known"));
}

QS_TEST(NetworkNamesTest)
#include "network_names_test.moc"
