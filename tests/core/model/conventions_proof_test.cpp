// SPDX-License-Identifier: GPL-3.0-or-later
// A convention is taken on proof. Layers whose proof is removed are not decoded; they have candidates, and the user may
// choose one. Parts of layers are never weights.
#include "core/model/conventions/convention.h"
#include "real_file.h"
#include "tests/support/test_program.h"
#include "without_proof.h"

#include <algorithm>
#include <tuple>

using namespace qs;

class ConventionsProofTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void withoutProof_data();
    void withoutProof();
    void chosenByTheUser_data() { withoutProof_data(); }
    void chosenByTheUser();
    void implausibleValues();
    void strangersBesideShapes();
    void twoWidthsThatFit_data();
    void twoWidthsThatFit();
    void unknownFormat();
    void labelOfTheOtherVersion_data();
    void labelOfTheOtherVersion();
    void partsAreNoWeights();
    void transformsAreParts();
    void notDecodedIsNoFault_data();
    void notDecodedIsNoFault();
    void noLayerIsListedTwice();
    void partsWithoutTheNameOfTheirCodes();
    void unknownChoice();
};

namespace {

bool has(const UndecodedLayer& layer, const std::string& convention) {
    return std::ranges::any_of(layer.candidates, [&](const auto& one) { return one.convention == convention; });
}

std::string warningsOf(const Model& model) {
    std::string all;
    for (const auto& warning : model.warnings) all += warning + "\n";
    return all;
}

} // namespace

void ConventionsProofTest::withoutProof_data() {
    QTest::addColumn<const WithoutProof*>("given");
    for (const WithoutProof& one : kWithoutProof) QTest::newRow(one.title) << &one;
}

void ConventionsProofTest::withoutProof() {
    QFETCH(const WithoutProof*, given);
    const std::string itself = given->itself, another = given->another;
    const Layer made = given->made();
    QTemporaryDir at;
    const auto model = opened(write(at.path(), made));
    QCOMPARE(model->tensors.size(), made.fields.size());
    for (const TensorInfo& tensor : model->tensors) {
        QVERIFY2(!tensor.derived, tensor.name.c_str());
        QVERIFY2(tensor.role == TensorRole::Part && !tensor.isWeight(), tensor.name.c_str());
    }
    QCOMPARE(model->undecoded.size(), std::size_t(1));
    const UndecodedLayer& found = model->undecoded.front();
    QCOMPARE(found.parts.size(), made.fields.size());
    QVERIFY2(has(found, itself), warningsOf(*model).c_str());
    QVERIFY2(another.empty() || has(found, another), warningsOf(*model).c_str());
    QVERIFY(std::ranges::is_sorted(found.candidates, std::greater(), &ConventionCandidate::plausibility));
    for (const auto& one : found.candidates) QVERIFY(findConvention(one.convention) && !one.reason.empty());
    const auto sentence = leftOutSentence(*model);
    QVERIFY2(sentence.starts_with("Left out: 1 quantized layer that is not decoded.") &&
                 sentence.find("--as " + itself) != std::string::npos && sentence.size() <= 500,
             sentence.c_str());
    QVERIFY(warningsOf(*model).find("could be stored as") != std::string::npos);
}

void ConventionsProofTest::chosenByTheUser() {
    QFETCH(const WithoutProof*, given);
    const auto original = opened(QStringLiteral(QS_TEST_DATA "/conventions/") + QLatin1String(given->folder));
    QTemporaryDir at;
    const auto model = openModel(write(at.path(), given->made()).toStdString(), {.as = given->itself});
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    const TensorInfo* chosen = (*model)->find(given->layer);
    QVERIFY2(chosen && chosen->derived, warningsOf(**model).c_str());
    QVERIFY((*model)->undecoded.empty());
    QCOMPARE(valuesOf(**model, *chosen), valuesOf(*original, *original->find(given->layer)));
}

// A scale that makes the weights 5,000 times too large refutes the only convention that fits.
void ConventionsProofTest::implausibleValues() {
    Layer made = layerOf("comfy_scaled", "model.diffusion_model.blocks.0.proj.weight");
    QTemporaryDir at;
    QVERIFY(opened(write(at.path(), made))->undecoded.empty()); // the name of its scales proves it
    const float one = 1;
    made.set(".scale_weight", "F32", "[]", QByteArray(reinterpret_cast<const char*>(&one), 4));
    const auto model = opened(write(at.path(), made));
    QCOMPARE(model->undecoded.size(), std::size_t(1));
    QCOMPARE(model->undecoded[0].candidates.size(), std::size_t(1));
    QCOMPARE(model->undecoded[0].candidates[0].plausibility, 0.0);
}

