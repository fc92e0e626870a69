// SPDX-License-Identifier: GPL-3.0-or-later
// NumPy array files: valid files, and faulty headers.
#include "core/model/model.h"
#include "core/model/npy/npy.h"
#include "made_file.h"
#include "tests/support/test_program.h"

using namespace qs;

class NpyTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void opens_data();
    void opens();
    void lies_data();
    void lies();
    void everyPrefixOfAFile();
    void fortranOrderKeepsItsShape();
    void bigEndian_data();
    void bigEndian();
};

namespace {

QByteArray npy(const QByteArray& header, const QByteArray& data, char version = 1, int length = -1) {
    const int n = length < 0 ? int(header.size()) : length;
    QByteArray bytes = QByteArray("\x93NUMPY", 6) + version + '\0' + char(n & 255) + char(n >> 8);
    if (version > 1) bytes += zeros(2);
    return bytes + header + data;
}

QByteArray dict(const QByteArray& descr, const QByteArray& shape, const QByteArray& order = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }      \n";
}

} // namespace

void NpyTest::opens_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("dtype");
    QTest::addColumn<std::vector<std::int64_t>>("shape");
    using Shape = std::vector<std::int64_t>;
    const auto row = [](const char* name, const QByteArray& bytes, const char* dtype, const Shape& shape) {
        QTest::newRow(name) << bytes << QByteArray(dtype) << shape;
    };
    const Shape six{2, 3};
    for (const char version : {1, 2, 3})
        row(("version " + QByteArray::number(version)).constData(), npy(dict("<f4", "(2, 3)"), zeros(24), version),
            "F32", six);
    const std::pair<const char*, const char*> types[] = {
        {"<f2", "F16"}, {"<f8", "F64"},  {"=f4", "F32"}, {"f4", "F32"},  {"|i1", "I8"},  {"<i2", "I16"},
        {"<i4", "I32"}, {"<i8", "I64"},  {"|u1", "U8"},  {">u1", "U8"},  {"<u2", "U16"}, {"<u4", "U32"},
        {"<u8", "U64"}, {"|b1", "BOOL"}, {"<c8", "C64"}, {"|V2", "BF16"}};
    for (const auto& [descr, dtype] : types)
        row(descr, npy(dict(descr, "(2, 3)"), zeros(6 * info(*dtypeFromId(dtype)).bits / 8)), dtype, six);
    row("scalar", npy(dict("<f4", "()"), zeros(4)), "F32", {});
    row("one dimension", npy(dict("<f4", "(6,)"), zeros(24)), "F32", {6});
    row("numbers of Python 2", npy(dict("<f4", "(2L, 3L)"), zeros(24)), "F32", six);
    row("nothing in it", npy(dict("<f4", "(0, 5)"), {}), "F32", {0, 5});
    row("double quotes, another order, no comma at the end",
        npy("{\"shape\": (2,3), \"fortran_order\":False,\"descr\":\"<f4\"}", zeros(24)), "F32", six);
}

void NpyTest::opens() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, dtype);
    QFETCH(std::vector<std::int64_t>, shape);
    QTemporaryDir folder;
    const auto model = openModel(put(folder.path(), QStringLiteral("weights.npy"), bytes).toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QCOMPARE(text((*model)->format), QStringLiteral("npy"));
    const auto* tensor = (*model)->find("weights");
    QVERIFY(tensor);
    QCOMPARE(QByteArray(tensor->typeId()), dtype);
    QCOMPARE(tensor->shape, shape);
    QVERIFY((*model)->view(*tensor));
    QCOMPARE(tensor->offset + tensor->bytes, std::uint64_t(bytes.size()));
}

void NpyTest::lies_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char* name, const QByteArray& bytes, const char* says) {
        QTest::newRow(name) << bytes << QByteArray(says);
    };
    const auto descr = [&](const char* name, const char* d, const char* says) {
        row(name, npy(dict(d, "(2, 3)"), zeros(24)), says);
    };
    const auto header = [&](const char* name, const QByteArray& h, const char* says) {
        row(name, npy(h, zeros(24)), says);
    };
    descr("objects", "|O", "Python objects (a pickle), which are never loaded");
    descr("text", "<U3", "texts");
    descr("bytes", "|S3", "texts");
    descr("void", "|V7", "does not read");
    descr("16-byte complex", "<c16", "does not read");
    descr("StringDType", "|T16", "does not read");
    descr("8-bit floats of ml_dtypes", "|V1", "does not say which");
    descr("8-bit floats by name", "<f1", "does not say which");
    descr("opaque pairs of bytes, big-endian", ">V2", "does not read");
    descr("8-byte opaque", "|V8", "does not read");
    descr("no type", "", "descr is empty");
    header("records", "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }", "records");
    header("no dictionary", "[1]", "no dictionary");
    header("nothing", "", "no dictionary");
    header("only a brace", "{", "no dictionary");
    header("without an end", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", "no dictionary");
    header("a key is missing", "{'fortran_order': False, 'shape': (2, 3), }", "lacks descr");
    header("a key twice", "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
           "has descr twice");
    header("another key", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", "has the key \"x\"");
    header("more after it", dict("<f4", "(2, 3)") + "; import os", "goes on after");
    header("order 1", "{'descr': '<f4', 'fortran_order': 1, 'shape': (2, 3), }", "neither True nor False");
    header("a list for a shape", dict("<f4", "[2, 3]"), "no shape");
    header("negative dimension", dict("<f4", "(2, -3)"), "no shape");
    header("fraction", dict("<f4", "(2, 3.0)"), "no shape");
    header("number beyond 64 bits", dict("<f4", "(99999999999999999999,)"), "no shape");
    header("65 dimensions", dict("<f4", "(" + QByteArray("1,").repeated(65) + ")"), "more than 64 dimensions");
    header("overflow", dict("<f4", "(4294967296, 4294967296)"), "overflows");
    header("overflow beside a zero", dict("<f4", "(0, 4294967296, 4294967296)"), "overflows");
    header("too little data", dict("<f4", "(2, 4)"), "[2, 4] needs 32 bytes, the file holds 24");
    header("too much data", dict("<f4", "(2, 2)"), "[2, 2] needs 16 bytes, the file holds 24");
    row("header over the limit", npy(QByteArray(10001, ' '), {}), "over the limit of 10000");
    row("header of 2^32-1 bytes", QByteArray("\x93NUMPY\2\0\xff\xff\xff\xff{", 13), "over the limit of 10000");
    row("header longer than the file", npy("{", {}, 1, 999), "longer than the file");
    row("version 0", npy(dict("<f4", "(2, 3)"), zeros(24), 0), "version is 0");
    row("version 4", npy(dict("<f4", "(2, 3)"), zeros(24), 4), "version is 4");
    row("magic alone", "\x93NUMPY", "is no .npy file");
}

