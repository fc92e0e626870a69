// SPDX-License-Identifier: GPL-3.0-or-later
// Figures out of logs and tables of other programs. The texts are written here, in the forms that those programs print.
#include "core/eval/files/imports/imports.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace qs::eval;

namespace {

constexpr const char* kLog = R"(
perplexity: calculating perplexity over 3 chunks
====== Perplexity statistics ======
Mean PPL(Q)                   :  12.500000 ±   0.250000
Mean PPL(base)                :  12.000000 ±   0.200000
Cor(ln(PPL(Q)), ln(PPL(base))):  99.50%
Mean ln(PPL(Q)/PPL(base))     :   0.040822 ±   0.001000

====== KL divergence statistics ======
Mean    KLD:   0.031250 ±   0.000500
Maximum KLD:   2.500000
99.9%   KLD:   1.500000
99.0%   KLD:   0.500000
99.0%   KLD:   0.250000
Median  KLD:   0.010000
 5.0%   KLD:   0.000100
Minimum KLD:  -0.000021

====== Token probability statistics ======
Mean    Δp: -0.500 ± 0.025 %
99.0%   Δp: 10.000%
99.0%   Δp:  5.000%
RMS Δp    :  4.000 ± 0.050 %
Same top p: 90.000 ± 0.300 %
)";

constexpr const char* kTable = R"(Text before.

| Metric     | L2 7b q2_K          | L3 8b q2_K |
|------------|---------------------|------------|
| Mean PPL   | 5.794552 ± 0.032298 | 9.751568   |
| 99.0% KLD  | 1.25                | 2.5        |
| 99.0% KLD  | 0.5                 | n/a        |
| RMS Δp     | 9.762 ± 0.053 %     | 21.421 %   |
| Model size | 2.5                 | 3.0        |

| Quantization | Model size [GiB] | PPL                 | KLD                 |
|--------------|------------------|---------------------|---------------------|
| q8_0         |             7.95 | 6.234284 ± 0.037878 | 0.001355 ± 0.000006 |
)";

std::vector<ImportedFigure> read(const std::string& text, const std::string& path = "log.txt") {
    auto figures = importFigures(text, path);
    if (!figures) qFatal("%s", figures.error().message.c_str());
    return *figures;
}

QString refusal(const std::string& text) {
    const auto figures = importFigures(text, "log.txt");
    return figures ? QString() : QString::fromStdString(figures.error().message);
}

/// The only figure of a column and spec.
const ImportedFigure& only(const std::vector<ImportedFigure>& all, const char* column, const char* spec = "") {
    const auto fits = [&](const ImportedFigure& one) { return one.column == column && one.spec == spec; };
    if (std::count_if(all.begin(), all.end(), fits) != 1) qFatal("%s is not there once", column);
    return *std::find_if(all.begin(), all.end(), fits);
}

} // namespace

class ImportsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void logsOfLlamaPerplexity();
    void finalEstimate();
    void tablesOfLlamaPerplexity();
    void figuresOfTensors();
    void lossesOfGptq();
    void floorsAreEstimated();
    void badTextsAreRefused();
    void idsAreUnique();
};

void ImportsTest::logsOfLlamaPerplexity() {
    const auto all = read(kLog);
    QCOMPARE(*only(all, "ppl").value, 12.5);
    QCOMPARE(*only(all, "ppl").error, 0.25);
    QCOMPARE(*only(all, "ppl_ref").value, 12.0);
    QCOMPARE(*only(all, "ppl_correlation").value, 0.995);
    QCOMPARE(*only(all, "kl_mean").value, 0.03125);
    QCOMPARE(*only(all, "kl_max").value, 2.5);
    QCOMPARE(*only(all, "kl_p99").value, 0.5);
    QCOMPARE(*only(all, "kl_p95").value, 0.25); // printed as 99.0% the second time
    QCOMPARE(*only(all, "kl_p5").value, 0.0001);
    QCOMPARE(*only(all, "kl_min").value, -0.000021);
    QCOMPARE(*only(all, "dp_mean").value, -0.005);
    QCOMPARE(*only(all, "dp_p99").value, 0.1);
    QCOMPARE(*only(all, "dp_p95").value, 0.05);
    QCOMPARE(*only(all, "dp_rms").error, 0.0005);
    QCOMPARE(*only(all, "top1").value, 0.9);
    QVERIFY(!only(all, "kl_max").error);
}

void ImportsTest::finalEstimate() {
    const auto all = read("[1]4.1,[2]4.6,\nFinal estimate: PPL = 5.9066 +/- 0.03297\n");
    QCOMPARE(all.size(), std::size_t(1));
    QCOMPARE(*only(all, "ppl").value, 5.9066);
    QCOMPARE(*only(all, "ppl").error, 0.03297);
}

