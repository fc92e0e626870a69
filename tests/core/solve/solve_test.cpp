// SPDX-License-Identifier: GPL-3.0-or-later
// GPTQ, AWQ and HQQ compared with auto-gptq, autoawq and hqq (tests/data/solve), and properties that hold for every
// format.
#include "core/quant/encode/half_quadratic.h"
#include "core/quant/spec/code_set.h"
#include "core/solve/gram.h"
#include "core/solve/inverse_factor.h"
#include "core/solve/problem.h"
#include "core/value/synthetic.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QtTest>

#include <cmath>
#include <random>

using namespace qs;
using namespace qs::solve;
using namespace qs::test;

namespace {

struct Layer {
    std::vector<float> w;
    TensorInfo info;
    value::Tensor x;
    Layer(std::vector<float> values, std::vector<std::int64_t> shape, value::Tensor inputs)
        : w(std::move(values)), x(std::move(inputs)) {
        info.name = "layers.0.proj.weight", info.shape = std::move(shape);
        info.elements = w.size(), info.bytes = 4 * w.size();
    }
    TensorView view() const { return {&info, std::as_bytes(std::span(w)), nullptr}; }
};

QuantSpec specOf(std::string_view text) {
    const auto spec = parseSpec(text);
    if (!spec) qFatal("%s", spec.error().message.c_str());
    return *spec;
}
Settings settingsOf(std::string_view text) {
    const auto settings = parseSettings(text);
    if (!settings) qFatal("%s", settings.error().message.c_str());
    return *settings;
}
Result<Solution> solved(const Layer& layer, std::string_view spec, std::string_view settings) {
    const QuantSpec parsed = specOf(spec);
    const Settings how = settingsOf(settings);
    return solve::solve({layer.view(), parsed, how, layer.x}, Job());
}

Layer madeLayer(std::int64_t rows, std::int64_t k, std::int64_t m = 192) {
    std::mt19937 engine{11};
    std::normal_distribution<float> draw(0, 0.05f);
    std::vector<float> w(std::size_t(rows * k));
    for (float& x : w) x = draw(engine);
    return {std::move(w), {rows, k}, value::syntheticInputs(m, k, 3)};
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    for (const QString& part : QString::fromStdString(text).split(u'/')) parts.push_back(part.toStdString());
    return parts;
}

} // namespace

class SolveTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void peers();
    void halfQuadratic();
    void halfQuadraticEdges();
    void factor();
    void independentInputs();
    void everyFormat();
    void weightedCodebook();
    void settings();
    void refusals();
};

/// Decoded weights of the packages, code for code.
void SolveTest::peers() {
    const GoldenFile file = readGolden(QS_TEST_DATA "/solve/vectors.safetensors");
    const auto w = file["w"].as<float>(), x = file["x"].as<float>();
    int seen = 0;
    for (const auto& [name, expected] : file.tensors) {
        const auto parts = split(name);
        if (parts.size() != 3 || name.ends_with(".columns")) continue;
        ++seen;
        Layer layer(w, {16, 128}, {{96, 128}, x});
        if (parts[0] == "gptq-dead")
            for (std::size_t i = 0; i < 96; ++i) layer.x.values[i * 128 + 3] = layer.x.values[i * 128 + 70] = 0;
        const auto solution = solved(layer, parts[1], parts[2]);
        QVERIFY2(solution, solution ? "" : solution.error().message.c_str());
        const auto theirs = expected.as<double>();
        for (std::size_t i = 0; i < theirs.size(); ++i)
            QVERIFY2(std::fabs(double(solution->weight[i]) - theirs[i]) < 2e-7,
                     qPrintable(QStringLiteral("%1: element %2 is %3, not %4")
                                    .arg(QString::fromStdString(name))
                                    .arg(i)
                                    .arg(double(solution->weight[i]))
                                    .arg(theirs[i])));
        QVERIFY(*solution->output < *solution->nearestOutput);
        if (const auto columns = file.tensors.find(name + ".columns"); columns != file.tensors.end()) {
            const auto scales = columns->second.as<double>();
            for (std::size_t j = 0; j < scales.size(); ++j)
                QVERIFY(std::fabs(double(solution->solved->columnScales[j]) / scales[j] - 1) < 1e-5);
        }
    }
    QCOMPARE(seen, 10);
}

