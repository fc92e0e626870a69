// SPDX-License-Identifier: GPL-3.0-or-later
// Proofs and certificates: written files are compared with the source, and files that differ are removed.
#include "core/export/export_plan.h"
#include "core/model/conventions/convention.h"
#include "core/report/report.h"
#include "tests/core/export/made_export.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QFile>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::test;

namespace {

void flipLastByte(const QString& path) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadWrite) && file.seek(file.size() - 1));
    char last = 0;
    QVERIFY(file.getChar(&last) && file.seek(file.size() - 1) && file.putChar(char(last ^ 0x11)));
}

} // namespace

class ExportTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void proved_data();
    void proved();
    void rowsOnlyForWhoTakesThem();
    void provedByReadersOfOthers_data();
    void provedByReadersOfOthers();
    void provedByReadersOfOthersInOneFile_data() { provedByReadersOfOthers_data(); }
    void provedByReadersOfOthersInOneFile();
    void mlxInTheModelsType_data();
    void mlxInTheModelsType();
    void conv1dIsTurned_data();
    void conv1dIsTurned();
    void manyGroupsInPieces();
    void tensorScaleOfManyGroups();
    void certificateSaysWhatIsThere();
    void failedProofLeavesNothing();
};

void ExportTest::proved_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("layout");
    const std::pair<const char*, const char*> rows[] = {{"nf4", "eformer"},
                                                        {"nf4:decode=poly", "eformer"},
                                                        {"int8", "eformer"},
                                                        {"ternary:scale=tensor", "eformer"},
                                                        {"int4:sym=no:block=32", "native"},
                                                        {"nvfp4", "native"},
                                                        {"nf4:dialect=bnb:scaletype=u8dq", "native"},
                                                        {"codebook:bits=3", "native"},
                                                        {"fp8_e4m3", "plain"},
                                                        {"bf16", "plain"},
                                                        {"nf4:dialect=bnb", "bnb"},
                                                        {"fp4:dialect=bnb:block=32", "bnb"},
                                                        {"nf4:dialect=bnb:scaletype=u8dq", "bnb"},
                                                        {"int8:dialect=bnb", "llm-int8"}};
    for (const auto& [spec, layout] : rows)
        for (const char* kind : {"file", "folder"})
            QTest::addRow("%s %s %s", spec, layout, kind) << QString::fromLatin1(spec) << QString::fromLatin1(layout);
}

