// SPDX-License-Identifier: GPL-3.0-or-later
// Checkpoints quantized by other programs (tests/data/conventions). The layers have their own names, and their values
// equal bit for bit those that the program decodes.
#include "core/model/conventions/convention.h"
#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "made_file.h"
#include "real_file.h"
#include "tests/support/test_program.h"

#include <QCryptographicHash>
#include <QDirIterator>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <set>

using namespace qs;

class ConventionsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void knownAndNotDecoded_data();
    void knownAndNotDecoded();
    void severalInAModule();
    void tablesBesideValues();
    void decodesAsItsWriter_data();
    void decodesAsItsWriter();
    void rangesAreThoseOfTheWhole_data() { decodesAsItsWriter_data(); }
    void rangesAreThoseOfTheWhole();
    void everyConventionHasAVector();
};

namespace {

const QString kFolder = QStringLiteral(QS_TEST_DATA "/conventions");

} // namespace

void ConventionsTest::decodesAsItsWriter_data() {
    QTest::addColumn<QString>("folder");
    QDirIterator it(kFolder, {QStringLiteral("values.json")}, QDir::Files, QDirIterator::Subdirectories);
    int n = 0;
    for (; it.hasNext(); ++n) {
        const QString folder = QFileInfo(it.next()).path();
        QTest::newRow(qPrintable(QFileInfo(folder).fileName())) << folder;
    }
    QVERIFY(n > 0);
}

