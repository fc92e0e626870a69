// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/forensics/forensics.h"
#include "core/analysis/input_errors.h"
#include "core/layouts/layout.h"
#include "core/quant/encode/solved.h"
#include "core/solve/problem.h"
#include "core/solve/solver.h"
#include "core/value/tensor.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

#include <numeric>
#include <random>

using namespace qs;
using namespace qs::test;

namespace {

TensorAnalysis analysed(const Model& model, const char* text, Detail detail = Detail::Inspect) {
    AnalysisOptions options;
    options.detail = detail;
    auto row = analyseTensor(model, model.tensors[0], *parseSpec(text), options, Job{});
    if (!row) qFatal("%s", row.error().message.c_str());
    return *row;
}
double figure(const TensorAnalysis& row, const char* id) { return findMetric(id)->value(row).value_or(std::nan("")); }

template<class Distribution> std::vector<float> samples(std::size_t n, Distribution distribution) {
    std::mt19937 random(7);
    std::vector<float> values(n);
    for (float& value : values) value = float(distribution(random));
    return values;
}

} // namespace

class AnalyseTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void knownAnswers();
    void goldenFigures();
    void figuresOfNumPy_data();
    void figuresOfNumPy();
    void overflowingThreshold();
    void beyondF16();
    void sameFiguresTwice();
    void onInputs();
    void solved();
    void nonFinite();
    void decodesToNan();
    void manyRowsShareHistograms();
    void exactAndEmpty();
    void blockMapPools();
    void causes();
    void cancels();
    void outlierAxes();
    void largerThanTheSource();
    void decodedAsTheSource();
};

void AnalyseTest::knownAnswers() {
    // binary of {0.5, -2, 0, 1}: V = {1, -1, 1, 1}, E = {0.5, 1, 1, 0}.
    const QTemporaryDir folder;
    const auto model = opened(folder, {made<float>("w", DType::F32, {2, 2}, {0.5f, -2, 0, 1})});
    const auto row = analysed(*model, "binary");
    QCOMPARE(figure(row, "mse"), 2.25 / 4);
    QCOMPARE(figure(row, "mae"), 2.5 / 4);
    QCOMPARE(figure(row, "max_abs"), 1.0);
    QCOMPARE(figure(row, "bias"), 2.5 / 4);
    QCOMPARE(figure(row, "nmse"), 2.25 / 5.25);
    QCOMPARE(figure(row, "sqnr_db"), -10 * std::log10(2.25 / 5.25));
    QCOMPARE(figure(row, "cosine"), 3.5 / (std::sqrt(5.25) * 2));
    QCOMPARE(figure(row, "clip_share"), 0.25);
    QCOMPARE(figure(row, "sign_flips"), 0.0);
    QCOMPARE(figure(row, "dead_codes"), 0.0);
    QVERIFY(std::fabs(figure(row, "code_entropy") - (-0.25 * std::log2(0.25) - 0.75 * std::log2(0.75))) < 1e-12);
    QCOMPARE(figure(row, "crest"), 2 / std::sqrt(5.25 / 4));

    // The angle of a fine format survives sums that are right to seven digits only: 1 - cos = 5e-11 here.
    TensorAnalysis fine = row;
    fine.sums.sw2 = 1;
    fine.sums.se2 = 1e-10;
    fine.sums.sv2 = 1 + 1e-7; // E across W would give 1 + 1e-10
    fine.sums.swv = 1 - 1e-7;
    QVERIFY(std::fabs(1 - figure(fine, "cosine") - 5e-11) < 1e-14);
}