void SolveTest::halfQuadratic() {
    const GoldenFile file = readGolden(QS_TEST_DATA "/solve/vectors.safetensors");
    const Layer layer(file["w"].as<float>(), {16, 128}, {});
    int seen = 0;
    for (const auto& [name, expected] : file.tensors) {
        if (!name.starts_with("hqq/") || !name.ends_with(".zeros")) continue;
        ++seen;
        const std::string text = name.substr(4, name.size() - 10);
        const auto ours = quantizeTensor(layer.view(), specOf(text), Job());
        QVERIFY(ours.has_value());
        const auto zeros = expected.as<float>();
        const float lowest = codeSetOf(ours->spec).levels.front();
        QCOMPARE(zeros.size(), ours->zeros.size());
        for (std::size_t g = 0; g < zeros.size(); ++g)
            QVERIFY2(std::fabs(ours->zeros[g] - lowest - zeros[g]) < 2e-5f,
                     qPrintable(QStringLiteral("%1: zero point %2 is %3, not %4")
                                    .arg(QString::fromStdString(name))
                                    .arg(g)
                                    .arg(double(ours->zeros[g] - lowest))
                                    .arg(double(zeros[g]))));
        const auto codes = file.tensors.find("hqq/" + text + ".codes");
        if (codes == file.tensors.end()) continue;
        const auto theirs = codes->second.as<std::uint8_t>();
        QVERIFY(std::equal(theirs.begin(), theirs.end(), ours->codes.begin(), ours->codes.end()));
    }
    QCOMPARE(seen, 4);
}

void SolveTest::halfQuadraticEdges() {
    // Zeros, a constant, a single value, and values on one side of 0.
    const QuantSpec spec = specOf("int4:sym=no:calib=hqq:block=4");
    const Layer layer({0, 0, 0, 0, 3, 3, 3, 3, 5, 6, 7, 8, -1, 2}, {1, 14}, {});
    const auto quantized = quantizeTensor(layer.view(), spec, Job());
    QVERIFY(quantized.has_value());
    const auto back = materialize(*quantized);
    for (std::size_t i = 0; i < 8; ++i) QCOMPARE(back[i], layer.w[i]);
    for (std::size_t i = 8; i < 12; ++i) QVERIFY(std::fabs(back[i] - layer.w[i]) < 0.15f);
    // NaN is refused, or skipped.
    const Layer holed({1, 2, std::numeric_limits<float>::quiet_NaN(), 4}, {1, 4}, {});
    QVERIFY(!quantizeTensor(holed.view(), spec, Job()));
    const auto skipped = quantizeTensor(holed.view(), specOf("int4:sym=no:calib=hqq:block=4:nan=skip"), Job());
    QVERIFY(skipped.has_value() && std::isfinite(skipped->zeros[0]));
    // The solver must lower its objective, compared with the rounded zero point of the range.
    const Layer normal = madeLayer(16, 256);
    const auto error = [&](const char* text) {
        const auto values = materialize(*quantizeTensor(normal.view(), specOf(text), Job()));
        double sum = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
            sum += std::pow(std::fabs(double(values[i]) - double(normal.w[i])), 0.7);
        return sum;
    };
    QVERIFY(error("int3:sym=no:calib=hqq:block=64") < error("int3:sym=no:calib=minmax:block=64"));
}

