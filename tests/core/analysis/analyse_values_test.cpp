// SPDX-License-Identifier: GPL-3.0-or-later
// An analysis of unusual values: overflows, NaN, no error at all, outliers, and the cause of errors.
#include "core/analysis/forensics/forensics.h"
#include "tests/core/analysis/analysed.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

#include <random>

using namespace qs;
using namespace qs::test;

class AnalyseValuesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void overflowingThreshold();
    void beyondF16();
    void nonFinite();
    void errorsBelowAllBins();
    void decodesToNan();
    void manyRowsShareHistograms();
    void exactAndEmpty();
    void blockMapPools();
    void causes();
    void outlierAxes();
    void tipsOfMetrics();
};

/// Values are finite but their variance overflows: all codes are 0, and a warning says so.
void AnalyseValuesTest::overflowingThreshold() {
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

/// int8:dialect=bnb casts to f16, whose range is smaller.
void AnalyseValuesTest::beyondF16() {
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

// A percentile that cannot be told from 0 is none.
void AnalyseValuesTest::errorsBelowAllBins() {
    const QTemporaryDir folder;
    std::vector<float> x(256);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1e-41f * float(1 + i % 7);
    const auto model = opened(folder, {made("w", DType::F32, {4, 64}, x)});
    const auto row = analysed(*model, "int8", Detail::Figures);
    QVERIFY(row.status == Status::Ok);
    for (const char* id : {"p50", "p95", "p99"}) {
        const Metric& metric = *findMetric(id);
        QVERIFY2(!metric.value(row), id);
        QVERIFY2(std::string(metric.whyMissing(row)).find("4e-40") != std::string::npos, id);
    }
    QVERIFY(*findMetric("max_abs")->value(row) > 0);
}

void AnalyseValuesTest::nonFinite() {
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

/// Scales that overflow their dtype give NaN values. Comparisons with NaN are false, so a largest error of 0 would look
/// "ok".
void AnalyseValuesTest::decodesToNan() {
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

void AnalyseValuesTest::manyRowsShareHistograms() {
    const QTemporaryDir folder;
    const auto model = opened(folder, {made<float>("a", DType::F32, {2, 2}, {0.5f, -2, 0, 1}),
                                       made<float>("b", DType::F32, {2, 2}, {1, 2, 3, 4})});
    AnalysisPlan plan{model, {&model->tensors[0], &model->tensors[1]}, {{"int8", *parseSpec("int8")}}, {}};
    std::uint64_t handed = 0;
    const auto result = analyse(plan, Job{}, [&](const AnalysisRow& row) { handed += row->errors().total(); });
    QVERIFY(result && result->rows.size() == 2 && result->pooled.size() == 1);
    QCOMPARE(handed, std::uint64_t(8)); // the callback gets rows with their histograms
    QCOMPARE(result->pooled[0]->error.total(), std::uint64_t(8));
    for (const auto& row : result->rows) QVERIFY(!row->distribution);
}

void AnalyseValuesTest::exactAndEmpty() {
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

/// A tip says the formula, the unit and the direction; a table of `analyze` has the same tip.
void AnalyseValuesTest::tipsOfMetrics() {
    const auto& columns = analysisColumns();
    for (const Metric& metric : metrics()) {
        const std::string tip = metricTip(metric), unit = metric.show == Show::Percent ? "%" : metric.unit;
        QVERIFY2(tip.rfind(metric.formula, 0) == 0, tip.c_str());
        QVERIFY2(tip.find(unit.empty() ? "No unit." : "Unit: " + unit + ".") != std::string::npos, tip.c_str());
        const char* direction = metric.better == Direction::HigherIsBetter  ? "Higher is better."
                                : metric.better == Direction::LowerIsBetter ? "Lower is better."
                                                                            : "Neither direction is better.";
        QVERIFY2(tip.find(direction) != std::string::npos, tip.c_str());
        QCOMPARE(columns[columns.indexOf(metric.id)].tip, tip);
    }
    QCOMPARE(metricTip(sqnrMetric()), std::string("-10 log10(||E||^2 / ||W||^2). Unit: dB. Higher is better."));
}

void AnalyseValuesTest::blockMapPools() {
    auto values = samples(std::size_t(64) * 256, std::normal_distribution<double>(0, 1));
    values[std::size_t(40) * 256 + 130] = 1000; // its block, and the cell of the map above it, have the largest error
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("w", DType::F32, {64, 256}, values)});
    AnalysisOptions options;
    options.detail = Detail::Inspect, options.mapRows = 8, options.mapColumns = 2;
    const auto row = *analyseTensor(*model, model->tensors[0], *parseSpec("int8:scale=tensor"), options, Job{});
    QCOMPARE(row.blockMap().rows, 8);
    QCOMPARE(row.blockMap().columns, 2);
    QCOMPARE(row.blockMap().blocksPerRow, std::int64_t(4));
    for (std::size_t cell = 0; cell < 16; ++cell) { // a cell covers 8 rows and two blocks of 64
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

void AnalyseValuesTest::causes() {
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
        // "near zero" compares with the row. Here a row is one block, so that cause is tested separately.
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

/// Columns with large values are outliers by column. Both axes are counted, for any spec, shape and number of threads.
void AnalyseValuesTest::outlierAxes() {
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
    // Rows longer than the column buffer of a worker thread.
    auto wide = samples(4 * 70'000, std::normal_distribution<double>(0, 1));
    for (std::size_t i = 0; i < wide.size(); ++i)
        wide[i] = i % 70'000 == 69'999 ? 900.0f : std::clamp(wide[i], -1.f, 1.f);
    const auto long1 = opened(folder, {made("w", DType::F32, {4, 70'000}, wide)}, "wide.safetensors");
    QCOMPARE(analysed(*long1, "int8", Detail::Figures).statistics->outlierColumns, std::int64_t(1));
}

QS_TEST(AnalyseValuesTest)
#include "analyse_values_test.moc"
