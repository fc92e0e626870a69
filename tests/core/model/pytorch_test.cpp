// SPDX-License-Identifier: GPL-3.0-or-later
// PyTorch checkpoints: files written by PyTorch and NumPy, compared value by value, and faulty files. pickle_test and
// zip_test test hostile pickles and archives.
#include "core/model/model.h"
#include "made_pickle.h"
#include "made_zip.h"
#include "real_file.h"
#include "tests/support/test_program.h"

#include <QCryptographicHash>
#include <QHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

using namespace qs;

class PytorchTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void realFiles_data();
    void realFiles();
    void whatIsNoTensorIsListed();
    void contiguousTensorsAreMapped();
    void packedAgain();
    void lies_data();
    void lies();
    void legacyLies_data();
    void legacyLies();
    void oneBadStorageLeavesTheRest_data();
    void oneBadStorageLeavesTheRest();
    void everyPrefixOfALegacyFile();
    void folders();
};

namespace {

QString data(const char* name) { return QStringLiteral(QS_TEST_DATA "/pytorch/") + QString::fromLatin1(name); }

/// {"w": a tensor of 2 x 3 floats}, with a storage of `elements` elements.
QByteArray pickle(int elements = 6, int offset = 0, const QByteArray& shape = "K\x02K\x03\x86",
                  const QByteArray& strides = "K\x03K\x01\x86") {
    return "\x80\x02}" + textOp("w") + "ctorch._utils\n_rebuild_tensor_v2\n((" + textOp("storage") +
           "ctorch\nFloatStorage\n" + textOp("0") + textOp("cpu") + "K" + le(std::uint64_t(elements), 1) + "tQK" +
           le(std::uint64_t(offset), 1) + shape + strides + "\x89NtRs.";
}

/// {"w": of storage 0, "x": of storage 1}, each with `offset` for the first.
QByteArray twoTensors(int offset = 0) {
    const auto one = [](const char* name, const char* key, int from) {
        return textOp(name) + "ctorch._utils\n_rebuild_tensor_v2\n((" + textOp("storage") + "ctorch\nFloatStorage\n" +
               textOp(key) + textOp("cpu") + "K\x06tQK" + le(std::uint64_t(from), 1) +
               "K\x02K\x03\x86K\x03K\x01\x86\x89NtR";
    };
    return "\x80\x02}(" + one("w", "0", offset) + one("x", "1", 0) + "u.";
}

QByteArray sixFloats() {
    const float values[] = {1, 2, 3, 4, 5, 6};
    return {reinterpret_cast<const char*>(values), sizeof values};
}

QByteArray archive(std::vector<MadeMember> members) {
    MadeZip made;
    made.members = std::move(members);
    return made.bytes();
}

QString torchName(DType dtype) {
    const QHash<QString, QString> names = {{QStringLiteral("BF16"), QStringLiteral("bfloat16")},
                                           {QStringLiteral("F16"), QStringLiteral("float16")},
                                           {QStringLiteral("F32"), QStringLiteral("float32")},
                                           {QStringLiteral("F64"), QStringLiteral("float64")},
                                           {QStringLiteral("I8"), QStringLiteral("int8")},
                                           {QStringLiteral("I16"), QStringLiteral("int16")},
                                           {QStringLiteral("I32"), QStringLiteral("int32")},
                                           {QStringLiteral("I64"), QStringLiteral("int64")},
                                           {QStringLiteral("U8"), QStringLiteral("uint8")},
                                           {QStringLiteral("U16"), QStringLiteral("uint16")},
                                           {QStringLiteral("U32"), QStringLiteral("uint32")},
                                           {QStringLiteral("U64"), QStringLiteral("uint64")},
                                           {QStringLiteral("BOOL"), QStringLiteral("bool")},
                                           {QStringLiteral("C64"), QStringLiteral("complex64")},
                                           {QStringLiteral("F8_E4M3"), QStringLiteral("float8_e4m3fn")},
                                           {QStringLiteral("F8_E5M2"), QStringLiteral("float8_e5m2")}};
    return names.value(QString::fromLatin1(info(dtype).id));
}

} // namespace

void PytorchTest::realFiles_data() {
    QTest::addColumn<QString>("path");
    QTest::addColumn<QJsonObject>("tensors");
    QStringList lists = {data("values_1.json"), data("values_2.json"), data("values_lpips.json")};
    // More files can be given by hand: a list with absolute paths.
    if (qEnvironmentVariableIsSet("QS_PYTORCH_VALUES")) lists << qEnvironmentVariable("QS_PYTORCH_VALUES");
    for (const auto& list : lists) {
        const auto files = QJsonDocument::fromJson(bytesOf(list)).object();
        for (auto file = files.begin(); file != files.end(); ++file)
            QTest::newRow(qPrintable(file.key())) << QDir(data("")).absoluteFilePath(file.key()) << file->toObject();
    }
}