void SolveTest::factor() {
    constexpr std::size_t n = 131;
    const auto x = value::syntheticInputs(300, n, 5);
    auto a = gram(x, 0, n, Job());
    for (std::size_t i = 0; i < n; ++i) a[i * n + i] += 1;
    for (std::size_t i = 0; i < n; i += 13)
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = i == j ? 1 : 0;
            for (std::size_t r = 0; r < 300; ++r) sum += double(x.values[r * n + i]) * double(x.values[r * n + j]);
            QVERIFY(std::fabs(a[i * n + j] - sum) < 1e-9 * std::fabs(sum) + 1e-9);
        }
    const auto u = inverseFactor(a, n, Job());
    QVERIFY(u.has_value());
    // U A U^T is the identity exactly when U^T U = A^-1.
    const auto at = [&](std::size_t i, std::size_t j) { return a[std::max(i, j) * n + std::min(i, j)]; };
    std::vector<double> ua(n * n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t l = 0; l < n; ++l) ua[i * n + j] += (*u)[i * n + l] * at(l, j);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::size_t l = 0; l < n; ++l) sum += ua[i * n + l] * (*u)[j * n + l];
            QVERIFY(std::fabs(sum - (i == j ? 1 : 0)) < 1e-9);
            if (i > j) QVERIFY((*u)[i * n + j] == 0);
        }
    QVERIFY(!inverseFactor(std::vector<double>(9, -1.0), 3, Job()));
}

/// With orthogonal inputs no error can be compensated: the result is rounding to nearest.
void SolveTest::independentInputs() {
    Layer layer = madeLayer(8, 64);
    layer.x = {{64, 64}, std::vector<float>(64 * 64)};
    for (std::size_t j = 0; j < 64; ++j) layer.x.values[j * 64 + j] = 1 + float(j);
    for (const char* spec : {"int4", "nf4:block=32", "int8:scale=tensor"}) {
        const auto solution = solved(layer, spec, "gptq");
        QVERIFY(solution.has_value());
        const auto nearest = materialize(*quantizeTensor(layer.view(), specOf(spec), Job()));
        QVERIFY(solution->weight == nearest);
    }
}

/// For every format: a reason, or a better output with the codes of the solver.
void SolveTest::everyFormat() {
    const Layer layer = madeLayer(16, 256);
    int gptq = 0, awq = 0;
    std::size_t turn = 0;
    for (const FormatTraits& format : formats()) {
        if (!qs::test::taken(turn++)) continue;
        QuantSpec spec;
        spec.format = format.id;
        for (const char* how : {"gptq", "gptq:order=act", "awq"}) {
            const auto solution = solved(layer, format.id, how);
            const bool taken = format.kind != FormatKind::Identity &&
                               (format.kind != FormatKind::Superblock || std::string_view(how) == "awq");
            QVERIFY2(solution.has_value() == taken, format.id);
            if (!taken) {
                QVERIFY(solution.error().sentence().find("use ") != std::string::npos);
                continue;
            }
            ++(std::string_view(how) == "awq" ? awq : gptq);
            const double more = std::string_view(how) == "awq" || format.levels.size() < 4 ? 1.0 : 0.95;
            // Formats without a scale may not improve.
            if (spec.scaleKind() != ScaleKind::None && format.bits < 8)
                QVERIFY2(*solution->output <= more * *solution->nearestOutput,
                         qPrintable(QStringLiteral("%1 %2: %3 against %4")
                                        .arg(QLatin1String(format.id), QLatin1String(how))
                                        .arg(*solution->output)
                                        .arg(*solution->nearestOutput)));
        }
    }
    QVERIFY(gptq >= int(40 / qs::test::kThinning) && awq >= int(30 / qs::test::kThinning));
    // This holds for every granularity of scales.
    for (const char* spec : {"int4:scale=tensor", "int4:axis=0", "int4:tile=-2x4,-1x32", "int4:block=96",
                             "codebook:bits=3:scale=channel", "int4:sym=no:calib=mse", "ternary:scale=channel"}) {
        const auto solution = solved(layer, spec, "gptq");
        QVERIFY2(solution, spec);
        QVERIFY2(*solution->output < *solution->nearestOutput, spec);
    }
}