void ExportTest::proved() {
    QFETCH(QString, spec);
    QFETCH(QString, layout);
    const bool folderWanted = QByteArray(QTest::currentDataTag()).endsWith("folder");
    const QTemporaryDir folder, outputs;
    const auto model = sample(folder);
    const QString out = outputs.filePath(folderWanted ? QStringLiteral("out") : QStringLiteral("out.safetensors"));
    const auto done = exportModel(*model, request(spec.toLatin1().data(), layout.toLatin1().data(), out), Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    const Proof& proof = done->certificate.proof;
    QVERIFY(proof.proved());
    QCOMPARE(proof.equal, std::uint64_t(2));
    QCOMPARE(proof.copied, std::uint64_t(1));
    QCOMPARE(proof.bytesWritten, proof.bytesPredicted);
    QCOMPARE(QString::fromStdString(done->certificatePath),
             folderWanted ? out + QStringLiteral("/certificate.json")
                          : outputs.filePath(QStringLiteral("out.safetensors.certificate.json")));
    const auto again = readCertificate(done->certificatePath);
    QVERIFY2(again.has_value(), again ? "" : again.error().message.c_str());
    QCOMPARE(certificateText(*again), certificateText(done->certificate));
}

/// Without a certificate the rows of the proof are counted and not kept.
void ExportTest::rowsOnlyForWhoTakesThem() {
    const QTemporaryDir folder, outputs;
    const auto model = sample(folder);
    const auto done = [&](const char* name, Beside beside, ProofRows rows) {
        const QString out = outputs.filePath(QString::fromLatin1(name));
        return *exportModel(*model, request("nf4", "eformer", out), Job{}, beside, rows);
    };
    const auto kept = done("kept.safetensors", Beside::Nothing, ProofRows::Kept);
    const auto counted = done("counted.safetensors", Beside::Nothing, ProofRows::Counted);
    QCOMPARE(kept.certificate.proof.tensors.size(), model->tensors.size());
    QVERIFY(counted.certificate.proof.tensors.empty());
    QCOMPARE(summaryText(counted.certificate), summaryText(kept.certificate));
    for (const char* name : {"certified.safetensors", "folder"}) { // a certificate has all rows
        const auto certified = done(name, Beside::Certificate, ProofRows::Counted);
        QCOMPARE(certified.certificate.proof.tensors.size(), model->tensors.size());
    }
}

void ExportTest::provedByReadersOfOthers_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    const std::pair<const char*, const char*> rows[] = {
        {"compressed-tensors", "int4:dialect=ct:block=64:scaletype=bf16"},
        {"compressed-tensors", "int4:dialect=ct:block=64:sym=no"},
        {"compressed-tensors", "int3:dialect=ct:block=32:sym=no:scaletype=f16"},
        {"compressed-tensors", "int5:dialect=ct:scale=channel"},
        {"compressed-tensors", "int8:dialect=ct:scale=channel:sym=no"},
        {"compressed-tensors", "int8:scale=tensor:scaletype=bf16"},
        {"compressed-tensors", "fp8_e4m3"},
        {"compressed-tensors", "fp8_e4m3:tile=0x32,1x64"},
        {"compressed-tensors", "nvfp4"},
        {"compressed-tensors", "mxfp4"},
        {"gptq", "int4:dialect=ct:block=64:scaletype=f16"},
        {"gptq", "int4:block=32:scaletype=f16:sym=no"},
        {"gptq", "int3:dialect=ct:block=64:scaletype=f16"},
        {"gptq", "int8:dialect=ct:scale=channel:scaletype=f16"},
        {"mlx", "int4:dialect=mlx"},
        {"mlx", "int4:sym=no:block=64:scaletype=bf16"},
        {"mlx", "int4:block=32:scaletype=f16"},
        {"mlx", "int6:dialect=ct:block=64:scaletype=bf16"}};
    for (const auto& [layout, spec] : rows)
        QTest::addRow("%s %s", layout, spec) << QString::fromLatin1(layout) << QString::fromLatin1(spec);
}