void AnalyseTest::goldenFigures() {
    const std::size_t n = std::size_t(1) << 19;
    std::mt19937 signs(11);
    std::exponential_distribution<double> exponential(1);
    const auto laplace = [&](std::mt19937& random) { return signs() & 1 ? exponential(random) : -exponential(random); };
    struct Case {
        std::vector<float> values;
        const char* spec;
        double db, tolerance;
    };
    const auto normal = samples(n, std::normal_distribution<double>(0, 1));
    for (const auto& [values, text, db, tolerance] :
         {Case{normal, "nf4", 20.74, 0.05}, Case{normal, "nf4:block=32", 21.19, 0.05},
          Case{normal, "int4", 19.36, 0.05}, Case{samples(n, laplace), "nf4", 19.67, 0.05},
          Case{samples(n, std::student_t_distribution<double>(4)), "nf4", 19.08, 0.10}}) {
        const QTemporaryDir folder;
        const auto model = opened(folder, {made("w", DType::F32, {512, 1024}, values)});
        const double found = figure(analysed(*model, text, Detail::Figures), "sqnr_db");
        QVERIFY2(std::fabs(found - db) <= tolerance, qPrintable(QStringLiteral("%1 dB").arg(found)));
    }
}

void AnalyseTest::figuresOfNumPy_data() {
    QTest::addColumn<QString>("name");
    for (const auto& [name, tensor] : readGolden(QS_TEST_DATA "/metrics/vectors.safetensors").tensors)
        if (tensor.dtype == "F64") QTest::newRow(name.c_str()) << QString::fromStdString(name);
}

/// Every figure of tensors at extreme scales against f64 NumPy, to six digits.
void AnalyseTest::figuresOfNumPy() {
    QFETCH(QString, name);
    static const GoldenFile file = readGolden(QS_TEST_DATA "/metrics/vectors.safetensors");
    static constexpr const char* kFigures[] = {
        "mse",           "rmse",       "mae",      "max_abs",    "nmse",          "sqnr_db",
        "cosine",        "1-cos",      "bias",     "clip_share", "zero_share",    "sign_flips",
        "code_entropy",  "dead_codes", "kurtosis", "crest",      "weighted_nmse", "output_nmse",
        "hessian_trace", "p50",        "p95",      "p99"};
    const std::string full = name.toStdString(), of = full.substr(0, full.find('/')), spec = full.substr(of.size() + 1);
    const GoldenTensor &w = file[of], &given = file[of + ".inputs"];
    const auto expected = file[full].as<double>();
    QCOMPARE(expected.size(), std::size(kFigures));
    auto inputs = std::make_shared<LayerInputs>();
    value::Tensor rows;
    rows.shape = given.shape, rows.values = given.as<float>();
    inputs->columnWeights = solve::meanSquares(rows);
    inputs->rows = std::make_shared<const value::Tensor>(std::move(rows));
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("w", DType::F32, w.shape, w.as<float>())});
    for (const Detail detail : {Detail::Figures, Detail::Inspect}) {
        AnalysisOptions options;
        options.detail = detail;
        options.inputs = [&](const TensorInfo&) -> Result<std::shared_ptr<const LayerInputs>> { return inputs; };
        const auto row = analyseTensor(*model, model->tensors[0], *parseSpec(spec), options, Job{});
        QVERIFY2(row && row->status == Status::Ok, full.c_str());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const std::string_view id = kFigures[i];
            const bool angle = id == "1-cos", within = id.starts_with("p");
            const double is = angle ? 1 - figure(*row, "cosine") : figure(*row, kFigures[i]), should = expected[i];
            const double mae = expected[2];
            // What cancels keeps the digits that its terms have; 1 - cos those of a double beside 1.
            double allowed = 5e-7 * std::fabs(should);
            if (id == "bias") allowed += 2e-8 * mae;
            // The 1e-6 that a value may lie beyond is itself rounded where levels count from a zero point.
            if (id == "clip_share" && !parseSpec(spec)->isSymmetric()) allowed += 1.5 / double(w.elements());
            if (id == "sqnr_db") allowed += 10 / std::log(10.0) * 5e-7; // an NMSE of nearly 1
            if (angle) allowed = 1e-4 * std::fabs(should) + 3e-14 + (expected[4] < 0.25 ? 1e-7 * expected[4] : 1);
            if (within) allowed = std::fabs(should) / 32 + 4e-40;
            const bool same = std::isnan(should) ? std::isnan(is) : std::fabs(is - should) <= allowed;
            QVERIFY2(same, qPrintable(QStringLiteral("%1: %2, not %3 (%4)")
                                          .arg(QString::fromUtf8(kFigures[i]))
                                          .arg(is, 0, 'g', 12)
                                          .arg(should, 0, 'g', 12)
                                          .arg((is - should) / should)));
        }
    }
}

