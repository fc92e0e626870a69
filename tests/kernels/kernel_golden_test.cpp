// SPDX-License-Identifier: GPL-3.0-or-later
// Compares every kernel set with the golden vectors, bit for bit.

#include "kernels/kernel_set.h"
#include "tests/kernels/each_set.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

#include <QtTest>

using namespace qs;
using namespace qs::test;

namespace {

/// Rows padded with zeros to whole blocks, as eformer stores them.
std::vector<float> padded(const GoldenTensor& x, std::size_t block) {
    const auto values = x.as<float>();
    const std::size_t features = x.features(), wide = (features + block - 1) / block * block;
    std::vector<float> out(x.rows() * wide);
    for (std::size_t r = 0; r < x.rows(); ++r)
        std::copy_n(values.begin() + std::ptrdiff_t(r * features), features, out.begin() + std::ptrdiff_t(r * wide));
    return out;
}

Run runOf(const char* format, const std::vector<float>& x, std::size_t group) {
    Run run = runFor(*findFormat(format));
    run.x = x.data(), run.n = x.size(), run.group = group;
    return run;
}

} // namespace

class KernelGolden : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(goldenFiles().size() >= 7); }
    void nf4_data() { supportedSets(); }
    void nf4();
    void int8_data() { supportedSets(); }
    void int8();
    void oneBit_data() { supportedSets(); }
    void oneBit();
};

void KernelGolden::nf4() {
    QFETCH(const KernelSet*, kernels);
    for (const auto& file : goldenFiles()) {
        for (const std::size_t block : {32u, 64u, 128u}) {
            const std::string prefix = "nf4." + std::to_string(block) + ".";
            const auto x = padded(file["x"], block);
            std::vector<std::uint8_t> packed(x.size() / 2);
            std::vector<float> absmax(x.size() / block);
            kernels->quantizeNf4Packed(x.data(), x.size(), block, packed.data(), absmax.data(), nullptr);
            QVERIFY2(sameBits(packed, file[prefix + "packed"].bytes), file.name.c_str());
            QVERIFY2(sameBits(absmax, file[prefix + "absmax"].as<float>()), file.name.c_str());
            for (const bool poly : {false, true}) {
                const auto expected = file[prefix + (poly ? "poly" : "table")].as<float>();
                const float* levels = poly ? nf4PolyLevels().data() : nf4Levels().data();
                std::vector<float> decoded(x.size()), scales(absmax.size()), again(x.size());
                kernels->dequantizeNf4Packed(packed.data(), x.size(), block, absmax.data(), levels, decoded.data());
                QVERIFY2(sameBits(decoded, expected), file.name.c_str());

                std::vector<std::uint8_t> codes(x.size());
                Run run = runOf("nf4", x, block);
                run.levels = levels;
                RunOut out;
                out.codes = codes.data(), out.scales = scales.data(), out.decoded = again.data();
                kernels->quantize(run, out);
                QVERIFY(sameBits(again, expected));
                QVERIFY(sameBits(scales, absmax));
                for (std::size_t i = 0; i < codes.size(); i += 2)
                    QCOMPARE(int(packed[i / 2]), codes[i] << 4 | codes[i + 1]);
                kernels->dequantize(codes.data(), codes.size(), block, scales.data(), levels, 16, again.data());
                QVERIFY(sameBits(again, expected));
            }
        }
    }
}

void KernelGolden::int8() {
    QFETCH(const KernelSet*, kernels);
    for (const auto& file : goldenFiles()) {
        const auto x = file["x"].as<float>();
        const auto& shape = file["x"].shape;
        const std::size_t features = file["x"].features();
        // int8 over axis -1 (a scale per row), and over axis 0 (a scale per column).
        std::vector<std::uint8_t> codes(x.size());
        std::vector<float> scales(x.size() / features);
        Run run = runOf("int8", x, features);
        RunOut out;
        out.codes = codes.data(), out.scales = scales.data();
        kernels->quantize(run, out);
        QVERIFY2(sameBits(scales, file["int8.last.scale"].as<float>()), file.name.c_str());
        const auto expected = file["int8.last.q"].as<std::int8_t>();
        for (std::size_t i = 0; i < x.size(); ++i) QCOMPARE(int(codes[i]) - 127, int(expected[i]));

        const std::size_t columns = x.size() / std::size_t(shape[0]);
        std::vector<float> bounds(columns), columnScales;
        std::vector<GroupParams> given;
        for (std::size_t row = 0; row < std::size_t(shape[0]); ++row)
            kernels->columnAbsMax(x.data() + row * columns, columns, bounds.data());
        for (const float bound : bounds) given.push_back(paramsFromAbsMax(run, bound));
        for (const auto& params : given) columnScales.push_back(params.scale);
        QVERIFY2(sameBits(columnScales, file["int8.first.scale"].as<float>()), file.name.c_str());
        const auto expectedFirst = file["int8.first.q"].as<std::int8_t>();
        for (std::size_t row = 0; row < std::size_t(shape[0]); ++row) {
            Run strided = run;
            strided.x = x.data() + row * columns, strided.n = columns, strided.group = 1;
            strided.given = given.data(), strided.givenStride = 1;
            RunOut only;
            only.codes = codes.data();
            kernels->quantize(strided, only);
            for (std::size_t i = 0; i < columns; ++i)
                QCOMPARE(int(codes[i]) - 127, int(expectedFirst[row * columns + i]));
        }
    }
}

void KernelGolden::oneBit() {
    QFETCH(const KernelSet*, kernels);
    for (const auto& file : goldenFiles()) {
        const auto x = file["x"].as<float>();
        for (const char* format : {"binary", "ternary"}) {
            const bool ternary = format[0] == 't';
            std::vector<float> decoded(x.size());
            Run run = runOf(format, x, x.size());
            run.statistic = ternary ? GroupStatistic::HalfStd : GroupStatistic::None;
            RunOut out;
            out.decoded = decoded.data();
            kernels->quantize(run, out);
            const auto expected = file[std::string(format) + ".q"].as<std::int8_t>();
            for (std::size_t i = 0; i < x.size(); ++i) QCOMPARE(decoded[i], float(expected[i]));
        }
    }
}

QS_TEST(KernelGolden)
#include "kernel_golden_test.moc"
