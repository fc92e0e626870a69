// SPDX-License-Identifier: GPL-3.0-or-later
// The figures of an analysis against known answers and NumPy, and inputs, solvers, cancelling.
#include "core/analysis/input_errors.h"
#include "core/layouts/layout.h"
#include "core/quant/encode/solved.h"
#include "core/solve/problem.h"
#include "core/solve/solver.h"
#include "core/value/tensor.h"
#include "tests/core/analysis/analysed.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using namespace qs;
using namespace qs::test;

class AnalyseTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void knownAnswers();
    void goldenFigures();
    void figuresOfNumPy_data();
    void figuresOfNumPy();
    void sameFiguresTwice();
    void sumsAlone();
    void gapOfFewValues();
    void onInputs();
    void solved();
    void cancels();
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

    // The angle of a fine format must be exact although the sums have only seven digits: here 1 - cos = 5e-11.
    TensorAnalysis fine = row;
    fine.sums.sw2 = 1;
    fine.sums.se2 = 1e-10;
    fine.sums.sv2 = 1 + 1e-7; // relative errors of 1e-7 in these sums
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

/// Every figure of tensors with extreme scales must equal f64 NumPy to six digits.
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
            // Terms that cancel keep the precision of the terms; 1 - cos has that of a double near 1.
            double allowed = 5e-7 * std::fabs(should);
            if (id == "bias") allowed += 2e-8 * mae;
            // The tolerance of 1e-6 for clipped values is itself rounded if levels count from a zero point.
            if (id == "clip_share" && !parseSpec(spec)->isSymmetric()) allowed += 1.5 / double(w.elements());
            if (id == "sqnr_db") allowed += 10 / std::log(10.0) * 5e-7; // an NMSE of nearly 1
            if (angle) allowed = 1e-4 * std::fabs(should) + 3e-14 + (expected[4] < 0.25 ? 1e-7 * expected[4] : 1);
            if (within) allowed = std::fabs(should) / 32 + 4e-40;
            // A percentile below the first bin is none.
            const bool same = std::isnan(should) || (within && std::isnan(is)) ? std::isnan(is) && !(should > 4e-40)
                                                                               : std::fabs(is - should) <= allowed;
            QVERIFY2(same, qPrintable(QStringLiteral("%1: %2, not %3 (%4)")
                                          .arg(QString::fromUtf8(kFigures[i]))
                                          .arg(is, 0, 'g', 12)
                                          .arg(should, 0, 'g', 12)
                                          .arg((is - should) / should)));
        }
    }
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

/// E = {0.5, 1; 1, 0} for W = {0.5, -2; 0, 1}, with one input {1, 2}: E[x^2] = {1, 4}.
/// Without histograms the error is the same, bit for bit, and what follows from them is not measured.
void AnalyseTest::sumsAlone() {
    const QTemporaryDir folder;
    const auto model =
        opened(folder, {made("w", DType::F32, {65, 130}, samples(65 * 130, std::normal_distribution<double>(0, 1)))});
    for (const char* text : {"nf4", "nf4:block=32", "int8", "int4:sym=no:block=32", "binary", "q4_k"}) {
        const auto figures = analysed(*model, text, Detail::Figures), sums = analysed(*model, text, Detail::Sums);
        QCOMPARE(int(sums.status), int(figures.status));
        for (const char* id : {"nmse", "max_abs", "mae", "clip_share", "code_entropy"}) {
            const auto is = findMetric(id)->value(sums), should = findMetric(id)->value(figures);
            QVERIFY2(is == should, qPrintable(QStringLiteral("%1 of %2").arg(QLatin1String(id), QLatin1String(text))));
        }
        QVERIFY(!sums.distribution && !sums.lloydGapDb);
        for (const char* id : {"p50", "p95", "p99"}) QVERIFY(!findMetric(id)->value(sums));
    }
}

/// Of few values the best codebook is the optimum of k-means over the values themselves, here by all partitions.
void AnalyseTest::gapOfFewValues() {
    for (const std::size_t n : {24, 60, 200}) {
        auto values = samples(n, std::normal_distribution<double>(0, 0.3));
        const QTemporaryDir folder;
        const auto model = opened(folder, {made<float>("w", DType::F32, {1, std::int64_t(n)}, values)});
        const auto row = analysed(*model, "int4:scale=tensor", Detail::Figures);
        std::sort(values.begin(), values.end());
        std::vector<double> sums(n + 1), squares(n + 1);
        for (std::size_t i = 0; i < n; ++i) {
            const double x = double(values[i]);
            sums[i + 1] = sums[i] + x, squares[i + 1] = squares[i] + x * x;
        }
        std::vector<double> least(n + 1, std::numeric_limits<double>::infinity());
        least[0] = 0;
        for (std::size_t level = 0; level < row.levels.size(); ++level) {
            std::vector<double> next(n + 1, std::numeric_limits<double>::infinity());
            next[0] = 0;
            for (std::size_t to = 1; to <= n; ++to)
                for (std::size_t from = 0; from < to; ++from) {
                    const double sum = sums[to] - sums[from];
                    next[to] =
                        std::min(next[to], least[from] + squares[to] - squares[from] - sum * sum / double(to - from));
                }
            least = next;
        }
        QVERIFY(row.lloydGapDb);
        const double gap = 10 * std::log10(row.sums.se2 / least[n]);
        QVERIFY2(std::fabs(*row.lloydGapDb - gap) < 1e-4,
                 qPrintable(QStringLiteral("%1 values: %2 dB, not %3").arg(n).arg(*row.lloydGapDb).arg(gap)));
    }
}

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

/// With a solver, its codes are measured and not rounding to nearest.
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

void AnalyseTest::cancels() {
    const QTemporaryDir folder;
    const auto model = opened(folder, {made("w", DType::F32, {512, 1024}, std::vector<float>(512 * 1024, 1.0f))});
    const Job job;
    job.cancel();
    const auto row = analyseTensor(*model, model->tensors[0], *parseSpec("nf4"), AnalysisOptions{}, job);
    QVERIFY(!row && row.error().cancelled);
}

/// A spec that needs more bits than the source gets a remark that names a smaller spec.
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

/// --decoded source: errors of the values as stored in the dtype of the source, rounded once more than the codes.
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
