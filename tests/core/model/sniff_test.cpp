// SPDX-License-Identifier: GPL-3.0-or-later
// The file format is detected from the bytes: the result is the same under every name, and errors are one sentence.
#include "core/model/file_format.h"
#include "core/model/model.h"
#include "made_file.h"
#include "made_protobuf.h"
#include "tests/support/test_program.h"

#include <filesystem>
#include <set>
#include <sys/stat.h>

using namespace qs;

class SniffTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void opensUnderEveryName_data();
    void opensUnderEveryName();
    void isToldUnderEveryName_data();
    void isToldUnderEveryName();
    void nothingThatIsKnown_data();
    void nothingThatIsKnown();
    void cutInTheMiddle_data();
    void cutInTheMiddle();
    void everyFormatIsCut();
    void pointersAmongTheParts_data();
    void pointersAmongTheParts();
    void unfinishedDownloads();
    void unknownContentGetsTheSentenceOfItsName();
    void foldersWithoutAModel_data();
    void foldersWithoutAModel();
    void pipeInAFolder();
    void filesLikeOthersAreToldByTheirNames();

private:
    /// The error when the file is opened; "" if it opens.
    QString refusal(const QString& path) {
        const auto opened = openModel(path.toStdString());
        if (opened) return {};
        const QString why = text(opened.error().message);
        if (!why.startsWith(path) || !why.endsWith(QLatin1Char('.')) || why.contains(QLatin1Char('\n')))
            qFatal("not a sentence about the file: %s", qPrintable(why));
        return why;
    }
    std::unique_ptr<QTemporaryDir> folder_;
};

namespace {

/// A name without meaning, and a name for every pattern of every format.
std::vector<std::string> everyName() {
    std::vector<std::string> names = {"model", "weights.json"};
    for (const auto& format : fileFormats())
        for (const QString& pattern : QString::fromUtf8(format.patterns).split(u' ', Qt::SkipEmptyParts))
            names.push_back(QString(pattern).replace(u'*', u'm').toStdString());
    return names;
}

} // namespace

void SniffTest::opensUnderEveryName_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("format");
    QTest::newRow("safetensors") << smallFile() << QStringLiteral("safetensors");
    QTest::newRow("safetensors, blanks before the header")
        << madeFile(" \n{" + entry("w", "F32", "[4]", "[0,16]") + "}", zeros(16)) << QStringLiteral("safetensors");
    QTest::newRow("NumPy") << QByteArray("\x93NUMPY\1\0\x39\0{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
                                         67) +
                                  zeros(16)
                           << QStringLiteral("npy");
    QTest::newRow("GGUF") << QByteArray("GGUF\3\0\0\0", 8) + zeros(16) << QStringLiteral("gguf");
    QTest::newRow("NumPy archive") << bytesOf(QStringLiteral(QS_TEST_DATA "/pytorch/arrays.npz"))
                                   << QStringLiteral("npz");
    QTest::newRow("PyTorch") << bytesOf(QStringLiteral(QS_TEST_DATA "/pytorch/zip_1.pt")) << QStringLiteral("pytorch");
    QTest::newRow("PyTorch of before 1.6")
        << bytesOf(QStringLiteral(QS_TEST_DATA "/pytorch/legacy_1.pt")) << QStringLiteral("pytorch");
    QTest::newRow("ONNX") << pb::model(pb::initializer(pb::tensor("w", 1, pb::dims({4}), pb::raw(zeros(16)))))
                          << QStringLiteral("onnx");
    QTest::newRow("TensorFlow Lite") << bytesOf(QStringLiteral(QS_TEST_DATA "/tflite/quantized.tflite"))
                                     << QStringLiteral("tflite");
    QTest::newRow("index") << QByteArray(" \n{\"weight_map\": {}}") << QStringLiteral("safetensors-index");
}

void SniffTest::opensUnderEveryName() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, format);
    for (const auto& name : everyName()) {
        const auto opened = openModel(put(folder_->path(), text(name), bytes).toStdString());
        QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
        QCOMPARE(text((*opened)->format), format);
    }
}

