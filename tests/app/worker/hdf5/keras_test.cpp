// SPDX-License-Identifier: GPL-3.0-or-later
// Files of Keras: weights of Keras 3 and older, archives, shards, and archives with wrong data.
#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "tests/app/worker/hdf5/tensor_bytes.h"
#include "tests/core/model/made_zip.h"
#include "tests/core/model/real_file.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QCryptographicHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <memory>

using namespace qs;
using namespace qs::test;

class TestKeras : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void filesOfKeras_data();
    void filesOfKeras();
    void quantizedLayers_data();
    void quantizedLayers();
    void layersThatAreNotDecoded();
    void gptqIsNotDecoded();
    void trainedByOthers();
    void shardsOfKeras();
    void archivesThatLie_data();
    void archivesThatLie();
};

void TestKeras::filesOfKeras_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("values");
    for (const char* file : {"tiny.weights.h5", "legacy.h5", "bf16.weights.h5", "tiny.keras"})
        QTest::newRow(file) << QString::fromLatin1(file) << QString::fromLatin1(file);
    QTest::newRow("deflated.keras") << QStringLiteral("deflated.keras") << QStringLiteral("tiny.keras");
}

/// The values must equal those of h5py bit for bit.
void TestKeras::filesOfKeras() {
    QFETCH(QString, file);
    QFETCH(QString, values);
    const auto at = QStringLiteral(QS_TEST_DATA "/keras/");
    const auto opened = openModel((at + file).toStdString()),
               reference = openModel((at + values + q(".safetensors")).toStdString());
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    QVERIFY2(reference, reference ? "" : reference.error().message.c_str());
    QVERIFY((*reference)->tensors.size() >= 4);
    QCOMPARE((*opened)->tensors.size(), (*reference)->tensors.size());
    for (const auto& expected : (*reference)->tensors) {
        const auto* tensor = (*opened)->find(expected.name);
        QVERIFY2(tensor, expected.name.c_str());
        QCOMPARE(tensor->dtype, expected.dtype);
        QCOMPARE(tensor->shape, expected.shape);
        QVERIFY2(bytesIn(**opened, *tensor) == bytesIn(**reference, expected), expected.name.c_str());
    }
}

void TestKeras::quantizedLayers_data() {
    QTest::addColumn<QString>("file");
    for (const char* file : {"int8.keras", "int8.weights.h5", "int4.keras", "int4.weights.h5", "int4_channels.keras",
                             "int4_channels.weights.h5"})
        QTest::newRow(file) << QString::fromLatin1(file);
}

/// Every value is bit for bit what Keras dequantizes. Scales, zero points and groups are no tensors of the model.
void TestKeras::quantizedLayers() {
    QFETCH(QString, file);
    const auto path = QStringLiteral(QS_TEST_DATA "/keras/") + file;
    const auto opened = openModel(path.toStdString());
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    QVERIFY2((*opened)->warnings.empty(), (*opened)->warnings.empty() ? "" : (*opened)->warnings.front().c_str());
    const auto right = QJsonDocument::fromJson(bytesOf(path + q(".values.json"))).object();
    QCOMPARE(right.size(), 5);
    for (const QString& name : right.keys()) {
        const auto row = right[name].toObject();
        const TensorInfo* tensor = (*opened)->find(name.toStdString());
        QVERIFY2(tensor && tensor->derived, qPrintable(name));
        QCOMPARE(QString::fromLatin1(tensor->typeId()), row[q("type")].toString());
        QCOMPARE(tensor->dtype, DType::F32);
        std::vector<std::int64_t> shape;
        for (const auto& size : row[q("shape")].toArray()) shape.push_back(size.toInteger());
        QCOMPARE(tensor->shape, shape);
        const auto values = bytesIn(**opened, *tensor);
        const QByteArray bytes(reinterpret_cast<const char*>(values.data()), qsizetype(values.size()));
        QCOMPARE(QString::fromLatin1(QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex()),
                 row[q("sha256")].toString());
        for (std::uint64_t begin = 0; begin < values.size(); begin += 37) { // every range gives the same values
            std::vector<std::byte> part(std::min<std::size_t>(values.size() - begin, 91));
            (*opened)->view(*tensor)->readInto(begin, part);
            QVERIFY(std::equal(part.begin(), part.end(), values.begin() + std::ptrdiff_t(begin)));
        }
    }
    const auto weights = std::ranges::count_if((*opened)->tensors, [](const auto& one) { return bool(one.derived); });
    QCOMPARE(weights, right.size());
    for (const auto& tensor : (*opened)->tensors) // what is left are biases and norms
        QVERIFY2(tensor.derived || tensor.name.ends_with("/vars/1") ||
                     tensor.name.view().find("norm") != std::string::npos,
                 tensor.name.c_str());
}

