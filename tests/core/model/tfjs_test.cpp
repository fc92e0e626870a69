// SPDX-License-Identifier: GPL-3.0-or-later
// TensorFlow.js: models must read as in its own reader, also with quantized weights; and unusual models that are valid.
#include "made_tfjs.h"
#include "tests/support/test_program.h"

using namespace tfjs_made;

class TfjsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }
    void asItsReaderReads_data();
    void asItsReaderReads();
    void whatItSaysOfItself();
    void everyRangeOfAWeightInSeveralShards();
    void roundedOnce();
    void accepted_data();
    void accepted();
    void wholeNumbersStoredAsCodes();
    void aFolder();

private:
    QString add(const char* name, const QByteArray& bytes) {
        return put(folder_->path(), QString::fromUtf8(name), bytes);
    }
    std::unique_ptr<QTemporaryDir> folder_;
};

void TfjsTest::asItsReaderReads_data() {
    QTest::addColumn<QString>("path");
    for (const char* path :
         {"layers/model.json", "graph/model.json", "quantized/model.json", "before_version_1/weights_manifest.json"})
        QTest::newRow(path) << QStringLiteral(QS_TEST_DATA "/tfjs/") + QString::fromUtf8(path);
}

void TfjsTest::asItsReaderReads() {
    QFETCH(QString, path);
    const auto model = opened(path);
    QCOMPARE(text(model->format), QStringLiteral("tfjs"));
    const QString folder = QFileInfo(path).path();
    QCOMPARE(text(model->title), QFileInfo(folder).fileName());
    compareWithSums(*model, folder + QStringLiteral(".sha256"));
    const bool hasTexts = path.contains(QStringLiteral("graph/"));
    QCOMPARE(model->warnings.size(), std::size_t(hasTexts));
    if (hasTexts)
        QVERIFY(text(model->warnings[0]).contains(QStringLiteral("\"texts\" holds strings, which are no numbers")));
}

void TfjsTest::whatItSaysOfItself() {
    const auto model = opened(QStringLiteral(QS_TEST_DATA "/tfjs/quantized/model.json"));
    QCOMPARE(text(model->files.at(0).metadata.at("format")), QStringLiteral("layers-model"));
    QCOMPARE(text(model->files[0].metadata.at("generatedBy")), QStringLiteral("keras v2.15.0"));
    QCOMPARE(model->files.size(), std::size_t(8)); // the manifest and seven shards
    const auto* quantized = model->find("a/kernel");
    QVERIFY(quantized && quantized->derived && quantized->isWeight());
    QCOMPARE(QByteArray(quantized->typeId()), QByteArray("TFJS UINT8"));
    QCOMPARE(quantized->derived->storedBytes(), std::uint64_t(1200));
    QCOMPARE(quantized->derived->fields(), std::vector<std::string>{"a/kernel"});
    QCOMPARE(quantized->derived->parts().front().dtype, DType::U8);
    QCOMPARE(QByteArray(model->find("b/kernel")->typeId()), QByteArray("TFJS UINT16"));
    QCOMPARE(model->find("b/bias")->dtype, DType::F16);
}

void TfjsTest::everyRangeOfAWeightInSeveralShards() {
    for (const auto& [file, name] :
         {std::pair("quantized", "a/kernel"), {"quantized", "b/kernel"}, {"layers", "dense/kernel"}}) {
        const auto model = opened(QStringLiteral(QS_TEST_DATA "/tfjs/%1/model.json").arg(QString::fromUtf8(file)));
        const auto* tensor = model->find(name);
        QVERIFY(tensor && tensor->derived);
        const auto view = model->view(*tensor);
        QVERIFY(view);
        const QByteArray whole = valuesOf(*model, *tensor);
        std::vector<std::byte> part;
        for (std::size_t begin = 0; begin < tensor->bytes; begin += 7)
            for (const std::size_t n : {1, 3, 4, 64, 1021}) {
                part.assign(std::min<std::size_t>(n, tensor->bytes - begin), std::byte(0xAA));
                view->readInto(begin, part);
                QVERIFY(std::memcmp(part.data(), whole.constData() + begin, part.size()) == 0);
            }
        tensor->derived->release();
        QVERIFY(valuesOf(*model, *tensor) == whole);
    }
}

/// Product and sum in double with one rounding to F32. Float arithmetic or a fused multiply-add would give other
/// values.
void TfjsTest::roundedOnce() {
    const double scale = 0.0247374927296358, min = -3.2653490403119254;
    const auto path =
        add("model.json",
            model(weight("w", "[256]", "float32", affine("uint8", "0.0247374927296358", "-3.2653490403119254"))));
    QByteArray codes;
    for (int i = 0; i < 256; ++i) codes.append(char(i));
    add("a.bin", codes);
    const auto model = opened(path);
    const QByteArray values = valuesOf(*model, model->tensors.at(0));
    int differs = 0;
    for (int i = 0; i < 256; ++i) {
        float value;
        std::memcpy(&value, values.constData() + 4 * i, 4);
        const volatile double product = double(i) * scale;
        QCOMPARE(value, float(product + min));
        differs += value != float(i) * float(scale) + float(min);
    }
    QVERIFY(differs > 20);
}