void ConventionsTest::decodesAsItsWriter() {
    QFETCH(QString, folder);
    const auto model = openModel(folder.toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QVERIFY2((*model)->warnings.empty(), (*model)->warnings.empty() ? "" : (*model)->warnings.front().c_str());
    const auto expected = QJsonDocument::fromJson(bytesOf(folder + QStringLiteral("/values.json"))).object();
    const auto weights = std::ranges::count_if((*model)->tensors, [](const auto& one) {
        return one.role != TensorRole::Part && !one.name.ends_with(".bias");
    });
    QCOMPARE(weights, expected.size() + 1); // plus one for the norm, which is not quantized
    QVERIFY((*model)->undecoded.empty());
    const std::map<QString, const char*> types{
        {QStringLiteral("float32"), "F32"}, {QStringLiteral("float16"), "F16"}, {QStringLiteral("bfloat16"), "BF16"}};
    for (const QString& name : expected.keys()) {
        const auto row = expected[name].toObject();
        const TensorInfo* tensor = (*model)->find(name.toStdString());
        QVERIFY2(tensor && tensor->derived, qPrintable(name));
        QCOMPARE(info(tensor->dtype).id, types.at(row[QStringLiteral("dtype")].toString()));
        std::vector<std::int64_t> shape;
        for (const auto& size : row[QStringLiteral("shape")].toArray()) shape.push_back(size.toInteger());
        QCOMPARE(tensor->shape, shape);
        const auto hash = QCryptographicHash::hash(valuesOf(**model, *tensor), QCryptographicHash::Sha256).toHex();
        QCOMPARE(QString::fromLatin1(hash) + u' ' + name, row[QStringLiteral("sha256")].toString() + u' ' + name);
        QVERIFY(!tensor->derived->description().empty());
        QCOMPARE(tensor->derived->fields().size(), tensor->derived->parts().size());
        QVERIFY(tensor->derived->storedBytes() > 0);
    }
}

void ConventionsTest::rangesAreThoseOfTheWhole() {
    QFETCH(QString, folder);
    const auto model = openModel(folder.toStdString());
    QVERIFY(model);
    for (const TensorInfo& tensor : (*model)->tensors) {
        const QByteArray whole = valuesOf(**model, tensor);
        const auto view = (*model)->view(tensor);
        QVERIFY(view);
        std::uint64_t state = 1;
        for (int i = 0; i < 200; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const std::uint64_t begin = (state >> 33) % tensor.bytes;
            const std::size_t n = std::min<std::uint64_t>(tensor.bytes - begin, 1 + (state >> 20) % (i % 2 ? 9 : 4099));
            QByteArray part(qsizetype(n), 'x');
            view->readInto(begin, std::as_writable_bytes(std::span(part.data(), n)));
            QVERIFY2(part == whole.mid(qsizetype(begin), qsizetype(n)), tensor.name.c_str());
        }
    }
}

void ConventionsTest::everyConventionHasAVector() {
    std::set<std::string> types;
    QDirIterator it(kFolder, {QStringLiteral("values.json")}, QDir::Files, QDirIterator::Subdirectories);
    while (it.hasNext()) {
        const auto model = openModel(QFileInfo(it.next()).path().toStdString());
        QVERIFY(model);
        for (const auto& tensor : (*model)->tensors)
            if (tensor.derived) types.insert(tensor.typeId());
    }
    // Files of Keras are opened by keras_test, which the program that reads HDF5 belongs to.
    QDirIterator keras(QStringLiteral(QS_TEST_DATA "/keras"), {QStringLiteral("*.values.json")}, QDir::Files);
    while (keras.hasNext())
        for (const auto& row : QJsonDocument::fromJson(bytesOf(keras.next())).object())
            types.insert(row.toObject()[QStringLiteral("type")].toString().toStdString());
    for (const Convention& convention : conventions())
        for (const char* type : convention.types) QVERIFY2(types.contains(type), type);
}

void ConventionsTest::knownAndNotDecoded_data() {
    QTest::addColumn<QList<QByteArrayList>>("fields"); // name, dtype and shape of each
    QTest::addColumn<QByteArray>("config");
    QTest::addColumn<QByteArray>("says");
    QTest::newRow("ModelOpt, AWQ") << QList<QByteArrayList>{{"l.0.weight", "U8", "[4,16]"},
                                                            {"l.0.weight_scale", "F16", "[4,2]"},
                                                            {"l.0.pre_quant_scale", "F16", "[32]"}}
                                   << QByteArray("{}") << QByteArray("\"l.0\" is a layer of NVIDIA ModelOpt (AWQ)");
    QTest::newRow("ModelOpt, NVFP4 and AWQ")
        << QList<QByteArrayList>{{"l.0.weight", "U8", "[4,16]"},
                                 {"l.0.weight_scale", "F8_E4M3", "[4,2]"},
                                 {"l.0.weight_scale_2", "F32", "[]"},
                                 {"l.0.pre_quant_scale", "BF16", "[32]"}}
        << QByteArray("{}") << QByteArray("\"l.0\" is a layer of NVIDIA ModelOpt (AWQ)");
    QTest::newRow("TensorRT-LLM, scales in an order of its kernels")
        << QList<QByteArrayList>{{"l.0.weight", "U8", "[4,16]"},
                                 {"l.0.weights_block_scaling_factor_interleaved", "U8", "[512]"},
                                 {"l.0.activation_scaling_factor", "F32", "[1]"}}
        << QByteArray("{}") << QByteArray("\"l.0\" is a layer of TensorRT-LLM");
    QTest::newRow("nobody's codes beside scales")
        << QList<QByteArrayList>{{"l.0.weight", "I8", "[4,16]"}, {"l.0.scales", "F32", "[4,2]"}} << QByteArray("{}")
        << QByteArray(
               "\"l.0\" is a quantized layer in a way of storing that this version does not know (I8 codes beside "
               ".scales)");
    QTest::newRow("scales of a name of their own")
        << QList<QByteArrayList>{{"l.0.weight", "F8_E4M3", "[4,16]"}, {"l.0.weight_qscale", "F32", "[4,1]"}}
        << QByteArray("{}") << QByteArray("(F8_E4M3 codes beside .weight_qscale)");
    QTest::newRow("flux-fp8-api") << QList<QByteArrayList>{{"l.0.float8_data", "F8_E4M3", "[4,16]"},
                                                           {"l.0.scale_reciprocal", "F32", "[]"}}
                                  << QByteArray("{}") << QByteArray("(F8_E4M3 codes beside .scale_reciprocal)");
    QTest::newRow("AQLM") << QList<QByteArrayList>{{"l.0.codes", "I16", "[4,8,2]"},
                                                   {"l.0.codebooks", "F16", "[2,16,1,8]"},
                                                   {"l.0.scales", "F16", "[4,1,1,1]"}}
                          << QByteArray(R"({"quantization_config": {"quant_method": "aqlm"}})")
                          << QByteArray("config.json says 'aqlm'");
    QTest::newRow("QuIP#, codes of a name of their own")
        << QList<QByteArrayList>{{"l.0.Qidxs", "I16", "[8,16]"}, {"l.0.SU", "F16", "[64]"}, {"l.0.SV", "F16", "[8]"}}
        << QByteArray(R"({"quantization_config": {"quant_method": "quip"}})")
        << QByteArray("(I16 codes beside .SU; config.json says 'quip')");
    QTest::newRow("TensorRT-LLM, codes as halves")
        << QList<QByteArrayList>{{"l.0.weight", "F16", "[16,4]"}, {"l.0.weights_scaling_factor", "F16", "[2,16]"}}
        << QByteArray("{}") << QByteArray("TensorRT-LLM");
    QTest::newRow("VPTQ as it is stored")
        << QList<QByteArrayList>{{"l.0.indices", "I32", "[1,8,16]"}, {"l.0.centroids.weight", "F16", "[1,2048]"}}
        << QByteArray(R"({"quantization_config": {"quant_method": "vptq"}})") << QByteArray("config.json says 'vptq'");
    QTest::newRow("VPTQ, a module deeper")
        << QList<QByteArrayList>{{"l.0.codes", "I32", "[4,16]"}, {"l.0.centroids.weight", "F16", "[1,256,8]"}}
        << QByteArray(R"({"quantization_config": {"quant_method": "vptq"}})") << QByteArray("config.json says 'vptq'");
    QTest::newRow("ModelOpt, 4-bit integers under 8-bit floats")
        << QList<QByteArrayList>{{"l.0.weight", "U8", "[4,16]"},
                                 {"l.0.weight_scale", "F32", "[4,2]"},
                                 {"l.0.weight_scale_2", "F32", "[]"}}
        << QByteArray("{}")
        << QByteArray("\"l.0.weight\" looks like NVIDIA ModelOpt (NVFP4) but is listed as it is stored: "
                      "\"l.0.weight_scale\" is F32 [4, 2], not F8_E4M3 [4, 2].");
}

/// The warning names the convention, and no other convention takes these fields.
/// Tables of integers beside matrices of values, in a checkpoint that does not say that it is quantized.
void ConventionsTest::tablesBesideValues() {
    QTemporaryDir at;
    const auto file = madeFile("{" + entry("emb.ids", "U8", "[16,16]", "[0,256]") + "," +
                                   entry("emb.values", "F32", "[2,64]", "[256,768]") + "}",
                               zeros(768));
    const auto model = openModel(put(at.path(), QStringLiteral("model.safetensors"), file).toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QVERIFY((*model)->undecoded.empty() && (*model)->find("emb.values")->isWeight());
}

/// Two matrices of codes in one module: each has the scales that its name begins.
void ConventionsTest::severalInAModule() {
    QTemporaryDir at;
    const auto file = madeFile("{" + entry("l.0.down", "F8_E4M3", "[2,4,8]", "[0,64]") + "," +
                                   entry("l.0.down_scale", "F32", "[2,4,1]", "[64,96]") + "," +
                                   entry("l.0.up", "F8_E4M3", "[2,8,4]", "[96,160]") + "," +
                                   entry("l.0.up_scale", "F32", "[2,8,1]", "[160,224]") + "}",
                               zeros(224));
    put(at.path(), QStringLiteral("model.safetensors"), file);
    put(at.path(), QStringLiteral("config.json"), R"({"quantization_config": {"quant_method": "of others"}})");
    const auto model = openModel(at.path().toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QCOMPARE((*model)->undecoded.size(), std::size_t(2));
    for (const char* name : {"l.0.down", "l.0.up"}) {
        const auto& layers = (*model)->undecoded;
        const auto layer = std::ranges::find(layers, name, &UndecodedLayer::name);
        QVERIFY2(layer != layers.end(), layers[0].name.c_str());
        QCOMPARE(layer->parts, (std::vector<std::string>{name, std::string(name) + "_scale"}));
    }
}

void ConventionsTest::knownAndNotDecoded() {
    QFETCH(QList<QByteArrayList>, fields);
    QFETCH(QByteArray, config);
    QFETCH(QByteArray, says);
    QTemporaryDir at;
    QByteArray header = "{";
    qint64 end = 0;
    for (const auto& field : fields) {
        qint64 bytes = info(*dtypeFromId(field[1].toStdString())).bits / 8;
        for (const auto& dim : field[2].mid(1).chopped(1).split(','))
            if (!dim.isEmpty()) bytes *= dim.toInt();
        header += (end ? "," : "") + entry(field[0], field[1], field[2],
                                           "[" + QByteArray::number(end) + "," + QByteArray::number(end + bytes) + "]");
        end += bytes;
    }
    put(at.path(), QStringLiteral("model.safetensors"), madeFile(header + "}", zeros(int(end))));
    put(at.path(), QStringLiteral("config.json"), config);
    const auto model = openModel(at.path().toStdString());
    QVERIFY2(model, model ? "" : model.error().message.c_str());
    QCOMPARE((*model)->tensors.size(), std::size_t(fields.size()));
    for (const auto& tensor : (*model)->tensors) {
        QVERIFY(!tensor.derived);
        QVERIFY2(tensor.role == TensorRole::Part && !tensor.isWeight(), tensor.name.c_str());
    }
    QCOMPARE((*model)->undecoded.size(), std::size_t(1));
    QCOMPARE((*model)->undecoded[0].name, std::string("l.0"));
    QCOMPARE((*model)->undecoded[0].parts.size(), std::size_t(fields.size()));
    QCOMPARE((*model)->warnings.size(), std::size_t(1));
    const auto warning = QByteArray::fromStdString((*model)->warnings[0]);
    QVERIFY2(warning.contains(says) && warning.endsWith('.'), warning);
}

QS_TEST(ConventionsTest)
#include "conventions_test.moc"