// The shapes are AWQ's, but a tensor of another program beside them may turn or scale its values.
void ConventionsProofTest::strangersBesideShapes() {
    Layer made = layerOf("awq_gemm", "model.layers.0.self_attn.q_proj.weight");
    made.config.clear();
    made.fields.push_back({"model.layers.0.self_attn.q_proj.bias", "F16", "[8]", zeros(16)});
    QTemporaryDir at;
    QVERIFY(opened(write(at.path(), made))->undecoded.empty());
    made.fields.push_back({"model.layers.0.self_attn.q_proj.theta", "F16", "[4,8]", zeros(64)});
    const QString path = write(at.path(), made);
    const auto model = opened(path);
    QCOMPARE(model->undecoded.size(), std::size_t(1));
    QVERIFY(has(model->undecoded[0], "awq"));
    QVERIFY2(
        model->undecoded[0].why.starts_with("\"model.layers.0.self_attn.q_proj.theta\" beside it is no part of AWQ"),
        model->undecoded[0].why.c_str());
    QVERIFY(leftOutSentence(*model).find("--as awq decodes it") != std::string::npos);
    const auto chosen = openModel(path.toStdString(), {.as = "awq"});
    QVERIFY(chosen && (*chosen)->undecoded.empty() &&
            (*chosen)->find("model.layers.0.self_attn.q_proj.weight")->derived);
    QVERIFY(model->find("model.layers.0.self_attn.q_proj.theta")->role == TensorRole::Part);
    Layer alone; // names without a module
    alone.fields = {{"W._data", "I8", "[4,16]", QByteArray(64, '\x11')},
                    {"W._scale", "F32", "[4,1]", QByteArray(16, '\x3c')},
                    {"W", "F32", "[]", zeros(4)}};
    QTemporaryDir other;
    QVERIFY(!opened(write(other.path(), alone))->tensors.empty());
}

void ConventionsProofTest::twoWidthsThatFit_data() {
    QTest::addColumn<QByteArray>("config");
    QTest::addColumn<int>("columns"); ///< 0: not decoded
    const QByteArray all = "\"quantization\": {\"bits\": 4, \"group_size\": 64";
    const QByteArray own = ", \"model.layers.0.self_attn.q_proj\": {\"bits\": 8, \"group_size\": 32}";
    QTest::newRow("the width that is said") << "{\"hidden_size\": 128, " + all + "}}" << 128;
    QTest::newRow("a width that nothing says") << "{" + all + "}}" << 128;
    QTest::newRow("the width of the other reading") << "{\"hidden_size\": 64, " + all + "}}" << 0;
    QTest::newRow("an entry of its own") << "{\"hidden_size\": 64, " + all + own + "}}" << 64;
}

// Codes of 4 bits in groups of 64 have the shapes of 8 bits in groups of 32, at half the width.
void ConventionsProofTest::twoWidthsThatFit() {
    QFETCH(QByteArray, config);
    QFETCH(int, columns);
    Layer made;
    const QByteArray module = "model.layers.0.self_attn.q_proj";
    made.config = config;
    made.fields = {{module + ".weight", "U32", "[4,16]", QByteArray(256, '\x35')},
                   {module + ".scales", "F16", "[4,2]", QByteArray(16, '\x20')},
                   {module + ".biases", "F16", "[4,2]", QByteArray(16, '\x20')}};
    QTemporaryDir at;
    const auto model = opened(write(at.path(), made));
    QCOMPARE(model->undecoded.size(), std::size_t(columns == 0 ? 1 : 0));
    if (columns > 0) {
        QCOMPARE(model->tensors.front().shape, (std::vector<std::int64_t>{4, columns}));
        return;
    }
    QVERIFY2(model->undecoded[0].why.ends_with(
                 "config.json says 4 bits in groups of 64, which are rows of 128; with 8 bits in "
                 "groups of 32 they are rows of 64, which is its hidden_size"),
             model->undecoded[0].why.c_str());
    for (const TensorInfo& tensor : model->tensors) QVERIFY(tensor.role == TensorRole::Part);
}

