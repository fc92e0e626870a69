// SPDX-License-Identifier: GPL-3.0-or-later
// NumPy archives, and arrays in Fortran or big-endian order.
#include "core/model/derived_tensor.h"
#include "core/model/mapped_file.h"
#include "core/model/model.h"
#include "core/model/strided_tensor.h"
#include "made_zip.h"
#include "tests/support/test_program.h"

#include <numeric>

using namespace qs;

class NpzTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void opens_data();
    void opens();
    void lies_data();
    void lies();
    void oneBadMemberLeavesTheRest_data();
    void oneBadMemberLeavesTheRest();
    void whatIsNoArrayIsListed();
    void fortranOrder_data();
    void fortranOrder();
    void anyRangeOfAnyStrides_data();
    void anyRangeOfAnyStrides();
    void extents();
};

namespace {

QByteArray member(const QByteArray& descr, const QByteArray& shape, const QByteArray& data,
                  const QByteArray& order = "False") {
    const QByteArray header =
        "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }      \n";
    return QByteArray("\x93NUMPY\1\0", 8) + le(std::uint64_t(header.size()), 2) + header + data;
}

QByteArray counted(int floats) {
    std::vector<float> values(static_cast<std::size_t>(floats));
    std::iota(values.begin(), values.end(), 0.0f);
    return {reinterpret_cast<const char*>(values.data()), floats * 4};
}

QByteArray zipped(std::vector<MadeMember> members) {
    MadeZip made;
    made.members = std::move(members);
    return made.bytes();
}

QByteArray bytesFrom(const Model& model, const TensorInfo& tensor, std::uint64_t begin, std::size_t n) {
    const auto view = model.view(tensor);
    if (!view) qFatal("%s", view.error().message.c_str());
    QByteArray into(int(n), '?');
    view->readInto(begin, std::as_writable_bytes(std::span(into.data(), n)));
    return into;
}

} // namespace

void NpzTest::opens_data() {
    QTest::addColumn<bool>("deflate");
    QTest::newRow("savez") << false;
    QTest::newRow("savez_compressed") << true;
}

void NpzTest::opens() {
    QFETCH(bool, deflate);
    QTemporaryDir folder;
    const QString path = put(folder.path(), QStringLiteral("weights.bin"), // detected by its bytes, not by its name
                             zipped({{"arr_10.npy", member("<f4", "(2, 3)", counted(6)), deflate},
                                     {"arr_2.npy", member("<i8", "()", zeros(8)), deflate},
                                     {"layer/w.npy", member("|V2", "(0, 4)", {}), deflate}}));
    const auto opened = openModel(path.toStdString());
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    const Model& model = **opened;
    QCOMPARE(text(model.format), QStringLiteral("npz"));
    QVERIFY2(model.warnings.empty(), model.warnings.empty() ? "" : model.warnings[0].c_str());
    QCOMPARE(int(model.tensors.size()), 3);
    QCOMPARE(text(model.tensors[0].name), QStringLiteral("arr_2")); // sorted by number
    const auto* array = model.find("arr_10");
    QVERIFY(array && array->isWeight());
    QCOMPARE(array->shape, (std::vector<std::int64_t>{2, 3}));
    QCOMPARE(QByteArray(array->typeId()), QByteArray("F32"));
    QCOMPARE(bool(array->derived), deflate);
    QCOMPARE(bytesFrom(model, *array, 0, 24), counted(6));
    QCOMPARE(bytesFrom(model, *array, 3, 7), counted(6).mid(3, 7));
    QCOMPARE(model.find("layer/w")->bytes, std::uint64_t(0));
    QVERIFY(model.view(*model.find("layer/w")));
    // The archive was replaced: values already inflated are reported as changed too.
    put(folder.path(), QStringLiteral("weights.bin"), "something else");
    QVERIFY(!model.view(*array));
}

