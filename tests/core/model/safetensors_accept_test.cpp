// SPDX-License-Identifier: GPL-3.0-or-later
// Safetensors files that are unusual but valid.
#include "core/base/text.h"
#include "core/model/file_format.h"
#include "core/model/mapped_file.h"
#include "core/model/model.h"
#include "core/model/safetensors/safetensors.h"
#include "made_file.h"
#include "tests/support/test_program.h"

using namespace qs;

class SafetensorsAcceptTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void everyDtype();
    void dtypeTable();
    void unknownDtypeIsListed_data();
    void unknownDtypeIsListed();
    void noTensors();
    void whitespaceAroundTheJson_data();
    void whitespaceAroundTheJson();
    void zeroSizedAndRankZero();
    void anyName_data();
    void anyName();
    void unknownFieldsWithAWarning();
    void unalignedData();
    void entriesInAnyOrder();
    void metadata();
    void namesInNaturalOrder();
    void anyFileName();
    void theBytesOfATensor();
    void theReferencesOwnFiles_data();
    void theReferencesOwnFiles();
    void sniffers();

private:
    std::shared_ptr<const Model> open(const QByteArray& bytes, const QString& name = QStringLiteral("m.safetensors")) {
        const auto model = openModel(put(folder_->path(), name, bytes).toStdString());
        if (!model) qWarning("%s", model.error().message.c_str());
        return model ? *model : nullptr;
    }
    std::unique_ptr<QTemporaryDir> folder_;
};

void SafetensorsAcceptTest::everyDtype() {
    QByteArray header = "{";
    int at = 0;
    for (const auto& dtype : dtypes()) {
        const int bytes = 8 * dtype.bits / 8;
        header += (at ? "," : "") + entry(dtype.id, dtype.id, "[2,4]",
                                          "[" + QByteArray::number(at) + "," + QByteArray::number(at + bytes) + "]");
        at += bytes;
    }
    const auto model = open(madeFile(header + "}", zeros(at)));
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), dtypes().size());
    for (const auto& dtype : dtypes()) {
        const auto* tensor = model->find(dtype.id);
        QVERIFY(tensor);
        QCOMPARE(tensor->dtype, dtype.dtype);
        QCOMPARE(tensor->elements, 8u);
        QCOMPARE(tensor->bytes, std::uint64_t(dtype.bits));
        QCOMPARE(tensor->isWeight(), dtype.quantizable);
    }
    QCOMPARE(model->totalBytes(), std::uint64_t(at));
}

void SafetensorsAcceptTest::dtypeTable() {
    QCOMPARE(dtypes().size(), std::size_t(22));
    int quantizable = 0;
    for (std::size_t i = 0; i < dtypes().size(); ++i) {
        QCOMPARE(std::size_t(dtypes()[i].dtype), i);
        QCOMPARE(&info(dtypes()[i].dtype), &dtypes()[i]);
        QVERIFY(dtypeFromId(dtypes()[i].id) == dtypes()[i].dtype);
        QVERIFY(i == 0 || i == 4 || dtypes()[i].bits >= dtypes()[i - 1].bits || dtypes()[i - 1].bits == 8);
        quantizable += dtypes()[i].quantizable;
    }
    QCOMPARE(quantizable, 8);
    QVERIFY(!dtypeFromId("f32"));
    QVERIFY(!dtypeFromId(""));
}

void SafetensorsAcceptTest::unknownDtypeIsListed_data() {
    QTest::addColumn<QByteArray>("bad"); // an entry of 16 bytes
    QTest::addColumn<QString>("type");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const char* dtype, const char* shape, const char* type, const char* says) {
        QTest::newRow(name) << entry("bad", dtype, shape, "[16,32]") << QString::fromUtf8(type)
                            << QString::fromUtf8(says);
    };
    row("a later dtype", "F8_E3M4", "[16]", "F8_E3M4", "dtype \"F8_E3M4\" is not one of safetensors'");
    row("a type of ggml", "Q4_K", "[4]", "Q4_K", "dtype \"Q4_K\" is not one of safetensors'");
    row("lower case", "f32", "[4]", "f32", "the spelling is F32");
    row("too few bytes", "F32", "[8]", "F32", "shape [8] of F32 takes 32 bytes, but data_offsets spans 16");
    row("too many bytes", "F4", "[1,2]", "F4", "takes 1 bytes, but data_offsets spans 16");
    row("inside a byte", "F6_E2M3", "[1]", "F6_E2M3", "end inside a byte");
}