/// Folders, because the readers need config.json. A second matrix is not quantized.
void ExportTest::provedByReadersOfOthers() {
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    const QTemporaryDir folder, outputs;
    const auto model = sample(folder);
    const QString out = outputs.filePath(QStringLiteral("out"));
    QuantizeRequest asked{*parseSpec(spec.toStdString()), "^a", layout.toStdString(), out.toStdString()};
    const auto done = exportModel(*model, asked, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    const Proof& proof = done->certificate.proof;
    QVERIFY2(proof.proved(), summaryText(done->certificate).c_str());
    QCOMPARE(proof.equal, std::uint64_t(1));
    QCOMPARE(proof.copied, std::uint64_t(2));
    QCOMPARE(proof.bytesWritten, proof.bytesPredicted);
    QVERIFY(proof.tensors.all()->front().readAs != "F32");
}

/// A single file has in its metadata what config.json would contain. Its values are compared in the same way.
void ExportTest::provedByReadersOfOthersInOneFile() {
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    const QTemporaryDir folder, outputs;
    const auto model = sample(folder);
    const QString out = outputs.filePath(QStringLiteral("out.safetensors"));
    QuantizeRequest asked{*parseSpec(spec.toStdString()), "^a", layout.toStdString(), out.toStdString()};
    const auto done = exportModel(*model, asked, Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    const Proof& proof = done->certificate.proof;
    QVERIFY2(proof.proved(), summaryText(done->certificate).c_str());
    QCOMPARE(proof.equal, std::uint64_t(1));
    QVERIFY(proof.tensors.all()->front().readAs != "F32");
    const auto written = openModel(out.toStdString());
    QVERIFY(written.has_value());
    QVERIFY((*written)->files.front().metadata.contains(kConfigKey));
    // Files made from it, decoded or quantized in another way, must not contain that metadata.
    const QString plain = outputs.filePath(QStringLiteral("plain.safetensors"));
    QVERIFY(dequantizeModel(**written, {}, plain.toStdString(), Job{}).has_value());
    QVERIFY(!(*openModel(plain.toStdString()))->files.front().metadata.contains(kConfigKey));
    const QString other = outputs.filePath(QStringLiteral("other.safetensors"));
    QVERIFY(exportModel(**written, request("int8", "native", other), Job{}).has_value());
    QVERIFY(!(*openModel(other.toStdString()))->files.front().metadata.contains(kConfigKey));
}

void ExportTest::mlxInTheModelsType_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("stored");
    QTest::addColumn<double>("bpw");
    const auto row = [](const char* source, const char* spec, const char* stored, double bpw) {
        QTest::addRow("%s %s", source, spec)
            << QString::fromLatin1(source) << QString::fromLatin1(spec) << QString::fromLatin1(stored) << bpw;
    };
    row("BF16", "int4:dialect=mlx", "BF16", 4.5);
    row("F16", "int3:dialect=mlx:block=128", "F16", 3.25);
    row("F32", "int8:dialect=mlx:block=32", "F32", 10.0);
    row("F16", "int4:dialect=mlx:scaletype=bf16", "F32", 5.0);
    row("BF16", "int4:sym=no:block=64:scaletype=bf16", "BF16", 4.5);
    row("F16", "int4:sym=no:block=64:scaletype=f16", "F16", 4.5);
    row("F16", "int3:block=32:scaletype=f16", "F16", 4.0);
    row("BF16", "int8:dialect=ct:block=128:scaletype=bf16", "BF16", 8.25);
    row("BF16", "int4:sym=no:block=64:scaletype=f16", "F32", 5.0);
    row("F32", "int4:sym=no:block=64:scaletype=bf16", "F32", 5.0);
}

/// Scales and biases of 16 bits if the model has that dtype. Every value must be what mlx computes from them.
void ExportTest::mlxInTheModelsType() {
    QFETCH(QString, source);
    QFETCH(QString, spec);
    QFETCH(QString, stored);
    QFETCH(double, bpw);
    const DType dtype = *dtypeFromId(source.toStdString()), type = *dtypeFromId(stored.toStdString());
    const QTemporaryDir folder, outputs;
    std::vector<std::uint16_t> halves(64 * 256);
    for (std::size_t i = 0; i < halves.size(); ++i) // exponents from 2^-8 to 2^-1, any mantissa and sign
        halves[i] = dtype == DType::F16 ? std::uint16_t((i % 2) << 15 | (7 + i % 8) << 10 | (i * 37 % 1024))
                                        : std::uint16_t((i % 2) << 15 | (119 + i % 8) << 7 | (i * 37 % 128));
    const auto model = opened(folder, {dtype == DType::F32 ? made("p.weight", dtype, {64, 256}, wavy(64 * 256))
                                                           : made("p.weight", dtype, {64, 256}, halves)});
    const QString out = outputs.filePath(QStringLiteral("out"));
    const auto done = exportModel(*model, request(spec.toLatin1().data(), "mlx", out), Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    QVERIFY2(done->certificate.proof.proved(), summaryText(done->certificate).c_str());
    QCOMPARE(done->certificate.bitsPerWeight(), bpw);
    QCOMPARE(done->certificate.proof.bytesWritten, done->certificate.proof.bytesPredicted);
    const auto fields = openSafetensors((out + QStringLiteral("/in.safetensors")).toStdString());
    QVERIFY(fields.has_value());
    QVERIFY((*fields)->find("p.scales")->dtype == type && (*fields)->find("p.biases")->dtype == type);
    // The difference from the analysis is limited by the rounding of product, bias and sum.
    const auto read = openModel(out.toStdString());
    const TensorInfo* layer = (*read)->find("p.weight");
    QVERIFY(layer && layer->dtype == type);
    std::vector<float> is(layer->elements);
    loadF32(*(*read)->view(*layer), 0, is.size(), is.data());
    const auto should =
        materialize(*quantizeTensor(*model->view(*model->find("p.weight")), *parseSpec(spec.toStdString()), {}));
    const float ulp = type == DType::F32 ? 0 : type == DType::F16 ? 1.0f / 1024 : 1.0f / 128;
    for (std::size_t i = 0; i < is.size(); ++i) {
        const float most = 8 * ulp; // limit for groups with values up to 1 and their bias
        QVERIFY2(std::fabs(is[i] - should[i]) <= most, qPrintable(QString::number(i)));
    }
}

void ExportTest::conv1dIsTurned_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("modelType");
    QTest::addColumn<bool>("turns");
    const auto row = [](const char* layout, const char* spec, const char* modelType, bool turns) {
        QTest::addRow("%s %s %s", layout, spec, modelType)
            << QString::fromLatin1(layout) << QString::fromLatin1(spec) << QString::fromLatin1(modelType) << turns;
    };
    row("bnb", "nf4:dialect=bnb", "gpt2", true);
    row("bnb", "fp4:dialect=bnb:scaletype=u8dq", "gpt2", true);
    row("llm-int8", "int8:dialect=bnb", "gpt2", true);
    row("bnb", "nf4:dialect=bnb", "gpt_bigcode", false); // its c_attn is a linear layer
    row("native", "nf4:block=64", "gpt2", false);
}

/// A matrix stored as [in, out] must give the same bytes as one stored as [out, in], because the loader expects a
/// linear layer.
void ExportTest::conv1dIsTurned() {
    QFETCH(QString, layout);
    QFETCH(QString, spec);
    QFETCH(QString, modelType);
    QFETCH(bool, turns);
    constexpr std::size_t in = 96, out = 160;
    const auto values = wavy(in * out);
    std::vector<float> turned(in * out);
    for (std::size_t i = 0; i < in; ++i)
        for (std::size_t o = 0; o < out; ++o) turned[o * in + i] = values[i * out + o];
    const auto exported = [&](const QTemporaryDir& folder, const QString& type, bool isTurned) {
        const char* name = "h.0.attn.c_attn.weight";
        const std::vector<std::int64_t> shape =
            isTurned ? std::vector<std::int64_t>{out, in} : std::vector<std::int64_t>{in, out};
        QDir(folder.path()).mkpath(QStringLiteral("source"));
        opened(folder,
               {made(name, DType::F32, shape, isTurned ? turned : values),
                made("h.0.ln_1.bias", DType::F32, {4}, wavy(4))},
               "source/model.safetensors");
        QFile config(folder.filePath(QStringLiteral("source/config.json")));
        if (!config.open(QIODevice::WriteOnly) || config.write("{\"model_type\": \"" + type.toLatin1() + "\"}") < 0)
            qFatal("no config.json");
        config.close();
        const auto model = *openModel(folder.filePath(QStringLiteral("source")).toStdString());
        const auto asked =
            request(spec.toLatin1().data(), layout.toLatin1().data(), folder.filePath(QStringLiteral("out")));
        const auto done = exportModel(*model, asked, Job{});
        if (!done) qFatal("%s", done.error().message.c_str());
        if (!done->certificate.proof.proved()) qFatal("%s", summaryText(done->certificate).c_str());
        const auto plan = planExport(*model, asked);
        if (!plan || plan->bytes != done->certificate.proof.bytesWritten) qFatal("planned other bytes");
        return *openSafetensors(folder.filePath(QStringLiteral("out/model.safetensors")).toStdString());
    };
    const QTemporaryDir a, b;
    const auto one = exported(a, modelType, false), other = exported(b, QStringLiteral("llama"), true);
    bool same = true;
    for (const TensorInfo& field : other->tensors) {
        const TensorInfo* found = one->find(field.name);
        QVERIFY2(found, field.name.c_str());
        same &= found->shape == field.shape &&
                valuesOf<std::uint8_t>(*one, field.name) == valuesOf<std::uint8_t>(*other, field.name);
    }
    QCOMPARE(same, turns);
}

/// So many groups that scales are passed in pieces. Slabs of codes end inside a byte.
void ExportTest::manyGroupsInPieces() {
    const QTemporaryDir folder, outputs;
    const auto model = opened(folder, {made("w.weight", DType::F32, {5, 2'000'003}, wavy(5 * 2'000'003))});
    for (const char* spec : {"int3:block=8", "int5:sym=no:block=7:scaletype=f16"}) {
        const QString out = outputs.filePath(QStringLiteral("out.safetensors"));
        const auto done = exportModel(*model, request(spec, "native", out), Job{});
        QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
        QVERIFY2(done->certificate.proof.proved(), spec);
    }
}

/// So many groups that their ranges are measured twice instead of kept. The scale of the tensor is that of the largest.
void ExportTest::tensorScaleOfManyGroups() {
    if (kThinning > 1) QSKIP("too many values for a sanitizer");
    const QTemporaryDir folder, outputs;
    const auto values = wavy(17'000'000);
    const auto model = opened(folder, {made("w.weight", DType::F32, {17, 1'000'000}, values)});
    const QString out = outputs.filePath(QStringLiteral("out.safetensors"));
    const auto done = exportModel(*model, request("nvfp4", "native", out), Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    QVERIFY(done->certificate.proof.proved());
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::fabs(value));
    const auto written = openSafetensors(out.toStdString());
    QCOMPARE(valuesOf<float>(**written, "w.weight.tensor_scale"), std::vector<float>{448.0f * 6.0f / largest});
}

void ExportTest::certificateSaysWhatIsThere() {
    const QTemporaryDir folder, outputs;
    const auto model = sample(folder);
    const QString out = outputs.filePath(QStringLiteral("out"));
    const auto done = exportModel(*model, request("nf4", "eformer", out), Job{});
    QVERIFY(done.has_value());
    QFile file(out + QStringLiteral("/certificate.json"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const auto json = nlohmann::json::parse(file.readAll().toStdString());
    QCOMPARE(json["result"].get<std::string>(), std::string("proved"));
    // 64 rows of 5 blocks and 16 rows of 2 blocks; a block has 32 bytes and a scale. The padding counts too.
    const std::uint64_t bytes = (64 * 5 + 16 * 2) * 36;
    QCOMPARE(json["bpw"].get<double>(), 8.0 * double(bytes) / double(64 * 320 + 16 * 77));
    QCOMPARE(json["bytes_predicted"].get<std::uint64_t>(), bytes + 64);
    QCOMPARE(json["bytes_written"].get<std::uint64_t>(), bytes + 64);
    QCOMPARE(json["files"].size(), std::size_t(1));
    const std::string name = json["files"][0]["name"].get<std::string>();
    QCOMPARE(json["files"][0]["sha256"].get<std::string>(), *sha256OfFile((out.toStdString() + "/" + name)));
    QCOMPARE(json["tensors"].size(), std::size_t(3));
    QCOMPARE(json["tensors"][0]["name"].get<std::string>(), std::string("a.weight"));
    QCOMPARE(json["tensors"][0]["bpw"].get<double>(), 4.5);
}

/// The proof reads the stored bytes: a changed byte must be noticed.
void ExportTest::failedProofLeavesNothing() {
    const QTemporaryDir folder, outputs;
    const auto model = sample(folder);
    for (const char* layout : {"eformer", "plain"})
        for (const char* name : {"out", "out.safetensors"}) {
            auto asked = request("int8", layout, outputs.filePath(QString::fromLatin1(name)));
            int seen = 0;
            asked.prove = [&](const std::string& path, const WrittenModel& what,
                              const std::vector<LeftOut>&) -> Result<void> {
                ++seen;
                const auto before = prove(*model, what, path, Job{});
                if (!before) return tl::unexpected(before.error());
                const QString there = QString::fromStdString(path);
                flipLastByte(QDir(there).exists() ? there + QStringLiteral("/in.safetensors") : there);
                const auto after = prove(*model, what, path, Job{});
                return after ? Result<void>{} : tl::unexpected(after.error());
            };
            const auto done = quantizeModel(*model, asked, Job{});
            QCOMPARE(seen, 1);
            QVERIFY(!done.has_value());
            QVERIFY2(done.error().message.find("proof failed: tensor 'b.weight'") != std::string::npos ||
                         done.error().message.find("proof failed: tensor \"b.weight\"") != std::string::npos,
                     done.error().message.c_str());
            QCOMPARE(entries(outputs), QStringList());
        }
}

QS_TEST(ExportTest)
#include "export_test.moc"
