// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps: the specs of a line, points equal to the figures of `analyze`, and a frontier computed by hand.
#include "core/analysis/sweep/sweep.h"
#include "tests/core/quant/made_model.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace qs;
using namespace qs::test;

namespace {

std::vector<std::string> textsOf(const Result<std::vector<SweepSpec>>& specs) {
    std::vector<std::string> out;
    for (const auto& each : *specs) out.push_back(specText(each.spec));
    return out;
}

SweepPoint point(std::uint64_t bytes, double error) {
    SweepPoint out;
    out.tensors = out.measured = 1;
    out.elements = 8, out.bytes = bytes, out.errorPower = error, out.power = 1;
    return out;
}

} // namespace

class SweepTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void linesBecomeSpecs() {
        using Texts = std::vector<std::string>;
        QCOMPARE(textsOf(sweepSpecs({"nf4"}, {32, 7, 64})),
                 (Texts{"nf4:block=32", "nf4:block=64"}));                               // 7 is odd and not possible
        QCOMPARE(textsOf(sweepSpecs({"int8"}, {32})), (Texts{"int8:block=32", "int8"})); // per channel too
        QCOMPARE(textsOf(sweepSpecs({"q4_k", "f16", "nf4:block=128"}, {32})), (Texts{"q4_k", "f16", "nf4:block=128"}));
        QCOMPARE(textsOf(sweepSpecs({"ternary"}, {32})), (Texts{"ternary"})); // without a scale it would be another
                                                                              // format
        QCOMPARE(textsOf(sweepSpecs({"ternary:scale=block"}, {32})), (Texts{"ternary:scale=block:block=32"}));
        QCOMPARE(textsOf(sweepSpecs({"nf4", "nf4:block=64"}, {64})), (Texts{"nf4:block=64"})); // listed once
        QVERIFY(sweepSpecs({"nf4"}, {7}).error().sentence().find("nf4:block=6") != std::string::npos);
        QVERIFY(!sweepSpecs({"nf5"}, {64}) && !sweepSpecs({}, {64}));
        for (const auto& line : sweepLines()) QVERIFY2(parseSpec(line.text), line.text.c_str());
    }

    /// A point must be the sum of the rows from analyse().
    void pointsAreTotals() {
        const QTemporaryDir folder;
        const auto model =
            opened(folder, {made<float>("layers.0.q_proj.weight", DType::F32, {16, 96}, normal(1536, 1)),
                            made<float>("layers.1.q_proj.weight", DType::F32, {16, 96}, normal(1536, 2)),
                            made<float>("layers.0.up_proj.weight", DType::F32, {8, 128}, normal(1024, 3))});
        SweepPlan plan{model, {}, *sweepSpecs({"nf4", "int4", "q8_0"}, {32, 64})};
        AnalysisPlan each{model, {}, {}, {}};
        for (const auto& tensor : model->tensors) plan.tensors.push_back(&tensor), each.tensors.push_back(&tensor);
        for (const auto& spec : plan.specs) each.specs.emplace_back(specText(spec.spec), spec.spec);
        std::size_t seen = 0;
        const auto result = runSweep(plan, {}, [&](const SweepResult& state) {
            ++seen;
            QCOMPARE(state.at(0, 0).measured, std::uint64_t(seen));
        });
        QVERIFY(result);
        QCOMPARE(seen, std::size_t(3));
        QCOMPARE(result->classes, (std::vector<std::string>{"all tensors", "q_proj", "up_proj"}));
        const auto sums = totals(analyse(each, {})->rows);
        for (std::size_t s = 0; s < plan.specs.size(); ++s) {
            const auto& all = result->at(0, s);
            QCOMPARE(all.bytes, sums[s].bytesAfter);
            QCOMPARE(*all.bpw(), sums[s].bpw);
            QVERIFY(std::fabs(all.errorPower / sums[s].sums.se2 - 1) < 1e-12);
            QCOMPARE(result->at(1, s).tensors + result->at(2, s).tensors, all.tensors);
            QVERIFY(std::fabs((result->at(1, s).errorPower + result->at(2, s).errorPower) / all.errorPower - 1) <
                    1e-12);
        }
        QVERIFY(result->at(2, 0).worstTensor == "layers.0.up_proj.weight");
    }

    /// A class in which one tensor is refused has no figures, and a reason.
    void refusalsLeaveNoHalfFigures() {
        const QTemporaryDir folder;
        const auto model = opened(folder, {made<float>("a.w_proj", DType::F32, {4, 48}, normal(192, 1)),
                                           made<float>("b.w_proj", DType::F32, {4, 64}, normal(256, 2))});
        const SweepPlan plan{model, {&model->tensors[0], &model->tensors[1]}, *sweepSpecs({"q4_0"}, {32})};
        const auto result = runSweep(plan, {});
        QVERIFY(result);
        const auto& only = result->at(0, 0);
        QVERIFY(only.refused == 1 && only.measured == 1 && !only.bpw() && !only.nmse() && !only.frontier);
        QVERIFY(!only.reason.empty());
        Job job;
        job.cancel();
        const auto cancelled = runSweep(plan, job);
        QVERIFY(!cancelled && cancelled.error().cancelled);
    }

    void frontierByHand() {
        SweepResult result;
        result.classes = {"one"};
        // bytes 1 2 2 3 4 5: the fourth has more error than the second, the last as much as the fifth.
        result.points = {point(1, 0.5), point(2, 0.2), point(2, 0.3), point(3, 0.25), point(4, 0.1), point(5, 0.1)};
        result.specs = result.points.size();
        markFrontier(result);
        std::vector<bool> marked;
        for (const auto& each : result.points) marked.push_back(each.frontier);
        QCOMPARE(marked, (std::vector<bool>{true, true, false, false, true, false}));
        result.points[3].tensors = result.points[3].measured = 2; // its layout keeps one tensor less
        markFrontier(result);
        QVERIFY(result.points[3].frontier && result.points[4].frontier);
    }

    /// Bytes of specs whose layouts keep some tensors compare with what is kept.
    void keptTensorsHaveBytes() {
        const QTemporaryDir folder;
        const auto model = opened(
            folder, {made<float>("model.embed_tokens.weight", DType::F32, {16, 64}, normal(1024, 1)),
                     made<float>("model.layers.0.self_attn.q_proj.weight", DType::F32, {16, 64}, normal(1024, 2))});
        const SweepPlan plan{
            model, {&model->tensors[0], &model->tensors[1]}, *sweepSpecs({"nf4", "nf4:dialect=bnb"}, {64})};
        const auto result = runSweep(plan, {});
        QVERIFY(result);
        const auto &own = result->at(0, 0), &bnb = result->at(0, 1);
        QVERIFY(own.tensors == 2 && own.kept == 0 && own.keptBytes == 0);
        QVERIFY(bnb.tensors == 1 && bnb.kept == 1 && bnb.keptBytes == 1024 * 4 && bnb.complete());
        const auto& columns = sweepColumns();
        QCOMPARE(std::get<std::int64_t>(columns[columns.indexOf("bytes_all")].value(bnb)),
                 std::int64_t(bnb.bytes + 1024 * 4));
    }

    void reportHoldsAllOfIt() {
        const QTemporaryDir folder;
        const auto model = opened(folder, {made<float>("a.q_proj", DType::F32, {16, 64}, normal(1024, 1)),
                                           made<float>("a.k_proj", DType::F32, {16, 64}, normal(1024, 2))});
        const SweepPlan plan{model, {&model->tensors[0], &model->tensors[1]}, *sweepSpecs({"nf4", "int4"}, {32, 64})};
        const auto result = runSweep(plan, {});
        const auto report = sweepReport(plan, *result, "quantscope-cli sweep");
        QVERIFY(report);
        QCOMPARE(report->data.rows.size(), std::size_t(12));
        QCOMPARE(report->sections[0].plots.size(), std::size_t(3));
        for (const auto& plot : report->sections[0].plots) {
            QVERIFY(plot.series.size() == 2 && plot.series[0].x.size() == 2 && !plot.frontier.x.empty());
            const auto svg = plotSvg(plot, 460, 220);
            QCOMPARE(std::count(svg.begin(), svg.end(), '\n'), 0);
            QVERIFY(svg.find("nf4:block=32: 5.0000 bpw") != std::string::npos && svg.find("NaN") == std::string::npos);
        }
        for (const auto& writer : reportWriters()) QVERIFY2(writer.render(*report), writer.id);
    }
};

QS_TEST(SweepTest)
#include "sweep_test.moc"
