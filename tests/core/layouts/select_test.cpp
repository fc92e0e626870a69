// SPDX-License-Identifier: GPL-3.0-or-later
// Which tensors a spec is for: by role, by filters, by full names, and what layouts keep.
#include "core/layouts/layout.h"
#include "core/layouts/taken_tensors.h"
#include "core/quant/encode/quantizer.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::test;

class SelectTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void filters_data();
    void filters();
    void rulesChooseAsFiltersDo();
    void layoutsKeepRouters_data();
    void layoutsKeepRouters();
    void stackedExpertsAreRefused();
    void conv1d();
    void tiedHeadIsKept();
    void headsOfNetworks_data();
    void headsOfNetworks();
    void modulesOfNetworks();
    void mlxKeepsWhatItSplits();
    void networksThatLoadersChange();
    void hintsOfGgufWork();
};

namespace {

TensorToWrite matrix(const char* name, std::vector<std::int64_t> shape) {
    std::size_t n = 1;
    for (const auto size : shape) n *= std::size_t(size);
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = float(int(i % 31) - 15) / 16;
    return made<float>(name, DType::F32, std::move(shape), values);
}

/// A folder with these tensors and this config.json.
std::shared_ptr<const Model> folderOf(const QTemporaryDir& dir, const char* config,
                                      std::vector<TensorToWrite> tensors) {
    put(dir.path(), QStringLiteral("config.json"), config);
    opened(dir, std::move(tensors), "model.safetensors");
    const auto model = openModel(dir.path().toStdString());
    if (!model) qFatal("%s", model.error().message.c_str());
    return *model;
}

std::shared_ptr<const Model> mixture(const QTemporaryDir& dir) {
    return folderOf(dir, "{\"model_type\": \"qwen3_moe\"}",
                    {matrix("model.embed_tokens.weight", {32, 32}), matrix("lm_head.weight", {32, 32}),
                     matrix("model.norm.weight", {32}), matrix("model.layers.0.input_layernorm.weight", {32}),
                     matrix("model.layers.0.self_attn.q_norm.weight", {2, 32}),
                     matrix("model.layers.0.self_attn.q_proj.weight", {32, 32}),
                     matrix("model.layers.0.mlp.gate.weight", {4, 32}),
                     matrix("model.layers.0.mlp.experts.0.up_proj.weight", {32, 32})});
}

QString namesOf(const std::vector<const TensorInfo*>& tensors) {
    QStringList out;
    for (const TensorInfo* tensor : tensors) {
        const QStringList parts = q(tensor->name.text()).split(QLatin1Char('.'));
        out << (parts.size() > 1 ? parts[parts.size() - 2] : parts.last());
    }
    out.sort();
    return out.join(QLatin1Char(' '));
}

} // namespace

void SelectTest::filters_data() {
    QTest::addColumn<QString>("filter");
    QTest::addColumn<bool>("vectors");
    QTest::addColumn<QString>("taken");
    const auto row = [](const char* name, const char* filter, bool vectors, const char* taken) {
        QTest::newRow(name) << QString::fromLatin1(filter) << vectors << QString::fromLatin1(taken);
    };
    row("none", "", false, "embed_tokens lm_head q_proj up_proj");
    row("vectors", "", true, "embed_tokens input_layernorm lm_head norm q_norm q_proj up_proj");
    row("a filter chooses", "layers\\.", false, "q_proj up_proj");
    row("a filter with vectors", "layers\\.", true, "gate input_layernorm q_norm q_proj up_proj");
    row("a filter adds", "mlp\\.gate\\.", false, "gate");
    row("a full name", "model.norm.weight", false, "norm");
    row("a full name with escapes", "^model\\.layers\\.0\\.self_attn\\.q_norm\\.weight$", false, "q_norm");
    row("norms alone", "norm", false, "");
}

void SelectTest::filters() {
    QFETCH(QString, filter);
    QFETCH(bool, vectors);
    QFETCH(QString, taken);
    const QTemporaryDir dir;
    const auto model = mixture(dir);
    TensorChoice choice(filter.toStdString());
    choice.vectors = vectors;
    const auto chosen = selectAny(*model, choice);
    if (taken.isEmpty()) {
        QVERIFY(!chosen && chosen.error().message.find("--vectors") != std::string::npos);
        return;
    }
    QVERIFY2(chosen, chosen ? "" : chosen.error().message.c_str());
    QCOMPARE(namesOf(*chosen), taken);
}