/// One entry that cannot be read leaves the others.
void SafetensorsAcceptTest::unknownDtypeIsListed() {
    QFETCH(QByteArray, bad);
    QFETCH(QString, type);
    QFETCH(QString, says);
    const auto model = open(madeFile("{" + entry("w", "F32", "[4]", "[0,16]") + "," + bad + "}", zeros(32)));
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), 2u);
    const auto* listed = model->find("bad");
    QCOMPARE(QString::fromUtf8(listed->typeId()), type);
    QCOMPARE(listed->bytes, 16u);
    QVERIFY(!listed->isWeight() && listed->packed && !listed->packed->decode);
    QCOMPARE(model->warnings.size(), 1u);
    QVERIFY2(text(model->warnings[0]).contains(says), model->warnings[0].c_str());
}

void SafetensorsAcceptTest::noTensors() {
    const auto model = open(madeFile("{}"));
    QVERIFY(model);
    QVERIFY(model->tensors.empty());
    QCOMPARE(model->totalBytes(), 0u);
    QVERIFY(open(madeFile("{\"__metadata__\":null}")));
}

void SafetensorsAcceptTest::whitespaceAroundTheJson_data() {
    QTest::addColumn<QByteArray>("before");
    QTest::addColumn<QByteArray>("after");
    for (const char* space : {" ", "\n", "\r\n", "\t", "        "}) {
        QTest::addRow("before %s", QByteArray(space).toHex().data()) << QByteArray(space) << QByteArray();
        QTest::addRow("after %s", QByteArray(space).toHex().data()) << QByteArray() << QByteArray(space);
    }
}

void SafetensorsAcceptTest::whitespaceAroundTheJson() {
    QFETCH(QByteArray, before);
    QFETCH(QByteArray, after);
    const auto model =
        open(madeFile(before + "{ " + entry("w", "F32", "[ 4 ]", "[0 , 16]") + "\n}" + after, zeros(16)));
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), 1u);
}

void SafetensorsAcceptTest::zeroSizedAndRankZero() {
    const auto model = open(madeFile(
        "{" + entry("scalar", "F32", "[]", "[0,4]") + "," + entry("none", "F32", "[0]", "[4,4]") + "," +
            entry("rows", "I64", "[0,9007199254740992]", "[4,4]") + "," + entry("last", "F4", "[2]", "[4,5]") + "}",
        zeros(5)));
    QVERIFY(model);
    QCOMPARE(model->find("scalar")->elements, 1u);
    QCOMPARE(model->find("scalar")->lastAxis(), 1);
    QCOMPARE(model->find("none")->elements, 0u);
    QCOMPARE(model->find("rows")->bytes, 0u);
    QCOMPARE(model->view(*model->find("rows"))->bytes.size(), 0u);
    QCOMPARE(model->view(*model->find("last"))->bytes.size(), 1u);
}

void SafetensorsAcceptTest::anyName_data() {
    QTest::addColumn<QByteArray>("json");
    QTest::addColumn<QByteArray>("name");
    QTest::newRow("empty") << QByteArray("") << QByteArray("");
    QTest::newRow("slashes") << QByteArray("../../etc/passwd") << QByteArray("../../etc/passwd");
    QTest::newRow("backslash") << QByteArray("a\\\\b") << QByteArray("a\\b");
    QTest::newRow("emoji") << QByteArray("\xf0\x9f\x99\x82") << QByteArray("\xf0\x9f\x99\x82");
    QTest::newRow("emoji as surrogates") << QByteArray("\\ud83d\\ude42") << QByteArray("\xf0\x9f\x99\x82");
    QTest::newRow("control characters") << QByteArray("\\u001b[31m\\n\x7f") << QByteArray("\x1b[31m\n\x7f");
    QTest::newRow("markup") << QByteArray("</script><b>") << QByteArray("</script><b>");
    QTest::newRow("a megabyte") << QByteArray(1 << 20, 'n') << QByteArray(1 << 20, 'n');
    QTest::newRow("a million dots") << QByteArray(1000000, '.') << QByteArray(1000000, '.');
    QTest::newRow("a number of a million digits") << QByteArray(1000000, '7') << QByteArray(1000000, '7');
}

