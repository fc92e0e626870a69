// SPDX-License-Identifier: GPL-3.0-or-later
// Learned codebooks: published figures of Lloyd-Max quantizers, the optimum of k-means by exhaustive search, and
// writing and reading.

#include "core/layouts/layout.h"
#include "core/quant/codebook/density.h"
#include "core/quant/codebook/learn.h"
#include "core/quant/encode/pass.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <random>

using namespace qs;
using namespace qs::test;

namespace {

/// A tensor in memory.
struct Values {
    std::vector<float> x;
    TensorInfo info;
    Values(std::vector<float> values, std::vector<std::int64_t> shape) : x(std::move(values)) {
        info.name = "w", info.shape = std::move(shape);
        info.elements = x.size(), info.bytes = 4 * x.size();
    }
    TensorView view() const { return {&info, std::as_bytes(std::span(x)), nullptr}; }
};

Values normalTensor(std::int64_t rows, std::int64_t columns) {
    std::mt19937 engine{5};
    std::normal_distribution<float> draw;
    std::vector<float> x(std::size_t(rows * columns));
    for (auto& value : x) value = draw(engine);
    return {std::move(x), {rows, columns}};
}

double sqnrDb(const Values& values, const QuantizedTensor& quantized) {
    const auto back = materialize(quantized);
    double error = 0, power = 0;
    for (std::size_t i = 0; i < values.x.size(); ++i) {
        const double e = double(back[i]) - double(values.x[i]);
        error += e * e, power += double(values.x[i]) * double(values.x[i]);
    }
    return 10 * std::log10(power / error);
}

Result<QuantizedTensor> quantized(const Values& values, const char* spec) {
    return quantizeTensor(values.view(), *parseSpec(spec), Job());
}

/// The smallest squared error of `count` levels over all partitions of the sorted values.
double leastError(std::vector<float> x, int count) {
    std::sort(x.begin(), x.end());
    const std::size_t n = x.size();
    const auto cost = [&](std::size_t from, std::size_t to) {
        double mean = 0, error = 0;
        for (std::size_t i = from; i < to; ++i) mean += double(x[i]) / double(to - from);
        for (std::size_t i = from; i < to; ++i) error += (double(x[i]) - mean) * (double(x[i]) - mean);
        return error;
    };
    std::vector<std::vector<double>> best(std::size_t(count) + 1, std::vector<double>(n + 1, 1e300));
    best[0][0] = 0;
    for (std::size_t k = 1; k <= std::size_t(count); ++k)
        for (std::size_t j = 1; j <= n; ++j)
            for (std::size_t i = 0; i < j; ++i) best[k][j] = std::min(best[k][j], best[k - 1][i] + cost(i, j));
    return best[std::size_t(count)][n];
}

} // namespace

class Learn : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void lloydMaxOfNormal();
    void codebookOfNormal();
    void optimumOfKMeans();
    void optimumOfAtoms();
    void lessThanAnyFormat();
    void columnWeights();
    void oneForSeveral();
    void infiniteScales();
    void anyThreads();
    void fewValues();
    void throughAFile();
    void behindAnEmptyTensor();
    void specText();
};

/// Figures of Max (1960) for 1 to 5 bits.
void Learn::lloydMaxOfNormal() {
    std::vector<DensityCell> cells;
    const auto below = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
    for (int i = -8000; i < 8000; ++i)
        cells.push_back({i / 1000.0, (i + 1) / 1000.0, below((i + 1) / 1000.0) - below(i / 1000.0)});
    const Density density(std::move(cells));
    const double expected[] = {4.40, 9.30, 14.62, 20.22, 26.01};
    for (int bits = 1; bits <= 5; ++bits) {
        const std::size_t count = std::size_t(1) << bits;
        for (const auto& start : {compandedLevels(density, count), bestLevelsOfPieces(density, count)}) {
            const auto fit = fitOf(density, lloydMax(density, start));
            QVERIFY2(std::fabs(fit.sqnrDb() - expected[bits - 1]) < 0.006, qPrintable(QString::number(fit.sqnrDb())));
        }
    }
    const auto two = lloydMax(density, compandedLevels(density, 2));
    QVERIFY(std::fabs(two[1] - std::sqrt(2 / 3.14159265358979)) < 1e-4);
    // Shannon's bound for a normal source is its rate-distortion function: 6.02 dB per bit.
    for (const double atom : {1e-6, 0.1}) QVERIFY(std::fabs(shannonBoundDb(density, 4, atom) - 24.082) < 0.005);
}

void Learn::codebookOfNormal() {
    const Values values = normalTensor(512, 1024);
    const double expected[] = {9.30, 14.62, 20.22, 26.01};
    for (int bits = 2; bits <= 5; ++bits)
        for (const char* scale : {"scale=none", "scale=tensor"}) {
            const auto spec = QStringLiteral("codebook:%1:bits=%2").arg(QLatin1String(scale)).arg(bits).toStdString();
            const auto result = quantized(values, spec.c_str());
            QVERIFY2(result, result ? "" : result.error().message.c_str());
            const double db = sqnrDb(values, *result);
            QVERIFY2(std::fabs(db - expected[bits - 2]) < 0.05, qPrintable(QString::number(db)));
        }
}