void SniffTest::isToldUnderEveryName_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* tag, const QByteArray& bytes, const char* says) {
        QTest::newRow(tag) << bytes << QString::fromUtf8(says);
    };
    const QByteArray rest = zeros(600);
    row("Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 268435456\n",
        "is a Git LFS pointer, not the file itself; run \"git lfs pull\"");
    row("web page", "<!DOCTYPE html><html>Not found</html>", "is a web page (HTML)");
    row("web page without a type", "<html lang=\"en\">", "is a web page (HTML)");
    row("web page after blanks", "\r\n\t <!doctype HTML>", "is a web page (HTML)");
    row("web page after a byte order mark", "\xef\xbb\xbf<HTML>", "is a web page (HTML)");
    row("a server's refusal", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "is an XML document");
    row("ZIP", "PK\3\4" + rest, "is a ZIP archive");
    row("empty ZIP", "PK\5\6" + rest, "is an empty ZIP archive");
    for (char protocol = 2; protocol <= 5; ++protocol)
        row(("pickle " + QByteArray::number(protocol)).constData(), "\x80" + QByteArray(1, protocol) + "}q" + rest,
            "is a Python pickle");
    row("GGML before GGUF", "tjgg\3" + rest, "is a GGML file from before GGUF");
    row("gzip", "\x1f\x8b\x08" + rest, "is compressed with gzip");
    row("zstd", "\x28\xb5\x2f\xfd" + rest, "is compressed with zstd");
    row("PyTorch's oldest", "sys_info" + QByteArray(249, '\0') + "ustar" + rest, "before version 0.1.11");
    row("PyTorch's oldest behind its times", QByteArray(257, 'x') + "ustar" + QByteArray(762, 'x') + "sys_info" + rest,
        "before version 0.1.11");
    row("bzip2", "BZh91AY" + rest, "is compressed with bzip2");
    row("xz",
        QByteArray("\xfd"
                   "7zXZ\0",
                   6) +
            rest,
        "is compressed with xz");
    row("7-Zip", "7z\xbc\xaf\x27\x1c" + rest, "is a 7-Zip archive");
    row("ZIP of something else", "PK\3\4" + QByteArray(22, '\0') + QByteArray("\5\0\0\0", 4) + "a.txt" + rest,
        "is a ZIP archive, and its first member is of no PyTorch checkpoint");
    row("tar", QByteArray(257, 'x') + "ustar" + rest, "is a tar archive");
    row("empty", "", "is empty (0 bytes)");
    row("nothing but zeros", rest, "begins with nothing but zero bytes");
}

void SniffTest::isToldUnderEveryName() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, says);
    for (const auto& name : everyName()) {
        const QString why = refusal(put(folder_->path(), text(name), bytes));
        QVERIFY2(why.contains(says), qPrintable(why));
    }
}

void SniffTest::nothingThatIsKnown_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::newRow("random bytes") << QByteArray::fromHex("a7c31f0e99d2447b8a6655e1f0b3") + QByteArray(500, '\xa9');
    QTest::newRow("Python source") << QByteArray("import torch\nclass Net(torch.nn.Module):\n    pass\n");
    QTest::newRow("a text") << QByteArray("Dear diary, today I quantized a model.");
    QTest::newRow("other JSON") << QByteArray("{\"hidden_size\": 128}");
    QTest::newRow("one byte") << QByteArray("x");
    QTest::newRow("the magic of TensorFlow Lite in another place") << QByteArray("TFL3") + QByteArray(100, '\x7f');
}

/// The error is a single sentence that fits the file's name.
void SniffTest::nothingThatIsKnown() {
    QFETCH(QByteArray, bytes);
    for (const auto& name : everyName()) {
        const QString why = refusal(put(folder_->path(), text(name), bytes));
        QVERIFY2(!why.isEmpty(), name.c_str());
    }
}

namespace {

/// A complete file for every single-file format, in tests/data. hdf5_test has those of HDF5.
constexpr std::pair<const char*, const char*> kWhole[] = {{"safetensors", "safetensors/every_dtype.safetensors"},
                                                          {"gguf", "gguf/types.gguf"},
                                                          {"npz", "pytorch/arrays.npz"},
                                                          {"pytorch", "pytorch/zip_2.pt"},
                                                          {"pytorch", "pytorch/legacy_2.pt"},
                                                          {"onnx", "onnx/types.onnx"},
                                                          {"tflite", "tflite/quantized.tflite"},
                                                          {"tfjs", "tfjs/before_version_1/weights_manifest.json"},
                                                          {"hdf5", "keras/tiny.weights.h5"},
                                                          {"keras", "keras/tiny.keras"}};

} // namespace

void SniffTest::cutInTheMiddle_data() {
    QTest::addColumn<QString>("file");
    for (const auto& [format, file] : kWhole)
        if (QByteArray(format) != "hdf5")
            QTest::newRow(file) << QStringLiteral(QS_TEST_DATA "/") + QString::fromUtf8(file);
}