/// Values are finite, their variance is not: all codes are 0, and that is said.
void AnalyseTest::overflowingThreshold() {
    const QTemporaryDir folder;
    for (const float second : {-3e38f, 3e38f}) {
        const auto model = opened(folder, {made("w", DType::F32, {4, 32}, std::vector<float>(128, second))});
        auto values = std::vector<float>(128, second);
        values[5] = 3e38f;
        const auto wide = opened(folder, {made("w", DType::F32, {4, 32}, values)}, "wide.safetensors");
        for (const auto& one : {model, wide}) {
            const auto row = analysed(*one, "ternary");
            QVERIFY2(row.status == Status::Ok, row.reason.c_str());
            QCOMPARE(row.codeCounts, (std::vector<std::uint64_t>{0, 128, 0}));
            QCOMPARE(row.warnings.size(), std::size_t(1));
            QVERIFY(row.warnings[0].find("every value becomes 0") != std::string::npos);
        }
    }
}

/// int8:dialect=bnb casts to f16, which does not hold every float.
void AnalyseTest::beyondF16() {
    const QTemporaryDir folder;
    std::vector<float> x(128, 0.5f);
    x[70] = 65519; // becomes 65504
    const auto fits = opened(folder, {made("w", DType::F32, {2, 64}, x)});
    QVERIFY(analysed(*fits, "int8:dialect=bnb").status == Status::Ok);
    x[71] = -65520;
    const auto model = opened(folder, {made("w", DType::F32, {2, 64}, x)}, "large.safetensors");
    const auto row = analysed(*model, "int8:dialect=bnb");
    QVERIFY(row.status == Status::Refused);
    QCOMPARE(row.reason, std::string("tensor 'w' holds 1 values that overflow in f16, to which int8:dialect=bnb casts: "
                                     "use int8"));
}

void AnalyseTest::sameFiguresTwice() {
    const QTemporaryDir folder;
    const auto model =
        opened(folder, {made("w", DType::F32, {3, 100001}, samples(300003, std::normal_distribution<double>(0, 1)))});
    for (const char* text :
         {"nf4", "int8", "int8:axis=0", "ternary", "binary:scale=tensor", "int3", "fp8_e4m3:axis=0"}) {
        const auto first = analysed(*model, text), second = analysed(*model, text);
        QCOMPARE(first.sums.se, second.sums.se);
        QCOMPARE(first.sums.se2, second.sums.se2);
        QCOMPARE(first.codeCounts, second.codeCounts);
        QCOMPARE(first.channels().nmse, second.channels().nmse);
        QCOMPARE(first.statistics->moments.s4, second.statistics->moments.s4);
        QCOMPARE(first.errors().total(), std::uint64_t(300003));
    }
}

