// SPDX-License-Identifier: GPL-3.0-or-later
// ONNX models with external data: where these files may be, and where not.
#include "core/model/model.h"
#include "made_file.h"
#include "made_protobuf.h"
#include "real_file.h"
#include "tests/support/test_program.h"

#include <memory>
#include <sys/stat.h>

using namespace qs;

class OnnxOutsideTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void outsideOpens_data();
    void outsideOpens();
    void outsideRefused_data();
    void outsideRefused();
    void outsideMissing();
    void outsidePipe();
    void linksOfTheHuggingFaceCache();

private:
    QString at(const char* name) const { return folder_->filePath(QString::fromUtf8(name)); }
    QString putModel(const QByteArray& bytes) { return put(folder_->path(), QStringLiteral("m.onnx"), bytes); }
    std::shared_ptr<const Model> open(const QByteArray& bytes) { return opened(putModel(bytes)); }
    std::unique_ptr<QTemporaryDir> folder_;
};

namespace {

const QByteArray kDims = pb::dims({4});

QByteArray withOutside(const QByteArray& tensor) { return pb::model(pb::initializer(tensor)); }

} // namespace

void OnnxOutsideTest::outsideOpens_data() {
    QTest::addColumn<QByteArray>("values");
    using pb::entry, pb::outside;
    QTest::newRow("whole file") << outside("w.bin");
    QTest::newRow("offset and length") << outside("w.bin", entry("offset", "16") + entry("length", "16"));
    QTest::newRow("in a folder") << outside("sub/w.bin");
    QTest::newRow("./") << outside("./w.bin");
    QTest::newRow("a checksum, which is not asked") << outside("w.bin", entry("checksum", "00"));
    QTest::newRow("a key of a later version") << outside("w.bin", entry("basepath", "/etc"));
    QTest::newRow("a link inside the folder") << outside("inside");
}

void OnnxOutsideTest::outsideOpens() {
    QFETCH(QByteArray, values);
    const QByteArray bytes = QByteArray(16, 'a') + QByteArray(16, 'b');
    put(folder_->path(), QStringLiteral("w.bin"), bytes);
    put(folder_->path(), QStringLiteral("sub/w.bin"), bytes);
    QVERIFY(QFile::link(QStringLiteral("sub/w.bin"), at("inside")));
    const auto model = open(withOutside(pb::tensor("w", 1, kDims, values)));
    QCOMPARE(valuesOf(*model, model->tensors.at(0)), values.contains("offset") ? bytes.mid(16) : bytes.left(16));
    QCOMPARE(model->files.size(), std::size_t(2));
    // A change of the external file is noticed.
    put(folder_->path(), QStringLiteral("w.bin"), "x");
    put(folder_->path(), QStringLiteral("sub/w.bin"), "x");
    QVERIFY(!model->unchanged(model->tensors[0]));
}

void OnnxOutsideTest::outsideRefused_data() {
    QTest::addColumn<QByteArray>("values");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& values, const char* says) {
        QTest::newRow(name) << values << QString::fromUtf8(says);
    };
    using pb::entry, pb::outside;
    row("parent", outside("../secret.bin"), "leads out of the folder");
    row("parent further down", outside("sub/../../secret.bin"), "leads out of the folder");
    row("parent that stays", outside("sub/../w.bin"), "leads out of the folder");
    row("absolute", outside("/etc/passwd"), "is an absolute path");
    row("NUL", outside(QByteArray("w.bin\0x", 7)), "holds a NUL");
    row("a link out of the folder", outside("link"), "is a symlink out of the model's folder");
    row("a folder that is a link", outside("dir/secret.bin"), "leads out of the model's folder through a symlink");
    row("proc", outside("proc/environ"), "leads out of the model's folder through a symlink");
    row("a folder", outside("sub"), "is no regular file");
    row("a link to a folder", outside("subLink"), "is no regular file");
    row("no location", pb::number(14, 1), "external_data has no location");
    row("location twice", outside("w.bin", entry("location", "x")), "external_data has location twice");
    row("length twice", outside("w.bin", entry("length", "16") + entry("length", "16")), "has length twice");
    row("a very long location", outside(QByteArray(5000, 'w')), "4096 bytes or more");
    row("offset beyond the end", outside("w.bin", entry("offset", "17")), "16 bytes from byte 17 on end after");
    row("offset of 2^64-1", outside("w.bin", entry("offset", "18446744073709551615")),
        "end after \"w.bin\", which has 32");
    row("offset beyond 64 bits", outside("w.bin", entry("offset", "18446744073709551616")), "for its offset");
    row("negative offset", outside("w.bin", entry("offset", "-1")), "external_data says \"-1\" for its offset");
    row("offset in words", outside("w.bin", entry("offset", "16x")), "external_data says \"16x\" for its offset");
    row("empty length", outside("w.bin", entry("length", "")), "external_data says \"\" for its length");
    row("another length", outside("w.bin", entry("length", "8")), "needs 16 bytes, external_data says 8");
    row("inside as well", outside("w.bin") + pb::raw(zeros(16)), "in the file and outside of it");
}