/// Scales that fit no axis: the tensors are parts, and a sentence says why.
void TestKeras::layersThatAreNotDecoded() {
    const QByteArray codes(64, '\x11'), scales(7 * 4, '\x3f');
    const auto file = madeFile("{" + entry("a/vars/0", "I8", "[8,8]", "[0,64]") + "," +
                                   entry("a/vars/1", "F32", "[7]", "[64,92]") + "}",
                               codes + scales);
    QTemporaryDir folder;
    const auto opened = openModel(put(folder.path(), q("m.safetensors"), file).toStdString());
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    for (const auto& tensor : (*opened)->tensors) QVERIFY2(tensor.role == TensorRole::Part, tensor.name.c_str());
    QCOMPARE((*opened)->undecoded.size(), std::size_t(1));
    QVERIFY((*opened)->warnings.at(0).find("its scales [7] fit no axis of its codes [8, 8]") != std::string::npos);
}

/// As Keras 3.15 writes a layer of GPTQ: codes, scales and the group of each input. It stores no zero points, so no reader
/// can decode it, and its scales are no weights.
void TestKeras::gptqIsNotDecoded() {
    const auto file = madeFile(
        "{" + entry("a/vars/0", "F32", "[8]", "[0,32]") + "," + entry("a/vars/1", "U8", "[4,64]", "[32,288]") + "," +
            entry("a/vars/2", "F32", "[8,2]", "[288,352]") + "," + entry("a/vars/3", "F32", "[64]", "[352,608]") + "}",
        QByteArray(608, '\x11'));
    QTemporaryDir folder;
    const auto opened = openModel(put(folder.path(), q("m.safetensors"), file).toStdString());
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    QCOMPARE((*opened)->undecoded.size(), std::size_t(1));
    for (const auto& tensor : (*opened)->tensors)
        QVERIFY2(!tensor.isWeight() && (tensor.role == TensorRole::Part) == !tensor.name.ends_with("/0"),
                 tensor.name.c_str());
    QVERIFY((*opened)->warnings.at(0).find("GPTQ and AWQ of Keras are not decoded") != std::string::npos);
}

/// A network of Keras 2.0.5 with the state of its optimizer. Every dataset must equal what h5py reads.
void TestKeras::trainedByOthers() {
    const QTemporaryDir folder;
    const auto at = QStringLiteral(QS_TEST_DATA "/keras/emotion");
    const auto file = put(folder.path(), q("emotion.hdf5"), inflated(at + q(".hdf5.zst")));
    const auto network = openModel(file.toStdString());
    QVERIFY2(network, network ? "" : network.error().message.c_str());
    QCOMPARE((*network)->warnings.size(), std::size_t(0));
    compareWithSums(**network, at + q(".sha256"));
}

void TestKeras::shardsOfKeras() {
    QTemporaryDir folder;
    const auto at = [&](const char* name) { return folder.filePath(QString::fromLatin1(name)); };
    const auto whole = QStringLiteral(QS_TEST_DATA "/keras/tiny.weights.h5");
    QVERIFY(QFile::copy(whole, at("a_00000.weights.h5")));
    const auto write = [&](const QByteArray& map) {
        QFile file(at("a.weights.json"));
        if (!file.open(QIODevice::WriteOnly)) qFatal("not written");
        file.write("{\"metadata\":{\"total_size\":1},\"weight_map\":" + map + "}");
    };
    const auto reference = openModel(whole.toStdString());
    QVERIFY(reference);
    const std::string path = (*reference)->tensors.front().name;
    const auto vars = QByteArray::fromStdString("\"/" + path.substr(0, path.rfind('/')) + "\"");

    write("{" + vars + ":[\"a_00000.weights.h5\"]}");
    const auto opened = openModel(at("a.weights.json").toStdString());
    QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
    QCOMPARE((*opened)->format, std::string("keras-shards"));
    QCOMPARE((*opened)->warnings.size(), std::size_t(0));
    QCOMPARE((*opened)->tensors.size(), (*reference)->tensors.size());
    for (const auto& expected : (*reference)->tensors) {
        const auto* tensor = (*opened)->find(expected.name);
        QVERIFY2(tensor, expected.name.c_str());
        QVERIFY(bytesIn(**opened, *tensor) == bytesIn(**reference, expected));
    }

    write("{" + vars + ":[\"a_00000.weights.h5\",\"a_00001.weights.h5\"],\"/not/there\":\"a_00000.weights.h5\"}");
    const auto partly = openModel(at("a.weights.json").toStdString());
    QVERIFY2(partly, partly ? "" : partly.error().message.c_str());
    QCOMPARE((*partly)->warnings.size(), std::size_t(2));
    QVERIFY((*partly)->warnings[0].find("1 of 2 files are missing") != std::string::npos);
    QVERIFY((*partly)->warnings[1].find("\"/not/there\"") != std::string::npos);

    for (const auto& [bytes, says] : std::initializer_list<std::pair<QByteArray, const char*>>{
             {"version https://git-lfs.github.com/spec/v1\n", "is a Git LFS pointer"},
             {"<html>Sign in</html>", "is a web page (HTML)"},
             {"", "is empty (0 bytes)"},
             {bytesOf(whole).left(700), "HDF5"}}) {
        put(folder.path(), QStringLiteral("a_00001.weights.h5"), bytes);
        const auto refused = openModel(at("a.weights.json").toStdString());
        QVERIFY2(!refused && refused.error().message.find(says) != std::string::npos &&
                     refused.error().message.find("a_00001.weights.h5") != std::string::npos,
                 refused ? says : refused.error().message.c_str());
    }

    for (const auto& [map, says] : std::initializer_list<std::pair<const char*, const char*>>{
             {"{\"/a\":[\"../b.weights.h5\"]}", "not a plain file name"},
             {"{\"/a\":[\"/etc/b.weights.h5\"]}", "not a plain file name"},
             {"{\"/a\":[\"b.weights.h5\", 3]}", "not a list of file names"},
             {"{\"/a\":{\"b\":\"b.weights.h5\"}}", "not a list of file names"},
             {"{\"/a\":[\"b.weights.h5\"]}", "none of its 1 files is there"}}) {
        write(map);
        const auto refused = openModel(at("a.weights.json").toStdString());
        QVERIFY2(!refused && refused.error().message.find(says) != std::string::npos,
                 refused ? map : refused.error().message.c_str());
    }
}

