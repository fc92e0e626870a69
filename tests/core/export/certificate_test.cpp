// SPDX-License-Identifier: GPL-3.0-or-later
// The text of certificates: written and read in pieces, with previous ones, and texts that are none.
#include "core/export/certificate.h"
#include "core/model/mapped_file.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QJsonDocument>
#include <QTemporaryDir>

using namespace qs;

namespace {

Certificate certificateOf(const std::string& layout, int tensors) {
    Certificate c;
    c.version = "1", c.source = "a \"model\"", c.sourceFormat = "safetensors", c.layout = layout;
    c.files = {{"out.safetensors", 5, "ab"}};
    c.leftOut = {{"notes.txt", "it is a link"}};
    for (int i = 0; i < tensors; ++i) {
        TensorProof one;
        one.name = "layers." + std::to_string(i) + ".\xc3\xa4", one.spec = "int8", one.specFull = "int8:axis=-1";
        one.dtype = "F16", one.readAs = "int8", one.shape = {2, i + 1}, one.elements = std::uint64_t(2 * (i + 1));
        one.bytesPredicted = one.bytesWritten = one.elements, one.result = Comparison::Equal;
        if (i == 1) one.result = Comparison::NotCompared, one.reason = "no reader", one.readAs = {};
        c.proof.add(std::move(one));
    }
    return c;
}

std::string textWith(const Certificate& c, const MappedFile* previous) {
    std::string text;
    (void)eachCertificatePiece(
        c,
        [&](std::string_view piece) {
            text += piece;
            return Result<void>();
        },
        previous);
    return text;
}

} // namespace

class CertificateTest : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::shared_ptr<MappedFile> put(const char* name, const std::string& text) {
        QFile file(folder_.filePath(QString::fromLatin1(name)));
        if (!file.open(QIODevice::WriteOnly)) return {};
        file.write(text.data(), qint64(text.size()));
        file.close();
        return *MappedFile::open(file.fileName().toStdString());
    }

private Q_SLOTS:
    void comesBack() {
        const Certificate c = certificateOf("native", 3);
        const std::string text = certificateText(c);
        const auto read = parseCertificate(text, "c");
        QVERIFY2(read, read ? "" : read.error().message.c_str());
        QCOMPARE(certificateText(*read), text);
        QCOMPARE(summaryText(*read), summaryText(c));
        QVERIFY(
            QString::fromStdString(summaryText(c)).contains(QStringLiteral("1 of 3 tensors were not compared: no")));
        const auto counted = parseCertificate(text, "c", ProofRows::Counted);
        QVERIFY(counted && counted->proof.tensors.empty());
        QCOMPARE(summaryText(*counted), summaryText(c));
        QCOMPARE(certificateText(*parseCertificate(certificateText(certificateOf("plain", 0)), "c")),
                 certificateText(certificateOf("plain", 0)));
    }

    void previousOnesAreKept() {
        const auto first = put("1", certificateText(certificateOf("native", 2)));
        const auto second = put("2", textWith(certificateOf("plain", 1), first.get()));
        const std::string text = textWith(certificateOf("eformer", 2), second.get());
        QVERIFY(!QJsonDocument::fromJson(QByteArray::fromStdString(text)).isNull());
        const auto read = parseCertificate(text, "c");
        QVERIFY2(read, read ? "" : read.error().message.c_str());
        QCOMPARE(read->layout, std::string("eformer"));
        QVERIFY(read->previous && read->previous->previous && !read->previous->previous->previous);
        QCOMPARE(read->previous->layout, std::string("plain"));
        QCOMPARE(certificateText(*read->previous->previous), certificateText(certificateOf("native", 2)));
        QCOMPARE(certificateText(*read), certificateText(certificateOf("eformer", 2)));
    }

    void whatIsNone_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::addColumn<QString>("why");
        const auto row = [](const char* name, const char* from, const char* to, const char* why) {
            QTest::newRow(name) << QString::fromLatin1(from) << QString::fromLatin1(to) << QString::fromLatin1(why);
        };
        row("no layout", "\"layout\"", "\"layouts\"", "it has no \"layout\" where one is needed");
        row("a layout of another kind", "\"native\"", "5", "it has no \"layout\" where one is needed");
        row("a key twice", "\"source_format\"", "\"source\"", "it has the key \"source\" twice");
        row("no list of files", "\"files\": [", "\"files\": 5, \"f\": [", "it has no \"files\" where one is needed");
        row("a file without its hash", "\"sha256\"", "\"md5\"", "it has no \"sha256\" where one is needed");
        row("a row that is none", "\"tensors\": [", "\"tensors\": [null,", "a row of a list is no object");
        row("a negative shape", "\"shape\": [\n    2", "\"shape\": [\n    -2", "it has a shape that is none");
        row("no dtype", "\"dtype\"", "\"type\"", "it has no \"dtype\" where one is needed");
        row("nested", "\"quantscope\"", "\"a\": [[[[[[[[[[]]]]]]]]]], \"v\"", "nested more than 8 deep");
    }
    void whatIsNone() {
        QFETCH(QString, from);
        QFETCH(QString, to);
        QFETCH(QString, why);
        QString text = QString::fromStdString(certificateText(certificateOf("native", 2)));
        QVERIFY(text.contains(from));
        const auto read = parseCertificate(text.replace(text.indexOf(from), from.size(), to).toStdString(), "c.json");
        QVERIFY(!read);
        const QString message = QString::fromStdString(read.error().message);
        QVERIFY2(message.startsWith(QStringLiteral("c.json is not a certificate: ")) && message.contains(why),
                 qPrintable(message));
    }
};

QS_TEST(CertificateTest)
#include "certificate_test.moc"
