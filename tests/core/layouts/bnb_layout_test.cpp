// SPDX-License-Identifier: GPL-3.0-or-later
// 4-bit files for bitsandbytes, decoded here only by the tables and rules of its QuantState.
#include "core/layouts/layout.h"
#include "core/quant/encode/double_quant.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::test;

namespace {

std::vector<float> wavyWithZeros(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = std::sin(float(i) * 0.37f) * (1.0f + float(i % 53) * 0.01f);
    for (std::size_t i = 64; i < 128 && i < n; ++i) values[i] = 0; // a block of zeros
    return values;
}

/// quant_map[nibble] * absmax. The first of a pair is in the high nibble; blocks cross rows.
std::vector<float> decodedByMap(const Model& file, const std::string& name, std::size_t n, std::size_t block) {
    const auto codes = valuesOf<std::uint8_t>(file, name);
    const auto map = valuesOf<float>(file, name + ".quant_map");
    std::vector<float> scales;
    if (file.find(name + ".nested_absmax")) {
        const auto outer = valuesOf<float>(file, name + ".nested_absmax"),
                   inner = valuesOf<float>(file, name + ".nested_quant_map");
        const auto state = valuesOf<char>(file, name + ".quant_state.bitsandbytes__nf4");
        const float offset =
            float(nlohmann::json::parse(std::string(state.begin(), state.end()))["nested_offset"].get<double>());
        for (const std::uint8_t code : valuesOf<std::uint8_t>(file, name + ".absmax"))
            scales.push_back(inner[code] * outer[scales.size() / 256] + offset);
    } else {
        scales = valuesOf<float>(file, name + ".absmax");
    }
    std::vector<float> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = map[i % 2 ? codes[i / 2] & 15 : codes[i / 2] >> 4] * scales[i / block];
    return out;
}

} // namespace

class BnbLayoutTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// bitsandbytes' product on CPUs needs rows of whole blocks.
    void warnsOfRowsThatAreNoWholeBlocks() {
        const auto said = [](std::int64_t columns, const char* spec) {
            TensorInfo tensor;
            tensor.name = "w.weight", tensor.shape = {32, columns};
            const TakenTensor taken{&tensor, std::make_shared<const QuantSpec>(*parseSpec(spec))};
            return findLayout("bnb")->warns({&taken, 1});
        };
        QCOMPARE(said(512, "nf4:dialect=bnb"), std::string());
        const std::string some = said(544, "nf4:dialect=bnb:block=64");
        QVERIFY2(some.starts_with("Rows of 1 of 1 quantized tensors are not whole blocks, such as 544 columns under "
                                  "block=64:") &&
                     some.ends_with("block=32 fits them."),
                 some.c_str());
        QVERIFY(said(100, "fp4:dialect=bnb").ends_with("no block of bitsandbytes fits them."));
        QCOMPARE(said(100, "int8"), std::string()); // refused elsewhere
    }
    void decodes_data();
    void decodes();
    void stateIsPythons();
    void folderIsComplete();
    void refusals();
};

void BnbLayoutTest::decodes_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("columns");
    for (const char* spec : {"nf4:dialect=bnb", "fp4:dialect=bnb", "nf4:dialect=bnb:block=32",
                             "nf4:dialect=bnb:scaletype=u8dq", "nf4:dialect=bnb:block=32:scaletype=u8dq"})
        for (const auto& [rows, columns] : {std::pair{8, 256}, {5, 77}, {300, 130}, {1, 9}})
            QTest::addRow("%s %dx%d", spec, rows, columns) << QString::fromLatin1(spec) << rows << columns;
}

void BnbLayoutTest::decodes() {
    QFETCH(QString, spec);
    QFETCH(int, rows);
    QFETCH(int, columns);
    const QuantSpec parsed = *parseSpec(spec.toStdString());
    const auto n = std::size_t(rows * columns);
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("w.weight", DType::F32, {rows, columns}, wavyWithZeros(n))});
    const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
    const auto done = quantizeModel(*model, {parsed, {}, "bnb", path}, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    const auto header = openSafetensors(path); // reads the stored fields, not the layers
    QVERIFY(header.has_value());
    const Model& file = **header;
    const TensorInfo* weight = file.find("w.weight");
    QVERIFY(weight && weight->dtype == DType::U8);
    QCOMPARE(weight->shape, (std::vector<std::int64_t>{std::int64_t((n + 1) / 2), 1}));
    const auto expected = materialize(*quantizeTensor(*model->view(*model->find("w.weight")), parsed, Job{}));
    const auto decoded = decodedByMap(file, "w.weight", n, parsed.blockSize());
    QVERIFY(decoded == expected);
    if (n % 2) QCOMPARE(int(valuesOf<std::uint8_t>(file, "w.weight").back() & 15), parsed.format == "nf4" ? 7 : 0);
}

