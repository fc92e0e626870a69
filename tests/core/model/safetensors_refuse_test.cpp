// SPDX-License-Identifier: GPL-3.0-or-later
// Faults of a safetensors file, one per row, with the expected message.
#include "core/model/mapped_file.h"
#include "core/model/model.h"
#include "core/model/safetensors/safetensors.h"
#include "made_file.h"
#include "tests/support/test_program.h"

using namespace qs;

class SafetensorsRefuseTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void lies_data();
    void lies();
    void refusalsComeInTheOrderOfTheReference_data();
    void refusalsComeInTheOrderOfTheReference();
    void theLongestHeader();
    void notSafetensorsAtAll_data();
    void notSafetensorsAtAll();
    void everyPrefixOfAFile();
};

namespace {

QByteArray overlapping(int count) {
    QByteArray header = "{";
    for (int i = 0; i < count; ++i)
        header += (i ? "," : "") + entry("t" + QByteArray::number(i), "F32", "[4]", "[0,16]");
    return madeFile(header + "}", zeros(16));
}

QByteArray withEntry(const QByteArray& dtype, const QByteArray& shape, const QByteArray& offsets, int data) {
    return madeFile("{" + entry("w", dtype, shape, offsets) + "}", zeros(data));
}

/// A mapped file, a file that is read, and a span must give the same error, which is returned.
Error refusal(const QByteArray& bytes, const QString& name) {
    QTemporaryDir folder;
    const QString path = put(folder.path(), name, bytes);
    const auto opened = openModel(path.toStdString());
    if (opened) return {"it opened", {}, -1, false};
    qputenv("QS_READ", "pread"); // reads instead of maps, as on a network
    const auto read = openModel(path.toStdString());
    qunsetenv("QS_READ");
    if (read) return {"it opened where it is read", {}, -1, false};
    if (read.error().message != opened.error().message) return {"read: " + read.error().message, {}, -1, false};
    const auto parsed =
        parseSafetensorsHeader(std::as_bytes(std::span(bytes.data(), std::size_t(bytes.size()))), path.toStdString());
    if (parsed) return {"it parsed", {}, -1, false};
    return opened.error();
}

} // namespace