void ConventionsProofTest::unknownFormat() {
    for (const auto& [text, says] : {std::pair("{\"format\": \"int3_new\"}", "says format 'int3_new'"),
                                     std::pair("{\"format\": ", "is no JSON object")}) {
        Layer made = layerOf("comfy_kinds", "blocks.4.proj.weight");
        made.set(".comfy_quant", "U8", '[' + QByteArray::number(qstrlen(text)) + ']', text);
        QTemporaryDir at;
        const auto model = opened(write(at.path(), made));
        QCOMPARE(model->tensors.size(), made.fields.size());
        QCOMPARE(model->undecoded.size(), std::size_t(1));
        QVERIFY2(warningsOf(*model).find(says) != std::string::npos, warningsOf(*model).c_str());
    }
}

void ConventionsProofTest::labelOfTheOtherVersion_data() {
    QTest::addColumn<QByteArray>("label");
    QTest::addColumn<int>("stored");
    QTest::addColumn<bool>("sym");
    QTest::addColumn<QByteArray>("fits"); ///< "-": nothing contradicts
    QTest::newRow("v1") << QByteArray("gptq") << 7 << true << QByteArray("-");
    QTest::newRow("v2") << QByteArray("gptq_v2") << 8 << true << QByteArray("-");
    QTest::newRow("v2 labelled v1") << QByteArray("gptq") << 8 << true << QByteArray("gptq-v2");
    QTest::newRow("v1 labelled v2") << QByteArray("gptq_v2") << 7 << true << QByteArray("gptq");
    QTest::newRow("not symmetric") << QByteArray("gptq") << 8 << false << QByteArray("-");
}

void ConventionsProofTest::labelOfTheOtherVersion() {
    QFETCH(QByteArray, label);
    QFETCH(int, stored);
    QFETCH(bool, sym);
    QFETCH(QByteArray, fits);
    Layer made = layerOf("gptq_dynamic", "model.layers.0.self_attn.q_proj.weight");
    made.config.replace("\"checkpoint_format\": \"gptq\"", "\"checkpoint_format\": \"" + label + "\"");
    if (sym) made.config.replace("\"sym\": false", "\"sym\": true");
    made.field(".qzeros").data.fill(char(stored | stored << 4));
    QTemporaryDir at;
    const auto model = opened(write(at.path(), made));
    QVERIFY(model->tensors.front().derived);
    QCOMPARE(model->contradictions.size(), std::size_t(fits == "-" ? 0 : 1));
    if (fits == "-") return;
    QCOMPARE(model->contradictions[0].fits, fits.constData());
    QVERIFY2(warningsOf(*model).find(stored == 8 ? "its zero points decode to 9, not to 8" : "decode to 7, not to 8") !=
                 std::string::npos,
             warningsOf(*model).c_str());
    const auto chosen = openModel(at.path().toStdString(), {.as = fits.toStdString()});
    QVERIFY(chosen && (*chosen)->tensors.front().derived && (*chosen)->contradictions.empty());
    QVERIFY2((*chosen)->warnings.empty(), warningsOf(**chosen).c_str());
}

