// SPDX-License-Identifier: GPL-3.0-or-later
// ONNX models that are faulty or hold what cannot be read, and names that must be made unique.
#include "core/model/model.h"
#include "core/model/onnx/graph.h"
#include "made_file.h"
#include "made_protobuf.h"
#include "real_file.h"
#include "tests/core/model/made_onnx.h"
#include "tests/support/test_program.h"

using namespace qs;
using namespace qs::test;

namespace {

const QByteArray kFour = pb::dims({4});

} // namespace

class OnnxRefuseTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void isListedWithItsReason_data();
    void isListedWithItsReason();
    void lies_data();
    void lies();
    void oneBadEntryLeavesTheRest_data();
    void oneBadEntryLeavesTheRest();
    void everyPrefixOfAFile();
    void overTwoGigabytes();
    void namesOfNestedTensors();
    void namesThatAreTheSame();

private:
    QString at(const char* name) const { return folder_->filePath(QString::fromUtf8(name)); }
    QString putModel(const QByteArray& bytes) { return put(folder_->path(), QStringLiteral("m.onnx"), bytes); }
    std::shared_ptr<const Model> open(const QByteArray& bytes) { return opened(putModel(bytes)); }
    std::unique_ptr<QTemporaryDir> folder_;
};

void OnnxRefuseTest::isListedWithItsReason_data() {
    QTest::addColumn<QByteArray>("graph");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& graph, const char* says) {
        QTest::newRow(name) << graph << QString::fromUtf8(says);
    };
    using pb::initializer, pb::part, pb::tensor;
    row("texts", initializer(tensor("w", 8, pb::dims({1}), part(6, "a"))), "\"w\" holds texts");
    row("no data", initializer(tensor("w", 1, kFour, {})), "\"w\" has no data");
    row("segments", initializer(tensor("w", 1, kFour, part(3, pb::number(1, 0)))), "stored in segments");
    row("sparse", part(15, part(1, tensor("w", 1, kFour, pb::raw(zeros(16))))), "\"w\" is sparse");
    row("sparse constant",
        pb::node("Constant", "", "c",
                 pb::attribute("sparse_value", part(22, part(1, tensor("w", 1, kFour, pb::raw(zeros(16))))))),
        "\"w\" is sparse");
    row("two of a kind",
        initializer(tensor("a", 8, pb::dims({1}), part(6, "a"))) +
            initializer(tensor("b", 8, pb::dims({1}), part(6, "a"))),
        "2 tensors are not shown: the first, \"a\", holds texts");
}

void OnnxRefuseTest::isListedWithItsReason() {
    QFETCH(QByteArray, graph);
    QFETCH(QString, says);
    const auto model = open(pb::model(graph + pb::initializer(pb::tensor("good", 1, kFour, pb::raw(zeros(16))))));
    QCOMPARE(model->tensors.size(), std::size_t(1));
    QCOMPARE(model->warnings.size(), std::size_t(1));
    QVERIFY2(text(model->warnings[0]).contains(says), model->warnings[0].c_str());
}