void SafetensorsRefuseTest::lies_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArrayList>("says"); // parts of the message
    QTest::addColumn<int>("byte");            // byte named in it; -1: any byte
    const auto row = [](const char* name, const QByteArray& bytes, const QByteArrayList& says, int byte = -1) {
        QTest::newRow(name) << bytes << says << byte;
    };
    const auto jsonRow = [&](const char* name, const QByteArray& header, const QByteArrayList& says, int byte = -1) {
        row(name, madeFile(header), says, byte);
    };
    const QByteArray good = entry("w", "F32", "[4]", "[0,16]");

    // Test cases of the reference implementation.
    row("10 entries overlap", overlapping(10), {"tensor \"t1\"", "overlap"});
    row("100,000 entries overlap", overlapping(100000), {"tensor \"t1\"", "overlap"});
    // at 57 bytes per entry the header is too long; refused before it is read
    row("10,000,000 entries overlap", madeFile(overlapping(1000).mid(8), {}, 570'000'000), {"header length", "limit"},
        0);
    row("bytes after the last tensor", madeFile("{" + good + "}", zeros(16) + "PK\3\4"),
        {"4 bytes follow the last tensor"}, 79);
    row("2 bytes missing", withEntry("F32", "[4]", "[0,16]", 14),
        {"tensor \"w\"", "cut short", "16 bytes", "14 are there"}, 77);
    row("length 0xffffff000000003c", QByteArray::fromHex("3c000000ffffffff") + "{" + zeros(100),
        {"header length", "limit"}, 0);
    row("length 1000 in a tiny file", madeFile("{}", {}, 1000), {"header length", "1000", "2 follow"}, 0);
    row("7 bytes", zeros(3) + "{}{}", {"7 bytes", "too few"}, 0);
    row("length only", QByteArray::fromHex("0200000000000000"), {"0 follow"}, 0);
    row("length 0", madeFile("", "{}"), {"empty"}, 8);
    row("header 0xff", madeFile("\xff"), {"UTF-8"}, 8);
    row("header {", madeFile("{"), {"JSON"}, 9);
    row("shape [2,2^64-2]", withEntry("F32", "[2,18446744073709551614]", "[0,16]", 16), {"tensor \"w\"", "2^53"});
    row("shape [2,2^63-1] four times", withEntry("F32", "[2,9223372036854775807,2,9223372036854775807]", "[0,16]", 16),
        {"tensor \"w\"", "2^53"});
    row("product of the shape overflows", withEntry("F32", "[9007199254740992,9007199254740992]", "[0,16]", 16),
        {"tensor \"w\"", "elements overflows"});
    row("product overflows before a 0", withEntry("F32", "[9007199254740992,9007199254740992,0]", "[0,0]", 0),
        {"tensor \"w\"", "elements overflows"});
    row("bits overflow", withEntry("F32", "[9007199254740992,1024]", "[0,16]", 16), {"tensor \"w\"", "bits overflows"});
    row("dtype that is no name", withEntry("Q4 K!", "[4]", "[0,16]", 16), {"tensor \"w\"", "dtype \"Q4 K!\""});
    row("header cut short", madeFile("{" + good, {}, 90), {"cut short"}, 0);
    row("a gap", madeFile("{" + good + "," + entry("x", "F32", "[1]", "[20,24]") + "}", zeros(24)),
        {"tensor \"x\"", "gap", "20", "16"});
    row("first tensor not at 0", withEntry("F32", "[1]", "[4,8]", 8), {"tensor \"w\"", "begins at 4 where 0"});
    row("offsets reversed", withEntry("F32", "[0]", "[0,-4]", 0), {"tensor \"w\"", "data_offsets", "negative"});
    row("offsets reversed, positive", madeFile("{" + good + "," + entry("x", "U8", "[4]", "[16,12]") + "}", zeros(16)),
        {"tensor \"x\"", "reversed"});
    row("ends beyond any file", withEntry("U8", "[1073741824,1073741824]", "[0,1152921504606846976]", 4),
        {"tensor \"w\"", "cut short", "1152921504606846976"});
    row("offsets near 2^64", withEntry("U8", "[4]", "[18446744073709551612,18446744073709551615]", 4),
        {"tensor \"w\"", "begins at 18446744073709551612"});

    // Cases that the reference accepts, and special cases of JSON.
    row("length 100,000,001", madeFile("{}", {}, 100000001), {"limit of 100000000"}, 0);
    row("length 2^64-1", QByteArray(8, '\xff') + "{}", {"18446744073709551615", "limit"}, 0);
    jsonRow("byte order mark", "\xef\xbb\xbf{}", {"byte order mark"}, 8);
    jsonRow("NUL after the root", QByteArray("{}\0\0", 4), {"NUL"}, 10);
    jsonRow("NUL and a second root", QByteArray("{}\0{\"w\":1}", 11), {"NUL"}, 10);
    jsonRow("NUL inside a name", QByteArray("{\"a\0b\":1}", 9), {"NUL"}, 11);
    row("escaped NUL in a name", madeFile("{" + entry("a\\u0000b", "F32", "[0]", "[0,0]") + "}"),
        {"tensor \"a\\u{0}b\"", "NUL"});
    row("text after the root", madeFile("{} x"), {"JSON"}, 11);
    row("two roots", madeFile("{}{}"), {"JSON"});
    row("the same tensor twice", madeFile("{" + good + "," + good + "}", zeros(16)), {"tensor \"w\"", "twice"});
    row("one name, two tensors", madeFile("{" + good + "," + entry("w", "U8", "[2]", "[16,18]") + "}", zeros(18)),
        {"tensor \"w\"", "twice"});
    row("one name, spelled twice",
        madeFile("{" + good + "," + entry("\\u0077", "U8", "[2]", "[16,18]") + "}", zeros(18)),
        {"tensor \"w\"", "twice"});
    row("a field twice", madeFile("{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}"),
        {"tensor \"w\"", "dtype", "twice"});
    row("metadata twice", madeFile("{\"__metadata__\":{},\"__metadata__\":{}}"), {"__metadata__", "twice"});
    row("one metadata key twice", madeFile("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}"),
        {"__metadata__", "\"a\"", "twice"});
    row("metadata holds a number", madeFile("{\"__metadata__\":{\"a\":1}}"), {"__metadata__", "\"a\"", "number"});
    row("metadata holds null", madeFile("{\"__metadata__\":{\"a\":null}}"), {"__metadata__", "\"a\"", "null"});
    row("metadata holds an object", madeFile("{\"__metadata__\":{\"a\":{}}}"), {"__metadata__", "\"a\"", "object"});
    row("metadata is an array", madeFile("{\"__metadata__\":[]}"), {"__metadata__", "array"});
    row("shape with 1e400", withEntry("F32", "[1e400]", "[0,16]", 16), {"JSON", "1e400"});
    const auto shape = [&](const char* name, const QByteArray& dims, const QByteArrayList& says) {
        row(name, withEntry("F32", dims, "[0,16]", 16), QByteArrayList{"tensor \"w\""} + says);
    };
    shape("shape with -1", "[-1]", {"shape holds", "negative"});
    shape("shape with -0", "[-0]", {"shape holds", "negative"});
    shape("shape with 1.5", "[1.5]", {"shape holds", "whole"});
    shape("shape with 4.0", "[4.0]", {"shape holds", "whole"});
    shape("shape with 1e3", "[1e3]", {"shape holds", "whole"});
    shape("shape with text", "[\"2\"]", {"shape holds text"});
    shape("shape with true", "[true]", {"shape holds true"});
    shape("shape with null", "[null]", {"shape holds null"});
    shape("shape with 2^53+1", "[9007199254740993]", {"9007199254740993"});
    shape("shape with 2^64", "[18446744073709551616]", {"64 bits"});
    shape("shape of shapes", "[[4]]", {"shape holds", "array"});
    shape("shape is a number", "4", {"shape is"});
    shape("shape with 10,000 dimensions", "[" + QByteArray("1,").repeated(9999) + "4]", {"64 dimensions"});
    const auto offsets = [&](const char* name, const QByteArray& given, const QByteArrayList& says) {
        row(name, withEntry("F32", "[4]", given, 16), QByteArrayList{"tensor \"w\""} + says);
    };
    offsets("offsets of 1 item", "[16]", {"1 items instead of 2"});
    offsets("offsets of 3 items", "[0,16,16]", {"3 items instead of 2"});
    offsets("no offsets", "[]", {"0 items instead of 2"});
    offsets("offsets with 16.0", "[0,16.0]", {"data_offsets holds", "whole"});
    offsets("offsets are an object", "{\"0\":0,\"1\":16}", {"data_offsets is an object"});
    row("dtype is a number", madeFile("{\"w\":{\"dtype\":32,\"shape\":[0],\"data_offsets\":[0,0]}}"),
        {"tensor \"w\"", "dtype is a number"});
    row("no dtype", madeFile("{\"w\":{\"shape\":[0],\"data_offsets\":[0,0]}}"), {"tensor \"w\"", "no dtype"});
    row("no shape", madeFile("{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,0]}}"), {"tensor \"w\"", "no shape"});
    row("no offsets field", madeFile("{\"w\":{\"dtype\":\"F32\",\"shape\":[0]}}"), {"tensor \"w\"", "no data_offsets"});
    row("tensor is null", madeFile("{\"w\":null}"), {"tensor \"w\"", "null"});
    row("tensor is text", madeFile("{\"w\":\"F32\"}"), {"tensor \"w\"", "text"});
    row("tensor is an array", madeFile("{\"w\":[]}"), {"tensor \"w\"", "array"});
    row("root is an array", madeFile("[]"), {"array"}, 8);
    row("root is text", madeFile("\"w\""), {"text"});
    row("root is a number", madeFile("12"), {"number"});
    row("depth bomb in an unknown field", madeFile("{\"w\":{\"x\":" + QByteArray(100000, '[')), {"nested more than 8"});
    row("depth bomb of objects", madeFile("{\"w\":{\"x\":" + QByteArray("{\"a\":").repeated(100000)),
        {"nested more than 8"});
    row("depth bomb at the root", madeFile(QByteArray(5000000, '[')), {"array"});
    row("lone surrogate", madeFile("{" + entry("\\ud800", "F32", "[0]", "[0,0]") + "}"), {"JSON"});
    row("overlong UTF-8", madeFile("{" + entry("\xc0\xaf", "F32", "[0]", "[0,0]") + "}"), {"UTF-8"}, 10);
    row("surrogate in UTF-8", madeFile("{\"\xed\xa0\x80\":1}"), {"UTF-8"}, 10);
    row("Latin-1 name", madeFile("{" + entry("\xe9t\xe9", "F32", "[0]", "[0,0]") + "}"), {"UTF-8"}, 10);
    row("NaN", madeFile("{\"w\":NaN}"), {"JSON"});
    row("a comment", madeFile("{/* */}"), {"JSON"});
    row("a trailing comma", madeFile("{" + good + ",}", zeros(16)), {"JSON"});
    row("single quotes", madeFile("{'w':1}"), {"JSON"});
    row("header ends inside a name", madeFile("{\"we"), {"JSON"});
    row("a hostile long name", madeFile("{\"" + QByteArray(1000000, 'n') + "\":1}"), {"tensor \"nnn", "…"});
    row("an escape sequence in a name", madeFile("{\"\\u001b[31m\":1}"), {"tensor \"\\u{1b}[31m\""});
    row("a direction override in a name",
        madeFile("{\"a\xe2\x80\xae"
                 "b\":1}"),
        {"\\u{202e}"});
}