/// E = {0.5, 1; 1, 0} of W = {0.5, -2; 0, 1}, on one input {1, 2}: E[x^2] = {1, 4}.
void AnalyseTest::onInputs() {
    const QTemporaryDir folder;
    const auto model = opened(folder, {made<float>("w", DType::F32, {2, 2}, {0.5f, -2, 0, 1})});
    const auto plain = analysed(*model, "binary");
    for (const char* id : {"weighted_nmse", "output_nmse", "hessian_trace"}) {
        QVERIFY(!findMetric(id)->value(plain));
        QVERIFY(QByteArray(findMetric(id)->whyMissing(plain)).contains("--activations"));
    }
    const QTemporaryDir others;
    const auto whole = opened(others, {made<float>("w", DType::F32, {1, 2}, {1, 2})});
    AnalysisOptions options;
    options.inputs = [&](const TensorInfo& layer) { return layerInputs(whole.get(), layer); };
    const auto row = *analyseTensor(*model, model->tensors[0], *parseSpec("binary"), options, Job{});
    QCOMPARE(figure(row, "weighted_nmse"), 5.25 / 20.25);
    QCOMPARE(figure(row, "output_nmse"), 7.25 / 16.25);
    QCOMPARE(figure(row, "hessian_trace"), 11.25);
    QCOMPARE(figure(row, "nmse"), 2.25 / 5.25);
    const QTemporaryDir third;
    const auto columns = opened(third, {made<float>("w", DType::F32, {2}, {1, 4})});
    options.inputs = [&](const TensorInfo& layer) { return layerInputs(columns.get(), layer); };
    const auto weighted = *analyseTensor(*model, model->tensors[0], *parseSpec("binary"), options, Job{});
    QCOMPARE(figure(weighted, "weighted_nmse"), 5.25 / 20.25);
    QVERIFY(!findMetric("output_nmse")->value(weighted));
    QVERIFY(QByteArray(findMetric("output_nmse")->whyMissing(weighted)).contains("column weights alone"));
    const QTemporaryDir fourth;
    const auto other = opened(fourth, {made<float>("v", DType::F32, {2}, {1, 4})});
    options.inputs = [&](const TensorInfo& layer) { return layerInputs(other.get(), layer); };
    QVERIFY(!(*analyseTensor(*model, model->tensors[0], *parseSpec("binary"), options, Job{})).onInputs);
}

/// What a solver decides is measured, not the rounding of the tensor.
void AnalyseTest::solved() {
    const QTemporaryDir folder;
    const auto x = samples(24 * 64, std::normal_distribution<double>());
    const auto model = opened(folder, {made("w", DType::F32, {24, 64}, x)});
    for (const char* text : {"int3:block=32", "codebook:bits=3:scale=channel"})
        for (const char* settings : {"gptq", "awq"}) {
            const auto parsed = *solve::parseSettings(settings);
            const auto inputs = *layerInputs(nullptr, model->tensors[0]);
            std::optional<solve::Solution> solution;
            AnalysisOptions options;
            options.inputs = [&](const TensorInfo&) { return Result<std::shared_ptr<const LayerInputs>>(inputs); };
            options.solve = [&](const TensorView& view,
                                const QuantSpec& spec) -> Result<std::shared_ptr<const Solved>> {
                auto found = solve::solve({view, spec, parsed, *inputs->rows}, Job{});
                if (!found) return tl::unexpected(found.error());
                solution = *found;
                return solution->solved;
            };
            const auto row = *analyseTensor(*model, model->tensors[0], *parseSpec(text), options, Job{});
            QVERIFY2(row.status == Status::Ok && solution, row.reason.c_str());
            QVERIFY(std::fabs(figure(row, "nmse") / *solution->weightNmse - 1) < 1e-6);
            QVERIFY(std::fabs(figure(row, "output_nmse") / *solution->output - 1) < 1e-6);
            QCOMPARE(std::accumulate(row.codeCounts.begin(), row.codeCounts.end(), std::uint64_t(0)), row.elements);
            QVERIFY(!findMetric("clip_share")->value(row) && !findMetric("lloyd_gap_db")->value(row));
            const auto size = *storedSize(*parseSpec(text), {{24, 64}}, DType::F32);
            QCOMPARE(row.bytesAfter, size.total() + 4 * solution->solved->columnScales.size());
            const auto nearest = analysed(*model, text, Detail::Figures);
            QVERIFY(figure(row, "nmse") != figure(nearest, "nmse"));
        }
    AnalysisOptions refusing;
    refusing.solve = [](const TensorView&, const QuantSpec&) -> Result<std::shared_ptr<const Solved>> {
        return fail("no inputs");
    };
    const auto row = *analyseTensor(*model, model->tensors[0], *parseSpec("int3"), refusing, Job{});
    QVERIFY(row.status == Status::Refused && row.reason == "no inputs");
}