void PytorchTest::realFiles() {
    QFETCH(QString, path);
    QFETCH(QJsonObject, tensors);
    const auto model = openModel(path.toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QCOMPARE(text((*model)->format),
             path.endsWith(QStringLiteral(".npz")) ? QStringLiteral("npz") : QStringLiteral("pytorch"));
    QVERIFY(!tensors.isEmpty());
    QStringList names;
    for (const auto& tensor : (*model)->tensors)
        if (tensor.elements > 0 || tensors.contains(text(tensor.name))) names << text(tensor.name);
    names.sort();
    QCOMPARE(names, tensors.keys());
    for (const auto& tensor : (*model)->tensors) {
        if (!names.contains(text(tensor.name))) continue; // TorchScript only: attributes without values, constants
        const auto expected = tensors[text(tensor.name)].toObject();
        std::vector<std::int64_t> shape;
        for (const auto size : expected[QStringLiteral("shape")].toArray()) shape.push_back(size.toInteger());
        QCOMPARE(tensor.shape, shape);
        QCOMPARE(torchName(tensor.dtype), expected[QStringLiteral("dtype")].toString());
        QCOMPARE(QString::fromLatin1(
                     QCryptographicHash::hash(valuesOf(**model, tensor), QCryptographicHash::Sha256).toHex()),
                 expected[QStringLiteral("sha256")].toString());
    }
}

void PytorchTest::whatIsNoTensorIsListed() {
    const auto zip = openModel(data("zip_1.pt").toStdString());
    QVERIFY(zip);
    QCOMPARE(int((*zip)->warnings.size()), 1);
    QVERIFY2(
        text((*zip)->warnings[0]).endsWith(QStringLiteral(": 2 plain values are not shown; the first is \"epoch\".")),
        (*zip)->warnings[0].c_str());
    const auto module = openModel(data("module_1.pt").toStdString());
    QVERIFY(module && !(*module)->warnings.empty());
    QVERIFY2(text((*module)->warnings[0]).contains(QStringLiteral("is an object of class \"__main__.Net\"")),
             (*module)->warnings[0].c_str());
    QVERIFY((*openModel(data("legacy_1.pt").toStdString()))->warnings.empty());
}

void PytorchTest::contiguousTensorsAreMapped() {
    const auto model = openModel(data("zip_2.pt").toStdString());
    QVERIFY(model);
    for (const auto& [name, isMapped] : {std::pair("model.layer.0.weight", true),
                                         {"model.layer.0.rows", true},
                                         {"model.layer.0.weight_t", false},
                                         {"model.layer.0.columns", false},
                                         {"model.layer.1.expanded", false},
                                         {"model.float8_e5m2", true}}) {
        const auto* tensor = (*model)->find(name);
        QVERIFY2(tensor && !tensor->derived == isMapped, name);
    }
    // Both use the same storage.
    QCOMPARE((*model)->find("model.layer.0.rows")->offset,
             (*model)->find("model.layer.0.weight")->offset + 4 * 192 * 2);
}

void PytorchTest::packedAgain() {
    QTemporaryDir folder;
    const auto path =
        put(folder.path(), QStringLiteral("m.pt"),
            archive({{"m/data.pkl", pickle(), true}, {"m/data/0", sixFloats(), true}, {"m/byteorder", "little"}}));
    const auto model = openModel(path.toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QCOMPARE(valuesOf(**model, (*model)->tensors.at(0)), sixFloats());
}

void PytorchTest::lies_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char* name, std::vector<MadeMember> members, const char* says) {
        QTest::newRow(name) << archive(std::move(members)) << QByteArray(says);
    };
    const auto with = [&](const char* name, const QByteArray& made, const char* says) {
        row(name, {{"m/data.pkl", made}, {"m/data/0", sixFloats()}}, says);
    };
    row("two of them", {{"m/data.pkl", pickle()}, {"n/data.pkl", pickle()}, {"m/data/0", sixFloats()}},
        "without one FOLDER/data.pkl");
    row("no pickle", {{"m/version", "3"}}, "without one FOLDER/data.pkl");
    row("TorchScript of 1.0", {{"m/version", "1"}, {"m/model.json", "{}"}}, "TorchScript of before PyTorch 1.4");
    row("big-endian", {{"m/data.pkl", pickle()}, {"m/data/0", sixFloats()}, {"m/byteorder", "big"}},
        "its numbers are big-endian");
    row("storage missing", {{"m/data.pkl", pickle()}}, "its storage \"0\" is missing (member \"m/data/0\")");
    row("storage too short", {{"m/data.pkl", pickle()}, {"m/data/0", "12345678"}},
        "has 8 bytes, where the pickle says 24");
    row("storage too long", {{"m/data.pkl", pickle()}, {"m/data/0", sixFloats() + "1234"}},
        "has 28 bytes, where the pickle says 24");
    with("offset beyond the storage", pickle(6, 7),
         "tensor \"w\": its [2, 3] does not fit into its storage of 24 bytes");
    with("end beyond the storage", pickle(6, 1), "does not fit into its storage");
    with("stride beyond the storage", pickle(6, 0, "K\x02K\x03\x86", "K\x04K\x01\x86"),
         "does not fit into its storage");
    const QByteArray huge = "\x8a\x08" + le(std::uint64_t(1) << 62, 8);
    with("sizes that overflow", pickle(6, 0, huge + huge + "\x86"), "its sizes and strides overflow");
    const QByteArray many = "\x8a\x08" + le(std::uint64_t(1) << 40, 8);
    with("strides of 0 that repeat one number", pickle(6, 0, many + "K\x01\x86", QByteArray("K\0K\x01\x86", 5)),
         "it declares 4.00 TiB where 4 B are stored (strides of 0 repeat them)");
    with("strides that overflow", pickle(6, 0, "K\x02K\x03\x86", huge + huge + "\x86"),
         "its sizes and strides overflow");
    with("one more stride", pickle(6, 0, "K\x02K\x03\x86", "K\x01K\x01K\x01\x87"),
         "other numbers of sizes and strides");
    with("pickle with an opcode that no checkpoint needs", "\x80\x02I1\n.", "is no pickle that can be read");
    with("something after the pickle", pickle() + "x", "goes on after its pickle");
    with("source code", "import torch\n", "is no pickle that can be read");
    MadeMember damaged{"m/data/0", sixFloats()};
    damaged.crc = 5;
    row("damaged storage", {{"m/data.pkl", pickle()}, damaged}, "its checksum (CRC-32) differs");
}

