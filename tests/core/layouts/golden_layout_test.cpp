// SPDX-License-Identifier: GPL-3.0-or-later
// The golden vectors, bit for bit, through quantizeTensor() and through files in the eformer layout.
#include "core/layouts/layout.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

using namespace qs;
using namespace qs::test;

namespace {

QuantSpec spec(const std::string& text) {
    const auto parsed = parseSpec(text);
    if (!parsed) qFatal("%s", parsed.error().message.c_str());
    return *parsed;
}

bool sameBits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), 4 * a.size()) == 0);
}

std::shared_ptr<const Model> written(const QTemporaryDir& folder, const Model& model, const std::string& text,
                                     const char* name) {
    QuantizeRequest request;
    request.spec = spec(text);
    request.choice = "^x$";
    request.output = folder.filePath(QString::fromLatin1(name)).toStdString();
    const auto done = quantizeModel(model, request, Job{});
    if (!done) qFatal("%s", done.error().message.c_str());
    return *openModel(request.output);
}

} // namespace

class GoldenLayoutTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nf4();
    void int8();
    void oneBit();
    void refusesNonFinite();
    void refusesCollisions();
    void awkwardShapesRoundTrip();
};

void GoldenLayoutTest::nf4() {
    for (const auto& golden : goldenFiles()) {
        const QTemporaryDir folder;
        const auto& x = golden["x"];
        const auto model = opened(folder, {made("x", DType::F32, x.shape, x.as<float>())});
        for (const char* block : {"32", "64", "128"}) {
            const std::string key = std::string("nf4.") + block + ".", text = std::string("nf4:block=") + block;
            const auto out = written(folder, *model, text, "nf4.safetensors");
            QCOMPARE(valuesOf<std::uint8_t>(*out, "x.packed"), golden[key + "packed"].as<std::uint8_t>());
            QVERIFY(sameBits(valuesOf<float>(*out, "x.absmax"), golden[key + "absmax"].as<float>()));
            QCOMPARE(out->find("x.packed")->shape, golden[key + "packed"].shape);
            for (const auto& [decode, name] : {std::pair{Decode::Table, "table"}, std::pair{Decode::Poly, "poly"}}) {
                const auto& padded = golden[key + name];
                const auto all = padded.as<float>();
                std::vector<float> cropped;
                for (std::size_t i = 0; i < all.size(); ++i)
                    if (i % padded.features() < x.features()) cropped.push_back(all[i]);
                const std::string path = folder.filePath(QStringLiteral("plain.safetensors")).toStdString();
                const auto done = dequantizeModel(*out, decode, path, Job{});
                QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
                const auto plain = *openModel(path);
                QCOMPARE(plain->find("x")->shape, x.shape);
                QVERIFY(sameBits(valuesOf<float>(*plain, "x"), cropped));
                const auto quantized =
                    quantizeTensor(*model->view(model->tensors[0]), spec(text + ":decode=" + name), Job{});
                QVERIFY(quantized && sameBits(materialize(*quantized), cropped));
            }
        }
    }
}

void GoldenLayoutTest::int8() {
    for (const auto& golden : goldenFiles()) {
        const QTemporaryDir folder;
        const auto& x = golden["x"];
        const auto model = opened(folder, {made("x", DType::F32, x.shape, x.as<float>())});
        for (const auto& [name, text] :
             {std::pair{"last", "int8"}, std::pair{"first", "int8:axis=0"}, std::pair{"both", "int8:axis=0,1"}}) {
            const std::string key = std::string("int8.") + name;
            const auto out = written(folder, *model, text, "int8.safetensors");
            QCOMPARE(valuesOf<std::int8_t>(*out, "x.weight"), golden[key + ".q"].as<std::int8_t>());
            QVERIFY(sameBits(valuesOf<float>(*out, "x.scale"), golden[key + ".scale"].as<float>()));
            QCOMPARE(out->find("x.scale")->shape, golden[key + ".scale"].shape);
        }
    }
}

