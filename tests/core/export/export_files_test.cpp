// SPDX-License-Identifier: GPL-3.0-or-later
// Layouts with one file that is not safetensors: NumPy archives and HDF5.
#include "tests/core/export/made_export.h"
#include "tests/support/test_program.h"

#include <QFile>

using namespace qs;
using namespace qs::test;

class ExportFilesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void numpyArchive();
    void hdf5File_data();
    void hdf5File();
    void hdf5KeepsTypesAndGroups();
    void hdf5RefusesNames_data();
    void hdf5RefusesNames();
    void oneFileHasItsEnding();
};

/// Decoded values as np.load reads them; bfloat16 is stored as F32.
void ExportFilesTest::numpyArchive() {
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

void ExportFilesTest::hdf5File_data() {
    QTest::addColumn<QString>("spec");
    for (const char* spec : {"nf4:block=64", "int4:sym=no:block=32", "nf4:dialect=bnb:scaletype=u8dq", "nvfp4", "mxfp4",
                             "codebook:bits=3", "q4_k", "ternary", "bf16", "f32"})
        QTest::addRow("%s", spec) << QString::fromLatin1(spec);
}

/// The sandboxed reader proves the quantized file, and dequantize gives the values of the analysis.
void ExportFilesTest::hdf5File() {
    QFETCH(QString, spec);
    const QTemporaryDir folder, outputs;
    const auto model = opened(
        folder, {made("a.weight", DType::F32, {64, 512}, wavy(64 * 512)), made("a.bias", DType::F32, {64}, wavy(64))});
    const QString out = outputs.filePath(QStringLiteral("out.h5"));
    const auto done = exportModel(*model, request(spec.toLatin1().data(), "hdf5", out), Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    const Proof& proof = done->certificate.proof;
    QVERIFY2(proof.proved(), summaryText(done->certificate).c_str());
    QCOMPARE(proof.equal, std::uint64_t(1));
    QCOMPARE(proof.copied, std::uint64_t(1));
    QCOMPARE(proof.bytesWritten, proof.bytesPredicted);
    QCOMPARE(QString::fromStdString(done->certificatePath),
             outputs.filePath(QStringLiteral("out.h5.certificate.json")));
    const auto written = openModel(out.toStdString());
    QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
    QVERIFY2((*written)->warnings.empty(), (*written)->warnings.empty() ? "" : (*written)->warnings[0].c_str());
    for (const TensorInfo& tensor : (*written)->tensors)
        QVERIFY2(!tensor.derived, tensor.name.c_str()); // contiguous, so it is mapped
    const std::string back = outputs.filePath(QStringLiteral("back.safetensors")).toStdString();
    const auto decoded = dequantizeModel(**written, {}, back, Job{});
    QVERIFY2(decoded.has_value(), decoded ? "" : decoded.error().message.c_str());
    const auto plain = *openModel(back);
    QCOMPARE(plain->tensors.size(), std::size_t(2));
    if (plain->find("a.weight")->dtype != DType::F32) return; // bf16
    const auto expected =
        materialize(*quantizeTensor(*model->view(*model->find("a.weight")), *parseSpec(spec.toStdString()), {}));
    QVERIFY(valuesOf<float>(*plain, "a.weight") == expected);
}

void ExportFilesTest::hdf5KeepsTypesAndGroups() {
    const QTemporaryDir folder, outputs;
    const std::vector<std::uint16_t> halves = {0x3f80, 0xbf00, 0x4049, 0x0000};
    const std::vector<std::uint8_t> bytes = {0, 1, 1, 0x7e};
    std::vector<TensorToWrite> tensors{made("w.weight", DType::F32, {2, 64}, wavy(128)),
                                       made("layers/0/kernel", DType::BF16, {2, 2}, halves),
                                       made("layers/0/bias", DType::F16, {4}, halves),
                                       made("layers/1/flags", DType::Bool, {3}, std::vector<std::uint8_t>{1, 0, 1}),
                                       made("number", DType::I64, {}, std::vector<std::int64_t>{-7}),
                                       made("nothing", DType::F32, {0, 8}, std::vector<float>{}),
                                       made("wide", DType::F64, {1}, std::vector<double>{0.1})};
    for (const DType type : {DType::F8_E4M3, DType::F8_E5M2, DType::F8_E8M0, DType::F8_E4M3FNUZ, DType::F8_E5M2FNUZ})
        tensors.push_back(made(info(type).id, type, {4}, bytes));
    for (int i = 0; i < 300; ++i) // many, so that headers are in blocks and links in a tree
        tensors.push_back(made("many." + std::to_string(i), DType::I8, {3}, std::vector<std::int8_t>{1, 2, 3}));
    const auto model = opened(folder, std::move(tensors));
    const QString out = outputs.filePath(QStringLiteral("out.h5"));
    const auto done = exportModel(*model, request("int8", "hdf5", out), Job{});
    QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
    QVERIFY2(done->certificate.proof.proved(), summaryText(done->certificate).c_str());
    const auto written = openModel(out.toStdString());
    QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
    for (const TensorInfo& was : model->tensors) {
        if (was.name == "w.weight") continue;
        const TensorInfo* is = (*written)->find(was.name);
        QVERIFY2(is, was.name.c_str());
        QVERIFY2(is->dtype == was.dtype && is->shape == was.shape, was.name.c_str());
        QVERIFY2(valuesOf<std::uint8_t>(**written, was.name) == valuesOf<std::uint8_t>(*model, was.name),
                 was.name.c_str());
    }
}

void ExportFilesTest::hdf5RefusesNames_data() {
    QTest::addColumn<QString>("a");
    QTest::addColumn<QString>("b");
    QTest::addColumn<QString>("why");
    const auto row = [](const char* what, const char* a, const char* b, const char* why) {
        QTest::newRow(what) << QString::fromLatin1(a) << QString::fromLatin1(b) << QString::fromLatin1(why);
    };
    row("a tensor as group", "a", "a/b", "group too");
    row("an empty part", "a//b", "c", "no path");
    row("a slash first", "/a", "c", "no path");
    row("the folder itself", "a/./b", "c", "no path");
    row("no name", "", "c", "no path");
}

void ExportFilesTest::hdf5RefusesNames() {
    QFETCH(QString, a);
    QFETCH(QString, b);
    QFETCH(QString, why);
    const QTemporaryDir folder, outputs;
    const auto model = opened(folder, {made(a.toStdString(), DType::F32, {4}, wavy(4)),
                                       made(b.toStdString(), DType::F32, {4}, wavy(4)),
                                       made("q.weight", DType::F32, {2, 64}, wavy(128))});
    const auto done = exportModel(*model, request("int8", "hdf5", outputs.filePath(QStringLiteral("out.h5"))), Job{});
    QVERIFY(!done.has_value());
    QVERIFY2(done.error().message.find(why.toStdString()) != std::string::npos, done.error().message.c_str());
    QCOMPARE(entries(outputs), QStringList());
}

void ExportFilesTest::oneFileHasItsEnding() {
    const QTemporaryDir folder, outputs;
    const auto model = sample(folder);
    for (const Layout& layout : layouts()) {
        if (!layout.fileEnding || layout.takesModel) continue;
        const auto done =
            exportModel(*model, request("int8", layout.id, outputs.filePath(QStringLiteral("out"))), Job{});
        QVERIFY(!done.has_value());
        QVERIFY2(done.error().message.find(std::string("out") + layout.fileEnding) != std::string::npos,
                 done.error().message.c_str());
    }
    QCOMPARE(entries(outputs), QStringList());
}

QS_TEST(ExportFilesTest)
#include "export_files_test.moc"