/// Every partition of few values is tried; a few of them are equal.
void Learn::optimumOfAtoms() {
    std::mt19937 engine{11};
    std::normal_distribution<float> draw;
    for (const std::size_t n : {1, 2, 3, 7, 16, 40, 90}) {
        std::vector<float> x(n);
        for (std::size_t i = 0; i < n; ++i) x[i] = i % 5 == 4 ? x[i - 1] : draw(engine) * (i % 7 == 3 ? 20.0f : 1.0f);
        std::vector<float> sorted = x;
        std::sort(sorted.begin(), sorted.end());
        std::vector<DensityCell> cells;
        for (const float value : sorted)
            if (!cells.empty() && cells.back().lo == double(value))
                ++cells.back().mass;
            else
                cells.push_back({double(value), double(value), 1});
        const Density density(std::move(cells));
        for (const int count : {1, 2, 3, 4, 8, 16}) {
            const double found = fitOf(density, bestLevelsOfAtoms(density, std::size_t(count))).mse * double(n),
                         least = leastError(x, std::min(count, int(n)));
            QVERIFY2(
                std::fabs(found - least) <= 1e-9 * (least + 1),
                qPrintable(QStringLiteral("%1 values, %2 levels: %3, not %4").arg(n).arg(count).arg(found).arg(least)));
        }
    }
}

void Learn::optimumOfKMeans() {
    std::mt19937 engine{3};
    for (int trial = 0; trial < 20; ++trial) {
        std::vector<float> x;
        for (int i = 0; i < 40; ++i) // clusters, where plain Lloyd iteration stops early
            x.push_back(float(engine() % 7) * (engine() % 5 ? 1.0f : -9.0f) + float(engine() % 1000) * 1e-3f);
        const Values values(x, {1, 40});
        const auto result = quantized(values, "codebook:scale=none:bits=2");
        QVERIFY(result);
        const auto back = materialize(*result);
        double error = 0;
        for (std::size_t i = 0; i < x.size(); ++i) error += std::pow(double(back[i]) - double(x[i]), 2);
        const double least = leastError(x, 4);
        QVERIFY2(error <= least * 1.02 + 1e-9, qPrintable(QStringLiteral("%1 against %2").arg(error).arg(least)));
    }
}

/// Also in blocks, where errors count more if the scale is large.
void Learn::lessThanAnyFormat() {
    const Values values = normalTensor(256, 512);
    const double learned = sqnrDb(values, *quantized(values, "codebook:block=64"));
    for (const char* spec : {"nf4", "af4", "fp4", "int4"})
        QVERIFY2(learned > sqnrDb(values, *quantized(values, spec)) + 0.05, spec);
    QVERIFY(learned < 22);
}

void Learn::columnWeights() {
    Values values = normalTensor(64, 256);
    for (std::size_t i = 0; i < values.x.size(); ++i)
        if (i % 2) values.x[i] = values.x[i] * 0.01f + 3; // values in odd columns lie around 3
    std::vector<float> weights(256);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i % 2 ? 0.0f : 1.0f;
    const QuantSpec spec = *parseSpec("codebook:scale=none:bits=3");
    const LearnSource plain{values.view()}, weighted{values.view(), weights};
    const auto both = learnLevels(std::span(&plain, 1), spec, Job());
    const auto even = learnLevels(std::span(&weighted, 1), spec, Job());
    QVERIFY(both && even);
    const auto near3 = [](const LearnedLevels& l) {
        return std::count_if(l.levels.begin(), l.levels.end(), [](float v) { return v > 2.9f && v < 3.1f; });
    };
    QVERIFY(near3(*both) >= 1);
    // As if the odd columns did not exist.
    std::vector<float> kept;
    for (std::size_t i = 0; i < values.x.size(); i += 2) kept.push_back(values.x[i]);
    const Values alone(kept, {64, 128});
    const LearnSource rest{alone.view()};
    const auto expected = learnLevels(std::span(&rest, 1), spec, Job());
    for (std::size_t k = 0; k < 8; ++k) QVERIFY(std::fabs(even->levels[k] - expected->levels[k]) < 1e-3f);
}

void Learn::oneForSeveral() {
    Values a = normalTensor(64, 64), b = normalTensor(64, 64);
    for (float& v : b.x) v = v * 0.1f + 5;
    const QuantSpec spec = *parseSpec("codebook:scale=none:bits=4");
    const LearnSource sources[] = {{a.view()}, {b.view()}};
    const auto levels = learnLevels(sources, spec, Job());
    QVERIFY(levels);
    QVERIFY(levels->levels.front() < -1.5f && levels->levels.back() > 4.9f);
}