void NpyTest::lies() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, says);
    QTemporaryDir folder;
    const QString path = put(folder.path(), QStringLiteral("weights.npy"), bytes);
    const auto model = openModel(path.toStdString());
    QVERIFY(!model);
    const auto message = QByteArray::fromStdString(model.error().message);
    QVERIFY2(message.contains(says) && message.startsWith(path.toUtf8()) && message.endsWith('.'), message);
}

void NpyTest::everyPrefixOfAFile() {
    const QByteArray whole = npy(dict("<f4", "(2, 3)"), zeros(24));
    for (int n = 0; n < whole.size(); ++n) {
        const std::vector<char> copy(whole.begin(), whole.begin() + n);
        QVERIFY(!parseNpyHeader(std::as_bytes(std::span(copy)), copy.size()));
    }
}

void NpyTest::fortranOrderKeepsItsShape() {
    QTemporaryDir folder;
    const auto open = [&](const QByteArray& shape) {
        const auto model = openModel(
            put(folder.path(), QStringLiteral("f.npy"), npy(dict("<f4", shape, "True"), zeros(24))).toStdString());
        if (!model) qFatal("%s", model.error().message.c_str());
        return *model;
    };
    const auto model = open("(2, 3)");
    QCOMPARE(model->tensors[0].shape, (std::vector<std::int64_t>{2, 3})); // npz_test checks the values
    QVERIFY(model->tensors[0].derived && model->warnings.empty());
    QVERIFY(!open("(6,)")->tensors[0].derived); // with one dimension there is only one order
}

void NpyTest::bigEndian_data() {
    QTest::addColumn<QByteArray>("descr");
    QTest::addColumn<QByteArray>("dtype");
    QTest::addColumn<QByteArray>("shape");
    QTest::addColumn<int>("number"); // bytes of one number
    const std::tuple<const char*, const char*, int> rows[] = {
        {">f2", "F16", 2}, {">f4", "F32", 4}, {">f8", "F64", 8}, {">i2", "I16", 2}, {">i4", "I32", 4},
        {">i8", "I64", 8}, {">u2", "U16", 2}, {">u4", "U32", 4}, {">u8", "U64", 8}, {">c8", "C64", 4}};
    for (const auto& [descr, dtype, number] : rows)
        for (const char* shape : {"()", "(3,)", "(2, 3)"})
            QTest::addRow("%s of %s", descr, shape)
                << QByteArray(descr) << QByteArray(dtype) << QByteArray(shape) << number;
}

/// Big-endian numbers, in both orders of elements.
void NpyTest::bigEndian() {
    QFETCH(QByteArray, descr);
    QFETCH(QByteArray, dtype);
    QFETCH(QByteArray, shape);
    QFETCH(int, number);
    QTemporaryDir folder;
    const int item = info(*dtypeFromId(dtype.toStdString())).bits / 8;
    const int count = shape == "()" ? 1 : shape == "(3,)" ? 3 : 6;
    QByteArray data;
    for (int i = 0; i < count * item; ++i) data += char(i + 1);
    for (const char* order : {"False", "True"}) {
        const auto model =
            openModel(put(folder.path(), QStringLiteral("b.npy"), npy(dict(descr, shape, order), data)).toStdString());
        QVERIFY2(model, model ? "" : model.error().message.c_str());
        const auto& tensor = (*model)->tensors.at(0);
        QCOMPARE(QByteArray(tensor.typeId()), dtype);
        QVERIFY(tensor.derived);
        QByteArray expected;
        for (int i = 0; i < count; ++i) {
            const int from = order == QByteArray("True") && count == 6 ? i % 3 * 2 + i / 3 : i;
            for (int part = 0; part < item; part += number)
                for (int k = number; k-- > 0;) expected += data[from * item + part + k];
        }
        for (int begin = 0; begin < expected.size(); ++begin)
            for (const int n : {1, number, int(expected.size()) - begin}) {
                if (begin + n > expected.size()) continue;
                QByteArray part(n, '?');
                (*model)->view(tensor)->readInto(std::uint64_t(begin),
                                                 std::as_writable_bytes(std::span(part.data(), std::size_t(n))));
                QCOMPARE(part, expected.mid(begin, n));
            }
    }
}

QS_TEST(NpyTest)
#include "npy_test.moc"