void PytorchTest::lies() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, says);
    QTemporaryDir folder;
    const QString path = put(folder.path(), QStringLiteral("m.bin"), bytes);
    const auto model = openModel(path.toStdString());
    QVERIFY(!model);
    const auto message = QByteArray::fromStdString(model.error().message);
    QVERIFY2(message.contains(says) && message.startsWith(path.toUtf8()) && message.endsWith('.'), message);
}

namespace {

const QByteArray kStart = QByteArray::fromHex("80028a0a6cfc9c46f9206aa850192e") + "\x80\x02M\xe9\x03.";

QByteArray facts(bool isLittle = true) {
    return "\x80\x02}" + textOp("little_endian") + (isLittle ? "\x88s." : "\x89s.");
}
QByteArray keys(const char* key = "0") { return "\x80\x02]" + textOp(key) + "a."; }
QByteArray stored() { return le(6, 8) + sixFloats(); }

} // namespace

void PytorchTest::legacyLies_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char* name, const QByteArray& bytes, const char* says) {
        QTest::newRow(name) << bytes << QByteArray(says);
    };
    const QByteArray start = kStart + facts();
    row("nothing wrong", start + pickle() + keys() + stored(), "");
    row("big-endian", kStart + facts(false) + pickle() + keys() + stored(), "its numbers are big-endian");
    row("another version",
        QByteArray::fromHex("80028a0a6cfc9c46f9206aa850192e") + "\x80\x02M\xea\x03." + facts() + pickle() + keys() +
            stored(),
        "its version is none that is known");
    row("keys that are no list", start + pickle() + "N." + stored(), "its keys of storages are no list");
    row("a key that nothing uses", start + pickle() + keys("1") + stored(),
        "it lists a storage \"1\" that nothing uses");
    row("a storage that is not listed", start + pickle() + "].", "its storage \"0\" is missing");
    row("a key twice", start + pickle() + "](" + textOp("0") + textOp("0") + "e." + stored() + stored(),
        "lists its storage \"0\" twice");
    row("another size", start + pickle() + keys() + le(5, 8) + sixFloats(), "has 5 elements, where the pickle says 6");
    row("negative size", start + pickle() + keys() + QByteArray(8, '\xff') + sixFloats(), "has -1 elements");
    row("cut off in a storage", start + pickle() + keys() + stored().chopped(1),
        "needs 24 bytes and 23 are left; the file is cut off");
    row("cut off before a size", start + pickle() + keys() + "1234", "ends before its storage \"0\"");
    row("cut off in a pickle", start + pickle().chopped(3), "its pickle ends too early");
    row("tensor beyond its storage", start + pickle(6, 3) + keys() + stored(), "does not fit into its storage");
}

