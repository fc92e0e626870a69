// SPDX-License-Identifier: GPL-3.0-or-later
// Scales and values of mxfp4 and mxfp8 against compressed-tensors (tests/data/formats/make_ct_mx_vectors.py), and the
// rule of OCP beside it.
#include "made_rule.h"
#include "tests/support/test_program.h"

#include <cmath>

namespace {

constexpr std::size_t kBlocks = 8192, kBlock = 32;

std::uint64_t mixed(std::uint64_t index) {
    std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

std::vector<float> inputOfVectors() {
    std::vector<float> x(kBlocks * kBlock);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const int exponent = int(mixed(i / kBlock * kBlock) & 15) - 8;
        x[i] = std::ldexp(float(mixed(i) >> 40) * 0x1p-24f - 0.5f, exponent);
    }
    return x;
}

} // namespace

class CtMxTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void asThePackage_data();
    void asThePackage();
    void zeroAndLargest();
};

void CtMxTest::asThePackage_data() {
    QTest::addColumn<QString>("format");
    QTest::newRow("mxfp4") << "mxfp4";
    QTest::newRow("mxfp8") << "mxfp8";
}

void CtMxTest::asThePackage() {
    QFETCH(QString, format);
    const std::string id = format.toStdString();
    const GoldenFile file = readGolden(QS_TEST_DATA "/formats/ct_mx_vectors.safetensors");
    const auto exponents = file[id + ".exponents"].as<std::uint8_t>();
    const auto values = file[id + ".values"].as<float>();
    QCOMPARE(exponents.size(), kBlocks);
    const Held x = held(inputOfVectors(), {std::int64_t(kBlocks / 32), std::int64_t(32 * kBlock)});
    const QuantizedTensor ours = quantized(x, id), ocp = quantized(x, id + ":dialect=ocp");
    QCOMPARE(ours.scales, quantized(x, id + ":dialect=ct").scales);
    int otherwise = 0;
    for (std::size_t i = 0; i < kBlocks; ++i) {
        QCOMPARE(ours.scales[i], std::ldexp(1.0f, int(exponents[i]) - 127));
        otherwise += ours.scales[i] != ocp.scales[i];
    }
    QVERIFY2(otherwise > 500, qPrintable(QString::number(otherwise)));
    const auto decoded = materialize(ours);
    for (std::size_t i = 0; i < values.size(); ++i)
        QVERIFY2(decoded[i] == values[i], qPrintable(QString::number(i)));
}

// A block of zeros has the least scale and decodes to zeros; a maximum that is rounded up to 2^128 is refused.
void CtMxTest::zeroAndLargest() {
    std::vector<float> x(64, 0.0f);
    x[40] = 2.5e38f;
    const QuantizedTensor ours = quantized(held(x, {1, 64}), "mxfp4");
    QCOMPARE(ours.scales[0], 0x1p-127f);
    QCOMPARE(ours.scales[1], 0x1p125f);
    const auto decoded = materialize(ours);
    QVERIFY(std::all_of(decoded.begin(), decoded.begin() + 32, [](float v) { return v == 0; }));
    QCOMPARE(decoded[40], 6 * 0x1p125f);
    x[40] = 3.4e38f;
    const Held largest = held(x, {1, 64});
    const auto refused = quantizeTensor(largest.view(), specOf("mxfp4"), Job{});
    QVERIFY(!refused && refused.error().message.find("overflows") != std::string::npos);
}

QS_TEST(CtMxTest)
#include "ct_mx_test.moc"