void SafetensorsAcceptTest::anyName() {
    QFETCH(QByteArray, json);
    QFETCH(QByteArray, name);
    const auto model = open(madeFile(
        "{" + entry(json, "F32", "[1]", "[0,4]") + "," + entry("other", "F32", "[1]", "[4,8]") + "}", zeros(8)));
    QVERIFY(model);
    QVERIFY(model->find(name.toStdString()));
    QVERIFY(placeOf(name.toStdString()).layer >= -1);
}

void SafetensorsAcceptTest::unknownFieldsWithAWarning() {
    const QByteArray more = ",\"strides\":[4,[1,{\"a\":[null,1.5,-3,true,\"x\"]}]],\"note\":\"x\"}";
    const auto with = [&](const char* name, const char* offsets) {
        QByteArray made = entry(name, "U8", "[1]", offsets);
        made.chop(1);
        return made + more;
    };
    const auto model = open(madeFile(
        "{" + with("a", "[0,1]") + "," + with("b", "[1,2]") + "," + entry("c", "U8", "[1]", "[2,3]") + "}", zeros(3)));
    QVERIFY(model);
    QCOMPARE(model->tensors.size(), 3u);
    QCOMPARE(model->warnings.size(), 1u);
    QVERIFY2(text(model->warnings[0]).contains(QStringLiteral("tensor \"a\" has \"strides\"")),
             model->warnings[0].c_str());
    QVERIFY2(text(model->warnings[0]).contains(QStringLiteral("1 more")), model->warnings[0].c_str());
}

void SafetensorsAcceptTest::unalignedData() {
    float value = 1.5f;
    QByteArray data("\x01", 1);
    data.append(reinterpret_cast<const char*>(&value), 4);
    const auto model =
        open(madeFile("{" + entry("a", "U8", "[1]", "[0,1]") + "," + entry("b", "F32", "[1]", "[1,5]") + "} ", data));
    QVERIFY(model);
    const auto view = model->view(*model->find("b"));
    QVERIFY(view);
    float read = 0;
    std::memcpy(&read, view->bytes.data(), 4);
    QCOMPARE(read, value);
}

void SafetensorsAcceptTest::entriesInAnyOrder() {
    const auto model =
        open(madeFile("{" + entry("b", "U8", "[2]", "[3,5]") + "," + entry("a", "U8", "[3]", "[0,3]") + "}", "aaabb"));
    QVERIFY(model);
    const auto bytes = model->view(*model->find("b"))->bytes;
    QCOMPARE(QByteArray(reinterpret_cast<const char*>(bytes.data()), qsizetype(bytes.size())), QByteArray("bb"));
}

void SafetensorsAcceptTest::metadata() {
    const auto model =
        open(madeFile("{\"__metadata__\":{\"format\":\"pt\",\"\":\"\\n\"}," + entry("w", "U8", "[0]", "[0,0]") + "}"));
    QVERIFY(model);
    const std::map<std::string, std::string> expected{{"format", "pt"}, {"", "\n"}};
    QVERIFY(model->files[0].metadata == expected);
}

void SafetensorsAcceptTest::namesInNaturalOrder() {
    QByteArray header = "{";
    for (const char* name : {"l.10.w", "l.9.w", "l.2.w", "l.2.b", "a", "l.02.w"})
        header += (header.size() > 1 ? "," : "") + entry(name, "U8", "[0]", "[0,0]");
    const auto model = open(madeFile(header + "}"));
    QVERIFY(model);
    QStringList names;
    for (const auto& tensor : model->tensors) names << text(tensor.name);
    QCOMPARE(names.join(QLatin1Char(' ')), QStringLiteral("a l.2.b l.2.w l.02.w l.9.w l.10.w"));
    for (const auto& tensor : model->tensors) QCOMPARE(model->find(tensor.name), &tensor);
    QVERIFY(!model->find("l.3.w"));
    QVERIFY(!model->find(""));
}

