// SPDX-License-Identifier: GPL-3.0-or-later
// Formats stored in blocks: analysis, writing and reading.
#include "core/analysis/forensics/forensics.h"
#include "core/layouts/layout.h"
#include "core/quant/encode/block_encoder.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <random>

using namespace qs;
using namespace qs::test;

namespace {

std::vector<float> normal(std::size_t n) {
    std::mt19937 engine(7);
    std::normal_distribution<float> distribution(0, 0.02f);
    std::vector<float> x(n);
    for (float& value : x) value = distribution(engine);
    return x;
}

/// Block formats, and dialects of other formats with blocks.
std::vector<QuantSpec> blockSpecs() {
    std::vector<QuantSpec> out;
    for (const FormatTraits& format : formats())
        if (format.codec) out.push_back(*parseSpec(std::string(format.id) + ":dialect=ggml"));
    return out;
}

TensorAnalysis analysed(const Model& model, const QuantSpec& spec) {
    auto row = analyseTensor(model, *model.find("x"), spec, {}, Job{});
    if (!row) qFatal("%s", row.error().sentence().c_str());
    return *row;
}

std::string refusal(const char* spec, std::int64_t features) {
    const auto grid = scaleGrid(*parseSpec(spec), std::vector<std::int64_t>{4, features});
    return grid ? std::string() : grid.error().sentence();
}

} // namespace

class BlockTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void throughFiles();
    void figures();
    void nonFinite();
    void refusals();
    void forensics();
};