/// A layer that is not decoded contradicts what is said of it only where settings say how it is stored.
void ConventionsProofTest::notDecodedIsNoFault_data() {
    QTest::addColumn<Layer>("made");
    QTest::addColumn<bool>("contradicts");
    const auto row = [](const char* title, Layer made, bool contradicts = false) {
        QTest::newRow(title) << std::move(made) << contradicts;
    };
    const auto changed = [](const char* folder, const char* name, auto change) {
        Layer made = layerOf(folder, name);
        change(made);
        return made;
    };
    const auto renamed = [](Layer& made, const char* from, const char* to) { made.field(from).name.replace(from, to); };
    const char *q0 = "model.layers.0.self_attn.q_proj.weight", *q2 = "model.layers.2.self_attn.q_proj.weight";
    row("metal of transformers", changed("mlx_modes", q2, [&](Layer& made) {
            renamed(made, ".biases", ".qbiases");
            made.config = R"({"quantization_config":{"quant_method":"metal","bits":4,"group_size":64}})";
        }));
    row("MLX without biases and without an entry", changed("mlx_modes", q2, [](Layer& made) { made.drop(".biases"); }));
    row("MLX without biases", changed("mlx_modes", q0, [](Layer& made) { made.drop(".biases"); }), true);
    row("MLX without settings", changed("mlx_modes", q2, [](Layer& made) { made.config.clear(); }));
    row("SINQ, HQQ without settings", changed("hqq_linear", "model.layers.0.mlp.down_proj.weight", [](Layer& made) {
            std::erase_if(made.fields, [](const Stored& field) {
                return !field.name.endsWith(".W_q") && !field.name.endsWith(".scale") && !field.name.endsWith(".zero");
            });
        }));
    row("HQQ without scales",
        changed("hqq_linear", "model.layers.0.mlp.down_proj.weight", [](Layer& made) { made.drop(".scale"); }), true);
    row("qweight beside scales of other programs", changed("gptq_v1", q2, [](Layer& made) {
            made.drop(".qzeros");
            made.config.clear();
        }));
    row("GPTQ without zero points", changed("gptq_v1", q2, [](Layer& made) { made.drop(".qzeros"); }), true);
    row("LLM.int8 in tiles", changed("bnb_int8", "model.layers.0.self_attn.k_proj.weight", [](Layer& made) {
            if (std::ranges::none_of(made.fields, [](const Stored& f) { return f.name.endsWith(".weight_format"); }))
                made.fields.push_back({"model.layers.0.self_attn.k_proj.weight_format", "U8", "[]", zeros(1)});
            made.field(".weight_format").data = QByteArray(1, char(2));
        }));
    row("fp8 of other blocks than usual", changed("fp8_blocks", "model.layers.0.mlp.up_proj.weight", [](Layer& made) {
            made.config = R"({"quantization_config":{"quant_method":"fp8"}})";
        }));
    row("fp8 of other blocks than said",
        changed("fp8_blocks", "model.layers.0.mlp.up_proj.weight",
                [](Layer& made) {
                    made.config = R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}})";
                }),
        true);
    const auto withFormat = [&](const char* format) {
        return changed("ct_groups", q0, [&](Layer& made) {
            made.drop("_scale");
            made.config = R"({"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"g":
                {"targets":["Linear"],"weights":{"num_bits":8,"type":"int"},"format":")" +
                          QByteArray(format) + R"("}}}})";
            made.fields.push_back({"model.layers.0.self_attn.q_proj.weight_scale", "I64", "[16,1]", zeros(128)});
        });
    };
    row("a new format of compressed-tensors", withFormat("int-sorted"));
    row("a known format of compressed-tensors", withFormat("int-quantized"), true);
}

void ConventionsProofTest::notDecodedIsNoFault() {
    QFETCH(Layer, made);
    QFETCH(bool, contradicts);
    QTemporaryDir at;
    const auto model = opened(write(at.path(), made));
    QCOMPARE(model->undecoded.size(), std::size_t(1));
    QCOMPARE(model->undecoded[0].parts.size(), made.fields.size());
    QVERIFY(!model->undecoded[0].why.empty());
    QVERIFY2(model->undecoded[0].isContradicted == contradicts, model->undecoded[0].why.c_str());
}

/// Classes of torchao that are not decoded. Their parts are not named after their layer.
void ConventionsProofTest::noLayerIsListedTwice() {
    const auto model = opened(QStringLiteral(QS_TEST_DATA "/undecoded/torchao_later"));
    QCOMPARE(model->undecoded.size(), std::size_t(2));
    for (const auto& [index, name, parts] : {std::tuple(0, "mx8", 2), std::tuple(1, "nv_tiles", 3)}) {
        const UndecodedLayer& layer = model->undecoded[std::size_t(index)];
        QCOMPARE(layer.name, std::string(name));
        QCOMPARE(layer.parts.size(), std::size_t(parts));
        QVERIFY(!layer.isContradicted);
    }
}

/// What multiplies the input of a layer is no weight, and the weights alone do not say what the network computes. The
/// names and the settings are those of compressed-tensors 0.18.
void ConventionsProofTest::transformsAreParts() {
    const std::string module = "model.layers.0.self_attn.o_proj";
    Layer made = layerOf("ct_groups", (module + ".weight").c_str());
    made.config.replace("\"quantization_config\": {", R"("quantization_config": {"transform_config": {"config_groups":
        {"R4": {"type": "hadamard", "apply": [{"targets": ["Linear"], "location": "input"},
                                              {"targets": ["Linear"], "location": "weight_input", "inverse": true}]}}},)");
    made.fields.push_back({"model.layers.0.self_attn.o_proj.R4_input.weight", "F32", "[4,4]", zeros(64)});
    made.fields.push_back({"model.layers.0.mlp.up_proj.weight", "F32", "[4,4]", zeros(64)});
    QTemporaryDir at;
    const auto model = opened(write(at.path(), made));
    QVERIFY(model->find(module + ".weight")->derived);
    QVERIFY(model->find(module + ".R4_input.weight")->role == TensorRole::Part);
    QVERIFY(model->find("model.layers.0.mlp.up_proj.weight")->role == TensorRole::Linear);
    QCOMPARE(model->undecoded.size(), std::size_t(1));
    QCOMPARE(model->undecoded[0].name, module + ".R4_input");
    const auto refused = checkTransforms(*model);
    QVERIFY(!refused && refused.error().message.find("\"R4_input\"") != std::string::npos);
    Layer fused = layerOf("ct_groups", (module + ".weight").c_str()); // all of it is part of the weights
    fused.config.replace("\"quantization_config\": {", R"("quantization_config": {"transform_config": {"config_groups":
        {"R1": {"type": "hadamard", "apply": [{"targets": ["Linear"], "location": "weight_output"}]}}},)");
    QTemporaryDir other;
    QVERIFY(checkTransforms(*opened(write(other.path(), fused))));
}