void OnnxRefuseTest::lies_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& bytes, const char* says) {
        QTest::newRow(name) << bytes << QString::fromUtf8(says);
    };
    using pb::dims, pb::initializer, pb::number, pb::part, pb::tensor;
    const QByteArray sixteen = pb::raw(zeros(16));
    row("no graph", number(1, 8) + part(2, "test"), "it has no graph");
    row("noise", hex("a7c31f0e99d2447b8a6655e1f0b3"), "of an ONNX model");
    row("a field of number 0", pb::model({}) + hex("00"), "is no field of protobuf");
    row("an unknown wire type", pb::model({}) + hex("0f"), "is no field of protobuf");
    row("the end of a group that never began", pb::model({}) + hex("0c"), "is no field of protobuf");
    row("groups 40 deep", pb::model({}) + QByteArray(40, '\x0b') + QByteArray(40, '\x0c'), "is no field of protobuf");
    row("graph longer than the file", number(1, 8) + pb::lie(7, 900, zeros(3)), "says 900 bytes where 3 are left");
    row("graph of 2^63 bytes", number(1, 8) + pb::lie(7, std::uint64_t(1) << 63, zeros(3)),
        "says 9223372036854775808 bytes where 3 are left");
    row("a length without an end", number(1, 8) + hex("3affffffffffffffffffff"), "it ends within field 7");
    row("initializer longer than its graph", pb::model(pb::lie(5, 50, zeros(3))) + zeros(100),
        "says 50 bytes where 3 are left");
    row("raw_data longer than its tensor", one(dims({4}) + number(2, 1) + pb::lie(9, 16, zeros(3))),
        "says 16 bytes where 3 are left");
    row("raw_data too short", raw("w", 1, kFour, zeros(15)), "FLOAT of [4] needs 16 bytes, raw_data has 15");
    row("raw_data too long", raw("w", 1, kFour, zeros(17)), "FLOAT of [4] needs 16 bytes, raw_data has 17");
    row("raw_data of 4 bits", raw("w", 22, dims({5}), zeros(2)), "INT4 of [5] needs 3 bytes, raw_data has 2");
    row("raw_data twice", one(tensor("w", 1, kFour, sixteen + sixteen)), "it has raw_data twice");
    row("raw_data and float_data", one(tensor("w", 1, kFour, sixteen + part(4, zeros(16)))),
        "raw_data and values in another field");
    row("values in another field", one(tensor("w", 1, kFour, part(10, zeros(32)))), "a field that is not one of FLOAT");
    row("too few values", one(tensor("w", 7, kFour, part(7, zeros(3)))), "INT64 of [4] needs 4 values, it has 3");
    row("too many values", one(tensor("w", 7, kFour, part(7, zeros(5)))), "INT64 of [4] needs 4 values, it has 5");
    row("half a float", one(tensor("w", 1, dims({1}), part(4, zeros(6)))), "its field 4 is broken");
    row("a varint beyond its pack", one(tensor("w", 7, kFour, part(7, hex("000000ff")) + part(7, hex("01")))),
        "its field 7 is broken");
    row("a varint of 11 bytes", one(tensor("w", 7, dims({1}), part(7, QByteArray(11, '\xff')))),
        "its field 7 is broken");
    row("negative dimension", raw("w", 1, dims({~std::uint64_t(0)}), zeros(16)), "a dimension of -1");
    row("overflow", raw("w", 1, dims({1u << 31, 1u << 31, 4}), zeros(16)), "number of elements overflows");
    row("overflow beside a zero", raw("w", 1, dims({0, 1u << 31, 1u << 31, 4}), {}), "number of elements overflows");
    row("33 dimensions", raw("w", 1, pb::number(1, 1).repeated(33), zeros(4)), "more than 32 dimensions");
    row("a billion dimensions in few bytes", raw("w", 1, part(1, QByteArray(100000, '\1')), zeros(4)),
        "more than 32 dimensions");
    row("broken dims", raw("w", 1, part(1, hex("ff")), zeros(4)), "its dims are broken");
    row("no data type", one(tensor("w", 0, kFour, sixteen)), "its data type is 0");
    row("negative data type", one(dims({4}) + number(2, ~std::uint64_t(0)) + sixteen), "its data type is -1");
    row("data_location 2", one(tensor("w", 1, kFour, sixteen + number(14, 2))), "its data_location is 2");
    row("a name that is not UTF-8", raw(hex("ff"), 1, kFour, zeros(16)), "its name is not text");
    row("a name with a NUL", raw(QByteArray("a\0b", 3), 1, kFour, zeros(16)), "its name is not text");
    row("a name over 1 MiB", raw(QByteArray((1 << 20) + 1, 'n'), 1, kFour, zeros(16)), "longer than 1 MiB");
    row("a constant of two numbers",
        pb::model(pb::node("Constant", "", "c", pb::attribute("value_int", number(3, 1) + number(3, 2)))),
        "has its value 2 times");
    QByteArray deep = initializer(tensor("w", 1, kFour, sixteen));
    for (int i = 0; i < 11; ++i) deep = pb::node("If", "i", "o", pb::attribute("g", part(6, deep)));
    row("graphs 11 deep", pb::model(deep), "graphs within graphs more than 10 deep");
    row("65,537 tensors", pb::model(initializer(tensor("w", 1, dims({0}), {})).repeated(65537)),
        "more than 65536 tensors");
}