void PytorchTest::legacyLies() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, says);
    QTemporaryDir folder;
    const QString path = put(folder.path(), QStringLiteral("m.pth"), bytes);
    const auto model = openModel(path.toStdString());
    if (says.isEmpty()) {
        QVERIFY2(model, model ? "" : model.error().message.c_str());
        QCOMPARE(valuesOf(**model, (*model)->tensors.at(0)), sixFloats());
        const auto more = openModel(put(folder.path(), QStringLiteral("n.pth"), bytes + "more").toStdString());
        QVERIFY(
            more &&
            text((*more)->warnings.at(0)).contains(QStringLiteral("4 bytes after its last storage belong to nothing")));
        return;
    }
    QVERIFY(!model);
    const auto message = QByteArray::fromStdString(model.error().message);
    QVERIFY2(message.contains(says) && message.startsWith(path.toUtf8()) && message.endsWith('.'), message);
}

void PytorchTest::oneBadStorageLeavesTheRest_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, std::vector<MadeMember> members, const char* says) {
        members.push_back({"m/data/1", sixFloats()});
        QTest::newRow(name) << archive(std::move(members)) << QString::fromUtf8(says);
    };
    MadeMember damaged{"m/data/0", sixFloats()};
    damaged.crc = 5;
    row("damaged", {{"m/data.pkl", twoTensors()}, damaged}, "is damaged: its checksum (CRC-32) differs");
    damaged.deflate = true;
    row("damaged, deflated", {{"m/data.pkl", twoTensors()}, damaged}, "is damaged: its checksum (CRC-32) differs");
    row("missing", {{"m/data.pkl", twoTensors()}}, "its storage \"0\" is missing (member \"m/data/0\")");
    row("too short", {{"m/data.pkl", twoTensors()}, {"m/data/0", "12345678"}}, "has 8 bytes, where the pickle says 24");
    row("a tensor beyond it", {{"m/data.pkl", twoTensors(1)}, {"m/data/0", sixFloats()}},
        "its [2, 3] does not fit into its storage of 24 bytes");
}

/// The other tensor can be read; the bad one is listed, has no values, and a sentence says why.
void PytorchTest::oneBadStorageLeavesTheRest() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, says);
    QTemporaryDir folder;
    const auto model = openModel(put(folder.path(), QStringLiteral("m.pt"), bytes).toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QCOMPARE((*model)->tensors.size(), std::size_t(2));
    QVERIFY((*model)->find("w")->isUnread());
    QCOMPARE(valuesOf(**model, *(*model)->find("x")), sixFloats());
    QCOMPARE((*model)->warnings.size(), std::size_t(1));
    QVERIFY2(text((*model)->warnings[0]).contains(QStringLiteral("tensor \"w\" is listed but cannot be read: ")) &&
                 text((*model)->warnings[0]).contains(says),
             (*model)->warnings[0].c_str());
}

void PytorchTest::everyPrefixOfALegacyFile() {
    const QByteArray whole = kStart + facts() + pickle() + keys() + stored();
    QTemporaryDir folder;
    for (int n = 0; n < whole.size(); ++n)
        QVERIFY(!openModel(put(folder.path(), QStringLiteral("m.pth"), whole.left(n)).toStdString()));
}

void PytorchTest::folders() {
    QTemporaryDir folder;
    const QByteArray file = archive({{"m/data.pkl", pickle()}, {"m/data/0", sixFloats()}});
    const auto path = folder.path();
    put(path, QStringLiteral("config.json"), "{}");
    put(path, QStringLiteral("pytorch_model.bin"), file);
    const auto one = openModel(path.toStdString());
    QVERIFY2(one, one ? "" : one.error().message.c_str());
    QVERIFY((*one)->find("w"));
    QCOMPARE(text((*one)->folder), path);
    QFile::remove(path + QStringLiteral("/pytorch_model.bin"));
    put(path, QStringLiteral("pytorch_model-00001-of-00001.bin"), file);
    const auto index =
        put(path, QStringLiteral("pytorch_model.bin.index.json"),
            "{\"metadata\":{\"total_size\":24},\"weight_map\":{\"w\":\"pytorch_model-00001-of-00001.bin\"}}");
    for (const QString& way : {path, index}) {
        const auto sharded = openModel(way.toStdString());
        QVERIFY2(sharded, sharded ? "" : sharded.error().message.c_str());
        QCOMPARE(valuesOf(**sharded, (*sharded)->tensors.at(0)), sixFloats());
        QVERIFY((*sharded)->warnings.empty());
        QCOMPARE(text((*sharded)->format), QStringLiteral("pytorch"));
    }
    put(path, QStringLiteral("model.safetensors"), smallFile("safe"));
    QVERIFY((*openModel(path.toStdString()))->find("safe"));
}

QS_TEST(PytorchTest)
#include "pytorch_test.moc"