void AnalyseTest::nonFinite() {
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    const QTemporaryDir folder;
    std::vector<float> x(512, 0.25f); // whole blocks of every format
    x[1] = nan, x[255] = -inf, x[256] = inf, x[3] = -1;
    const auto model = opened(folder, {made("w", DType::F32, {2, 256}, x)});
    for (const auto& format : formats()) {
        const auto refused = analysed(*model, format.id);
        QVERIFY(refused.status == Status::Refused);
        QVERIFY2(refused.reason.find("'w' holds 1 NaN and 2 Inf") != std::string::npos, refused.reason.c_str());
        QVERIFY(!findMetric("mse")->value(refused).has_value());
        const auto skipped = analysed(*model, (std::string(format.id) + ":nan=skip").c_str());
        QVERIFY(skipped.status == Status::Ok);
        QCOMPARE(skipped.nan, std::uint64_t(1));
        QCOMPARE(skipped.inf, std::uint64_t(2));
        QCOMPARE(skipped.sums.n, 509.0);
    }
}

/// Scales beyond their type: comparisons with NaN are false, and a largest error of 0 would be "ok".
void AnalyseTest::decodesToNan() {
    const QTemporaryDir folder;
    std::vector<float> x(128, 3e38f);
    x[1] = 0, x[70] = -3e38f;
    const auto model = opened(folder, {made("w", DType::F32, {2, 64}, x)});
    for (const char* text : {"int4:scaletype=f16:block=64", "nf4:scaletype=f16:block=64"}) {
        const auto spec = parseSpec(text);
        if (!spec) continue;
        const auto row = analysed(*model, text, Detail::Figures);
        const auto largest = findMetric("max_abs")->value(row);
        QVERIFY2(row.status != Status::Ok || (largest && *largest > 0), text);
    }
    const auto holes = opened(
        folder, {made("w", DType::F32, {2, 2}, std::vector<float>(4, std::numeric_limits<float>::quiet_NaN()))}, "n");
    const auto none = analysed(*holes, "int8:nan=skip", Detail::Figures);
    QVERIFY(none.status == Status::Failed && none.reason == "none of its 4 values is finite");
}

void AnalyseTest::manyRowsShareHistograms() {
    const QTemporaryDir folder;
    const auto model = opened(folder, {made<float>("a", DType::F32, {2, 2}, {0.5f, -2, 0, 1}),
                                       made<float>("b", DType::F32, {2, 2}, {1, 2, 3, 4})});
    AnalysisPlan plan{model, {&model->tensors[0], &model->tensors[1]}, {{"int8", *parseSpec("int8")}}, {}};
    std::uint64_t handed = 0;
    const auto result = analyse(plan, Job{}, [&](const AnalysisRow& row) { handed += row->errors().total(); });
    QVERIFY(result && result->rows.size() == 2 && result->pooled.size() == 1);
    QCOMPARE(handed, std::uint64_t(8)); // whole, on the way
    QCOMPARE(result->pooled[0]->error.total(), std::uint64_t(8));
    for (const auto& row : result->rows) QVERIFY(!row->distribution);
}

void AnalyseTest::exactAndEmpty() {
    const QTemporaryDir folder;
    const auto zero = opened(folder, {made("w", DType::F32, {2, 64}, std::vector<float>(128))});
    const auto row = analysed(*zero, "nf4");
    QCOMPARE(figure(row, "mse"), 0.0);
    QVERIFY(!findMetric("sqnr_db")->value(row) &&
            std::string(findMetric("sqnr_db")->whyMissing(row)).find("exact") != std::string::npos);
    QVERIFY(!findMetric("nmse")->value(row) && !findMetric("kurtosis")->value(row));
    const auto empty = opened(folder, {made<float>("w", DType::F32, {0, 8}, {})}, "empty.safetensors");
    for (const Metric& metric : metrics()) {
        const auto none = analysed(*empty, "int8");
        QVERIFY(none.status == Status::Ok && !metric.value(none) && metric.whyMissing(none));
    }
}

