// SPDX-License-Identifier: GPL-3.0-or-later
// compressed-tensors, GPTQ and MLX files, decoded here only by the rules of these packages. The values must equal those
// of the analysis.
#include "core/layouts/layout.h"
#include "core/model/gguf/gguf_write.h"
#include "core/quant/spec/scale_type.h"
#include "kernels/small_float.h"
#include "tests/core/model/made_gguf.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::test;

namespace {

constexpr std::int64_t kRows = 96, kColumns = 256;

std::vector<float> waves() {
    std::vector<float> values(std::size_t(kRows * kColumns));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(float(i) * 0.37f) * (0.2f + float(i % 53) * 0.01f) + 0.05f * std::cos(float(i / 256));
    return values;
}

/// Code i of a stream of 32-bit words.
unsigned codeOf(const std::uint32_t* words, std::size_t i, unsigned bits, std::size_t stride = 1) {
    unsigned code = 0;
    for (unsigned b = 0; b < bits; ++b) {
        const std::size_t at = i * bits + b;
        code |= (words[at / 32 * stride] >> (at % 32) & 1u) << b;
    }
    return code;
}

/// Reads as F32 from any dtype.
std::vector<float> floatsOf(const Model& file, const std::string& name) {
    const TensorInfo& tensor = *file.find(name);
    std::vector<float> out(tensor.elements);
    if (info(tensor.dtype).quantizable) {
        loadF32(*file.view(tensor), 0, out.size(), out.data());
    } else {
        const auto bytes = valuesOf<std::uint8_t>(file, name);
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = tensor.dtype == DType::U8 ? std::ldexp(1.0f, int(bytes[i]) - 127)
                                               : floatTable(*findFormat("fp8_e4m3"))[bytes[i]];
    }
    return out;
}

float e2m1(unsigned code) {
    static constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    return (code & 8 ? -1.0f : 1.0f) * kValues[code & 7];
}

std::vector<float> decodedCt(const Model& file, unsigned bits) {
    const auto scales = floatsOf(file, "p.weight_scale");
    const std::size_t n = std::size_t(kRows * kColumns), perScale = n / scales.size();
    std::vector<float> out(n);
    if (file.find("p.weight")) {
        const bool integers = file.find("p.weight")->dtype == DType::I8;
        const auto bytes = valuesOf<std::int8_t>(file, "p.weight");
        const auto floats = integers ? std::vector<float>(bytes.begin(), bytes.end()) : floatsOf(file, "p.weight");
        std::vector<std::int8_t> zeros(scales.size());
        if (file.find("p.weight_zero_point")) zeros = valuesOf<std::int8_t>(file, "p.weight_zero_point");
        const auto& shape = file.find("p.weight_scale")->shape;
        const bool tiles = shape.size() == 2 && shape[0] < kRows && shape[0] * shape[1] > 1;
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t tile = i / kColumns / 32 * std::size_t(shape.back()) + i % kColumns / 128;
            const std::size_t s = tiles ? tile : i / perScale;
            out[i] = (floats[i] - float(zeros[s])) * scales[s];
        }
        return out;
    }
    if (file.find("p.weight_packed")->dtype == DType::U8) {
        const auto codes = valuesOf<std::uint8_t>(file, "p.weight_packed");
        const float global =
            file.find("p.weight_global_scale") ? valuesOf<float>(file, "p.weight_global_scale")[0] : 1.0f;
        for (std::size_t i = 0; i < n; ++i)
            out[i] = e2m1(i % 2 ? codes[i / 2] >> 4 : codes[i / 2] & 15) * (scales[i / perScale] / global);
        return out;
    }
    const auto words = valuesOf<std::uint32_t>(file, "p.weight_packed");
    const std::size_t rowWords = words.size() / kRows, groups = scales.size() / kRows;
    const auto shape = valuesOf<std::int64_t>(file, "p.weight_shape");
    if (shape != std::vector<std::int64_t>{kRows, kColumns}) return {};
    std::vector<std::uint32_t> zeros;
    if (file.find("p.weight_zero_point")) zeros = valuesOf<std::uint32_t>(file, "p.weight_zero_point");
    const int middle = 1 << (bits - 1);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t row = i / kColumns, group = i % kColumns / (kColumns / groups);
        const int zero = zeros.empty() ? 0 : int(codeOf(zeros.data() + group, row, bits, groups)) - middle;
        const int q = int(codeOf(words.data() + row * rowWords, i % kColumns, bits)) - middle;
        out[i] = float(q - zero) * scales[row * groups + group];
    }
    return out;
}

