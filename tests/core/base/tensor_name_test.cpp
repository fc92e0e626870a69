// SPDX-License-Identifier: GPL-3.0-or-later
// Layer and role from tensor names of several model families.
#include "core/base/tensor_name.h"
#include "core/model/model.h"
#include "core/model/norm_name.h"
#include "tests/support/test_program.h"

#include <QtTest>

using namespace qs;

class TensorNameTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void places_data();
    void places();
    void theSameInAllLayers();
    void differsWithinALayer();
    void expertsInALayer();
    void naturalOrder();
    void quoted();
    void norms();
};

void TensorNameTest::places_data() {
    QTest::addColumn<int>("layer");
    QTest::addColumn<QString>("group");
    QTest::addColumn<QString>("role");
    const auto row = [](const char* name, int layer, const char* group, const char* role) {
        QTest::newRow(name) << layer << QString::fromLatin1(group) << QString::fromLatin1(role);
    };
    // Llama and similar
    row("model.layers.3.self_attn.q_proj.weight", 3, "layers.3", "q_proj");
    row("model.layers.31.mlp.down_proj.weight", 31, "layers.31", "down_proj");
    row("model.layers.0.input_layernorm.weight", 0, "layers.0", "input_layernorm");
    row("layers.2.attention.wq.weight", 2, "layers.2", "wq");
    row("language_model.model.layers.1.mlp.up_proj.weight", 1, "layers.1", "up_proj");
    row("blk.12.attn_q.weight", 12, "blk.12", "attn_q");
    // Keras
    row("layers.batch_normalization.vars.0", -1, "", "layers.batch_normalization.vars.0");
    row("optimizer.vars.12", -1, "", "optimizer.vars.12");
    // GPT-2 and similar
    row("h.3.attn.c_attn.weight", 3, "h.3", "c_attn");
    row("h.3.attn.c_attn.bias", 3, "h.3", "c_attn.bias");
    row("h.3.attn.c_proj.weight", 3, "h.3", "attn.c_proj");
    row("transformer.h.11.mlp.c_proj.weight", 11, "h.11", "mlp.c_proj");
    row("transformer.h.0.mlp.c_fc.weight", 0, "h.0", "c_fc");
    row("gpt_neox.layers.4.attention.query_key_value.weight", 4, "layers.4", "query_key_value");
    // BERT, T5, BART
    row("encoder.layer.5.attention.self.query.weight", 5, "encoder.layer.5", "encoder.query");
    row("bert.encoder.layer.11.attention.output.dense.weight", 11, "encoder.layer.11",
        "encoder.attention.output.dense");
    row("bert.encoder.layer.11.output.dense.weight", 11, "encoder.layer.11", "encoder.output.dense");
    row("encoder.block.0.layer.1.DenseReluDense.wi.weight", 0, "encoder.block.0", "encoder.layer.1.DenseReluDense.wi");
    row("model.decoder.layers.2.fc1.weight", 2, "decoder.layers.2", "decoder.fc1");
    // Mixtures of experts: the number is that of the layer, never of the expert
    row("model.layers.7.block_sparse_moe.experts.5.w1.weight", 7, "layers.7", "experts.w1");
    row("model.layers.7.mlp.experts.127.down_proj.weight", 7, "layers.7", "experts.down_proj");
    row("model.layers.7.mlp.shared_expert.down_proj.weight", 7, "layers.7", "shared_expert.down_proj");
    // Others
    row("params/layers/3/attn/q_proj/kernel", 3, "layers.3", "q_proj");
    row("features.0.weight", 0, "features.0", "features");
    // Outside of layers, and names without numbers
    row("model.embed_tokens.weight", -1, "", "embed_tokens");
    row("lm_head.weight", -1, "", "lm_head");
    row("model.norm.weight", -1, "", "norm");
    row("transformer.wte.weight", -1, "", "wte");
    row("bert.embeddings.word_embeddings.weight", -1, "", "embeddings.word_embeddings");
    row("classifier.bias", -1, "", "classifier.bias");
    row("w", -1, "", "w");
    row("weight", -1, "", "weight");
    row("model.weight", -1, "", "model");
    row("0.weight", -1, "", "0");                              // the name is only a number
    row("model.layers.9999999.w", -1, "", "layers.9999999.w"); // no model has so many layers
    row("model.layers.-1.w", -1, "", "layers.-1.w");
    row("model.layers.3a.w", -1, "", "layers.3a.w");
}