void SelectTest::rulesChooseAsFiltersDo() {
    const QTemporaryDir dir;
    const auto model = mixture(dir);
    QuantizeRequest request;
    request.keepsRest = true;
    const auto takenBy = [&](const char* regex) {
        request.rules = {{regex, *parseSpec("int8")}};
        const auto asked = askedTensors(*model, request);
        std::vector<const TensorInfo*> tensors;
        for (const AskedTensor& one : *asked) tensors.push_back(one.tensor);
        return namesOf(tensors);
    };
    QCOMPARE(takenBy("layers\\."), QStringLiteral("q_proj up_proj"));
    QCOMPARE(takenBy("mlp\\.gate\\."), QStringLiteral("gate"));
    QCOMPARE(takenBy("^model\\.norm\\.weight$"), QStringLiteral("norm"));
}

void SelectTest::layoutsKeepRouters_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QStringList>("kept");
    const QStringList router{QStringLiteral("model.layers.0.mlp.gate.weight"),
                             QStringLiteral("model.layers.0.self_attn.q_norm.weight")};
    const QStringList more = QStringList{QStringLiteral("model.embed_tokens.weight")} + router;
    QTest::newRow("plain") << QStringLiteral("plain") << QStringLiteral("int8:scale=channel") << router;
    QTest::newRow("native") << QStringLiteral("native") << QStringLiteral("int4:block=32") << router;
    QTest::newRow("mlx") << QStringLiteral("mlx") << QStringLiteral("int4:dialect=mlx:block=32") << router;
    QTest::newRow("bnb") << QStringLiteral("bnb") << QStringLiteral("nf4:dialect=bnb") << more;
    QTest::newRow("llm-int8") << QStringLiteral("llm-int8") << QStringLiteral("int8:dialect=bnb") << more;
    QTest::newRow("compressed-tensors") << QStringLiteral("compressed-tensors")
                                        << QStringLiteral("int4:dialect=ct:block=32:scaletype=bf16") << more;
}

void SelectTest::layoutsKeepRouters() {
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    QFETCH(QStringList, kept);
    const QTemporaryDir dir, out;
    const auto model = mixture(dir);
    QuantizeRequest request;
    request.spec = *parseSpec(spec.toStdString()), request.layout = layout.toStdString();
    request.output = out.filePath(QStringLiteral("out")).toStdString();
    if (layout == QLatin1String("bnb") || layout == QLatin1String("llm-int8")) // these hold no experts
        request.rules = {{"experts", std::nullopt}};
    const auto done = quantizeModel(*model, request, Job{});
    QVERIFY2(done, done ? "" : done.error().message.c_str());
    QStringList names;
    for (const SkippedTensor& one : done->kept) {
        names << q(one.name);
        QVERIFY(!one.reason.empty());
    }
    names.sort();
    QCOMPARE(names, kept);
    const auto written = openModel(request.output);
    QVERIFY(written);
    const TensorInfo* router = (*written)->find("model.layers.0.mlp.gate.weight");
    QVERIFY(router && router->dtype == DType::F32 && !router->derived);
    if (layout == QLatin1String("compressed-tensors"))
        QVERIFY(bytesOf(out.filePath(QStringLiteral("out/config.json"))).contains("\"model.layers.0.mlp.gate\""));
}

/// A loader that makes modules of single matrices cannot hold several in one tensor: refused, not left as it is.
void SelectTest::stackedExpertsAreRefused() {
    const QTemporaryDir dir, out;
    const auto model = folderOf(dir, "{\"model_type\": \"qwen3_moe\"}",
                                {matrix("model.layers.0.self_attn.q_proj.weight", {32, 32}),
                                 matrix("model.layers.0.mlp.experts.gate_up_proj", {2, 64, 32})});
    QuantizeRequest request;
    request.spec = *parseSpec("nf4:dialect=bnb"), request.layout = "bnb";
    request.output = out.filePath(QStringLiteral("out")).toStdString();
    const auto refused = quantizeModel(*model, request, Job{});
    QVERIFY(!refused && refused.error().message.find("several experts") != std::string::npos);
    QVERIFY(!refused && refused.error().message.find("--tensor") != std::string::npos);
    request.choice = "q_proj";
    QVERIFY(quantizeModel(*model, request, Job{}));
}

