// SPDX-License-Identifier: GPL-3.0-or-later
// What a file is is told from its bytes: the answer is the same under every name, and one sentence.
#include "core/model/file_format.h"
#include "core/model/model.h"
#include "made_file.h"

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
    void unfinishedDownloads();
    void unknownContentGetsTheSentenceOfItsName();
    void foldersWithoutAModel_data();
    void foldersWithoutAModel();
    void pipeInAFolder();

private:
    /// The sentence that opening gives; "" when it opens.
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

const char* const kNames[] = {"model.safetensors", "model.gguf", "model", "model.bin", "weights.json"};

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
    QTest::newRow("index") << QByteArray(" \n{\"weight_map\": {}}") << QStringLiteral("safetensors-index");
}

void SniffTest::opensUnderEveryName() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, format);
    for (const char* name : kNames) {
        const auto opened = openModel(put(folder_->path(), QString::fromUtf8(name), bytes).toStdString());
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
    row("tar", QByteArray(257, 'x') + "ustar" + rest, "is a tar archive");
    row("empty", "", "is empty (0 bytes)");
    row("nothing but zeros", rest, "begins with nothing but zero bytes");
}

void SniffTest::isToldUnderEveryName() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, says);
    for (const char* name : kNames) {
        const QString why = refusal(put(folder_->path(), QString::fromUtf8(name), bytes));
        QVERIFY2(why.contains(says), qPrintable(why));
    }
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
}

void SniffTest::foldersWithoutAModel() {
    QFETCH(QString, file);
    QFETCH(QString, says);
    if (!file.isEmpty()) put(folder_->path(), file, smallFile());
    const QString why = refusal(folder_->path());
    QVERIFY2(why.contains(says.contains(u'%') ? says.arg(folder_->path()) : says), qPrintable(why));
}

// Neither opened nor waited for.
void SniffTest::pipeInAFolder() {
    const QString pipe = folder_->filePath(QStringLiteral("model.safetensors"));
    QCOMPARE(::mkfifo(pipe.toLocal8Bit().constData(), 0600), 0);
    QVERIFY(refusal(pipe).endsWith(QStringLiteral("is a pipe, not a regular file.")));
    const auto opened = openModel(folder_->path().toStdString());
    QVERIFY(!opened && text(opened.error().message).endsWith(QStringLiteral("is a pipe, not a regular file.")));
}

QTEST_GUILESS_MAIN(SniffTest)
#include "sniff_test.moc"