void TfjsTest::accepted_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::addColumn<QByteArray>("type");
    const auto row = [](const char* name, const QByteArray& bytes, const char* type = "F32") {
        QTest::newRow(name) << bytes << QByteArray(type);
    };
    row("plain", model(weight("w", "[2,2]")));
    row("a list alone", "[" + group(weight("w", "[2,2]")) + "]");
    row("a path with ./", manifest(group(weight("w", "[2,2]"), "\"./a.bin\"")));
    row("a path in a folder", manifest(group(weight("w", "[2,2]"), "\"sub/a.bin\"")));
    row("several shards", manifest(group(weight("w", "[2,2]"), "\"b.bin\",\"c.bin\"")));
    row("groups", manifest(group(weight("v", "[2]"), "\"b.bin\"") + "," + group(weight("w", "[2]"), "\"c.bin\"")));
    row("a group of nothing", manifest(group({}, {}) + "," + group(weight("w", "[2,2]"))));
    row("no elements", manifest(group(weight("v", "[0,9]") + "," + weight("w", "[2,2]"))));
    row("quantized, no elements",
        model(weight("v", "[0]", "float32", affine("uint8", "1", "0")) + "," + weight("w", "[4]")));
    row("float16", model(weight("w", "[8]", "float16")), "F16");
    row("quantized as float16", model(weight("w", "[8]", "float32", half("float16"))), "F16");
    row("quantized as null", model("{\"name\":\"w\",\"quantization\":null,\"dtype\":\"float32\",\"shape\":[4]}"));
    row("whole numbers for scale and min", model(weight("w", "[16]", "float32", affine("uint8", "2", "-3"))),
        "TFJS UINT8");
    row("a scale of powers", model(weight("w", "[8]", "float32", affine("uint16", "1e-3", "0"))), "TFJS UINT16");
    row("keys of later versions", model("{\"group\":\"optimizer\",\"more\":[{\"a\":1}]," + weight("w", "[4]").mid(1)));
    row("a name twice", model(weight("w", "[2]") + "," + weight("w", "[2]")));
    row("an odd name", model(weight("a/b \\u0007\xe2\x82\xac", "[4]")));
    row("the topology behind", "{\"weightsManifest\":[" + group(weight("w", "[4]")) + "],\"modelTopology\":" +
                                   QByteArray("[").repeated(40) + QByteArray("]").repeated(40) + "}");
}

void TfjsTest::accepted() {
    QFETCH(QByteArray, manifest);
    QFETCH(QByteArray, type);
    add("a.bin", QByteArray(16, 'a'));
    add("sub/a.bin", QByteArray(16, 'a'));
    add("b.bin", QByteArray(8, 'a'));
    add("c.bin", QByteArray(8, 'a'));
    const auto model = opened(add("model.json", manifest));
    QVERIFY(!model->tensors.empty());
    QCOMPARE(QByteArray(model->tensors.back().typeId()), type);
    std::uint64_t stored = 0;
    for (const auto& tensor : model->tensors) {
        stored += storedBytes(tensor);
        QCOMPARE(valuesOf(*model, tensor).size(), int(tensor.bytes));
    }
    QCOMPARE(stored, std::uint64_t(16));
}

void TfjsTest::wholeNumbersStoredAsCodes() {
    add("a.bin", QByteArray(4, 'a'));
    const auto model = opened(add("model.json", ::model(weight("w", "[4]", "int32", affine("uint8", "2", "1")))));
    QCOMPARE(model->tensors.at(0).dtype, DType::U8);
    QCOMPARE(model->warnings.size(), std::size_t(1));
    QVERIFY2(text(model->warnings[0]).contains(QStringLiteral("its codes are shown")), model->warnings[0].c_str());
}

void TfjsTest::aFolder() {
    add("a.bin", QByteArray(16, 'a'));
    add("model.json", model(weight("w", "[4]")));
    const auto model = opened(folder_->path());
    QCOMPARE(text(model->format), QStringLiteral("tfjs"));
    QCOMPARE(text(model->path), folder_->path());
    QCOMPARE(model->tensors.size(), std::size_t(1));
    // If there is a safetensors file, the folder opens that.
    add("model.safetensors", smallFile("s"));
    QVERIFY(opened(folder_->path())->find("s"));
}

QS_TEST(TfjsTest)
#include "tfjs_test.moc"