void GoldenLayoutTest::oneBit() {
    for (const auto& golden : goldenFiles()) {
        const QTemporaryDir folder;
        const auto& x = golden["x"];
        const auto model = opened(folder, {made("x", DType::F32, x.shape, x.as<float>())});
        for (const std::string name : {"binary", "ternary"}) {
            const auto quantized = quantizeTensor(*model->view(model->tensors[0]), spec(name), Job{});
            QVERIFY(quantized.has_value());
            const auto q = golden[name + ".q"].as<std::int8_t>();
            const auto values = materialize(*quantized);
            QVERIFY(std::equal(values.begin(), values.end(), q.begin(), q.end(),
                               [](float v, std::int8_t i) { return v == float(i); }));
            if (!golden.tensors.contains(name + ".packed")) continue;
            const auto out = written(folder, *model, name, "bits.safetensors");
            QCOMPARE(valuesOf<std::uint8_t>(*out, "x.weight"), golden[name + ".packed"].as<std::uint8_t>());
        }
    }
}

void GoldenLayoutTest::refusesNonFinite() {
    const QTemporaryDir folder;
    const float bad = std::numeric_limits<float>::quiet_NaN();
    const auto model = opened(folder, {made<float>("a.weight", DType::F32, {2, 2}, {1, 2, 3, 4}),
                                       made<float>("b.weight", DType::F32, {2, 2}, {1, bad, 3, 4})});
    QuantizeRequest request;
    request.spec = spec("nf4");
    request.output = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
    const auto refused = quantizeModel(*model, request, Job{});
    QVERIFY(!refused.has_value());
    const QString message = QString::fromStdString(refused.error().message);
    QVERIFY2(message.contains(QStringLiteral("1 of 2 tensors")) && message.contains(QStringLiteral("1 NaN")),
             qPrintable(message));
    QVERIFY(!QFile::exists(QString::fromStdString(request.output)));
    // The filter named in the message works.
    const qsizetype from = message.indexOf(QStringLiteral("--tensor '")) + 10;
    request.choice = message.mid(from, message.indexOf(QLatin1Char('\''), from) - from).toStdString();
    const auto done = quantizeModel(*model, request, Job{});
    QVERIFY2(done.has_value(), request.choice.filters.front().c_str());
    QCOMPARE(done->quantizedTensors, std::uint64_t(1));
    QCOMPARE(done->copiedTensors, std::uint64_t(1));
}

void GoldenLayoutTest::refusesCollisions() {
    const QTemporaryDir folder;
    const auto model = opened(
        folder, {made<float>("a", DType::F32, {2, 2}, {1, 2, 3, 4}), made<float>("a.packed", DType::F32, {1}, {1})});
    QuantizeRequest request;
    request.spec = spec("nf4");
    request.output = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
    const auto refused = quantizeModel(*model, request, Job{});
    QVERIFY(!refused.has_value());
    QVERIFY(refused.error().message.find("a.packed") != std::string::npos);
}

void GoldenLayoutTest::awkwardShapesRoundTrip() {
    const std::vector<std::vector<std::int64_t>> shapes = {{},     {1},     {7},       {0, 4},  {4, 0},
                                                           {5, 1}, {3, 65}, {4, 3, 5}, {8, 130}};
    for (const auto& shape : shapes) {
        std::size_t n = 1;
        for (const auto dim : shape) n *= std::size_t(dim);
        std::vector<float> values(n);
        for (std::size_t i = 0; i < n; ++i) values[i] = float(int(i * 37 % 101) - 50) / 16;
        const QTemporaryDir folder;
        const auto model = opened(folder, {made("x", DType::F32, shape, values)});
        for (const char* text : {"nf4", "nf4:block=2", "nf4:block=6:decode=poly", "int8", "int8:block=7",
                                 "int8:scale=tensor", "ternary:scale=channel"}) {
            const auto direct = quantizeTensor(*model->view(model->tensors[0]), spec(text), Job{});
            QVERIFY2(direct.has_value(), direct ? "" : direct.error().message.c_str());
            if (!findLayout("eformer")->accepts(spec(text), shape)) continue;
            const auto out = written(folder, *model, text, "out.safetensors");
            std::uint64_t stored = 0;
            for (const auto& tensor : out->tensors) stored += tensor.bytes;
            QCOMPARE(stored, storedSize(spec(text), shape, DType::F32)->total());
            const std::string path = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
            const auto done = dequantizeModel(*out, {}, path, Job{});
            QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
            const auto back = *openModel(path);
            QCOMPARE(back->find("x")->shape, shape);
            QVERIFY2(sameBits(valuesOf<float>(*back, "x"), materialize(*direct)), text);
        }
    }
}

QS_TEST(GoldenLayoutTest)
#include "golden_layout_test.moc"
