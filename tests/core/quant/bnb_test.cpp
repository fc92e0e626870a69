// SPDX-License-Identifier: GPL-3.0-or-later
// dialect=bnb must equal bitsandbytes on the CPU bit for bit: codes, scales, double quantization and values.
#include "core/analysis/analysis.h"
#include "core/layouts/layout.h"
#include "core/quant/encode/double_quant.h"
#include "core/quant/spec/dialect.h"
#include "kernels/small_float.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

#include <cmath>

using namespace qs;
using namespace qs::test;

class BnbTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void map();
    void peer();
    void llmInt8();
    void sums();
    void sizes();
};

namespace {

GoldenFile bnbVectors() { return readGolden(QS_TEST_DATA "/formats/bnb_vectors.safetensors"); }

std::shared_ptr<const Model> modelOf(const QTemporaryDir& folder, const GoldenTensor& x) {
    return opened(folder, {made("x", DType::F32, x.shape, x.as<float>())});
}

} // namespace

void BnbTest::map() {
    const auto theirs = bnbVectors()["map"].as<float>();
    QVERIFY(std::ranges::equal(dynamicMap(), theirs));
}

void BnbTest::peer() {
    const GoldenFile file = bnbVectors();
    int seen = 0;
    for (const auto& [name, codes] : file.tensors) {
        const std::size_t slash = name.find('/'), end = name.rfind(".codes");
        if (end == std::string::npos) continue;
        const std::string base = name.substr(0, end);
        const QuantSpec spec = *parseSpec(name.substr(slash + 1, end - slash - 1));
        if (!blocksCrossRows(spec)) continue;
        ++seen;
        const QTemporaryDir folder;
        const auto model = modelOf(folder, file[name.substr(0, slash)]);
        const auto ours = quantizeTensor(*model->view(*model->find("x")), spec, Job{});
        QVERIFY2(ours.has_value(), name.c_str());
        QVERIFY2(ours->codes == codes.as<std::uint8_t>(), name.c_str());
        const bool nested = isDoubleQuantized(spec);
        if (!nested) QVERIFY2(ours->scales == file[base + ".scale"].as<float>(), name.c_str());
        if (const auto values = file.tensors.find(base + ".values"); values != file.tensors.end())
            QVERIFY2(materialize(*ours) == values->second.as<float>(), name.c_str());
        if (!nested) continue;
        const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
        QVERIFY(quantizeModel(*model, {spec, "^x$", "native", path}, Job{}));
        const auto written = *openModel(path);
        QVERIFY2(valuesOf<std::uint8_t>(*written, "x.scale") == file[base + ".scale"].as<std::uint8_t>(), name.c_str());
        QCOMPARE(valuesOf<float>(*written, "x.nested_scale"), file[base + ".nested_scale"].as<float>());
        QCOMPARE(valuesOf<float>(*written, "x.nested_offset"), file[base + ".nested_offset"].as<float>());
    }
    QCOMPARE(seen, 7 * 2 * 3 * 2);
}

/// LLM.int8 of F32, F16 and BF16: codes, the maxima of rows, and the decoded values.
void BnbTest::llmInt8() {
    const GoldenFile file = bnbVectors();
    int seen = 0;
    for (const auto& [name, codes] : file.tensors) {
        const std::size_t slash = name.find('/'), end = name.rfind("/int8:dialect=bnb.codes");
        if (end == std::string::npos) continue;
        ++seen;
        const std::string base = name.substr(0, name.rfind(".codes")), of = name.substr(0, slash);
        const GoldenTensor& x = file[of];
        const auto values = x.as<float>();
        std::vector<std::uint16_t> halves;
        for (const float v : values) halves.push_back(of == "int8.half" ? f32ToF16(v) : f32ToBf16(v));
        const bool single = of != "int8.half" && of != "int8.brain";
        const QTemporaryDir folder;
        const auto model =
            opened(folder, {single ? made("p.weight", DType::F32, x.shape, values)
                                   : made("p.weight", of == "int8.half" ? DType::F16 : DType::BF16, x.shape, halves)});
        const QuantSpec spec = *parseSpec("int8:dialect=bnb");
        const auto ours = quantizeTensor(*model->view(*model->find("p.weight")), spec, Job{});
        QVERIFY2(ours && ours->codes == codes.as<std::uint8_t>(), name.c_str());
        const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
        QVERIFY(quantizeModel(*model, {spec, {}, "llm-int8", path}, Job{}));
        const auto fields = *openSafetensors(path);
        QVERIFY2(valuesOf<float>(*fields, "p.SCB") == file[base + ".scale"].as<float>(), name.c_str());
        const auto written = *openModel(path);
        std::vector<float> decoded(values.size());
        loadF32(*written->view(*written->find("p.weight")), 0, decoded.size(), decoded.data());
        QVERIFY2(decoded == file[base + ".values"].as<float>(), name.c_str());
    }
    QCOMPARE(seen, 5);
}