void SafetensorsRefuseTest::lies() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArrayList, says);
    QFETCH(int, byte);
    const Error error = refusal(bytes, QStringLiteral("lie.safetensors"));
    const QByteArray message = QByteArray::fromStdString(error.message);
    for (const auto& part : says) QVERIFY2(message.contains(part), message + "\n   lacks: " + part);
    QVERIFY2(message.contains("/lie.safetensors: "), message);
    QVERIFY2(message.contains("(at byte " + QByteArray::number(error.offset) + ")."), message);
    if (byte >= 0) QCOMPARE(error.offset, (long long)(byte));
    QVERIFY(error.offset >= 0 && error.offset <= bytes.size());
    QVERIFY2(message.size() <= 500, message);
    for (const char c : message) QVERIFY2(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, message);
    QVERIFY(text(error.path).endsWith(QStringLiteral("/lie.safetensors")));
}

// Files with two faults: the error must be the one that the reference reports.
void SafetensorsRefuseTest::refusalsComeInTheOrderOfTheReference_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("says");
    QTest::newRow("length over the cap before beyond the file") << madeFile("{}", {}, 100000001) << QByteArray("limit");
    QTest::newRow("beyond the file before UTF-8") << madeFile("\xff", {}, 50) << QByteArray("follow");
    QTest::newRow("UTF-8 before JSON") << madeFile("{{\xff") << QByteArray("UTF-8");
    QTest::newRow("JSON before offsets") << madeFile("{" + entry("w", "F32", "[4]", "[4,8]") + ",}")
                                         << QByteArray("JSON");
    QTest::newRow("offsets before the shape")
        << withEntry("F32", "[9007199254740992,9007199254740992]", "[4,8]", 8) << QByteArray("begins at 4");
    QTest::newRow("overflow before whole bytes")
        << withEntry("F4", "[9007199254740992,9007199254740993]", "[0,1]", 1) << QByteArray("2^53");
    QTest::newRow("a later tensor's shape before the end of the file")
        << madeFile("{" + entry("a", "F32", "[4]", "[0,16]") + "," +
                        entry("b", "F32", "[9007199254740992,9007199254740992]", "[16,18]") + "}",
                    zeros(2))
        << QByteArray("\"b\"");
}