/// Last words and last groups may be filled in part.
std::vector<float> decodedGptq(const Model& file, unsigned bits, bool symmetric, std::size_t rows = kRows,
                               std::size_t columns = kColumns) {
    const auto weights = valuesOf<std::uint32_t>(file, "p.qweight"), zeros = valuesOf<std::uint32_t>(file, "p.qzeros");
    const auto scales = floatsOf(file, "p.scales");
    const auto index = valuesOf<std::int32_t>(file, "p.g_idx");
    const std::size_t zeroWords = (rows * bits + 31) / 32;
    std::vector<float> out(rows * columns);
    for (std::size_t o = 0; o < rows; ++o)
        for (std::size_t i = 0; i < columns; ++i) {
            const auto group = std::size_t(index[i]);
            const int zero = int(codeOf(zeros.data() + group * zeroWords, o, bits)) + (symmetric ? 1 : 0);
            out[o * columns + i] =
                float(int(codeOf(weights.data() + o, i, bits, rows)) - zero) * scales[group * rows + o];
        }
    return out;
}

std::vector<float> decodedMlx(const Model& file, unsigned bits) {
    const auto words = valuesOf<std::uint32_t>(file, "p.weight");
    const auto scales = floatsOf(file, "p.scales"), biases = floatsOf(file, "p.biases");
    const std::size_t rowWords = words.size() / kRows, groups = scales.size() / kRows;
    std::vector<float> out(std::size_t(kRows * kColumns));
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t row = i / kColumns, group = row * groups + i % kColumns / (kColumns / groups);
        const float product = scales[group] * float(codeOf(words.data() + row * rowWords, i % kColumns, bits));
        out[i] = product + biases[group];
    }
    return out;
}

std::vector<float> decodedInt8(const Model& file) {
    const auto codes = valuesOf<std::int8_t>(file, "p.weight");
    const auto maxima = valuesOf<float>(file, "p.SCB");
    std::vector<float> out(codes.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = float(codes[i]) * maxima[i / kColumns] / 127.0f;
    return out;
}

} // namespace

class WordLayoutsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void decodes_data();
    void decodes();
    void llmInt8();
    void ggufToGguf();
    void configsMix();
    void gptqNamesItsBlocks();
    void gptqOddSides_data();
    void gptqOddSides();
    void mlxStacksExperts();
    void experts();
    void transformersKeepsWo();
    void refusals();
};

void WordLayoutsTest::decodes_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    const std::pair<const char*, const char*> rows[] = {
        {"compressed-tensors", "int4:dialect=ct:block=128"},
        {"compressed-tensors", "int4:dialect=ct:block=32:scaletype=bf16"},
        {"compressed-tensors", "int4:block=64"}, // -7 to 7
        {"compressed-tensors", "int4:dialect=ct:block=64:sym=no"},
        {"compressed-tensors", "int3:dialect=ct:block=32:sym=no"},
        {"compressed-tensors", "int5:dialect=ct:scale=channel"},
        {"compressed-tensors", "int6:dialect=ct:block=128"},
        {"compressed-tensors", "int8:dialect=ct:block=64"},
        {"compressed-tensors", "int8:dialect=ct:scale=channel"},
        {"compressed-tensors", "int8:dialect=ct:scale=channel:sym=no"},
        {"compressed-tensors", "int8:scale=tensor"},
        {"compressed-tensors", "fp8_e4m3"},
        {"compressed-tensors", "fp8_e4m3:scale=tensor:scaletype=bf16"},
        {"compressed-tensors", "fp8_e4m3:tile=0x32,1x128"},
        {"compressed-tensors", "nvfp4"},
        {"compressed-tensors", "mxfp4"},
        {"gptq", "int4:dialect=ct:block=128:scaletype=f16"},
        {"gptq", "int4:block=32:scaletype=f16:sym=no"},
        {"gptq", "int3:dialect=ct:block=64:scaletype=f16"},
        {"gptq", "int2:block=32:scaletype=f16:sym=no"},
        {"gptq", "int8:dialect=ct:scale=channel:scaletype=f16"},
        {"mlx", "int4:dialect=mlx"},
        {"mlx", "int5:dialect=mlx:block=128:scaletype=bf16"},
        {"mlx", "int4:sym=no:block=64:scaletype=bf16"},
        {"mlx", "int3:block=32:scaletype=f16"},
        {"mlx", "int6:dialect=ct:block=128:scaletype=bf16"},
        {"mlx", "int8:sym=no:block=64:scaletype=f16"}};
    for (const auto& [layout, spec] : rows)
        QTest::addRow("%s %s", layout, spec) << QString::fromLatin1(layout) << QString::fromLatin1(spec);
}