void AnalyseTest::blockMapPools() {
    auto values = samples(std::size_t(64) * 256, std::normal_distribution<double>(0, 1));
    values[std::size_t(40) * 256 + 130] = 1000; // its block, and the cell over it, are the worst
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("w", DType::F32, {64, 256}, values)});
    AnalysisOptions options;
    options.detail = Detail::Inspect, options.mapRows = 8, options.mapColumns = 2;
    const auto row = *analyseTensor(*model, model->tensors[0], *parseSpec("int8:scale=tensor"), options, Job{});
    QCOMPARE(row.blockMap().rows, 8);
    QCOMPARE(row.blockMap().columns, 2);
    QCOMPARE(row.blockMap().blocksPerRow, std::int64_t(4));
    for (std::size_t cell = 0; cell < 16; ++cell) { // rows 8 to a cell, blocks of 64 two to a cell
        float worst = 0;
        for (std::int64_t r = std::int64_t(cell / 2) * 8; r < std::int64_t(cell / 2) * 8 + 8; ++r)
            for (std::int64_t b = std::int64_t(cell % 2) * 2; b < std::int64_t(cell % 2) * 2 + 2; ++b)
                worst = std::max(worst, float(inspectBlock(*model, model->tensors[0], row.spec, r, b)->nmse));
        QVERIFY(std::fabs(row.blockMap().nmse[cell] - worst) <= 1e-5f * worst);
    }
    QCOMPARE(row.channels().channels, std::int64_t(64));
    QCOMPARE(row.channels().absMax[40], 1000.0f);
    QCOMPARE(row.statistics->outlierChannels, std::int64_t(1));
    QCOMPARE(row.statistics->outlierColumns, std::int64_t(1));
    QCOMPARE(row.columns().channels, std::int64_t(256));
    QCOMPARE(row.columns().absMax[130], 1000.0f);
}

void AnalyseTest::causes() {
    std::vector<float> values = samples(6 * 64, std::normal_distribution<double>(0, 1));
    const auto block = [&](std::size_t b) { return values.begin() + std::ptrdiff_t(64 * b); };
    values[64 + 5] = 30;
    std::fill_n(block(2), 64, 0.5f);
    for (auto it = block(3); it < block(4); ++it) *it *= 1e-6f;
    for (auto it = block(4); it < block(5); ++it) *it = std::fabs(*it) + 1;
    for (auto it = block(5); it < block(6); ++it) *it = std::round(*it);
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("w", DType::F32, {6, 64}, values)});
    const char* expected[] = {"ordinary",  "outlier-dominated", "constant",
                              "near zero", "one-sided",         "already quantized"};
    for (std::int64_t r = 0; r < 6; ++r) {
        // A row is one block here, so that "near zero" needs a row of its own kind: it is judged against its row.
        if (r == 3) continue;
        QCOMPARE(inspectBlock(*model, model->tensors[0], *parseSpec("nf4"), r, 0)->cause, std::string(expected[r]));
    }
    const auto flat = opened(folder, {made("w", DType::F32, {1, 384}, values)}, "flat.safetensors");
    QCOMPARE(inspectBlock(*flat, flat->tensors[0], *parseSpec("nf4"), 0, 3)->cause, std::string("near zero"));
    QVERIFY(!inspectBlock(*flat, flat->tensors[0], *parseSpec("nf4"), 0, 6).has_value());
    const auto view = codebookView(analysed(*model, "nf4"));
    QCOMPARE(view.rows.size(), std::size_t(16));
    QCOMPARE(view.rows[7].upper, (view.rows[7].level + view.rows[8].level) / 2);
    const auto decodes = compareDecodes(*model, model->tensors[0], *parseSpec("nf4"), Job{});
    QVERIFY(decodes && decodes->poly.se2 > 0 && decodes->table.se2 != decodes->poly.se2);
}