void OnnxRefuseTest::lies() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, says);
    const QString path = putModel(bytes);
    const auto model = openModel(path.toStdString());
    QVERIFY(!model);
    const QString why = text(model.error().message);
    QVERIFY2(why.contains(says) && why.startsWith(path) && why.endsWith(u'.') && !why.contains(u'\n'), qPrintable(why));
}

void OnnxRefuseTest::oneBadEntryLeavesTheRest_data() {
    QTest::addColumn<QByteArray>("bad");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& bad, const char* says) {
        QTest::newRow(name) << bad << QString::fromUtf8(says);
    };
    using pb::dims, pb::tensor;
    row("raw_data too short", tensor("w", 1, kFour, pb::raw(zeros(15))),
        "FLOAT of [4] needs 16 bytes, raw_data has 15");
    row("too few values", tensor("w", 7, kFour, pb::part(7, zeros(3))), "INT64 of [4] needs 4 values, it has 3");
    row("a type of later versions", tensor("w", 99, kFour, pb::raw(zeros(16))), "99, is of a later version of ONNX");
    row("no type", tensor("w", 0, kFour, pb::raw(zeros(16))), "its data type is 0");
    row("complex numbers of 128 bits", tensor("w", 15, dims({1}), pb::raw(zeros(16))), "complex numbers of 128 bits");
    row("negative dimension", tensor("w", 1, dims({~std::uint64_t(0)}), pb::raw(zeros(16))), "a dimension of -1");
    row("raw_data twice", tensor("w", 1, kFour, pb::raw(zeros(16)) + pb::raw(zeros(16))), "raw_data twice");
}

/// The other tensor can be read; the bad one is listed, has no values, and a sentence says why.
void OnnxRefuseTest::oneBadEntryLeavesTheRest() {
    QFETCH(QByteArray, bad);
    QFETCH(QString, says);
    const auto model = open(pb::model(pb::initializer(bad) + initializer("good", 1, kFour, QByteArray(16, 'x'))));
    QCOMPARE(model->tensors.size(), std::size_t(2));
    const TensorInfo *good = model->find("good"), *unread = model->find("w");
    QVERIFY(good && unread && unread->isUnread() && !unread->isWeight());
    QCOMPARE(QByteArray(unread->typeId()), QByteArray("unreadable"));
    QCOMPARE(valuesOf(*model, *good), QByteArray(16, 'x'));
    QCOMPARE(model->warnings.size(), std::size_t(1));
    QVERIFY2(text(model->warnings[0]).contains(QStringLiteral("tensor \"w\" is listed but cannot be read: ")) &&
                 text(model->warnings[0]).contains(says),
             model->warnings[0].c_str());
    QVERIFY(text(missingSentence(*model)).contains(QStringLiteral("1 tensor cannot be read (the first is \"w\")")));
}

void OnnxRefuseTest::everyPrefixOfAFile() {
    const QByteArray whole = bytesOf(QStringLiteral(QS_TEST_DATA "/onnx/types.onnx")).left(6000);
    for (int n = 0; n < whole.size(); n += n < 400 ? 1 : 37) {
        const auto read = [&](std::uint64_t at, std::span<std::byte> into) {
            if (at > std::uint64_t(n) || into.size() > std::uint64_t(n) - at) qFatal("read beyond the end");
            std::memcpy(into.data(), whole.constData() + at, into.size());
        };
        QVERIFY(!onnx::parse(std::uint64_t(n), read, "m.onnx"));
    }
}