void SafetensorsRefuseTest::refusalsComeInTheOrderOfTheReference() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, says);
    const QByteArray message = QByteArray::fromStdString(refusal(bytes, QStringLiteral("two.safetensors")).message);
    QVERIFY2(message.contains(says), message);
}

void SafetensorsRefuseTest::notSafetensorsAtAll_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char* tag, const char* name, const QByteArray& bytes, const char* says) {
        QTest::newRow(tag) << QString::fromUtf8(name) << bytes << QByteArray(says);
    };
    const QByteArray rest = zeros(200);
    const QByteArray pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 268435456\n";
    row("LFS pointer", "model.safetensors", pointer, "Git LFS pointer");
    row("web page", "model.safetensors", "<!DOCTYPE html><html>Not found</html>", "web page");
    row("web page after blanks", "model.safetensors", "\n\n  <HTML><body>Sign in</body>", "web page");
    row("empty", "model.safetensors", "", "is empty (0 bytes)");
    row("only zeros", "model.safetensors", rest, "zero bytes");
    row("ZIP", "pytorch_model.bin", "PK\3\4" + rest, "ZIP archive");
    row("pickle", "old.pt", "\x80\x02}q\x01" + rest, "pickle");
    row("pickle, protocol 5", "new.pkl", "\x80\x05\x95" + rest, "pickle");
    row("TensorFlow Lite", "m.tflite", zeros(4) + "TFL3" + rest, "TensorFlow Lite");
    row("gzip", "model.safetensors.gz", "\x1f\x8b\x08" + rest, "gzip");
    row("zstd", "model.zst", "\x28\xb5\x2f\xfd" + rest, "zstd");
    for (const char* name : {"m.safetensors.part", "m.incomplete", "m.safetensors.crdownload", "m.safetensors.aria2"})
        row(name, name, smallFile(), "unfinished download");
    row("text", "notes.txt", "Dear diary, today I quantized a model.", "is not a file that this version opens");
    row("other JSON", "config.json", "{\"hidden_size\": 128}", "is not a file that this version opens");
}