void AnalyseTest::cancels() {
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("w", DType::F32, {512, 1024}, std::vector<float>(512 * 1024, 1.0f))});
    const Job job;
    job.cancel();
    const auto row = analyseTensor(*model, model->tensors[0], *parseSpec("nf4"), AnalysisOptions{}, job);
    QVERIFY(!row && row.error().cancelled);
}

/// Inputs that are loud are columns; both axes are counted, whatever the spec, the shape and the thread.
void AnalyseTest::outlierAxes() {
    constexpr std::size_t rows = 96, columns = 320;
    auto values = samples(rows * columns, std::normal_distribution<double>(0, 1));
    for (const std::size_t column : {3, 64, 100, 200, 201, 319})
        for (std::size_t row = 0; row < rows; ++row) values[row * columns + column] *= 40;
    for (const std::size_t row : {7, 90})
        for (std::size_t column = 0; column < columns; ++column) values[row * columns + column] *= 2000;
    auto holed = values;
    holed[5] = std::numeric_limits<float>::quiet_NaN();
    holed[columns * 50 + 9] = std::numeric_limits<float>::infinity();
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("w", DType::F32, {rows, columns}, values)});
    const auto cubes = opened(folder, {made("w", DType::F32, {8, 12, columns}, values)}, "cubes.safetensors");
    const auto holes = opened(folder, {made("w", DType::F32, {rows, columns}, holed)}, "holes.safetensors");
    for (const auto& one : {model, cubes, holes})
        for (const char* text : {"nf4:nan=skip", "int8:nan=skip", "nf4:dialect=bnb:block=4096:nan=skip",
                                 "int8:axis=0:nan=skip", "int8:block=32:flat=yes:nan=skip"})
            for (const Detail detail : {Detail::Figures, Detail::Inspect}) {
                const auto row = analysed(*one, text, detail);
                QCOMPARE(figure(row, "outlier_columns"), 6.0);
                QCOMPARE(figure(row, "outlier_channels"), 2.0);
                QCOMPARE(row.columns().channels, std::int64_t(detail == Detail::Inspect ? columns : 0));
            }
    const auto alone = measureStatistics(*model, model->tensors[0], Job{});
    QVERIFY(alone && alone->outlierColumns == 6 && alone->outlierChannels == 2);
    // Rows that are longer than a worker keeps maxima for.
    auto wide = samples(4 * 70'000, std::normal_distribution<double>(0, 1));
    for (std::size_t i = 0; i < wide.size(); ++i)
        wide[i] = i % 70'000 == 69'999 ? 900.0f : std::clamp(wide[i], -1.f, 1.f);
    const auto long1 = opened(folder, {made("w", DType::F32, {4, 70'000}, wide)}, "wide.safetensors");
    QCOMPARE(analysed(*long1, "int8", Detail::Figures).statistics->outlierColumns, std::int64_t(1));
}

/// What takes more bits than the source says so, in every row, with the spec that does not.
void AnalyseTest::largerThanTheSource() {
    const QTemporaryDir folder;
    const auto model =
        opened(folder, {made("conv.weight", DType::F16, {16, 8, 3, 3}, std::vector<std::uint16_t>(1152, 0x3c00)),
                        made("w", DType::F16, {4, 5632}, std::vector<std::uint16_t>(4 * 5632, 0x3c00))});
    const auto row = [&](std::size_t tensor, const char* text) {
        return *analyseTensor(*model, model->tensors[tensor], *parseSpec(text), {}, Job{});
    };
    const auto conv = row(0, "int8");
    QVERIFY(conv.isLarger() && std::fabs(conv.bpw - 18.6667) < 1e-4);
    QCOMPARE(conv.larger, std::string("stores 18.6667 bits per weight, more than the 16.0000 of the source (F16): use "
                                      "int8:axis=out"));
    QVERIFY(row(0, "nf4").larger.ends_with("use nf4:flat=yes"));
    QVERIFY(row(1, "nf4:block=65536").larger.ends_with("use nf4:block=5632"));
    for (const char* text : {"int8:axis=out", "nf4:flat=yes", "int8:scale=tensor"}) {
        const auto fine = row(0, text);
        QVERIFY2(!fine.isLarger() && fine.larger.empty(), text);
    }
    QVERIFY(row(1, "f32").larger.ends_with("of the source (F16)"));
    const auto shared = std::make_shared<const TensorAnalysis>(conv);
    const auto remarks = remarksOf({shared});
    QVERIFY(remarks.size() == 2 &&
            remarks[0].find("in 1 of 1 tensors; the first, conv.weight, stores 18.6667") != std::string::npos);
    for (const auto& column : analysisColumns()) {
        if (column.id == "reason")
            QVERIFY(std::get<std::string>(column.value(shared)).find("use int8:axis=out") != std::string::npos);
        if (column.id == "source_bpw") QCOMPARE(std::get<double>(column.value(shared)), 16.0);
    }
}

/// The errors of a file in the source's type are those of its values, rounded once more than the codes.
void AnalyseTest::decodedAsTheSource() {
    const auto wide = samples(48 * 160, std::normal_distribution<double>(0, 0.05));
    for (const DType type : {DType::BF16, DType::F16}) {
        std::vector<std::uint16_t> halves(wide.size());
        const KernelSet& kernels = bestKernels();
        (type == DType::F16 ? kernels.f32ToF16 : kernels.f32ToBf16)(wide.data(), wide.size(), halves.data());
        std::vector<float> w(wide.size());
        (type == DType::F16 ? kernels.f16ToF32 : kernels.bf16ToF32)(halves.data(), w.size(), w.data());
        const QTemporaryDir folder;
        const auto model = opened(folder, {made("w", type, {48, 160}, halves)});
        for (const char* text : {"int8", "nf4", "int8:axis=0", "int4:sym=no", "ternary:scale=tensor"}) {
            const std::string path = folder.filePath(QStringLiteral("out.safetensors")).toStdString(),
                              back = folder.filePath(QStringLiteral("back.safetensors")).toStdString();
            QVERIFY(quantizeModel(*model, {*parseSpec(text), ".", "native", path}, Job{}));
            QVERIFY(dequantizeModel(**openModel(path), {}, back, Job{}));
            const auto file = *openModel(back);
            QVERIFY(file->tensors[0].dtype == type);
            std::vector<float> v(w.size());
            loadF32(*file->view(file->tensors[0]), 0, v.size(), v.data());
            double se2 = 0;
            for (std::size_t i = 0; i < v.size(); ++i)
                se2 += (double(v[i]) - double(w[i])) * (double(v[i]) - double(w[i]));
            AnalysisOptions options;
            options.decodedAs = DecodedAs::Source;
            for (const Detail detail : {Detail::Figures, Detail::Inspect}) {
                options.detail = detail;
                const auto row = *analyseTensor(*model, model->tensors[0], *parseSpec(text), options, Job{});
                QVERIFY2(std::fabs(row.sums.se2 - se2) <= 1e-9 * se2, text);
                QVERIFY(row.decodedAs == type);
                const auto plain = analysed(*model, text, detail);
                QVERIFY(plain.decodedAs == DType::F32 && plain.sums.se2 != row.sums.se2);
                QCOMPARE(row.codeCounts, plain.codeCounts);
                QCOMPARE(figure(row, "clip_share"), figure(plain, "clip_share"));
                QCOMPARE(row.channels().absMax, plain.channels().absMax);
            }
        }
    }
}

QS_TEST(AnalyseTest)
#include "analyse_test.moc"