void NpzTest::lies_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char* name, MadeMember member, const char* says) {
        QTest::newRow(name) << zipped({std::move(member)}) << QByteArray(says);
    };
    row("more declared than stored", {"a.npy", member("<f4", "(2, 4)", counted(6))},
        "needs 32 bytes, the file holds 24");
    row("more declared than inflated", {"a.npy", member("<f4", "(1000000000, 100)", counted(6)), true},
        "needs 400000000000 bytes, the file holds 24");
    row("objects", {"a.npy", member("|O", "(2,)", "pickle")},
        "none of its 1 arrays can be shown; the first is \"a.npy\"");
    row("no NumPy file", {"a.npy", "hello"}, "it is no .npy file");
    MadeMember damaged{"a.npy", member("<f4", "(2, 3)", counted(6)), true};
    damaged.crc = 7;
    row("wrong checksum, deflated", damaged, "its checksum (CRC-32) differs");
    damaged.deflate = false;
    row("wrong checksum, stored", damaged, "its checksum (CRC-32) differs");
    QTest::newRow("bomb") << zipped({{"a.npy", member("|u1", "(300000000,)", zeros(300000000)), true}})
                          << QByteArray("is packed as only bombs are");
}

void NpzTest::lies() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, says);
    QTemporaryDir folder;
    const QString path = put(folder.path(), QStringLiteral("w.npz"), bytes);
    const auto model = openModel(path.toStdString());
    QVERIFY(!model);
    const auto message = QByteArray::fromStdString(model.error().message);
    QVERIFY2(message.contains(says) && message.startsWith(path.toUtf8()) && message.endsWith('.'), message);
}

void NpzTest::oneBadMemberLeavesTheRest_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const MadeMember& bad, const char* says) {
        QTest::newRow(name) << zipped({{"a.npy", member("<f4", "(2, 3)", counted(6))},
                                       bad,
                                       {"c.npy", member("<f4", "(2, 3)", counted(6)), true}})
                            << QString::fromUtf8(says);
    };
    MadeMember damaged{"b.npy", member("<f4", "(2, 3)", counted(6)), true};
    damaged.crc = 7;
    row("wrong checksum, deflated", damaged, "it is damaged: its checksum (CRC-32) differs");
    damaged.deflate = false;
    row("wrong checksum, stored", damaged, "it is damaged: its checksum (CRC-32) differs");
    MadeMember noStream{"b.npy", member("<f4", "(2, 3)", counted(6)), true};
    noStream.packed = QByteArray(60, '\xff');
    row("no deflate stream", noStream, "its packed data is no deflate stream");
    row("fewer bytes than its shape needs", {"b.npy", member("<f4", "(2, 4)", counted(6))},
        "needs 32 bytes, the file holds 24");
    row("no NumPy file", {"b.npy", "hello"}, "it is no .npy file");
    row("a type of another program", {"b.npy", member("<f16", "(1,)", zeros(16))}, "which this program does not read");
}

/// The others can be read; the bad one is listed, has no values, and a sentence says why.
void NpzTest::oneBadMemberLeavesTheRest() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, says);
    QTemporaryDir folder;
    const auto opened = openModel(put(folder.path(), QStringLiteral("w.npz"), bytes).toStdString());
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    const Model& model = **opened;
    QCOMPARE(model.tensors.size(), std::size_t(3));
    QVERIFY(model.find("b") && model.find("b")->isUnread());
    for (const char* name : {"a", "c"}) QCOMPARE(bytesFrom(model, *model.find(name), 0, 24), counted(6));
    QCOMPARE(model.warnings.size(), std::size_t(1));
    QVERIFY2(text(model.warnings[0]).contains(QStringLiteral("tensor \"b\" is listed but cannot be read: ")) &&
                 text(model.warnings[0]).contains(says),
             model.warnings[0].c_str());
}

void NpzTest::whatIsNoArrayIsListed() {
    QTemporaryDir folder;
    const auto model = openModel(put(folder.path(), QStringLiteral("w.npz"),
                                     zipped({{"a.npy", member("<f4", "(2, 3)", counted(6))},
                                             {"names.npy", member("<U7", "(1,)", zeros(28))},
                                             {"readme.txt", "hello"}}))
                                     .toStdString());
    QVERIFY(model);
    QCOMPARE(int((*model)->tensors.size()), 1);
    QCOMPARE(int((*model)->warnings.size()), 2);
    QVERIFY(text((*model)->warnings[0]).contains(QStringLiteral("the first is \"names.npy\": its elements are texts")));
    QVERIFY(text((*model)->warnings[1]).contains(QStringLiteral("\"readme.txt\"")));
}

void NpzTest::fortranOrder_data() { opens_data(); }

