// SPDX-License-Identifier: GPL-3.0-or-later
// Audits of quantized files: number of bits, codebooks, order of nibbles and of columns.
#include "made_audit.h"
#include "tests/support/test_program.h"

#include <memory>

class AuditQuantizedTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void alreadyQuantized_data();
    void alreadyQuantized();
    void codebook();
    void bitsandbytes();
    void codebookOfTrained_data();
    void codebookOfTrained();
    void realFiles_data();
    void realFiles();
    void columnOrder();
    void orderOfTrained();
};

void AuditQuantizedTest::alreadyQuantized_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("says");
    auto row = [turn = std::size_t(0)](const char* spec, const char* says) mutable {
        if (!taken(turn++)) return;
        QTest::newRow(spec) << QString::fromLatin1(spec) << QString::fromLatin1(says);
    };
    row("nf4:block=64", "blocks of 64 hold at most 16 values, those of NF4 times a scale");
    row("nf4:block=128", "blocks of 128 hold at most 16 values, those of NF4 times a scale");
    row("fp4:block=64", "those of FP4 times a scale");
    row("int4:block=32", "blocks of 32 hold at most 15 values, those of INT4 times a scale");
    row("int2:block=64", "times a scale");
    row("mxfp4", "those of MXFP4 times a scale");
    row("ternary:scale=channel", "hold at most 3 values");
    row("binary:scale=channel", "hold at most 2 values, those of Binary times a scale");
    row("int8", "rows lie on at most 253 equal steps, as integers of 8 bits times a scale");
    row("int8:block=128", "blocks of 128 lie on at most");
    row("int6:block=64", "blocks of 64 lie on at most 62 equal steps, as integers of 6 bits times a scale");
    row("int8:scale=tensor", "equal steps, as integers of 8 bits times a scale");
    row("int8:axis=0", "columns lie on at most 254 equal steps, as integers of 8 bits times a scale");
    row("int8:sym=no", "rows lie on at most 255 equal steps, as integers of 8 bits times a scale");
    row("int8:block=64:sym=no", "blocks of 64 lie on at most 255 equal steps, as integers of 8 bits times a scale");
    row("q8_0", "blocks of 32 lie on at most");
    row("q5_1", "blocks of 32 lie on at most 31 equal steps, as integers of 5 bits times a scale");
    row("fp8_e4m3", "the values of 64 of 64 rows are those of FP8 E4M3 times a scale");
    row("fp8_e5m2:block=128", "are those of FP8 E5M2 times a scale");
    row("mxfp8", "are those of FP8 E4M3 times a scale");
    row("q4_0", "blocks of 32 hold at most 16 values");
    row("q4_1", "blocks of 32 hold at most 16 values");
    row("codebook:bits=3:block=256", "hold at most 8 values");
}

void AuditQuantizedTest::alreadyQuantized() {
    QFETCH(QString, spec);
    QFETCH(QString, says);
    const QTemporaryDir folder;
    const auto values = decoded(folder, normal(64, 512, 1), 512, qPrintable(spec));
    const auto bits = halves(decoded(folder, normal(64, 512, 2), 512, qPrintable(spec)), f32ToBf16);
    const auto model =
        opened(folder, {f32("w", {64, 512}, values), made("half", DType::BF16, {64, 512}, bits)}, "w.safetensors");
    SAME(model, Set{"already_quantized w", "already_quantized half"});
    const auto result = auditModel(model, Job{});
    const auto& evidence = result->findings.back().evidence;
    QVERIFY2(QString::fromStdString(evidence).contains(says), evidence.c_str());
}