/// The limit of protobuf is checked before anything is read.
void OnnxRefuseTest::overTwoGigabytes() {
    const auto big = onnx::parse(
        std::uint64_t(1) << 31, [](std::uint64_t, std::span<std::byte>) { qFatal("read"); }, "m");
    QVERIFY(!big && text(big.error().message).contains(QStringLiteral("at most 2 GiB")));
}

void OnnxRefuseTest::namesOfNestedTensors() {
    const QByteArray w = pb::initializer(pb::tensor("w", 1, kFour, pb::raw(zeros(16))));
    const auto named = [&](const QByteArray& graph) {
        QStringList names;
        const auto model = open(graph);
        for (const auto& tensor : model->tensors) names += text(tensor.name);
        return names;
    };
    const auto body = [&](const QByteArray& node) {
        return pb::node("Loop", node, "o", pb::attribute("body", pb::part(6, w)));
    };
    QCOMPARE(named(pb::model(w + body("l") + body(""))),
             (QStringList{QStringLiteral("Loop_1/body/w"), QStringLiteral("l/body/w"), QStringLiteral("w")}));
    // An invalid or too long name is replaced by the name of its operator.
    QCOMPARE(named(pb::model(body(hex("ff")))), QStringList{QStringLiteral("Loop_0/body/w")});
    QCOMPARE(named(pb::model(body(QByteArray(200, 'x')))), QStringList{QStringLiteral("Loop_0/body/w")});
    // The value of a Constant node gets the name of its output, however long.
    const QByteArray longName(300, 'c');
    QCOMPARE(
        named(pb::model(pb::node("Constant", "", longName,
                                 pb::attribute("value", pb::part(5, pb::tensor("", 1, kFour, pb::raw(zeros(16)))))))),
        QStringList{QString::fromUtf8(longName)});
    // A function of the model; here the attribute comes before the names.
    const QByteArray constant =
        pb::part(1, pb::attribute("value", pb::part(5, pb::tensor("", 1, kFour, pb::raw(zeros(16))))) +
                        pb::part(2, "c") + pb::part(4, "Constant"));
    QByteArray inFunction = constant;
    inFunction[0] = char(7 << 3 | 2);
    QCOMPARE(named(pb::model(constant) + pb::part(25, pb::part(1, "f") + inFunction)),
             (QStringList{QStringLiteral("c"), QStringLiteral("f/c")}));
    // Prefixes have a length limit.
    QByteArray deep = w;
    for (int i = 0; i < 9; ++i)
        deep = pb::node("If", QByteArray(60, char('a' + i)), "o", pb::attribute("then_branch", pb::part(6, deep)));
    const auto names = named(pb::model(deep));
    QCOMPARE(names.size(), 1);
    QVERIFY2(names[0].size() < 450 && names[0].endsWith(QStringLiteral("…/w")), qPrintable(names[0]));
}

void OnnxRefuseTest::namesThatAreTheSame() {
    const QByteArray w = pb::initializer(pb::tensor("w", 1, kFour, pb::raw(zeros(16))));
    const auto model = open(pb::model(w + w + pb::initializer(pb::tensor("w #2", 1, kFour, pb::raw(zeros(16)))) + w));
    QStringList names;
    for (const auto& tensor : model->tensors) names += text(tensor.name);
    QCOMPARE(names.size(), 4);
    names.removeDuplicates();
    QCOMPARE(names.size(), 4);
    QVERIFY(
        text(model->warnings.at(0)).contains(QStringLiteral("2 tensors have the name of another, \"w\" the first")));
    for (const auto& name : names) QVERIFY(model->find(name.toStdString()));
}

QS_TEST(OnnxRefuseTest)
#include "onnx_refuse_test.moc"
