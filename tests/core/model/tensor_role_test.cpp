// SPDX-License-Identifier: GPL-3.0-or-later
// What tensors are in their networks, by the names that transformers 5.23 and llama.cpp write.
#include "core/model/model.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

using namespace qs;

class TensorRoleTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyRoleHasItsRow();
    void byName_data();
    void byName();
    void ofGguf_data();
    void ofGguf();
    void longNames();
};

namespace {

/// Shapes are written "4x8".
TensorInfo tensorOf(const QString& name, const QString& shape) {
    TensorInfo out;
    out.name = name.toStdString();
    std::vector<std::int64_t> sizes;
    for (const QString& size : shape.split(QLatin1Char('x'), Qt::SkipEmptyParts)) sizes.push_back(size.toLongLong());
    out.shape = std::move(sizes);
    return out;
}

/// Beside a tensor of an expert where `mixture` is its name.
void compareRole(Model& model, const QString& name, const QString& shape, const QString& role, const QString& mixture) {
    model.tensors.push_back(tensorOf(name, shape));
    if (!mixture.isEmpty()) model.tensors.push_back(tensorOf(mixture, QStringLiteral("8x8")));
    assignRoles(model);
    QCOMPARE(QString::fromLatin1(rowOf(model.tensors.front().role).id), role);
}

} // namespace

void TensorRoleTest::everyRoleHasItsRow() {
    for (std::size_t i = 0; i < tensorRoles().size(); ++i) {
        const RoleRow& row = tensorRoles()[i];
        QCOMPARE(std::size_t(row.role), i);
        QCOMPARE(&rowOf(row.role), &row);
        QVERIFY(row.taken || *row.why);
    }
}