void NpzTest::fortranOrder() {
    QFETCH(bool, deflate);
    QTemporaryDir folder;
    const auto opened = openModel(put(folder.path(), QStringLiteral("w.npz"),
                                      zipped({{"a.npy", member("<f4", "(2, 3)", counted(6), "True"), deflate}}))
                                      .toStdString());
    QVERIFY(opened);
    const auto& tensor = (*opened)->tensors.at(0);
    QCOMPARE(tensor.shape, (std::vector<std::int64_t>{2, 3}));
    float values[6];
    std::memcpy(values, bytesFrom(**opened, tensor, 0, 24).constData(), 24);
    const float expected[6] = {0, 2, 4, 1, 3, 5};
    for (int i = 0; i < 6; ++i) QCOMPARE(values[i], expected[i]);
}

void NpzTest::anyRangeOfAnyStrides_data() {
    QTest::addColumn<std::vector<std::int64_t>>("shape");
    QTest::addColumn<std::vector<std::int64_t>>("strides");
    using L = std::vector<std::int64_t>;
    QTest::newRow("transposed") << L{5, 7} << L{1, 5};
    QTest::newRow("a step") << L{9} << L{3};
    QTest::newRow("rows apart") << L{4, 3} << L{8, 1};
    QTest::newRow("three axes") << L{2, 3, 4} << L{1, 2, 6};
    QTest::newRow("expanded") << L{6, 5} << L{0, 1};
    QTest::newRow("one value") << L{6} << L{0};
    QTest::newRow("axes of one") << L{1, 5, 1, 2} << L{99, 2, 77, 15};
}

void NpzTest::anyRangeOfAnyStrides() {
    QFETCH(std::vector<std::int64_t>, shape);
    QFETCH(std::vector<std::int64_t>, strides);
    QTemporaryDir folder;
    QByteArray bytes(4000, '\0');
    for (int i = 0; i < bytes.size(); ++i) bytes[i] = char(i * 7 + i / 256);
    const auto path = put(folder.path(), QStringLiteral("f"), bytes).toStdString();
    for (const auto access : {FileAccess::Map, FileAccess::Pread})
        for (const auto dtype : {DType::U8, DType::F16, DType::F32, DType::F64}) {
            const auto item = std::size_t(info(dtype).bits) / 8;
            const auto file = MappedFile::open(path, access);
            const StridedTensor tensor(*file, {dtype, shape, strides, 3});
            QByteArray expected;
            std::vector<std::int64_t> index(shape.size());
            for (bool more = true; more;) {
                std::int64_t at = 0;
                for (std::size_t i = 0; i < shape.size(); ++i) at += index[i] * strides[i];
                expected += bytes.mid(3 + int(at) * int(item), int(item));
                more = false;
                for (std::size_t i = shape.size(); i-- > 0 && !more;) {
                    more = ++index[i] < shape[i];
                    if (!more) index[i] = 0;
                }
            }
            for (int begin = 0; begin < expected.size(); begin += 3)
                for (int n = 1; begin + n <= expected.size(); n += 5) {
                    QByteArray into(n, '?');
                    tensor.read(std::uint64_t(begin), std::as_writable_bytes(std::span(into.data(), std::size_t(n))));
                    QCOMPARE(into, expected.mid(begin, n));
                }
        }
}

void NpzTest::extents() {
    const auto extent = [](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                           std::uint64_t offset = 0) {
        return StridedLayout{DType::F32, std::move(shape), std::move(strides), offset}.extent();
    };
    QCOMPARE(extent({2, 3}, {3, 1}).value(), std::uint64_t(24));
    QCOMPARE(extent({2, 3}, {10, 2}).value(), std::uint64_t(60));
    QCOMPARE(extent({}, {}).value(), std::uint64_t(4));
    QCOMPARE(extent({0, 5}, {5, 1}).value(), std::uint64_t(0));
    const std::int64_t huge = std::int64_t(1) << 62;
    QVERIFY(!extent({-1}, {1}) && !extent({2}, {-1}) && !extent({2}, {1, 1}));
    QVERIFY(!extent({huge, huge}, {1, 1}) && !extent({huge}, {huge}) && !extent({huge}, {0}) &&
            !extent({0, huge}, {1, 8}));
    QVERIFY(!extent({2}, {1}, ~std::uint64_t(0) - 4));
}

QS_TEST(NpzTest)
#include "npz_test.moc"
