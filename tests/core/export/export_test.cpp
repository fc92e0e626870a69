// SPDX-License-Identifier: GPL-3.0-or-later
// Proofs and certificates: what is written is compared, and what does not compare is not left behind.
#include "core/export/export_model.h"
#include "core/report/report.h"
#include "tests/core/quant/made_model.h"

#include <QDir>
#include <QFile>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::test;

namespace {

std::vector<float> wavy(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = std::sin(float(i) * 0.37f) * (1.0f + float(i % 53) * 0.01f);
    return values;
}

std::shared_ptr<const Model> sample(const QTemporaryDir& folder) {
    return opened(folder,
                  {made("a.weight", DType::F32, {64, 320}, wavy(64 * 320)),
                   made("b.weight", DType::F32, {16, 77}, wavy(16 * 77)), made("b.bias", DType::F32, {16}, wavy(16))});
}

QuantizeRequest request(const char* spec, const char* layout, const QString& output) {
    QuantizeRequest r{*parseSpec(spec), "weight$", layout, output.toStdString()};
    return r;
}

QStringList entries(const QTemporaryDir& folder) {
    return QDir(folder.path()).entryList(QDir::Files | QDir::Dirs | QDir::NoDotAndDotDot | QDir::Hidden);
}

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
    void provedByReadersOfOthers_data();
    void provedByReadersOfOthers();
    void numpyArchive();
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
                                                        {"int8", "llm-int8"}};
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
                          : outputs.filePath(QStringLiteral("out.certificate.json")));
    const auto again = readCertificate(done->certificatePath);
    QVERIFY2(again.has_value(), again ? "" : again.error().message.c_str());
    QCOMPARE(certificateText(*again), certificateText(done->certificate));
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
        {"mlx", "int4:sym=no:block=64:scaletype=bf16"},
        {"mlx", "int4:block=32:scaletype=f16"},
        {"mlx", "int6:dialect=ct:block=64:scaletype=bf16"}};
    for (const auto& [layout, spec] : rows)
        QTest::addRow("%s %s", layout, spec) << QString::fromLatin1(layout) << QString::fromLatin1(spec);
}

/// Folders, whose config.json their readers need; a second matrix stays as it is.
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
    QVERIFY(proof.tensors[0].readAs != "F32");
}

/// Decoded values as np.load gets them, bfloat16 as F32.
void ExportTest::numpyArchive() {
    const QTemporaryDir folder, outputs;
    const std::vector<std::uint16_t> halves = {0x3f80, 0xbf00, 0x4049, 0x0000};
    const auto model =
        opened(folder, {made("a.weight", DType::F32, {64, 320}, wavy(64 * 320)),
                        made("h.weight", DType::BF16, {2, 2}, halves), made("h.bias", DType::BF16, {4}, halves),
                        made("number", DType::I64, {}, std::vector<std::int64_t>{7})});
    const QString out = outputs.filePath(QStringLiteral("out.npz"));
    const auto done = exportModel(*model, request("int8", "npz", out), Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    QVERIFY(done->certificate.proof.proved());
    QCOMPARE(done->certificate.proof.equal, std::uint64_t(2));
    QCOMPARE(done->certificate.proof.copied, std::uint64_t(2));
    const auto written = openModel(out.toStdString());
    QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
    QVERIFY((*written)->warnings.empty());
    QCOMPARE(valuesOf<float>(**written, "h.bias"), (std::vector<float>{1.0f, -0.5f, 3.140625f, 0.0f}));
    QCOMPARE(valuesOf<std::int64_t>(**written, "number"), std::vector<std::int64_t>{7});
    const auto expected = materialize(*quantizeTensor(*model->view(*model->find("a.weight")), *parseSpec("int8"), {}));
    QVERIFY(valuesOf<float>(**written, "a.weight") == expected);
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
    // 64 rows of 5 blocks and 16 rows of 2 of 32 bytes and a scale; the padding of the second is counted.
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

/// The bytes that are there are read, not those that were meant: one that changes is noticed.
void ExportTest::failedProofLeavesNothing() {
    const QTemporaryDir folder, outputs;
    const auto model = sample(folder);
    for (const char* layout : {"eformer", "plain"})
        for (const char* name : {"out", "out.safetensors"}) {
            auto asked = request("int8", layout, outputs.filePath(QString::fromLatin1(name)));
            int seen = 0;
            asked.prove = [&](const std::string& path, const std::vector<WrittenTensor>& tensors) -> Result<void> {
                ++seen;
                const auto before = prove(*model, tensors, path, Job{});
                if (!before) return tl::unexpected(before.error());
                const QString there = QString::fromStdString(path);
                flipLastByte(QDir(there).exists() ? there + QStringLiteral("/in.safetensors") : there);
                const auto after = prove(*model, tensors, path, Job{});
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

QTEST_GUILESS_MAIN(ExportTest)
#include "export_test.moc"