/// The bytes must equal json.dumps() of QuantState.as_dict().
void BnbLayoutTest::stateIsPythons() {
    const QTemporaryDir folder;
    const std::vector<std::uint16_t> ones(4 * 128, 0x3f80);
    const auto model = opened(folder, {made("w.weight", DType::BF16, {4, 128}, ones)});
    const auto textOf = [&](const char* spec) {
        const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
        if (!quantizeModel(*model, {*parseSpec(spec), {}, "bnb", path}, Job{})) return std::string();
        const auto state = valuesOf<char>(**openSafetensors(path), "w.weight.quant_state.bitsandbytes__nf4");
        return std::string(state.begin(), state.end());
    };
    QCOMPARE(textOf("nf4:dialect=bnb"),
             R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [4, 128]})");
    QCOMPARE(textOf("nf4:dialect=bnb:block=128:scaletype=u8dq"),
             R"({"quant_type": "nf4", "blocksize": 128, "dtype": "bfloat16", "shape": [4, 128], )"
             R"("nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 1.0})");
}

void BnbLayoutTest::folderIsComplete() {
    QTemporaryDir folder;
    opened(folder,
           {made("model.embed_tokens.weight", DType::F32, {8, 64}, wavyWithZeros(512)),
            made("model.layers.0.mlp.up_proj.weight", DType::F32, {8, 64}, wavyWithZeros(512)),
            made("model.layers.1.mlp.up_proj.weight", DType::F32, {8, 64}, wavyWithZeros(512)),
            made("model.norm.weight", DType::F32, {64}, wavyWithZeros(64))},
           "model.safetensors");
    put(folder.filePath(QStringLiteral("config.json")), R"({"rms_norm_eps": 1e-05, "model_type": "llama"})");
    const auto model = openModel(folder.path().toStdString());
    QVERIFY(model.has_value());
    QTemporaryDir output;
    const QString out = output.filePath(QStringLiteral("out"));
    const auto done = quantizeModel(
        **model, {*parseSpec("nf4:dialect=bnb:scaletype=u8dq"), "layers.0", "bnb", out.toStdString()}, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    const auto config = nlohmann::json::parse(bytesOf(out + QStringLiteral("/config.json")).toStdString());
    QCOMPARE(config["model_type"].get<std::string>(), std::string("llama"));
    QCOMPARE(config["rms_norm_eps"].get<double>(), 1e-05);
    const auto& quantization = config["quantization_config"];
    QCOMPARE(quantization["quant_method"].get<std::string>(), std::string("bitsandbytes"));
    QVERIFY(quantization["load_in_4bit"].get<bool>() && quantization["bnb_4bit_use_double_quant"].get<bool>());
    QVERIFY(quantization["llm_int8_threshold"].is_number_float());
    const std::vector<std::string> kept = {"model.layers.1.mlp.up_proj", "layers.1.mlp.up_proj", "lm_head"};
    QCOMPARE(quantization["llm_int8_skip_modules"].get<std::vector<std::string>>(), kept);
    const auto file = openSafetensors((out + QStringLiteral("/model.safetensors")).toStdString());
    QVERIFY(file && (*file)->files[0].metadata.at("format") == "pt");
    QVERIFY((*file)->find("model.embed_tokens.weight")->dtype == DType::F32);

    // Without a filter the embedding is not quantized. If it is selected by name, it is refused.
    const QString all = output.filePath(QStringLiteral("all"));
    const auto unfiltered = quantizeModel(**model, {*parseSpec("nf4:dialect=bnb"), {}, "bnb", all.toStdString()}, {});
    QVERIFY(unfiltered && unfiltered->quantizedTensors == 2 && unfiltered->kept.size() == 1);
    QVERIFY(unfiltered->kept.front().name.find("embed_tokens") != std::string::npos);
    const auto named = quantizeModel(
        **model, {*parseSpec("nf4:dialect=bnb"), "embed", "bnb", (all + QStringLiteral("2")).toStdString()}, {});
    QVERIFY(!named && named.error().message.find("embedding") != std::string::npos);
    QVERIFY(!QFile::exists(all + QStringLiteral("2")));
}

void BnbLayoutTest::refusals() {
    QTemporaryDir folder;
    const auto model = opened(folder, {made("a.weight", DType::F32, {8, 64}, wavyWithZeros(512)),
                                       made("b.weight", DType::F32, {8, 64}, wavyWithZeros(512))});
    const std::string out = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
    const auto eformers = quantizeModel(*model, {*parseSpec("nf4"), {}, "bnb", out}, Job{});
    QVERIFY(!eformers && eformers.error().message.find("nf4:dialect=bnb") != std::string::npos);
    QuantizeRequest mixed{*parseSpec("nf4:dialect=bnb"), {}, "bnb", out};
    mixed.rules = {{"^a", *parseSpec("fp4:dialect=bnb")}};
    const auto refused = quantizeModel(*model, mixed, Job{});
    QVERIFY(!refused && refused.error().message.find("one 4-bit type") != std::string::npos);
    QVERIFY(!QFile::exists(QString::fromStdString(out)));
    mixed.rules = {{"^a", *parseSpec("nf4:dialect=bnb:block=128")}};
    QVERIFY(quantizeModel(*model, mixed, Job{}).has_value());
    mixed.rules = {{"^a", std::nullopt}};
    const auto kept = quantizeModel(*model, mixed, Job{});
    QVERIFY(kept && kept->quantizedTensors == 1 && kept->copiedTensors == 1);
}

QS_TEST(BnbLayoutTest)
#include "bnb_layout_test.moc"