void TensorRoleTest::byName_data() {
    QTest::addColumn<QString>("type");
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("shape");
    QTest::addColumn<QString>("role");
    QTest::addColumn<QString>("mixture");
    const auto row = [](const char* type, const char* name, const char* shape, const char* role,
                        const char* mixture = "") {
        QTest::addRow("%s %s %s", type, name, shape)
            << QString::fromLatin1(type) << QString::fromLatin1(name) << QString::fromLatin1(shape)
            << QString::fromLatin1(role) << QString::fromLatin1(mixture);
    };
    row("llama", "model.layers.0.self_attn.q_proj.weight", "8x8", "linear");
    row("", "model.layers.0.self_attn.q_proj.weight", "8x8", "linear"); // its name says so
    row("", "some.matrix", "8x8", "unknown");
    row("llama", "model.embed_tokens.weight", "32x8", "embedding");
    row("llama", "lm_head.weight", "32x8", "head");
    row("llama", "model.norm.weight", "8", "vector");
    row("cohere", "model.layers.0.self_attn.q_norm.weight", "4x8", "norm");
    row("gpt2", "transformer.wte.weight", "32x8", "embedding");
    row("gpt2", "transformer.wpe.weight", "16x8", "position");
    row("gpt2", "transformer.h.0.attn.bias", "1x1x8x8", "position");
    row("gpt2", "transformer.h.0.attn.c_attn.weight", "8x24", "linear");
    row("qwen3_moe", "model.layers.0.mlp.gate.weight", "4x8", "router", "model.layers.0.mlp.experts.0.up_proj.weight");
    row("qwen3_moe", "model.layers.0.mlp.gate.weight", "4x8", "router", "model.layers.0.mlp.experts.gate_up_proj");
    row("llama", "model.layers.0.mlp.gate.weight", "4x8", "linear");
    row("qwen2_moe", "model.layers.0.mlp.shared_expert_gate.weight", "1x8", "router");
    row("mixtral", "model.layers.0.block_sparse_moe.gate.weight", "4x8", "router");
    row("hunyuan_v1_moe", "model.layers.0.mlp.gate.wg.weight", "4x8", "router",
        "model.layers.0.mlp.experts.0.up_proj.weight");
    row("gpt_oss", "model.layers.0.mlp.router.weight", "4x8", "router");
    row("gpt_oss", "model.layers.0.mlp.experts.gate_up_proj", "4x8x16", "experts");
    row("gpt_oss", "model.layers.0.mlp.experts.gate_up_proj_bias", "4x16", "position");
    row("granitemoe", "model.layers.0.block_sparse_moe.router.layer.weight", "4x8", "router");
    row("granitemoe", "model.layers.0.block_sparse_moe.input_linear.weight", "4x16x8", "experts");
    row("switch_transformers", "encoder.block.1.layer.1.mlp.router.classifier.weight", "4x8", "router");
    row("qwen3_moe", "model.layers.0.mlp.experts.11.up_proj.weight", "8x8", "linear");
    row("nllb-moe", "encoder.layers.3.ffn.experts.expert_11.fc1.weight", "8x8", "linear");
    row("switch_transformers", "encoder.block.1.layer.1.mlp.experts.expert_0.wi.weight", "8x8", "linear");
    row("dbrx", "transformer.blocks.0.ffn.experts.mlp.w1", "32x8", "experts");
    row("qwen3_moe", "model.layers.0.mlp.switch_mlp.up_proj.weight", "4x8x8", "experts");
    row("t5", "shared.weight", "32x8", "embedding");
    row("t5", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", "32x4", "position");
    row("mpnet", "encoder.relative_attention_bias.weight", "32x4", "position");
    row("swin", "swin.encoder.layers.0.blocks.0.attention.self.relative_position_bias_table", "169x4", "position");
    row("bert", "embeddings.word_embeddings.weight", "32x8", "embedding");
    row("bert", "embeddings.position_embeddings.weight", "16x8", "position");
    row("bert", "embeddings.token_type_embeddings.weight", "2x8", "position");
    row("bert", "cls.predictions.decoder.weight", "32x8", "head");
    row("roberta", "lm_head.decoder.weight", "32x8", "head");
    row("roberta", "lm_head.dense.weight", "8x8", "linear");
    row("modernbert", "decoder.weight", "32x8", "head");
    row("albert", "albert.encoder.embedding_hidden_mapping_in.weight", "8x4", "linear");
    row("whisper", "model.encoder.embed_positions.weight", "16x8", "position");
    row("whisper", "model.encoder.conv1.weight", "8x4x3", "convolution");
    row("whisper", "proj_out.weight", "32x8", "head");
    row("vit", "embeddings.patch_embeddings.projection.weight", "8x3x4x4", "convolution");
    row("vit", "embeddings.position_embeddings", "1x17x8", "position");
    row("vit", "embeddings.cls_token", "1x1x8", "position");
    row("siglip2", "vision_model.embeddings.patch_embedding.weight", "8x48", "linear");
    row("clip", "vision_model.embeddings.patch_embedding.weight", "8x3x4x4", "convolution");
    row("mamba", "backbone.layers.0.mixer.A_log", "16x4", "state");
    row("mamba", "backbone.layers.0.mixer.conv1d.weight", "16x1x4", "state");
    row("mamba", "backbone.layers.0.mixer.x_proj.weight", "8x16", "linear");
    row("lfm2", "model.layers.0.conv.conv.weight", "8x1x3", "state");
    row("wav2vec2", "encoder.pos_conv_embed.conv.weight", "8x1x3", "convolution");
    row("rwkv", "rwkv.blocks.0.attention.time_mix_key", "1x1x8", "state");
    row("rwkv", "head.weight", "32x8", "head");
    row("flux", "x_embedder.weight", "8x4", "linear");
    row("deberta", "deberta.encoder.rel_embeddings.weight", "16x8", "position");
    row("", "dense/kernel:0", "8x8", "unknown");
    row("", "layers/embedding/vars/0", "32x8", "embedding");
    row("", "params.decoder.layers.self_attention.query.kernel", "8x2x4x8", "unknown");
    row("", "some.block", "8x2x4x8", "convolution");
    row("", "some.block", "8x2x4", "unknown");
}

void TensorRoleTest::byName() {
    QFETCH(QString, type);
    QFETCH(QString, name);
    QFETCH(QString, shape);
    QFETCH(QString, role);
    QFETCH(QString, mixture);
    QTemporaryDir folder;
    Model model;
    model.folder = folder.path().toStdString();
    model.files.push_back({model.folder + "/model.safetensors", 0, nullptr, {}});
    if (!type.isEmpty()) {
        QFile config(folder.filePath(QStringLiteral("config.json")));
        QVERIFY(config.open(QIODevice::WriteOnly));
        config.write("{\"model_type\": \"" + type.toUtf8() + "\"}");
    }
    compareRole(model, name, shape, role, mixture);
}

void TensorRoleTest::ofGguf_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("shape");
    QTest::addColumn<QString>("role");
    const auto row = [](const char* name, const char* shape, const char* role) {
        QTest::newRow(name) << QString::fromLatin1(name) << QString::fromLatin1(shape) << QString::fromLatin1(role);
    };
    row("token_embd.weight", "32x8", "embedding");
    row("output.weight", "32x8", "head");
    row("blk.0.attn_q.weight", "8x8", "linear");
    row("blk.0.ffn_gate_inp.weight", "4x8", "router");
    row("blk.0.ffn_gate_exps.weight", "4x8x8", "experts");
    row("blk.0.ffn_gate_exps.bias", "4x8", "position");
    row("blk.0.ssm_conv1d.weight", "16x4", "state");
    row("blk.0.ssm_a", "16x4", "state");
    row("blk.0.ssm_d", "4x1", "state");
    row("blk.0.shortconv.conv.weight", "8x3", "state");
    row("blk.0.time_mix_key.weight", "8x8", "linear");
    row("blk.0.time_mix_w1.weight", "8x4", "state");
    row("blk.0.time_mix_decay_w2.weight", "8x4", "state");
    row("enc.blk.0.attn_rel_b.weight", "4x32", "position");
    row("position_embd.weight", "16x8", "position");
    row("token_types.weight", "2x8", "position");
    row("blk.0.attn_q_norm.weight", "4x8", "norm");
    row("v.position_embd.weight", "16x8", "position");
}

void TensorRoleTest::ofGguf() {
    QFETCH(QString, name);
    QFETCH(QString, shape);
    QFETCH(QString, role);
    Model model;
    model.files.push_back({"/none/model.gguf", 0, nullptr, {{"general.architecture", "llama"}}});
    compareRole(model, name, shape, role, {});
}

/// Names that are as long as a file allows, and many of them, take no time.
void TensorRoleTest::longNames() {
    Model model;
    for (int i = 0; i < 200; ++i)
        model.tensors.push_back(tensorOf(QString(60000, QLatin1Char(i % 2 ? '*' : 'e')) +
                                             QString::fromLatin1(QByteArray::number(i)) + QStringLiteral("x"),
                                         QStringLiteral("2x2")));
    QElapsedTimer timer;
    timer.start();
    assignRoles(model);
    QVERIFY(timer.elapsed() < 5000);
}

QS_TEST(TensorRoleTest)
#include "tensor_role_test.moc"