void WordLayoutsTest::decodes() {
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    const auto parsed = parseSpec(spec.toStdString());
    QVERIFY2(parsed.has_value(), parsed ? "" : parsed.error().message.c_str());
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("p.weight", DType::F32, {kRows, kColumns}, waves())});
    const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
    const auto done = quantizeModel(*model, {*parsed, {}, layout.toStdString(), path}, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    const auto file = openSafetensors(path); // reads the stored fields, not the layers
    QVERIFY(file.has_value());
    const auto bits = unsigned(parsed->traits().bits);
    const auto decoded = layout == QStringLiteral("gptq")  ? decodedGptq(**file, bits, parsed->isSymmetric())
                         : layout == QStringLiteral("mlx") ? decodedMlx(**file, bits)
                                                           : decodedCt(**file, bits);
    const auto expected = materialize(*quantizeTensor(*model->view(*model->find("p.weight")), *parsed, Job{}));
    QCOMPARE(decoded.size(), expected.size());
    for (std::size_t i = 0; i < decoded.size(); ++i)
        if (decoded[i] != expected[i])
            QFAIL(qPrintable(QStringLiteral("element %1: %2, not %3").arg(i).arg(decoded[i]).arg(expected[i])));
}

/// The maxima must equal those of the rows bit for bit. Readers multiply and divide, so values may differ in the last
/// bits.
void WordLayoutsTest::llmInt8() {
    const QTemporaryDir folder;
    const auto values = waves();
    const auto model = opened(folder, {made("p.weight", DType::F32, {kRows, kColumns}, values)});
    const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
    const QuantSpec spec = *parseSpec("int8:dialect=bnb");
    const auto done = quantizeModel(*model, {spec, {}, "llm-int8", path}, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    const auto file = openSafetensors(path);
    QCOMPARE(valuesOf<std::uint8_t>(**file, "p.weight_format"), std::vector<std::uint8_t>{0});
    const auto maxima = valuesOf<float>(**file, "p.SCB");
    for (std::size_t row = 0; row < std::size_t(kRows); ++row) {
        float most = 0;
        for (std::size_t i = 0; i < std::size_t(kColumns); ++i)
            most = std::max(most, std::fabs(values[row * std::size_t(kColumns) + i]));
        QCOMPARE(maxima[row], f16ToF32(f32ToF16(most)));
    }
    const auto decoded = decodedInt8(**file);
    const auto expected = materialize(*quantizeTensor(*model->view(*model->find("p.weight")), spec, {}));
    for (std::size_t i = 0; i < decoded.size(); ++i)
        QVERIFY(std::fabs(decoded[i] - expected[i]) <= 3e-7f * std::fabs(expected[i]));
}

/// Metadata and tensors that are not selected stay byte for byte, and our mark joins; selected ones are blocks of their
/// type.
void WordLayoutsTest::ggufToGguf() {
    const QTemporaryDir folder;
    MadeGguf source;
    source.alignment = 64;
    source.keys = {kv("general.architecture", Kind::String, str("llama")), kv("general.alignment", Kind::U32, u32(64)),
                   kv("general.file_type", Kind::U32, u32(0)),
                   kv("tokenizer.ggml.tokens", Kind::Array, array(Kind::String, 2, str("a") + str("\xe2\x98\x83"))),
                   kv("x.nested.number", Kind::F64, le(2.5))};
    const auto values = waves();
    const QByteArray raw(reinterpret_cast<const char*>(values.data()), int(values.size() * 4));
    const auto size = std::uint64_t(raw.size());
    source.tensors = {
        {"z.weight", {kColumns, kRows}, 0, 0}, {"a.weight", {kColumns, kRows}, 0, size}, {"norm", {64}, 0, 2 * size}};
    source.data = raw + raw + raw.left(256);
    const QString in = folder.filePath(QStringLiteral("in.gguf"));
    QFile file(in);
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write(source.bytes()) > 0);
    file.close();
    const auto model = openModel(in.toStdString());
    QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
    const QString out = folder.filePath(QStringLiteral("out.gguf"));
    QuantizeRequest request{*parseSpec("q4_0"), {}, "gguf", out.toStdString()};
    request.rules = {{"^a", *parseSpec("q8_0")}};
    const auto done = quantizeModel(**model, request, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    const auto written = openModel(out.toStdString());
    QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
    QVERIFY((*written)->warnings.empty());
    auto metadata = (*model)->files[0].metadata;
    metadata["general.quantization_version"] = std::string("2");
    auto told = (*written)->files[0].metadata;
    QVERIFY(told["general.file_type"] == "2" || told["general.file_type"] == "7"); // half is Q4_0, half Q8_0
    metadata["general.file_type"] = told["general.file_type"];
    metadata[kGgufMark] = "1";
    QVERIFY(told == metadata);
    QCOMPARE(std::string((*written)->find("z.weight")->typeId()), std::string("Q4_0"));
    QCOMPARE(std::string((*written)->find("a.weight")->typeId()), std::string("Q8_0"));
    QVERIFY((*written)->find("z.weight")->offset < (*written)->find("a.weight")->offset); // the order of the source
    QVERIFY(valuesOf<float>(**written, "norm") == valuesOf<float>(**model, "norm"));
    for (const char* name : {"z.weight", "a.weight"}) {
        const QuantSpec spec = *parseSpec(name[0] == 'z' ? "q4_0" : "q8_0");
        const auto expected = materialize(*quantizeTensor(*(*model)->view(*(*model)->find(name)), spec, Job{}));
        std::vector<float> is(expected.size());
        loadF32(*(*written)->view(*(*written)->find(name)), 0, is.size(), is.data());
        QVERIFY(is == expected);
    }
    // Other models have no metadata to copy, and the output is a single file.
    request.output = folder.filePath(QStringLiteral("folder")).toStdString();
    const auto named = quantizeModel(**model, request, Job{});
    QVERIFY(!named && named.error().message.find(".gguf") != std::string::npos);
    const auto other = opened(folder, {made("p.weight", DType::F32, {kRows, kColumns}, waves())});
    const auto refused = quantizeModel(*other, {*parseSpec("q4_0"), {}, "gguf", out.toStdString()}, Job{});
    QVERIFY(!refused && refused.error().message.find("GGUF") != std::string::npos);
}

void WordLayoutsTest::configsMix() {
    const QTemporaryDir folder, outputs;
    const auto model = opened(folder, {made("a.weight", DType::F32, {kRows, kColumns}, waves()),
                                       made("b.weight", DType::F32, {kRows, kColumns}, waves()),
                                       made("c.weight", DType::F32, {kRows, kColumns}, waves())});
    const auto configOf = [&](const char* layout, const char* spec, std::vector<TensorRule> rules) {
        const QString out = outputs.filePath(QString::fromLatin1(layout));
        QuantizeRequest request{*parseSpec(spec), {}, layout, out.toStdString()};
        request.rules = std::move(rules);
        const auto done = quantizeModel(*model, request, Job{});
        if (!done) return nlohmann::json(done.error().message);
        QFile file(out + QStringLiteral("/config.json"));
        return file.open(QIODevice::ReadOnly) ? nlohmann::json::parse(file.readAll().toStdString()) : nlohmann::json();
    };
    const auto one = configOf("compressed-tensors", "int4:dialect=ct:block=128", {{"^c", std::nullopt}});
    const auto& quantization = one["quantization_config"];
    QCOMPARE(quantization["format"].get<std::string>(), std::string("pack-quantized"));
    QCOMPARE(quantization["ignore"].dump(), std::string(R"(["c","lm_head"])"));
    QCOMPARE(quantization["config_groups"]["group_0"]["targets"].dump(), std::string(R"(["Linear"])"));
    const auto& weights = quantization["config_groups"]["group_0"]["weights"];
    QCOMPARE(weights["num_bits"].get<int>(), 4);
    QCOMPARE(weights["group_size"].get<int>(), 128);
    QCOMPARE(weights["strategy"].get<std::string>(), std::string("group"));

    const auto mixed =
        configOf("compressed-tensors", "int4:dialect=ct:block=128", {{"^b", *parseSpec("fp8_e4m3:tile=0x32,1x128")}});
    QCOMPARE(mixed["quantization_config"]["format"].get<std::string>(), std::string("mixed-precision"));
    const auto& groups = mixed["quantization_config"]["config_groups"];
    QCOMPARE(groups["group_0"]["targets"].dump(), std::string(R"(["a","c"])"));
    QCOMPARE(groups["group_1"]["targets"].dump(), std::string(R"(["b"])"));
    QCOMPARE(groups["group_1"]["weights"]["block_structure"].dump(), std::string("[32,128]"));
    QCOMPARE(groups["group_1"]["format"].get<std::string>(), std::string("float-quantized"));

    const auto mlx = configOf("mlx", "int4:block=64:scaletype=bf16",
                              {{"^b", *parseSpec("int8:block=32:scaletype=bf16")}, {"^c", std::nullopt}});
    QCOMPARE(mlx["quantization"]["bits"].get<int>(), 4);
    QCOMPARE(mlx["quantization"]["b"]["group_size"].get<int>(), 32);
    QVERIFY(mlx["quantization"]["c"] == false && mlx["quantization"] == mlx["quantization_config"]);

    const auto gptq =
        configOf("gptq", "int4:block=32:scaletype=f16", {{"^b", *parseSpec("int8:block=32:scaletype=f16")}});
    QVERIFY(gptq.is_string() && gptq.get<std::string>().find("one width") != std::string::npos);
    const auto plain = configOf("gptq", "int4:block=32:scaletype=f16", {});
    QCOMPARE(plain["quantization_config"]["checkpoint_format"].get<std::string>(), std::string("gptq"));
    QCOMPARE(plain["quantization_config"]["block_name_to_quantize"].get<std::string>(), std::string());
    QCOMPARE(plain["quantization_config"]["modules_in_block_to_quantize"].dump(), std::string(R"([["a","b","c"]])"));
    const auto partly = configOf("gptq", "int4:block=32:scaletype=f16", {{"^b", std::nullopt}});
    QCOMPARE(partly["quantization_config"]["modules_in_block_to_quantize"].dump(), std::string(R"([["a","c"]])"));
    QCOMPARE(partly["quantization_config"]["dynamic"].dump(), std::string(R"({"-:b$":{},"-:lm_head$":{}})"));
}

/// transformers replaces the layers below block_name_to_quantize, and knows few names of blocks itself.
void WordLayoutsTest::gptqNamesItsBlocks() {
    const QTemporaryDir folder, outputs;
    const auto model = opened(folder, {made("encoder.layer.0.query.weight", DType::F32, {kRows, kColumns}, waves()),
                                       made("encoder.layer.1.query.weight", DType::F32, {kRows, kColumns}, waves())});
    const QString out = outputs.filePath(QStringLiteral("out"));
    const auto done =
        quantizeModel(*model, {*parseSpec("int4:block=32:scaletype=f16"), {}, "gptq", out.toStdString()}, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    QFile file(out + QStringLiteral("/config.json"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const auto config = nlohmann::json::parse(file.readAll().toStdString())["quantization_config"];
    QCOMPARE(config["block_name_to_quantize"].get<std::string>(), std::string("encoder.layer"));
    QVERIFY(!config.contains("modules_in_block_to_quantize"));

    const auto mixtral = opened(folder, {made("l.0.q_proj.weight", DType::F32, {kRows, kColumns}, waves()),
                                         made("l.0.moe.experts.0.w1.weight", DType::F32, {kRows, kColumns}, waves())});
    QuantizeRequest request{*parseSpec("int4:block=32:scaletype=f16"), {}, "gptq", out.toStdString()};
    const auto refused = quantizeModel(*mixtral, request, Job{});
    QVERIFY(!refused && refused.error().message.find("other names") != std::string::npos);
    request.rules = {{"experts", std::nullopt}};
    QVERIFY(quantizeModel(*mixtral, request, Job{}).has_value());
}

void WordLayoutsTest::gptqOddSides_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("columns");
    QTest::newRow("part of a group") << "int4:dialect=ct:block=32:scaletype=f16" << 112 << 80;
    QTest::newRow("part of a word") << "int4:dialect=ct:sym=no:block=32:scaletype=f16" << 10 << 33;
    QTest::newRow("fewer than a word") << "int2:block=32:scaletype=f16:sym=no" << 3 << 40;
    QTest::newRow("bytes") << "int8:dialect=ct:scale=channel:scaletype=f16" << 301 << 35;
}

/// gptqmodel's kernel in PyTorch takes every shape: its words and groups are rounded up (qlinear/__init__.py). What is
/// opened again must be that too.
void WordLayoutsTest::gptqOddSides() {
    QFETCH(QString, spec);
    QFETCH(int, rows);
    QFETCH(int, columns);
    const auto parsed = parseSpec(spec.toStdString());
    QVERIFY2(parsed.has_value(), parsed ? "" : parsed.error().message.c_str());
    const QTemporaryDir folder, outputs;
    auto values = waves();
    values.resize(std::size_t(rows) * std::size_t(columns));
    const auto model = opened(folder, {made("p.weight", DType::F32, {rows, columns}, values)});
    const std::string out = outputs.filePath(QStringLiteral("out")).toStdString();
    const auto done = quantizeModel(*model, {*parsed, {}, "gptq", out}, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    QVERIFY(done->warnings.at(0).find("BACKEND.GPTQ_TORCH") != std::string::npos);
    const auto file = openSafetensors(out + "/in.safetensors");
    QVERIFY2(file.has_value(), file ? "" : file.error().message.c_str());
    const auto decoded = decodedGptq(**file, unsigned(parsed->traits().bits), parsed->isSymmetric(), std::size_t(rows),
                                     std::size_t(columns));
    const auto expected = materialize(*quantizeTensor(*model->view(*model->find("p.weight")), *parsed, Job{}));
    QVERIFY(decoded == expected);
    const auto back = openModel(out);
    QVERIFY2(back.has_value() && (*back)->find("p.weight"), "the layer is not decoded");
    QVERIFY((*back)->find("p.weight")->shape == (std::vector<std::int64_t>{rows, columns}));
    std::vector<float> is(expected.size());
    loadF32(*(*back)->view(*(*back)->find("p.weight")), 0, is.size(), is.data());
    for (std::size_t i = 0; i < is.size(); ++i) QCOMPARE(is[i], f16ToF32(f32ToF16(expected[i])));
}

/// mlx_lm stacks the experts of Qwen3-MoE by itself only as long as they are not quantized, so they are written in one
/// tensor; of other networks alike it takes no quantized experts.
void WordLayoutsTest::mlxStacksExperts() {
    const QTemporaryDir folder, outputs;
    auto other = waves();
    std::ranges::reverse(other);
    const auto sourceOf = [&](const char* type, const char* second = "1") {
        QFile config(folder.filePath(QStringLiteral("config.json")));
        if (!config.open(QIODevice::WriteOnly)) qFatal("config.json");
        config.write(QByteArray("{\"model_type\": \"") + type + "\"}");
        config.close();
        opened(folder,
               {made("m.0.q_proj.weight", DType::F32, {kRows, kColumns}, waves()),
                made("m.0.mlp.experts.0.up_proj.weight", DType::F32, {kRows, kColumns}, waves()),
                made(("m.0.mlp.experts." + std::string(second) + ".up_proj.weight").c_str(), DType::F32,
                     {kRows, kColumns}, other)},
               "model.safetensors");
        return *openModel(folder.path().toStdString());
    };
    const auto model = sourceOf("qwen3_moe");
    const QuantSpec spec = *parseSpec("int4:dialect=mlx:block=32");
    QuantizeRequest request{spec, {}, "mlx", outputs.filePath(QStringLiteral("out")).toStdString()};
    const auto done = quantizeModel(*model, request, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    const auto file = openSafetensors(request.output + "/model.safetensors");
    QVERIFY(file.has_value());
    const TensorInfo* codes = (*file)->find("m.0.mlp.switch_mlp.up_proj.weight");
    QVERIFY(codes && codes->shape == (std::vector<std::int64_t>{2, kRows, kColumns / 8}));
    QVERIFY((*file)->find("m.0.mlp.switch_mlp.up_proj.scales")->shape ==
            (std::vector<std::int64_t>{2, kRows, kColumns / 32}));
    QVERIFY(!(*file)->find("m.0.mlp.experts.0.up_proj.weight"));
    const auto back = openModel(request.output);
    QVERIFY2(back.has_value(), back ? "" : back.error().message.c_str());
    std::vector<float> is(2 * waves().size()), expected;
    loadF32(*(*back)->view(*(*back)->find("m.0.mlp.switch_mlp.up_proj.weight")), 0, is.size(), is.data());
    for (const char* name : {"m.0.mlp.experts.0.up_proj.weight", "m.0.mlp.experts.1.up_proj.weight"}) {
        const auto one = materialize(*quantizeTensor(*model->view(*model->find(name)), spec, Job{}));
        expected.insert(expected.end(), one.begin(), one.end());
    }
    QVERIFY(is == expected);

    request.rules = {{"experts\\.1", *parseSpec("int8:dialect=mlx:block=32")}};
    const auto mixed = quantizeModel(*model, request, Job{});
    QVERIFY(!mixed && mixed.error().message.find("one spec") != std::string::npos);
    request.rules = {};
    const auto next = quantizeModel(*sourceOf("qwen3_next"), request, Job{});
    QVERIFY(!next && next.error().message.find("experts=keep") != std::string::npos);
    request.rules = {{"experts", std::nullopt}};
    QVERIFY(quantizeModel(*sourceOf("qwen3_next"), request, Job{}).has_value());

    const auto unnumbered = sourceOf("qwen3_moe", "99999999999999999999");
    const auto none =
        quantizeModel(*unnumbered, {spec, {}, "mlx", outputs.filePath(QStringLiteral("no")).toStdString()}, Job{});
    QVERIFY(!none && none.error().message.find("an expert has no number") != std::string::npos);
}

/// transformers 5 stacks the experts of a layer: it decodes them by one scheme of compressed-tensors that is packed or fp8,
/// and bitsandbytes quantizes none.
void WordLayoutsTest::experts() {
    const QTemporaryDir folder, outputs;
    const auto model =
        opened(folder, {made("l.0.q_proj.weight", DType::F32, {kRows, kColumns}, waves()),
                        made("l.0.mlp.experts.0.up_proj.weight", DType::F32, {kRows, kColumns}, waves()),
                        made("l.0.mlp.experts.1.up_proj.weight", DType::F32, {kRows, kColumns}, waves())});
    const auto written = [&](const char* layout, const char* spec, std::vector<TensorRule> rules) {
        const QString out = outputs.filePath(QString::fromLatin1(layout));
        QuantizeRequest request{*parseSpec(spec), {}, layout, out.toStdString()};
        request.rules = std::move(rules);
        const auto done = quantizeModel(*model, request, Job{});
        if (!done) return nlohmann::json(done.error().message);
        QFile file(out + QStringLiteral("/config.json"));
        return file.open(QIODevice::ReadOnly) ? nlohmann::json::parse(file.readAll().toStdString()) : nlohmann::json();
    };
    const std::vector<TensorRule> keep = {{"experts", std::nullopt}};
    const auto bytes = written("compressed-tensors", "int8:scale=channel", {});
    QVERIFY2(bytes.is_object(), bytes.dump().c_str());
    const auto& groups = bytes["quantization_config"]["config_groups"];
    QCOMPARE(groups["group_1"]["format"].get<std::string>(), std::string("int-quantized"));
    QCOMPARE(groups["group_0"]["format"].get<std::string>(), std::string("pack-quantized"));
    QCOMPARE(groups["group_0"]["targets"][0].get<std::string>(), std::string(R"(re:.*\.experts\.[0-9]+\..*)"));
    QVERIFY(written("compressed-tensors", "int4:dialect=ct:block=32", {}).is_object());
    QVERIFY(written("compressed-tensors", "fp8_e4m3", keep).is_object());
    for (const auto& refused :
         {written("compressed-tensors", "nvfp4", {}), written("compressed-tensors", "int4:dialect=ct:block=32", keep),
          written("compressed-tensors", "int4:dialect=ct:block=32", {{"experts.1", *parseSpec("int8:scale=channel")}}),
          written("bnb", "nf4:dialect=bnb:block=32", {}), written("llm-int8", "int8:dialect=bnb", {})})
        QVERIFY2(refused.is_string() && refused.get<std::string>().find("stacks the experts") != std::string::npos,
                 refused.dump().c_str());
    QVERIFY(written("bnb", "nf4:dialect=bnb:block=32", keep).is_object());
}

/// The network T5 reads the weight of this module itself, and transformers never makes a quantized layer of it.
void WordLayoutsTest::transformersKeepsWo() {
    const QTemporaryDir folder, outputs;
    const std::string wo = "encoder.block.0.layer.1.DenseReluDense.wo.weight";
    const auto model = opened(
        folder, {made("encoder.block.0.layer.1.DenseReluDense.wi.weight", DType::F32, {kRows, kColumns}, waves()),
                 made(wo, DType::F32, {kRows, kColumns}, waves())});
    for (const auto& [layout, spec] :
         {std::pair("bnb", "nf4:dialect=bnb:block=32"), std::pair("llm-int8", "int8:dialect=bnb"),
          std::pair("gptq", "int4:block=32:scaletype=f16"),
          std::pair("compressed-tensors", "int4:dialect=ct:block=32")}) {
        const QString out = outputs.filePath(QString::fromLatin1(layout));
        const auto done = quantizeModel(*model, {*parseSpec(spec), {}, layout, out.toStdString()}, Job{});
        QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
        const auto back = openModel(out.toStdString());
        QVERIFY(back.has_value() && (*back)->find(wo));
        QCOMPARE((*back)->find(wo)->dtype, DType::F32);
        QVERIFY(!(*back)->find(wo)->packed);
    }
}

void WordLayoutsTest::refusals() {
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("p.weight", DType::F32, {kRows, kColumns}, waves()),
                                       made("odd.weight", DType::F32, {10, 33}, std::vector<float>(330, 1.0f)),
                                       made("nameless", DType::F32, {kRows, kColumns}, waves()),
                                       made("l.linear_attn.in_proj_ba.weight", DType::F32, {kRows, kColumns}, waves()),
                                       made("lm_head.weight", DType::F32, {kRows, kColumns}, waves())});
    const QString out = folder.filePath(QStringLiteral("out.safetensors"));
    const std::tuple<const char*, const char*, const char*, const char*> cases[] = {
        {"compressed-tensors", "nf4", "^p", "int4:dialect=ct:block=128"},
        {"compressed-tensors", "int4:dialect=ct:block=32", "^odd", "33 columns"},
        {"compressed-tensors", "int4:dialect=ct:block=32", "^nameless", ".weight"},
        {"gptq", "int4:block=32", "^p", "scaletype=f16"},
        {"gptq", "int3:block=32:scaletype=f16", "^odd", "multiples of 32"},
        {"gptq", "int4:block=40:scaletype=f16", "^p", "block=40"},
        {"gptq", "int4:block=32:scaletype=f16", "^lm_head", "within the blocks alone"},
        {"gptq", "int4:block=32:scaletype=f16", "in_proj_ba", "gptqmodel makes no"},
        {"mlx", "int4:block=64", "^p", "scaletype=bf16"}};
    for (const auto& [layout, spec, filter, part] : cases) {
        const auto done = quantizeModel(*model, {*parseSpec(spec), filter, layout, out.toStdString()}, Job{});
        QVERIFY(!done.has_value());
        QVERIFY2(done.error().message.find(part) != std::string::npos, done.error().message.c_str());
        QVERIFY(!QFile::exists(out));
    }
}

QS_TEST(WordLayoutsTest)
#include "word_layouts_test.moc"