/// Several row lengths. The file has the size that `analyze` reports, and decodes to the values in memory.
void BlockTest::throughFiles() {
    for (const QuantSpec& spec : blockSpecs()) {
        QCOMPARE(std::string(defaultLayout(spec).id), std::string("native"));
        for (const auto& shape :
             {std::vector<std::int64_t>{3, 512}, {2, 5, 256}, {1, 33'024}, {0, 256}, {257, 1024}, {256}}) {
            std::size_t n = 1;
            for (const std::int64_t dim : shape) n *= std::size_t(dim);
            const QTemporaryDir folder;
            const auto model = opened(folder, {made("x", DType::F32, shape, normal(n))});
            const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
            const auto done = quantizeModel(*model, {spec, "^x$", "native", path}, Job{});
            QVERIFY2(done.has_value(), done ? "" : done.error().sentence().c_str());
            const auto out = *openModel(path);
            QVERIFY(!out->find("x.scale"));
            const auto quantized = *quantizeTensor(*model->view(*model->find("x")), spec, Job{});
            QVERIFY(valuesOf<std::uint8_t>(*out, "x.codes") == quantized.blocks);
            QCOMPARE(storedSize(spec, shape, DType::F32)->total(), std::uint64_t(quantized.blocks.size()));
            QCOMPARE(quantized.blocks.size(), n / codecOf(spec)->elements * codecOf(spec)->bytes);
            const std::string back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
            QVERIFY(dequantizeModel(*out, {}, back, Job{}));
            QVERIFY(valuesOf<float>(**openModel(back), "x") == materialize(quantized));
        }
    }
}

/// The figures must be those of the decoded values; q8_0 has 8.5 bits per weight.
void BlockTest::figures() {
    const QTemporaryDir folder;
    const auto x = normal(64 * 1024);
    const auto model = opened(folder, {made("x", DType::F32, {64, 1024}, x)});
    for (const QuantSpec& spec : blockSpecs()) {
        const auto row = analysed(*model, spec);
        QVERIFY(row.status == Status::Ok);
        const auto values = materialize(*quantizeTensor(*model->view(*model->find("x")), spec, Job{}));
        double se2 = 0;
        for (std::size_t i = 0; i < x.size(); ++i) se2 += std::pow(double(values[i] - x[i]), 2);
        QVERIFY(std::fabs(row.sums.se2 - se2) <= 1e-9 * se2);
        QCOMPARE(row.bpw, 8.0 * codecOf(spec)->bytes / codecOf(spec)->elements);
        std::uint64_t counted = 0;
        for (const std::uint64_t count : row.codeCounts) counted += count;
        QCOMPARE(counted, std::uint64_t(x.size()));
        const auto view = codebookView(row);
        QCOMPARE(view.rows.size(), spec.traits().levels.size());
        QVERIFY(view.entropyBits > 0.5 && row.p95 > 0);
    }
    // For 65536 normally distributed values, formats are ordered by their bits.
    const auto sqnr = [&](const char* spec) {
        return *findMetric("sqnr_db")->value(analysed(*model, *parseSpec(spec)));
    };
    QVERIFY(sqnr("q2_k") < sqnr("q3_k") && sqnr("q3_k") < sqnr("q4_0") && sqnr("q4_0") < sqnr("q4_k"));
    QVERIFY(sqnr("q4_k") < sqnr("q5_k") && sqnr("q5_k") < sqnr("q6_k") && sqnr("q6_k") < sqnr("q8_0"));
    QVERIFY(std::fabs(sqnr("q8_0") - 45.0) < 1);
}

void BlockTest::nonFinite() {
    const QTemporaryDir folder;
    auto x = normal(512);
    x[3] = std::numeric_limits<float>::quiet_NaN();
    x[300] = std::numeric_limits<float>::infinity(), x[301] = -x[300];
    const auto model = opened(folder, {made("x", DType::F32, {2, 256}, x)});
    for (const QuantSpec& spec : blockSpecs()) {
        const auto view = *model->view(*model->find("x"));
        QVERIFY(!quantizeTensor(view, spec, Job{}));
        QVERIFY(analysed(*model, spec).status == Status::Refused);
        QuantSpec skipping = spec;
        skipping.nan = NanPolicy::Skip;
        const auto row = analysed(*model, skipping);
        QCOMPARE(row.sums.n, 509.0);
        const auto values = materialize(*quantizeTensor(view, skipping, Job{}));
        for (const float value : values) QVERIFY2(std::isfinite(value) && std::fabs(value) < 0.2f, spec.format.c_str());
        QVERIFY(values[300] >= 0 && values[301] <= 0);
    }
}

void BlockTest::refusals() {
    QCOMPARE(refusal("q4_0", 4096), std::string());
    QCOMPARE(refusal("q4_0", 0), std::string());
    QCOMPARE(refusal("q4_0", 100),
             std::string("rows of 100 values are not whole blocks of 32, as q4_0 needs: use int4"));
    QCOMPARE(refusal("q4_k", 96),
             std::string("rows of 96 values are not whole blocks of 256, as q4_k needs: use q4_0"));
    QVERIFY(QString::fromStdString(parseSpec("q4_k:block=64").error().sentence()).endsWith(u"not 64: use q4_k"));
    QVERIFY(!parseSpec("q4_0:calib=absmax"));
    QCOMPARE(canonicalText(*parseSpec("q6_k")), std::string("q6_k:block=16:nan=refuse:dialect=ggml"));
    QCOMPARE(canonicalText(*parseSpec("nvfp4:dialect=ggml")), std::string("nvfp4:block=16:nan=refuse:dialect=ggml"));
    QVERIFY(blockSpecs().size() >= 16);
}

/// A group inside a block must have the codes and values that the whole tensor has there.
void BlockTest::forensics() {
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("x", DType::F32, {2, 512}, normal(1024))});
    for (const QuantSpec& spec : blockSpecs()) {
        const auto values = materialize(*quantizeTensor(*model->view(*model->find("x")), spec, Job{}));
        const std::int64_t group = spec.traits().defaultBlock, last = 512 / group - 1;
        const auto found = inspectBlock(*model, *model->find("x"), spec, 1, last);
        QVERIFY2(found.has_value(), found ? "" : found.error().sentence().c_str());
        QCOMPARE(std::int64_t(found->decoded.size()), group);
        for (std::size_t i = 0; i < std::size_t(group); ++i)
            QVERIFY(found->decoded[i] == values[std::size_t(1024 - group) + i]);
        QVERIFY(found->scale != 0 && found->nmse > 0);
    }
}

QS_TEST(BlockTest)
#include "block_test.moc"