/// A header of 100,000,000 bytes is allowed. Here its content is refused: a hole in the file.
void SafetensorsRefuseTest::theLongestHeader() {
    QTemporaryDir folder;
    const QString path = put(folder.path(), QStringLiteral("long.safetensors"), madeFile("{", {}, 100'000'000));
    QVERIFY(QFile::resize(path, 100'000'008));
    const auto opened = openModel(path.toStdString());
    QVERIFY(!opened);
    QVERIFY2(text(opened.error().message).contains(QStringLiteral("NUL")), opened.error().message.c_str());
    QCOMPARE(opened.error().offset, 9LL);
}

void SafetensorsRefuseTest::notSafetensorsAtAll() {
    QFETCH(QString, name);
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, says);
    QTemporaryDir folder;
    const QString path = put(folder.path(), name, bytes);
    const auto opened = openModel(path.toStdString());
    QVERIFY(!opened);
    const QByteArray message = QByteArray::fromStdString(opened.error().message);
    QVERIFY2(message.contains(says) && message.startsWith(path.toUtf8()) && message.endsWith('.'), message);
}

// No prefix of a file opens, and none crashes.
void SafetensorsRefuseTest::everyPrefixOfAFile() {
    const QByteArray whole = bytesOf(QStringLiteral(QS_TEST_DATA "/safetensors/zero_sized.safetensors"));
    const auto parse = [](const QByteArray& bytes) {
        // A copy of exactly this size, so that AddressSanitizer finds a read beyond it.
        const std::vector<char> copy(bytes.begin(), bytes.end());
        return parseSafetensorsHeader(std::as_bytes(std::span(copy)), "prefix");
    };
    QVERIFY(parse(whole));
    for (int n = 0; n < whole.size(); ++n) QVERIFY2(!parse(whole.left(n)), QByteArray::number(n));
}

QS_TEST(SafetensorsRefuseTest)
#include "safetensors_refuse_test.moc"