// Scales of a layer that could not be read are float matrices, but no weights; a matrix beside them is one.
void ConventionsProofTest::partsAreNoWeights() {
    Layer made = layerOf("auto_round", "model.layers.0.self_attn.q_proj.weight");
    made.config.replace("auto_round:auto_gptq", "auto_round:something_new");
    made.fields.push_back({"model.norm.scale", "F32", "[4,4]", zeros(64)});
    QTemporaryDir at;
    const auto model = opened(write(at.path(), made));
    QCOMPARE(model->undecoded.size(), std::size_t(1));
    for (const TensorInfo& tensor : model->tensors) {
        const bool isPart = tensor.name != "model.norm.scale";
        QVERIFY2((tensor.role == TensorRole::Part) == isPart, tensor.name.c_str());
    }
    QVERIFY(!model->find("model.layers.0.self_attn.q_proj.scales")->isWeight());
    QVERIFY2(warningsOf(*model).find("packing_format 'auto_round:something_new'") != std::string::npos,
             warningsOf(*model).c_str());
    // A layer that is decoded has a part that its convention does not know.
    made = layerOf("auto_round", "model.layers.0.self_attn.q_proj.weight");
    made.fields.push_back({"model.layers.0.self_attn.q_proj.zero_points_float", "F32", "[4,4]", zeros(64)});
    const auto decoded = opened(write(QTemporaryDir().path(), made));
    QVERIFY(decoded->find("model.layers.0.self_attn.q_proj.weight")->derived);
    QVERIFY(decoded->find("model.layers.0.self_attn.q_proj.zero_points_float")->role == TensorRole::Part);
    // An adapter of its own is none.
    made.fields.back() = {"model.layers.0.self_attn.q_proj.lora_A", "F32", "[4,4]", zeros(64)};
    QVERIFY(opened(write(QTemporaryDir().path(), made))->find("model.layers.0.self_attn.q_proj.lora_A")->isWeight());
}

// As transformers' gemma quantization names an embedding.
void ConventionsProofTest::partsWithoutTheNameOfTheirCodes() {
    Layer made;
    made.fields = {{"model.embed_tokens.embedding_quantized", "U8", "[4,16]", QByteArray(64, '\x11')},
                   {"model.embed_tokens.embedding_scale", "F32", "[4,1]", zeros(16)}};
    QTemporaryDir at;
    const auto model = opened(write(at.path(), made));
    QCOMPARE(model->undecoded.size(), std::size_t(1));
    QCOMPARE(model->undecoded[0].parts.size(), std::size_t(2));
    for (const TensorInfo& tensor : model->tensors) QVERIFY(tensor.role == TensorRole::Part);
    // Two experts' matrices in one module, by ModelOpt: each has the scale that goes on behind its name.
    made.fields.clear();
    for (const QByteArray name : {"experts.down_proj", "experts.gate_up_proj"})
        made.fields.insert(made.fields.end(), {{name, "F8_E4M3", "[2,8,8]", QByteArray(128, '\x31')},
                                               {name + "_weight_scale", "F32", "[]", zeros(4)}});
    const auto experts = opened(write(at.path(), made));
    QCOMPARE(experts->undecoded.size(), std::size_t(2));
    for (const TensorInfo& tensor : experts->tensors) QVERIFY(tensor.role == TensorRole::Part);
}

void ConventionsProofTest::unknownChoice() {
    const auto model = openModel(QS_TEST_DATA "/conventions/gptq_v1", {.as = "gptq3"});
    QVERIFY(!model && model.error().message.find("no convention 'gptq3'") != std::string::npos);
}

QS_TEST(ConventionsProofTest)
#include "conventions_proof_test.moc"