void SelectTest::conv1d() {
    const QTemporaryDir dir, out;
    const auto model =
        folderOf(dir, "{\"model_type\": \"gpt2\"}", {matrix("h.0.attn.c_attn.weight", {32, 96})}); // [in, out]
    QuantizeRequest request;
    request.output = out.filePath(QStringLiteral("out")).toStdString();
    for (const auto& [layout, spec] :
         {std::pair("compressed-tensors", "int8:scale=channel:dialect=ct"), {"mlx", "int4:dialect=mlx:block=32"}}) {
        request.layout = layout, request.spec = *parseSpec(spec);
        const auto refused = quantizeModel(*model, request, Job{});
        QVERIFY2(!refused && refused.error().message.find("Conv1D") != std::string::npos, layout);
    }
    request.layout = "gptq", request.spec = *parseSpec("int8:dialect=ct:block=32:scaletype=f16");
    const auto done = quantizeModel(*model, request, Job{});
    QVERIFY2(done, done ? "" : done.error().message.c_str());
    const auto written = openModel(request.output);
    QVERIFY(written);
    const TensorInfo* layer = (*written)->find("h.0.attn.c_attn.weight");
    QVERIFY(layer && layer->derived);
    QCOMPARE(layer->shape.size(), std::size_t(2));
    QCOMPARE(layer->shape[0], std::int64_t(96)); // as gptqmodel's linear layer has it, [out, in]
    std::vector<float> values(96 * 32), original(96 * 32);
    loadF32(*(*written)->view(*layer), 0, values.size(), values.data());
    loadF32(*model->view(model->tensors.front()), 0, original.size(), original.data());
    for (std::size_t o = 0; o < 96; ++o)
        for (std::size_t i = 0; i < 32; ++i) QVERIFY(std::fabs(values[o * 32 + i] - original[i * 96 + o]) < 0.01f);
    // Decoded, the network loads it again: [in, out].
    const auto decoded = dequantizeModel(**written, {}, out.filePath(QStringLiteral("back")).toStdString(), Job{});
    QVERIFY2(decoded, decoded ? "" : decoded.error().message.c_str());
    const auto back = openModel(out.filePath(QStringLiteral("back")).toStdString());
    QVERIFY(back);
    QCOMPARE(back.value()->find("h.0.attn.c_attn.weight")->shape[0], std::int64_t(32));
    std::vector<float> turned(96 * 32);
    loadF32(*(*back)->view(*(*back)->find("h.0.attn.c_attn.weight")), 0, turned.size(), turned.data());
    for (std::size_t o = 0; o < 96; ++o)
        for (std::size_t i = 0; i < 32; ++i) QCOMPARE(turned[i * 96 + o], values[o * 32 + i]);
}

void SelectTest::tiedHeadIsKept() {
    const QTemporaryDir dir, out;
    const auto model = folderOf(dir, "{\"model_type\": \"llama\", \"tie_word_embeddings\": true}",
                                {matrix("model.embed_tokens.weight", {32, 32}), matrix("lm_head.weight", {32, 32}),
                                 matrix("model.layers.0.self_attn.q_proj.weight", {32, 32})});
    QuantizeRequest request;
    request.spec = *parseSpec("int8:scale=channel:dialect=ct"), request.layout = "compressed-tensors";
    request.output = out.filePath(QStringLiteral("out")).toStdString();
    const auto done = quantizeModel(*model, request, Job{});
    QVERIFY2(done, done ? "" : done.error().message.c_str());
    QCOMPARE(done->quantizedTensors, std::uint64_t(1));
    const QByteArray config = bytesOf(out.filePath(QStringLiteral("out/config.json")));
    QVERIFY(config.contains("\"lm_head\""));
}