void TensorNameTest::places() {
    QFETCH(int, layer);
    QFETCH(QString, group);
    QFETCH(QString, role);
    const auto place = placeOf(QTest::currentDataTag());
    QCOMPARE(place.layer, layer);
    QCOMPARE(QString::fromStdString(place.group), group);
    QCOMPARE(QString::fromStdString(place.role), role);
}

void TensorNameTest::theSameInAllLayers() {
    for (const char* form : {"model.layers.%.self_attn.o_proj.weight", "h.%.mlp.c_proj.bias",
                             "encoder.layer.%.output.dense.weight", "layers.%.experts.3.w2.weight"})
        for (const char* number : {"1", "10", "127"}) {
            QByteArray zero(form), other(form);
            zero.replace('%', "0");
            other.replace('%', number);
            QCOMPARE(placeOf(other.toStdString()).role, placeOf(zero.toStdString()).role);
            QCOMPARE(placeOf(other.toStdString()).layer, QByteArray(number).toInt());
        }
}

// Two tensors of a layer have different roles, except the same projection of several experts.
void TensorNameTest::differsWithinALayer() {
    const std::vector<std::vector<const char*>> families = {
        {"self_attn.q_proj.weight", "self_attn.q_proj.bias", "self_attn.k_proj.weight", "self_attn.o_proj.weight",
         "mlp.up_proj.weight", "input_layernorm.weight", "post_attention_layernorm.weight",
         "mlp.experts.0.up_proj.weight"},
        {"attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight", "mlp.c_proj.bias",
         "ln_1.weight", "ln_2.weight"},
        {"attention.self.query.weight", "attention.self.key.weight", "attention.output.dense.weight",
         "attention.output.LayerNorm.weight", "intermediate.dense.weight", "output.dense.weight"},
        {"attn.norm.weight", "mlp.norm.weight", "attn.out.weight", "ffn.out.weight", "attn.q.weight"}};
    for (const auto& family : families) {
        std::map<std::string, const char*> roles;
        for (const char* name : family) {
            const auto [at, isNew] = roles.emplace(placeOf(std::string("layers.2.") + name).role, name);
            QVERIFY2(isNew, qPrintable(QStringLiteral("%1: %2 and %3")
                                           .arg(QString::fromStdString(at->first), QString::fromLatin1(at->second),
                                                QString::fromLatin1(name))));
        }
    }
}

// The experts of a layer are told apart by their number.
void TensorNameTest::expertsInALayer() {
    const auto inLayer = [](const char* name) { return QString::fromStdString(placeOf(name).inLayer); };
    QCOMPARE(inLayer("model.layers.7.mlp.experts.127.down_proj.weight"), QStringLiteral("experts.127.down_proj"));
    QCOMPARE(inLayer("model.layers.7.block_sparse_moe.experts.5.w1.weight"), QStringLiteral("experts.5.w1"));
    QCOMPARE(inLayer("model.layers.7.mlp.experts.5.w1.bias"), QStringLiteral("experts.5.w1.bias"));
    for (const char* plain : {"model.layers.7.self_attn.q_proj.weight", "lm_head.weight", "features.0.weight"})
        QCOMPARE(inLayer(plain), QString::fromStdString(placeOf(plain).role));
}

void TensorNameTest::naturalOrder() {
    const std::vector<std::string> sorted = {
        "",      "a",      "a0",      "a1", "a01",   "a2",     "a10",    "a010",
        "a10.b", "a10.b2", "a10.b10", "b",  "b.9.w", "b.10.a", "b.10.w", "b.100000000000000000000.w",
        "b.x"};
    for (std::size_t i = 0; i < sorted.size(); ++i)
        for (std::size_t j = 0; j < sorted.size(); ++j)
            QVERIFY2(naturalLess(sorted[i], sorted[j]) == (i < j),
                     qPrintable(QString::fromStdString(sorted[i] + " and " + sorted[j])));
}

void TensorNameTest::norms() {
    for (const char* name : {"norm", "input_layernorm", "norm1", "norm_f", "ln.norm", "batch_normalization", "norms.0",
                             "normal_norm", "batchnorm2d"})
        QVERIFY2(saysNorm(name), name);
    for (const char* name : {"normal_", "normal_proj", "abnormal", "enormous", "normed", "q_proj", ""})
        QVERIFY2(!saysNorm(name), name);
}

void TensorNameTest::quoted() {
    QCOMPARE(quotedName("w"), std::string("\"w\""));
    QCOMPARE(quotedName("a\nb"), std::string("\"a\\u{a}b\""));
    QCOMPARE(QString::fromStdString(quotedName(std::string(1 << 20, 'n'))).size(), 102);
}

QS_TEST(TensorNameTest)
#include "tensor_name_test.moc"