void SafetensorsAcceptTest::anyFileName() {
    for (const char* name :
         {"blob", "0a1b2c3d4e", "w.bin", "sp ace.safetensors", "\xc3\xa9\xf0\x9f\x99\x82.safetensors"}) {
        const auto model = open(smallFile(), QString::fromUtf8(name));
        QVERIFY2(model, name);
        QCOMPARE(text(model->format), QStringLiteral("safetensors"));
        QCOMPARE(text(model->title), QString::fromUtf8(name));
        QVERIFY(model->folder.empty());
        QVERIFY(QDir::isAbsolutePath(text(model->path)));
    }
}

void SafetensorsAcceptTest::theBytesOfATensor() {
    QByteArray data;
    for (int i = 0; i < 40; ++i) data.append(char(i));
    const auto model = open(
        madeFile("{" + entry("a", "F32", "[4]", "[0,16]") + "," + entry("b", "F16", "[3,4]", "[16,40]") + "}", data));
    QVERIFY(model);
    const auto view = model->view(*model->find("b"));
    QVERIFY(view);
    QCOMPARE(view->bytes.size(), 24u);
    for (std::size_t i = 0; i < 24; ++i) QCOMPARE(int(view->bytes[i]), int(16 + i));
    QVERIFY(view->info->isWeight());
    QVERIFY(!model->find("a")->isWeight());
}

void SafetensorsAcceptTest::theReferencesOwnFiles_data() {
    QTest::addColumn<QString>("path");
    QTest::addColumn<int>("tensors");
    const QString folder = QStringLiteral(QS_TEST_DATA "/safetensors/");
    QTest::newRow("every_dtype") << folder + QStringLiteral("every_dtype.safetensors") << 40;
    QTest::newRow("names") << folder + QStringLiteral("names.safetensors") << 9;
    QTest::newRow("empty") << folder + QStringLiteral("empty.safetensors") << 0;
    QTest::newRow("zero_sized") << folder + QStringLiteral("zero_sized.safetensors") << 4;
    for (int i = 1; i <= 8; ++i)
        QTest::addRow("padding_%d", i) << folder + QStringLiteral("padding_%1.safetensors").arg(i) << 1;
}

void SafetensorsAcceptTest::theReferencesOwnFiles() {
    QFETCH(QString, path);
    QFETCH(int, tensors);
    const auto model = openModel(path.toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QCOMPARE(int((*model)->tensors.size()), tensors);
    QVERIFY((*model)->warnings.empty());
}

// Each row of the registry detects its own files and no others.
void SafetensorsAcceptTest::sniffers() {
    const auto takenBy = [](const QByteArray& head, const char* path, bool isFolder) {
        const auto bytes = std::as_bytes(std::span(head.data(), std::size_t(head.size())));
        const auto* format = formatOfBytes(bytes, isFolder);
        if (!format) format = formatOfName(path);
        return format ? QString::fromUtf8(format->id) : QStringLiteral("none");
    };
    QCOMPARE(takenBy({}, "/models/llama", true), QStringLiteral("huggingface"));
    QCOMPARE(takenBy("{\"metadata\":{},\"weight_map\":{}}", "/m/x.json", false), QStringLiteral("safetensors-index"));
    QCOMPARE(takenBy("{", "/m/model.safetensors.index.json", false), QStringLiteral("safetensors-index"));
    QCOMPARE(takenBy("{", "/m/model.safetensors.index.fp16.json", false), QStringLiteral("safetensors-index"));
    QCOMPARE(takenBy("anything", "/m/model.safetensors", false), QStringLiteral("safetensors"));
    QCOMPARE(takenBy(smallFile(), "/m/blobs/abcdef", false), QStringLiteral("safetensors"));
    QCOMPARE(takenBy("{\"a\":1}", "/m/config.json", false), QStringLiteral("none"));
    QCOMPARE(takenBy("plain text", "/m/README.md", false), QStringLiteral("none"));
    // The bytes decide before the name.
    QCOMPARE(takenBy(smallFile(), "/m/model.safetensors.index.json", false), QStringLiteral("safetensors"));
    QCOMPARE(takenBy("{\"weight_map\":{}}", "/m/model.safetensors", false), QStringLiteral("safetensors-index"));
    for (const auto& format : fileFormats()) QVERIFY(format.id && format.title && format.patterns && format.open);
}

QS_TEST(SafetensorsAcceptTest)
#include "safetensors_accept_test.moc"