void SelectTest::headsOfNetworks_data() {
    QTest::addColumn<QString>("type");
    QTest::addColumn<QString>("head");
    QTest::addColumn<bool>("stored");
    QTest::addColumn<QStringList>("ignored");
    const auto row = [](const char* type, const char* head, bool stored, QStringList ignored) {
        QTest::newRow(type) << QString::fromLatin1(type) << QString::fromLatin1(head) << stored << ignored;
    };
    const auto lm = QStringLiteral("lm_head");
    row("llama", "lm_head", true, {});
    row("bert", "cls.predictions.decoder", false, {lm, QStringLiteral("cls.predictions.decoder")});
    row("xlm-roberta", "lm_head.decoder", false, {lm, QStringLiteral("lm_head.decoder")});
    row("modernbert", "decoder", false, {lm, QStringLiteral("decoder")});
    // Under its name in the file and in the network, and with the prefix that these tensors have not.
    row("gpt_neox", "embed_out", true, {QStringLiteral("embed_out"), lm, QStringLiteral("gpt_neox.lm_head")});
    row("mamba2", "lm_head", true, {lm, QStringLiteral("backbone.lm_head")});
}

/// A head that is tied, or that the network uses in another way, is no quantized layer, and the settings say so under the
/// name that it has in the network.
void SelectTest::headsOfNetworks() {
    QFETCH(QString, type);
    QFETCH(QString, head);
    QFETCH(bool, stored);
    QFETCH(QStringList, ignored);
    const QTemporaryDir dir, out;
    std::vector<TensorToWrite> tensors;
    tensors.push_back(matrix("model.embed_tokens.weight", {64, 64}));
    tensors.push_back(matrix("model.layers.0.self_attn.q_proj.weight", {64, 64}));
    const std::string name = head.toStdString() + ".weight";
    if (stored) tensors.push_back(matrix(name.c_str(), {64, 64}));
    const std::string config = "{\"model_type\": \"" + type.toStdString() + "\"}";
    const auto model = folderOf(dir, config.c_str(), std::move(tensors));
    for (const auto& [layout, spec, key] :
         {std::tuple("bnb", "nf4:dialect=bnb", "llm_int8_skip_modules"),
          std::tuple("compressed-tensors", "int8:scale=channel:dialect=ct", "ignore")}) {
        QuantizeRequest request;
        request.spec = *parseSpec(spec), request.layout = layout;
        request.output = out.filePath(QString::fromLatin1(layout)).toStdString();
        const auto done = quantizeModel(*model, request, Job{});
        QVERIFY2(done, done ? "" : done.error().message.c_str());
        QCOMPARE(done->quantizedTensors, std::uint64_t(ignored.isEmpty() ? 2 : 1));
        const auto json = nlohmann::json::parse(
            bytesOf(out.filePath(QString::fromLatin1(layout) + QStringLiteral("/config.json"))).toStdString());
        QStringList said;
        for (const auto& one : json.at("quantization_config").at(key)) said << q(one.get<std::string>());
        QCOMPARE(said, ignored);
    }
}

/// Settings name kept layers as the network does too, where transformers loads them under other names. A matrix by which
/// PyTorch's MultiheadAttention multiplies itself is kept.
void SelectTest::modulesOfNetworks() {
    const QTemporaryDir dir, out;
    const auto model = folderOf(dir, "{\"model_type\": \"vit\"}",
                                {matrix("encoder.layer.0.attention.attention.query.weight", {64, 64}),
                                 matrix("encoder.layer.0.output.dense.weight", {64, 64}),
                                 matrix("head.attention.in_proj_weight", {192, 64}),
                                 matrix("head.attention.out_proj.weight", {64, 64})});
    QuantizeRequest request;
    request.spec = *parseSpec("int8:dialect=bnb"), request.layout = "llm-int8";
    request.output = out.filePath(QStringLiteral("out")).toStdString();
    request.rules = {{"query", std::nullopt}};
    const auto done = quantizeModel(*model, request, Job{});
    QVERIFY2(done, done ? "" : done.error().message.c_str());
    QCOMPARE(done->quantizedTensors, std::uint64_t(1));
    const auto json = nlohmann::json::parse(bytesOf(out.filePath(QStringLiteral("out/config.json"))).toStdString());
    const auto& skipped = json.at("quantization_config").at("llm_int8_skip_modules");
    for (const char* name :
         {"encoder.layer.0.attention.attention.query", "layers.0.attention.q_proj", "head.attention.out_proj"})
        QVERIFY2(std::ranges::find(skipped, name) != skipped.end(), name);
    request.spec = *parseSpec("nf4:dialect=bnb"), request.layout = "bnb";
    const auto four = quantizeModel(*model, request, Job{});
    QVERIFY2(four, four ? "" : four.error().message.c_str());
    QCOMPARE(four->quantizedTensors, std::uint64_t(1));
    request.rules = {{"output", *parseSpec("int4:dialect=ct:block=32")}};
    request.spec = *parseSpec("int8:scale=channel:dialect=ct"), request.layout = "compressed-tensors";
    const auto mixed = quantizeModel(*model, request, Job{});
    QVERIFY2(mixed, mixed ? "" : mixed.error().message.c_str());
    QVERIFY(bytesOf(out.filePath(QStringLiteral("out/config.json"))).contains("\"layers.0.mlp.fc2\""));
}