/// A truncated download: under its own name, and without an extension.
void SniffTest::cutInTheMiddle() {
    QFETCH(QString, file);
    const QByteArray whole = bytesOf(file);
    for (const QString& name : {QFileInfo(file).fileName(), QStringLiteral("model")})
        for (const qsizetype left :
             {qsizetype(1), qsizetype(9), qsizetype(100), whole.size() / 2, whole.size() - 100}) {
            const QString why = refusal(put(folder_->path(), name, whole.left(left)));
            QVERIFY2(!why.isEmpty(), qPrintable(QStringLiteral("%1 bytes of %2 open").arg(left).arg(name)));
        }
}

/// Every format is in the list above, or its test of prefixes is named here.
void SniffTest::everyFormatIsCut() {
    std::set<std::string> cut = {"npy",         "imatrix", // everyPrefixOfAFile in their tests
                                 "huggingface", "safetensors-index",
                                 "zarr",        "keras-shards"}; // pointersAmongTheParts, shardsOfKeras
    for (const auto& [format, file] : kWhole) cut.insert(format);
    for (const auto& format : fileFormats()) QVERIFY2(cut.contains(format.id), format.id);
}

void SniffTest::pointersAmongTheParts_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("says");
    QTest::newRow("Git LFS pointer") << QByteArray(
                                            "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 16\n")
                                     << QStringLiteral("is a Git LFS pointer");
    QTest::newRow("web page") << QByteArray("<!DOCTYPE html><title>Sign in</title>")
                              << QStringLiteral("is a web page (HTML)");
    QTest::newRow("long web page") << "<!DOCTYPE html><title>Sign in</title>" + QByteArray(20'000, ' ')
                                   << QStringLiteral("is a web page (HTML)");
}

/// The opened file is correct, but a file that it refers to is not downloaded yet.
void SniffTest::pointersAmongTheParts() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, says);
    const auto in = [&](const char* name) { return folder_->filePath(QString::fromUtf8(name)); };
    const auto told = [&](const QString& path) {
        const auto opened = openModel(path.toStdString());
        const QString why = opened ? (*opened)->warnings.empty() ? QString() : text((*opened)->warnings[0])
                                   : text(opened.error().message);
        QVERIFY2(why.contains(says), qPrintable(why));
    };
    put(in("hf"), QStringLiteral("model.safetensors"), bytes);
    told(in("hf"));
    put(in("cut"), QStringLiteral("model-00001-of-00001.safetensors"), bytes);
    told(put(in("cut"), QStringLiteral("model.safetensors.index.json"),
             "{\"weight_map\":{\"w\":\"model-00001-of-00001.safetensors\"}}"));
    put(in("torch"), QStringLiteral("pytorch_model-00001-of-00001.bin"), bytes);
    told(put(in("torch"), QStringLiteral("pytorch_model.bin.index.json"),
             "{\"weight_map\":{\"w\":\"pytorch_model-00001-of-00001.bin\"}}"));
    put(in("onnx"), QStringLiteral("w.bin"), bytes);
    told(put(in("onnx"), QStringLiteral("m.onnx"),
             pb::model(pb::initializer(pb::tensor("w", 1, pb::dims({4}), pb::outside("w.bin"))))));
    put(in("zarr"), QStringLiteral(".zarray"),
        "{\"zarr_format\":2,\"shape\":[4],\"chunks\":[4],\"dtype\":\"<f4\",\"compressor\":{\"id\":\"zstd\",\"level\":1}"
        ","
        "\"fill_value\":0,\"order\":\"C\",\"filters\":null}");
    put(in("zarr"), QStringLiteral("0"), bytes);
    told(in("zarr"));
    put(in("tfjs"), QStringLiteral("w"), bytes);
    told(put(in("tfjs"), QStringLiteral("model.json"),
             "{\"weightsManifest\":[{\"paths\":[\"w\"],\"weights\":[{\"name\":\"w\",\"shape\":[4],\"dtype\":"
             "\"float32\"}]}]}"));
    std::filesystem::copy(QS_TEST_DATA "/gguf/split-00001-of-00003.gguf",
                          in("split-00001-of-00003.gguf").toStdString());
    put(folder_->path(), QStringLiteral("split-00002-of-00003.gguf"), bytes);
    told(in("split-00001-of-00003.gguf"));
}