void OnnxOutsideTest::outsideRefused() {
    QFETCH(QByteArray, values);
    QFETCH(QString, says);
    QDir().mkpath(at("model/sub"));
    put(folder_->path(), QStringLiteral("secret.bin"), zeros(64));
    put(folder_->path(), QStringLiteral("model/w.bin"), zeros(32));
    QVERIFY(QFile::link(QStringLiteral("../secret.bin"), at("model/link")));
    QVERIFY(QFile::link(QStringLiteral(".."), at("model/dir")));
    QVERIFY(QFile::link(QStringLiteral("/proc/self"), at("model/proc")));
    QVERIFY(QFile::link(QStringLiteral("sub"), at("model/subLink")));
    const QString path =
        put(folder_->path(), QStringLiteral("model/m.onnx"), withOutside(pb::tensor("w", 1, kDims, values)));
    const auto model = openModel(path.toStdString());
    QVERIFY(!model);
    const QString why = text(model.error().message);
    QVERIFY2(why.contains(says) && why.startsWith(path) && why.contains(QStringLiteral("tensor \"w\"")),
             qPrintable(why));
}

void OnnxOutsideTest::outsideMissing() {
    QVERIFY(QFile::link(QStringLiteral("nowhere"), at("dead")));
    const auto model = open(pb::model(pb::initializer(pb::tensor("here", 1, kDims, pb::raw(zeros(16)))) +
                                      pb::initializer(pb::tensor("gone", 1, kDims, pb::outside("gone.bin"))) +
                                      pb::initializer(pb::tensor("lost", 1, kDims, pb::outside("dead")))));
    QCOMPARE(model->tensors.size(), std::size_t(1));
    QVERIFY2(
        text(model->warnings.at(0))
            .endsWith(QStringLiteral("the files of 2 tensors are missing; the first, \"gone\", is in \"gone.bin\".")),
        model->warnings[0].c_str());
}

// Must not be opened or waited for.
void OnnxOutsideTest::outsidePipe() {
    QCOMPARE(::mkfifo(at("pipe").toLocal8Bit().constData(), 0600), 0);
    const auto model = openModel(putModel(withOutside(pb::tensor("w", 1, kDims, pb::outside("pipe")))).toStdString());
    QVERIFY(!model && text(model.error().message).contains(QStringLiteral("is no regular file")));
}

// models--o--n/snapshots/HASH/ contains links into models--o--n/blobs/. These are followed, others are not.
void OnnxOutsideTest::linksOfTheHuggingFaceCache() {
    const QByteArray bytes(16, 'h');
    const auto put = [&](const char* name, const QByteArray& content) {
        return ::put(folder_->path(), QString::fromUtf8(name), content);
    };
    put("models--o--n/blobs/1234", bytes);
    put("models--o--n/blobs/sub/1234", bytes);
    put("elsewhere/1234", bytes);
    put("models--o--n/blobs/model", withOutside(pb::tensor("w", 1, kDims, pb::outside("m.onnx_data"))));
    QDir().mkpath(at("models--o--n/snapshots/abc/onnx"));
    QVERIFY(QFile::link(QStringLiteral("../../../blobs/model"), at("models--o--n/snapshots/abc/onnx/m.onnx")));
    const QString link = at("models--o--n/snapshots/abc/onnx/m.onnx_data");
    const auto model = [&](const char* target) {
        QFile::remove(link);
        if (!QFile::link(QString::fromUtf8(target), link)) qFatal("no link");
        return openModel(at("models--o--n/snapshots/abc/onnx/m.onnx").toStdString());
    };
    const auto good = model("../../../blobs/1234");
    QVERIFY2(good, good ? "" : good.error().message.c_str());
    QCOMPARE(valuesOf(**good, (*good)->tensors.at(0)), bytes);
    for (const char* target :
         {"../../../../elsewhere/1234", "../../../blobs/sub/1234", "../../../blobs/../blobs/../../elsewhere/1234"})
        QVERIFY2(!model(target), target);
    // A link whose text contains "blobs": what counts is where it ends.
    QVERIFY(QFile::link(QStringLiteral("../../elsewhere/1234"), at("models--o--n/blobs/5678")));
    QVERIFY(!model("../../../blobs/5678"));
}

QS_TEST(OnnxOutsideTest)

#include "onnx_outside_test.moc"