void SelectTest::mlxKeepsWhatItSplits() {
    for (const auto& [type, quantized] : {std::pair("deepseek_v2", 2u), std::pair("deepseek_v3", 1u)}) {
        const QTemporaryDir dir, out;
        const std::string config = std::string("{\"model_type\": \"") + type + "\"}";
        const auto model = folderOf(dir, config.c_str(),
                                    {matrix("model.layers.0.self_attn.kv_b_proj.weight", {64, 64}),
                                     matrix("model.layers.0.self_attn.o_proj.weight", {64, 64})});
        QuantizeRequest request;
        request.spec = *parseSpec("int4:dialect=mlx:block=32"), request.layout = "mlx";
        request.output = out.filePath(QStringLiteral("out")).toStdString();
        const auto done = quantizeModel(*model, request, Job{});
        QVERIFY2(done, done ? "" : done.error().message.c_str());
        QCOMPARE(done->quantizedTensors, std::uint64_t(quantized));
        QCOMPARE(done->kept.size(), std::size_t(2 - quantized));
    }
}

/// What loaders do to stored tensors of one network alone: mlx_lm multiplies those of Falcon-H1 and renames weights of LFM2;
/// gptqmodel and transformers have no quantized experts for Jamba.
void SelectTest::networksThatLoadersChange() {
    struct Case {
        const char *type, *layout, *spec, *name;
        const char* says; ///< "": it stays
    };
    for (const auto& [type, layout, spec, name, says] :
         {Case{"falcon_h1", "mlx", "int4:dialect=mlx:block=32", "model.layers.0.mamba.in_proj.weight", "multiplies"},
          Case{"lfm2_moe", "mlx", "int4:dialect=mlx:block=32", "model.layers.0.feed_forward.w1.weight", ""},
          Case{"gemma3", "gptq", "int4:block=32:scaletype=f16",
               "vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight", ""},
          Case{"jamba", "gptq", "int4:block=32:scaletype=f16", "model.layers.0.feed_forward.experts.0.up_proj.weight",
               "experts=keep"}}) {
        const QTemporaryDir dir, out;
        const std::string config = std::string("{\"model_type\": \"") + type + "\"}";
        const auto model = folderOf(
            dir, config.c_str(),
            {matrix(name, {64, 64}), matrix("language_model.model.layers.0.self_attn.o_proj.weight", {64, 64})});
        QuantizeRequest request;
        request.spec = *parseSpec(spec), request.layout = layout;
        request.output = out.filePath(QStringLiteral("out")).toStdString();
        const auto done = quantizeModel(*model, request, Job{});
        QVERIFY2(bool(done) == !*says, type);
        QVERIFY2(done ? done->kept.size() == 1 : done.error().message.find(says) != std::string::npos, type);
    }
}

/// What the refusal of a spec offers is taken, for rows of any length.
void SelectTest::hintsOfGgufWork() {
    const Layout& gguf = *findLayout("gguf");
    for (const FormatTraits& format : formats())
        for (const std::int64_t row : {17, 32, 96, 256, 512}) {
            QuantSpec spec;
            spec.format = format.id;
            const std::vector<std::int64_t> shape = {4, row};
            if (!validate(spec)) continue;
            const auto taken = gguf.accepts(spec, shape);
            if (taken || taken.error().works.empty()) continue;
            const std::string& offer = taken.error().works.front();
            const auto other = parseSpec(offer);
            QVERIFY2(other && gguf.accepts(*other, shape), qPrintable(q(taken.error().sentence())));
        }
}

QS_TEST(SelectTest)
#include "select_test.moc"