void ImportsTest::tablesOfLlamaPerplexity() {
    const auto all = read(kTable);
    QCOMPARE(*only(all, "ppl", "L2 7b q2_K").error, 0.032298);
    QCOMPARE(*only(all, "ppl", "L3 8b q2_K").value, 9.751568);
    QCOMPARE(*only(all, "kl_p99", "L3 8b q2_K").value, 2.5);
    QCOMPARE(*only(all, "kl_p95", "L2 7b q2_K").value, 0.5);
    QVERIFY(!only(all, "kl_p95", "L3 8b q2_K").value); // not measured
    QVERIFY(std::fabs(*only(all, "dp_rms", "L3 8b q2_K").value - 0.21421) < 1e-12);
    QCOMPARE(*only(all, "ppl", "q8_0").value, 6.234284);
    QCOMPARE(*only(all, "kl_mean", "q8_0").value, 0.001355);
    QCOMPARE(all.size(), std::size_t(10)); // no model sizes
}

void ImportsTest::figuresOfTensors() {
    const std::string text = "QTYPE,blk.0.attn_q.weight,blk.0.attn_k.weight\nbf16,0,0.0\niq2_ks,0.25,404\nq2_K,,1.5%\n";
    const auto all = read(text, "models/x/kld_results.csv");
    QCOMPARE(all.size(), std::size_t(6));
    QCOMPARE(all[0].tensor, std::string("blk.0.attn_q.weight"));
    QCOMPARE(all[0].spec, std::string("bf16"));
    QCOMPARE(all[0].column, std::string("kl_mean"));
    QCOMPARE(*all[0].value, 0.0); // 0 is a figure
    QCOMPARE(*all[2].value, 0.25);
    QVERIFY(!all[3].value && !all[4].value); // 404 and nothing are none
    QCOMPARE(*all[5].value, 0.015);
    QCOMPARE(read(text, "ppl_results.csv").front().column, std::string("ppl"));
}

void ImportsTest::lossesOfGptq() {
    const auto table = read("layer,module,loss,samples,damp,time\n0,self_attn.q_proj,0.0125,512,0.01,1.2\n"
                            "1,mlp.down_proj,failsafe(rtn),0,0.01,0.1\n");
    QCOMPARE(table.size(), std::size_t(2));
    QCOMPARE(table[0].tensor, std::string("layers.0.self_attn.q_proj"));
    QCOMPARE(*table[0].value, 0.0125);
    QVERIFY(!table[1].value);
    const auto log = read("INFO - Quantizing self_attn.k_proj in layer 1/32...\nINFO - duration: 1.0\nINFO - avg loss: "
                          "3.5\nINFO - Quantizing mlp.up_proj in layer 2/32...\n");
    QCOMPARE(log.size(), std::size_t(2));
    QCOMPARE(log[0].tensor, std::string("layers.0.self_attn.k_proj"));
    QCOMPARE(*log[0].value, 3.5);
    QCOMPARE(log[1].tensor, std::string("layers.1.mlp.up_proj"));
    QVERIFY(!log[1].value);
}

void ImportsTest::floorsAreEstimated() {
    std::vector<ImportedFigure> all;
    for (int i = 0; i <= 20; ++i) all.push_back({"t" + std::to_string(i), "q4", "kl_mean", 1.0 + i * 0.1, {}});
    all.push_back({"u", "q4", "kl_mean", {}, {}}); // not measured: not a 0
    const auto floor = estimatedFloor(all, "kl_mean", "q4");
    QVERIFY(floor);
    QVERIFY(std::fabs(floor->value - 1.1) < 1e-12);
    QVERIFY(std::fabs(floor->shareOfMedian - 1.1 / 2.0) < 1e-12);
    QVERIFY(!estimatedFloor(all, "kl_mean", "q5"));
    QVERIFY(!estimatedFloor(std::span(all).first(19), "kl_mean", "q4"));
}

void ImportsTest::badTextsAreRefused() {
    QVERIFY(refusal("hello").startsWith(QStringLiteral("log.txt is none of what can be imported: ")));
    QVERIFY(refusal("KL divergence statistics\n").endsWith(QStringLiteral("holds no figures.")));
    QVERIFY(refusal("KL divergence statistics\nMean KLD: x\n").contains(QStringLiteral("has no number")));
    QVERIFY(refusal(std::string(kLog) + kLog).contains(QStringLiteral("import one run at a time")));
    QVERIFY(refusal("QTYPE,a,b\nq4,1\n").contains(QStringLiteral("line 2 has 2 cells, its header 3")));
    QVERIFY(refusal("QTYPE,a\nq4,one\n").contains(QStringLiteral("line 2 has no number for tensor 1")));
    QVERIFY(refusal("layer,module,loss\nx,y,1\n").contains(QStringLiteral("line 2 has no layer")));
}

void ImportsTest::idsAreUnique() {
    std::vector<std::string> ids;
    for (const ImportFormat& format : importFormats()) ids.push_back(format.id);
    std::sort(ids.begin(), ids.end());
    QVERIFY(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
}

QS_TEST(ImportsTest)
#include "imports_test.moc"