/// The metadata names another format than the one that made the codes.
void AuditQuantizedTest::codebook() {
    const QTemporaryDir folder;
    const auto source = opened(folder, {f32("w", {256, 512}, normal(256, 512, 1))});
    const auto codesOf = [&](const char* spec) {
        const QuantizeRequest request{
            *parseSpec(spec), {}, "native", folder.filePath(QStringLiteral("q.safetensors")).toStdString()};
        const auto done = quantizeModel(*source, request, Job{});
        if (!done) qFatal("%s", done.error().message.c_str());
        const auto model = openModel(request.output);
        return std::pair(valuesOf<std::uint8_t>(**model, "w.codes"), valuesOf<float>(**model, "w.scale"));
    };
    const auto labelled = [&](const char* made4, const char* label) {
        const auto [codes, scales] = codesOf(made4);
        const std::string text =
            std::string(R"({"spec":")") + label + R"(","shape":[256,512],"dtype":"F32","layout":"native"})";
        const std::string path = folder.filePath(QStringLiteral("l.safetensors")).toStdString();
        const auto done = writeSafetensors(
            path, {made("w.codes", DType::U8, {256, 256}, codes), made("w.scale", DType::F32, {256, 8}, scales)},
            {{"quantscope.w", text}}, nullptr, Job{});
        if (!done) qFatal("%s", done.error().message.c_str());
        return *openModel(path);
    };
    for (const char* right : {"nf4:block=64", "int4:block=64", "fp4:block=64", "af4:block=64"})
        SAME(labelled(right, right), Set{});
    SAME(labelled("nf4:block=64", "fp4:block=64"), Set{"codebook w.codes"});
    SAME(labelled("fp4:block=64", "nf4:block=64"), Set{"codebook w.codes"});
    SAME(labelled("fp4:block=64", "int4:block=64"), Set{"codebook w.codes"});
}

/// bitsandbytes writes the format into the name of a tensor, with the levels beside it.
void AuditQuantizedTest::bitsandbytes() {
    const QTemporaryDir folder;
    const auto layer = [&](const char* codesOf, const char* label) {
        const auto source = opened(folder, {f32("w", {256, 512}, normal(256, 512, 1))}, "source.safetensors");
        const auto quantized = quantizeTensor(*source->view(source->tensors.front()),
                                              *parseSpec(std::string(codesOf) + ":dialect=bnb"), Job{});
        const FormatTraits &is = *findFormat(codesOf), &said = *findFormat(label);
        const auto bits = [](const FormatTraits& format, std::uint8_t code) {
            return format.bytes.empty() ? code : format.bytes[code];
        };
        std::vector<std::uint8_t> packed;
        for (std::size_t i = 0; i < quantized->codes.size(); i += 2)
            packed.push_back(std::uint8_t(bits(is, quantized->codes[i]) << 4 | bits(is, quantized->codes[i + 1])));
        std::vector<float> map(16);
        for (std::size_t i = 0; i < 16; ++i) map[bits(said, std::uint8_t(i))] = said.levels[i];
        const std::string text =
            std::string(R"({"quant_type":")") + label + R"(","blocksize":64,"dtype":"float32","shape":[256,512]})";
        const auto count = std::int64_t(quantized->scales.size());
        return opened(folder,
                      {made("x.weight", DType::U8, {std::int64_t(packed.size()), 1}, packed),
                       f32("x.weight.absmax", {count}, quantized->scales), f32("x.weight.quant_map", {16}, map),
                       made("x.weight.quant_state.bitsandbytes__" + std::string(label), DType::U8,
                            {std::int64_t(text.size())}, std::vector<std::uint8_t>(text.begin(), text.end()))},
                      "layer.safetensors");
    };
    const auto right = layer("nf4", "nf4");
    QCOMPARE(right->tensors.size(), std::size_t(1));
    QVERIFY(right->tensors.front().derived != nullptr);
    SAME(right, Set{});
    SAME(layer("fp4", "fp4"), Set{});
    SAME(layer("nf4", "fp4"), Set{"codebook x.weight"});
    SAME(layer("fp4", "nf4"), Set{"codebook x.weight"});
}

/// Codes of the sample model under other format names and with other numberings. Similar codebooks need many tensors to
/// be told apart.
void AuditQuantizedTest::codebookOfTrained_data() {
    QTest::addColumn<QString>("is");
    QTest::addColumn<QString>("label");
    QTest::addColumn<int>("change");   // of each nibble: 0 none, 1 descending order, 2 minus 7
    QTest::addColumn<QString>("says"); // "": nothing is wrong
    auto row = [turn = std::size_t(0)](const char* is, const char* label, int change, const char* says) mutable {
        if (!taken(turn++)) return;
        QTest::addRow("%s as %s, %d", is, label, change)
            << QString::fromLatin1(is) << QString::fromLatin1(label) << change << QString::fromLatin1(says);
    };
    row("nf4:block=64", "nf4:block=64", 0, "");
    row("af4:block=64", "af4:block=64", 0, "");
    row("int4:block=64", "int4:block=64", 0, "");
    row("fp4:block=64", "fp4:block=64", 0, "");
    row("mxfp4", "mxfp4", 0, "");
    row("nvfp4", "nvfp4", 0, "");
    row("int4:scale=channel", "int4:scale=channel", 0, "");
    row("nf4:calib=mse", "nf4:calib=mse", 0, "");
    row("nf4:block=64", "af4:block=64", 0, "labelled AF4, and NF4 fits");
    row("af4:block=64", "nf4:block=64", 0, "labelled NF4, and AF4 fits");
    row("int4:block=64", "nf4:block=64", 0, "labelled NF4, and INT4 fits");
    row("nf4:block=64", "int4:block=64", 0, "of NF4");
    row("nf4:block=64", "fp4:block=64", 0, "of NF4");
    row("fp4:block=64", "fp4:block=64", 1, "of FP4 in descending order");
    row("int4:block=64", "int4:block=64", 2, "of INT4 in two's complement");
}

void AuditQuantizedTest::codebookOfTrained() {
    QFETCH(QString, is);
    QFETCH(QString, label);
    QFETCH(int, change);
    QFETCH(QString, says);
    const QTemporaryDir folder;
    const auto sample = openModel(QS_SOURCE_DIR "/resources/samples/tiny-llama");
    QVERIFY(sample.has_value());
    QuantizeRequest request{*parseSpec(is.toStdString()), {}, "native", {}};
    request.output = folder.filePath(QStringLiteral("q.safetensors")).toStdString();
    QVERIFY(quantizeModel(**sample, request, Job{}));
    const auto made = openModel(request.output);
    QVERIFY(made.has_value());
    std::vector<TensorToWrite> tensors;
    for (const TensorInfo& tensor : (*made)->tensors) {
        auto bytes = valuesOf<std::uint8_t>(**made, tensor.name);
        if (tensor.name.ends_with(".codes"))
            for (auto& byte : bytes) {
                const auto changed = [&](unsigned code) { return change == 1 ? 15 - code : (code + 9) & 15; };
                if (change) byte = std::uint8_t(changed(byte & 15) | changed(byte >> 4) << 4);
            }
        tensors.push_back({tensor.name, tensor.dtype, tensor.shape,
                           [bytes](const TensorToWrite::Sink& sink) { return sink(std::as_bytes(std::span(bytes))); }});
    }
    auto metadata = (*made)->files.front().metadata;
    for (auto& [key, text] : metadata)
        if (key.starts_with("quantscope."))
            text = QString::fromStdString(text)
                       .replace(QStringLiteral("\"%1\"").arg(is), QStringLiteral("\"%1\"").arg(label))
                       .toStdString();
    const auto path = folder.filePath(QStringLiteral("l.safetensors")).toStdString();
    QVERIFY(writeSafetensors(path, std::move(tensors), std::move(metadata), nullptr, Job{}));
    const auto labelled = openModel(path);
    const auto result = auditModel(*labelled, Job{});
    QVERIFY(result.has_value());
    std::size_t spoken = 0;
    for (const Finding& finding : result->findings) {
        if (finding.check->id != std::string_view("codebook")) continue;
        QVERIFY2(!says.isEmpty(), finding.evidence.c_str());
        spoken += QString::fromStdString(finding.evidence).contains(says);
    }
    QVERIFY2(says.isEmpty() || spoken > 0, result->findings.empty() ? "" : result->findings.front().evidence.c_str());
}

/// Files of other programs must give no false alarm.
void AuditQuantizedTest::realFiles_data() {
    QTest::addColumn<QString>("path");
    for (const char* path : {"conventions/auto_round",
                             "conventions/awq_gemm",
                             "conventions/bnb_4bit",
                             "conventions/bnb_int8",
                             "conventions/comfy_metadata",
                             "conventions/comfy_scaled",
                             "conventions/ct_groups",
                             "conventions/ct_mxfp6",
                             "conventions/deepseek_v4",
                             "conventions/fp8_blocks",
                             "conventions/fp8_tensor",
                             "conventions/gptoss_mxfp4",
                             "conventions/gptq_dynamic",
                             "conventions/gptq_odd",
                             "conventions/gptq_v1",
                             "conventions/gptq_v2",
                             "conventions/mlx_modes",
                             "conventions/modelopt_nvfp4",
                             "conventions/quanto_linear",
                             "conventions/torchao_linear",
                             "conventions/torchao_pickle",
                             "onnx/packed.onnx",
                             "onnx/qmoe.onnx",
                             "diff/layer0_attention.gguf",
                             "gguf/aligned.gguf",
                             "keras/tiny.keras.safetensors",
                             "keras/legacy.h5.safetensors",
                             "pytorch/lpips_alex.pth",
                             "pytorch/legacy_1.pt",
                             "pytorch/arrays.npz"})
        QTest::newRow(path) << QStringLiteral(QS_TEST_DATA "/") + QString::fromLatin1(path);
}

void AuditQuantizedTest::realFiles() {
    QFETCH(QString, path);
    const auto model = openModel(path.toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    const auto result = auditModel(*model, Job{});
    QVERIFY(result.has_value());
    // Some files contain constant channels, unused units of a small network, and experts that are all 0. Nothing else
    // may be found.
    for (const Finding& finding : result->findings)
        QVERIFY2(finding.check->id == std::string_view("channels"), finding.evidence.c_str());
}

/// Layers that read the same vector; in one of them the nibbles were unpacked in the wrong order.
void AuditQuantizedTest::columnOrder() {
    const QTemporaryDir folder;
    constexpr std::size_t columns = 512;
    const auto swapped = [&](std::size_t (*from)(std::size_t)) {
        auto x = normal(64, columns, 4, 0.5f);
        const auto before = x;
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = before[i / 32 * 32 + from(i % 32)];
        return x;
    };
    const auto make = [&](std::vector<float> odd) {
        return opened(folder, {f32("q", {64, columns}, normal(64, columns, 1, 0.5f)),
                               f32("k", {64, columns}, normal(64, columns, 2, 0.5f)),
                               f32("v", {64, columns}, normal(64, columns, 3, 0.5f)),
                               f32("other", {64, columns}, normal(64, columns, 6)), f32("odd", {64, columns}, odd)});
    };
    SAME(make(normal(64, columns, 4, 0.5f)), Set{});
    SAME(make(swapped([](std::size_t i) { return i ^ 1; })), Set{"column_order odd"});
    SAME(make(swapped([](std::size_t i) { return i / 2 + i % 2 * 16; })), Set{"column_order odd"});
    SAME(make(swapped([](std::size_t i) { return i < 16 ? 2 * i : 2 * (i - 16) + 1; })), Set{"column_order odd"});
}

/// One wrong tensor of the sample, compared with all tensors of the same channels: rows that write them and vectors
/// that scale them.
void AuditQuantizedTest::orderOfTrained() {
    const QTemporaryDir folder;
    const auto sample = openModel(QS_SOURCE_DIR "/resources/samples/tiny-llama");
    QVERIFY(sample.has_value());
    const auto with = [&](const std::string& odd, bool rows, std::size_t (*from)(std::size_t)) {
        std::vector<TensorToWrite> tensors;
        for (const TensorInfo& tensor : (*sample)->tensors) {
            auto bits = valuesOf<std::uint16_t>(**sample, tensor.name);
            if (tensor.name == odd) {
                const auto before = bits;
                const auto columns = std::size_t(tensor.shape.back());
                for (std::size_t i = 0; i < bits.size(); ++i) {
                    const std::size_t row = i / columns, column = i % columns;
                    bits[i] = rows ? before[from(row) * columns + column] : before[row * columns + from(column)];
                }
            }
            tensors.push_back(made(tensor.name, tensor.dtype, tensor.shape, std::move(bits)));
        }
        return opened(folder, std::move(tensors), "o.safetensors");
    };
    const auto swapped = [](std::size_t i) { return i ^ 1; };
    const auto awq = [](std::size_t i) {
        return i / 8 * 8 + std::array<std::size_t, 8>{0, 2, 4, 6, 1, 3, 5, 7}[i % 8];
    };
    const std::string at = "model.layers.3.";
    int columns = 0, rows = 0;
    for (const char* name : {"mlp.up_proj.weight", "mlp.down_proj.weight", "self_attn.q_proj.weight"}) {
        const auto is = found(with(at + name, false, swapped));
        for (const auto& each : is) QCOMPARE(each, "column_order " + at + name); // no other tensor is named
        columns += int(is.size());
    }
    const auto is = found(with(at + "mlp.down_proj.weight", true, awq));
    for (const auto& each : is) QCOMPARE(each, "column_order " + at + "mlp.down_proj.weight");
    rows += int(is.size());
    QVERIFY2(columns >= 2 && rows == 1, qPrintable(QStringLiteral("columns %1, rows %2").arg(columns).arg(rows)));
}

QS_TEST(AuditQuantizedTest)

#include "audit_quantized_test.moc"