/// A group with an infinite value has an infinite scale. The levels must be those of the other groups.
void Learn::infiniteScales() {
    const Values alone = normalTensor(3, 64);
    for (const float value : {HUGE_VALF, -HUGE_VALF}) {
        std::vector<float> x = normalTensor(4, 64).x;
        std::copy(alone.x.begin(), alone.x.end(), x.begin() + 64);
        x[7] = value;
        const Values both(x, {4, 64});
        for (const char* text : {"codebook:bits=3", "codebook:bits=3:scale=channel"}) {
            const QuantSpec spec = *parseSpec(text);
            const LearnSource with{both.view()}, without{alone.view()};
            const auto levels = learnLevels(std::span(&with, 1), spec, Job());
            const auto expected = learnLevels(std::span(&without, 1), spec, Job());
            QVERIFY(levels && expected);
            for (std::size_t k = 0; k < 8; ++k)
                QVERIFY2(std::fabs(levels->levels[k] - expected->levels[k]) < 1e-5f, text);
            QVERIFY(!quantized(both, text)); // refused without nan=skip
        }
    }
}

void Learn::anyThreads() {
    const Values values = normalTensor(300, 1000);
    const QuantSpec spec = *parseSpec("codebook:bits=6");
    const LearnSource source{values.view()};
    const auto first = learnLevels(std::span(&source, 1), spec, Job());
    for (int i = 0; i < 3; ++i) QCOMPARE(learnLevels(std::span(&source, 1), spec, Job())->levels, first->levels);
}

void Learn::fewValues() {
    const Values zeros(std::vector<float>(128), {2, 64});
    QCOMPARE(materialize(*quantized(zeros, "codebook")), zeros.x);
    const Values three({1, -2, 0.5f, 1, 1, -2, 0.5f, 0.5f}, {2, 4});
    QCOMPARE(materialize(*quantized(three, "codebook:scale=none:bits=2")), three.x);
    const Values one({0.25f}, {1, 1});
    QCOMPARE(materialize(*quantized(one, "codebook:bits=8")), one.x);
    const Values none(std::vector<float>(), {0, 4});
    QVERIFY(quantized(none, "codebook"));
    const Values nan({1, std::nanf(""), -2, 4}, {1, 4});
    QVERIFY(!quantized(nan, "codebook"));
    QVERIFY(quantized(nan, "codebook:nan=skip"));
}

void Learn::throughAFile() {
    QTemporaryDir folder;
    const Values values = normalTensor(48, 100);
    const auto model = opened(folder, {made("w", DType::F32, values.info.shape, values.x)});
    for (const char* text : {"codebook:bits=3", "codebook:bits=8:scale=none", "codebook:scale=channel:bits=5"}) {
        QuantizeRequest request;
        request.spec = *parseSpec(text), request.layout = "native";
        request.output = folder.filePath(QStringLiteral("out.safetensors")).toStdString();
        const auto written = quantizeModel(*model, request, Job());
        QVERIFY2(written, written ? "" : written.error().message.c_str());
        const auto stored = openModel(request.output);
        QVERIFY(stored && (*stored)->find("w.codebook"));
        std::uint64_t bytes = 0;
        for (const auto& tensor : (*stored)->tensors) bytes += tensor.bytes;
        QCOMPARE(storedSize(request.spec, values.info.shape, DType::F32)->total(), bytes);
        const std::string back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
        QVERIFY(dequantizeModel(**stored, std::nullopt, back, Job()));
        const auto decoded = openModel(back);
        QVERIFY(decoded);
        QCOMPARE(valuesOf<float>(**decoded, "w"), materialize(*quantizeTensor(values.view(), request.spec, Job())));
    }
}

// An empty tensor has the place in the file of the tensor behind it. Each has a codebook of its own.
void Learn::behindAnEmptyTensor() {
    QTemporaryDir folder;
    const Values values = normalTensor(4, 64);
    const auto model = opened(folder, {made("a", DType::F32, {0, 64}, std::vector<float>()),
                                       made("b", DType::F32, values.info.shape, values.x)});
    const QuantSpec spec = *parseSpec("codebook");
    QVERIFY(quantizeTensor(*model->view(*model->find("a")), spec, Job()));
    const auto behind = quantizeTensor(*model->view(*model->find("b")), spec, Job());
    QVERIFY(behind);
    QCOMPARE(behind->levels, quantized(values, "codebook")->levels);
}

void Learn::specText() {
    QCOMPARE(canonicalText(*parseSpec("codebook")),
             std::string("codebook:block=64:bits=4:calib=absmax:nan=refuse:dialect=eformer"));
    QCOMPARE(qs::specText(*parseSpec("codebook:bits=3:block=32")), std::string("codebook:block=32:bits=3"));
    QVERIFY(!parseSpec("codebook:bits=9"));
    QVERIFY(!parseSpec("nf4:bits=3"));
}

QS_TEST(Learn)
#include "learn_test.moc"