/// Columns with large inputs get finer levels.
void SolveTest::weightedCodebook() {
    Layer layer = madeLayer(32, 64);
    std::mt19937 engine{2};
    for (std::size_t i = 0; i < layer.w.size(); ++i)
        layer.w[i] = i % 64 < 8 ? 0.9f + 0.001f * float(engine() % 100) : 0.01f * float(int(engine() % 100) - 50);
    for (std::size_t i = 0; i < layer.x.values.size(); ++i) layer.x.values[i] *= i % 64 < 8 ? 100.0f : 1.0f;
    const QuantSpec spec = specOf("codebook:bits=3:scale=tensor");
    const auto weighted = weightedLevels(layer.view(), spec, meanSquares(layer.x), Job());
    QVERIFY(weighted && *weighted);
    const auto plain = levelsOf(layer.view(), spec, Job());
    const auto near = [](const std::vector<float>& levels) {
        return std::count_if(levels.begin(), levels.end(), [](float level) { return level > 0.85f; });
    };
    QVERIFY(near((*weighted)->levels) > near((*plain)->levels));
}

void SolveTest::settings() {
    for (const Solver& solver : solvers()) {
        const Settings plain = settingsOf(solver.id);
        QCOMPARE(settingsText(plain), std::string(solver.id));
        const std::string full = canonicalText(plain);
        QCOMPARE(canonicalText(settingsOf(full)), full);
        for (const auto key : words(solver.keys)) QVERIFY(full.find(std::string(key) + "=") != std::string::npos);
    }
    QCOMPARE(canonicalText(settingsOf("gptq:order=act")), std::string("gptq:damp=0.01:order=act:block=128"));
    for (const char* wrong :
         {"", "obq", "gptq:", "gptq:damp", "gptq:damp=2", "gptq:block=0", "gptq:block=1.5", "gptq:order=up",
          "gptq:grid=20", "gptq:damp=0.1:damp=0.1", "awq:duo=maybe", "awq:damp=0.1", "awq:grid=nan"})
        QVERIFY2(!parseSettings(wrong), wrong);
}

void SolveTest::refusals() {
    Layer layer = madeLayer(8, 64);
    const auto says = [&](const char* spec, const char* how, const char* what) {
        const auto solution = solved(layer, spec, how);
        return !solution && solution.error().message.find(what) != std::string::npos;
    };
    QVERIFY(says("q4_0", "gptq", "awq"));
    QVERIFY(says("f16", "awq", "no") || says("f16", "awq", "none"));
    QVERIFY(says("int4:sparse=2/4", "gptq", "sparse"));
    QVERIFY(says("int4:round=stochastic,1", "gptq", "round=nearest"));
    QVERIFY(says("int4:scale=tensor", "awq:clip=yes", "clip=no"));
    QVERIFY(says("nf4:compute=input", "gptq", "compute"));
    layer.x.shape = {96, 128};
    QVERIFY(says("int4", "gptq", "do not fit"));
    layer = madeLayer(8, 64);
    layer.x.values[5] = std::numeric_limits<float>::infinity();
    QVERIFY(says("int4", "gptq", "NaN or Inf"));
    layer = madeLayer(8, 64);
    layer.w[9] = std::numeric_limits<float>::quiet_NaN();
    QVERIFY(says("int4", "awq", "1 NaN"));
    Layer flat(std::vector<float>(64, 1.0f), {64}, value::syntheticInputs(8, 64, 1));
    const auto vector = solved(flat, "int4", "gptq");
    QVERIFY(!vector);
    // All inputs are zero: no column has any weight.
    layer = madeLayer(8, 64);
    std::fill(layer.x.values.begin(), layer.x.values.end(), 0.0f);
    const auto nothing = solved(layer, "int4", "gptq");
    QVERIFY(nothing.has_value() && !nothing->output);
}

QS_TEST(SolveTest)
#include "solve_test.moc"