/// PyTorch sums a mean in another order than a plain loop. Small bnbVectors do not show the difference.
void BnbTest::sums() {
    std::vector<float> x;
    double exact = 0;
    for (int i = 0; i < 100'003; ++i) x.push_back(float(1 + i % 977) * 1e-3f), exact += double(x.back());
    const auto sumOf = [](std::span<const float> values) {
        TorchSum sum(values.size());
        sum.add(values);
        return sum.sum();
    };
    QVERIFY(std::fabs(double(sumOf(x)) - exact) < 1e-6 * exact);
    QCOMPARE(sumOf({}), 0.0f);
    const float first = ((0.001f + 0.005f) + 0.006f) + 0.007f;
    QCOMPARE(sumOf(std::span(x).first(7)), ((first + 0.002f) + 0.003f) + 0.004f);
}

/// Analysis reports the size that is written, counts every value, and handles NaN and Inf like other specs.
void BnbTest::sizes() {
    const std::int64_t shape[] = {5, 77};
    const auto bits = [&](const char* text) { return 8 * storedSize(*parseSpec(text), shape, DType::F32)->total(); };
    QCOMPARE(bits("nf4:dialect=bnb"), std::uint64_t(8 * (193 + 4 * 7))); // 385 codes, 7 blocks
    QCOMPARE(bits("nf4:dialect=bnb:scaletype=u8dq"),
             std::uint64_t(8 * (193 + 7 + 4 + 4))); // one byte per scale, and one
                                                    // block of scales
    const GoldenFile file = bnbVectors();
    auto x = file["crossing"].as<float>();
    x[3] = std::nanf(""), x[100] = std::numeric_limits<float>::infinity();
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("x", DType::F32, {5, 77}, x)});
    for (const char* text : {"nf4:dialect=bnb:nan=skip", "fp4:dialect=bnb:scaletype=u8dq:nan=skip"}) {
        const auto row = analyseTensor(*model, *model->find("x"), *parseSpec(text), {}, Job{});
        QVERIFY(row && row->status == Status::Ok);
        QCOMPARE(row->sums.n, 383.0);
        std::uint64_t counted = 0;
        for (const auto count : row->codeCounts) counted += count;
        QCOMPARE(counted, std::uint64_t(383));
    }
    QVERIFY(!quantizeTensor(*model->view(*model->find("x")), *parseSpec("nf4:dialect=bnb"), Job{}));
    // An empty tensor.
    const auto empty = opened(folder, {made("x", DType::F32, {0, 77}, std::vector<float>{})}, "empty.safetensors");
    const std::string out = folder.filePath(QStringLiteral("none.safetensors")).toStdString(),
                      back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
    QVERIFY(quantizeModel(*empty, {*parseSpec("nf4:dialect=bnb:scaletype=u8dq"), "^x$", "native", out}, Job{}));
    QVERIFY(dequantizeModel(**openModel(out), {}, back, Job{}));
    QCOMPARE((*openModel(back))->find("x")->elements, std::uint64_t(0));
}

QS_TEST(BnbTest)
#include "bnb_test.moc"