/// Files whose first bytes look like an ONNX model are told apart by their names.
void SniffTest::filesLikeOthersAreToldByTheirNames() {
    const QByteArray bytes = pb::number(1, 1) + pb::part(2, "meta");
    const auto in = [&](const char* name) { return put(folder_->path(), QString::fromLatin1(name), bytes); };
    const auto says = [&](const QString& path, const char* word) {
        const QString why = refusal(path);
        return why.contains(QLatin1String(word)) && !why.contains(QLatin1String("ONNX model)"));
    };
    QVERIFY(says(in("saved/saved_model.pb"), "TensorFlow SavedModel"));
    QVERIFY(says(folder_->filePath(QStringLiteral("saved")), "TensorFlow SavedModel"));
    QVERIFY(says(in("m.mlmodel"), "Core ML"));
    in("m.mlpackage/Data/com.apple.CoreML/model.mlmodel");
    QVERIFY(says(folder_->filePath(QStringLiteral("m.mlpackage")), "Core ML"));
    in("renamed/Data/com.apple.CoreML/model.mlmodel"), in("renamed/Manifest.json");
    QVERIFY(says(folder_->filePath(QStringLiteral("renamed")), "Core ML"));
}

void SniffTest::unfinishedDownloads() {
    for (const char* suffix : {".part", ".incomplete", ".crdownload", ".aria2"}) {
        const QString why =
            refusal(put(folder_->path(), QStringLiteral("m.safetensors") + QString::fromUtf8(suffix), smallFile()));
        QVERIFY2(why.contains(QStringLiteral("is an unfinished download (%1)").arg(QString::fromUtf8(suffix))),
                 qPrintable(why));
    }
    const QString path = put(folder_->path(), QStringLiteral("big.safetensors"), smallFile());
    QCOMPARE(refusal(path), QString());
    put(folder_->path(), QStringLiteral("big.safetensors.aria2"), "control");
    QVERIFY(refusal(path).contains(QStringLiteral("an .aria2 file lies beside it")));
}

void SniffTest::unknownContentGetsTheSentenceOfItsName() {
    const QByteArray noise = QByteArray::fromHex("a7c31f0e99d2447b8a6655e1f0b3");
    QVERIFY(refusal(put(folder_->path(), QStringLiteral("m.safetensors"), noise))
                .contains(QStringLiteral("header length")));
    const QString why = refusal(put(folder_->path(), QStringLiteral("m"), noise));
    QVERIFY2(why.contains(QStringLiteral("is not a file that this version opens")), qPrintable(why));
    for (const auto& format : fileFormats()) QVERIFY2(why.contains(text(format.title)), qPrintable(why));
}

void SniffTest::foldersWithoutAModel_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("says");
    QTest::newRow("empty") << QString() << QStringLiteral("holds no safetensors file.");
    QTest::newRow("a text") << QStringLiteral("README.md") << QStringLiteral("holds no safetensors file.");
    QTest::newRow("pickles") << QStringLiteral("pytorch_model.bin") << QStringLiteral("is no PyTorch checkpoint");
    QTest::newRow("a model further down")
        << QStringLiteral("unet/model.safetensors") << QStringLiteral("open %1/unet in it");
    QTest::newRow("steps of training") << QStringLiteral("9/_METADATA;100/params/zarr.json;notes/a.txt")
                                       << QStringLiteral("open %1/100 in it");
}

void SniffTest::foldersWithoutAModel() {
    QFETCH(QString, file);
    QFETCH(QString, says);
    const QStringList files = file.split(u';', Qt::SkipEmptyParts);
    for (const QString& each : files) put(folder_->path(), each, smallFile());
    const QString why = refusal(folder_->path());
    QVERIFY2(why.contains(says.contains(u'%') ? says.arg(folder_->path()) : says), qPrintable(why));
}

// Must not be opened or waited for.
void SniffTest::pipeInAFolder() {
    const QString pipe = folder_->filePath(QStringLiteral("model.safetensors"));
    QCOMPARE(::mkfifo(pipe.toLocal8Bit().constData(), 0600), 0);
    QVERIFY(refusal(pipe).endsWith(QStringLiteral("is a pipe, not a regular file.")));
    const auto opened = openModel(folder_->path().toStdString());
    QVERIFY(!opened && text(opened.error().message).endsWith(QStringLiteral("is not opened: it is no regular file.")));
}

QS_TEST(SniffTest)
#include "sniff_test.moc"