void TestKeras::archivesThatLie_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QByteArray& bytes, const char* says) {
        QTest::newRow(name) << bytes << QString::fromUtf8(says);
    };
    const QByteArray weights = bytesOf(QStringLiteral(QS_TEST_DATA "/keras/tiny.weights.h5"));
    const auto archive = [&](std::vector<MadeMember> more) {
        MadeZip zip;
        zip.members = {{"metadata.json", "{}"}, {"config.json", "{}"}};
        zip.members.insert(zip.members.end(), more.begin(), more.end());
        return zip.bytes();
    };
    MadeMember bomb{"model.weights.h5", "x", true};
    bomb.bytes = bomb.localBytes = 300'000'000;
    bomb.packed = QByteArray(295'000, 'x');
    row("zip bomb", archive({bomb}), "is packed as only bombs are: 300000000 bytes in");
    bomb.bytes = bomb.localBytes = 4'000'000'000;
    row("zip bomb beyond what deflate can do", archive({bomb}), "which deflate cannot do");
    row("a member that leads out of the folder", archive({{"../model.weights.h5", weights}}),
        "has a name that leads elsewhere");
    row("weights twice", archive({{"model.weights.h5", weights}, {"model.weights.h5", weights}}), "is there twice");
    row("no weights", archive({}), "has no model.weights.h5");
    row("weights of NumPy", archive({{"model.weights.npz", "PK"}}), "save it with Keras 3 without other formats");
    row("weights that are a text", archive({{"model.weights.h5", "version https://git-lfs.github.com/spec/v1\n"}}),
        "HDF5");
    row("weights cut off", archive({{"model.weights.h5", weights.left(900)}}), "HDF5");
    row("weights cut off, deflated", archive({{"model.weights.h5", weights.left(900), true}}), "HDF5");
    MadeMember damaged{"model.weights.h5", weights};
    damaged.crc = 1;
    row("damaged weights", archive({damaged}), "its checksum (CRC-32) differs");
    // An archive that Keras' get_file() would have unpacked outside of its folder. Here nothing is unpacked.
    QByteArray tar = QByteArray("../../escape") + QByteArray(245, '\0') + "ustar" + QByteArray(762, '\0');
    row("a tar archive with a link", tar, "is a tar archive");
}

void TestKeras::archivesThatLie() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, says);
    QTemporaryDir folder;
    const auto path = put(folder.path(), QStringLiteral("m.keras"), bytes);
    const auto opened = openModel(path.toStdString());
    QVERIFY(!opened);
    const QString why = q(opened.error().message);
    QVERIFY2(why.contains(says) && why.contains(path) && why.endsWith(u'.') && !why.contains(u'\n'), qPrintable(why));
    QCOMPARE(namesIn(folder.path()), QStringList{QStringLiteral("m.keras")});
}

QS_TEST(TestKeras)

#include "keras_test.moc"
