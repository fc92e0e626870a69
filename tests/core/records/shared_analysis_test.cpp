// SPDX-License-Identifier: GPL-3.0-or-later
// Measurements of weights that several processes share: their results equal those of one process in every bit.
#include "core/analysis/analysis.h"
#include "core/analysis/audit/audit.h"
#include "core/analysis/sweep/sweep.h"
#include "core/records/unit_run.h"
#include "tests/support/changed_records.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QTest>
#include <functional>
#include <random>

using namespace qs;

namespace {

std::unique_ptr<UnitRun> opened(const QTemporaryDir& dir, Shard shard, bool isMerge) {
    UnitRun::Settings settings;
    settings.origin.about = "test\n", settings.shard = shard, settings.isMerge = isMerge;
    if (isMerge)
        settings.places = {dir.path().toStdString()};
    else
        settings.folder = dir.path().toStdString();
    auto run = UnitRun::open(std::move(settings));
    return run ? std::move(*run) : nullptr;
}

/// All columns as JSON: numbers are the shortest that read back to the same bits.
template<class Row> std::string jsonOf(const Columns<Row>& columns, const std::vector<Row>& rows) {
    return jsonRows(makeTable({}, columns, rows));
}

} // namespace

class SharedAnalysisTest : public QObject {
    Q_OBJECT
    std::shared_ptr<const Model> model_;

    /// Changed records are refused or taken, and the program stays. Without units it says what is missing.
    void standsChangedRecords(const std::function<std::string(UnitRun*)>& measured) {
        const QTemporaryDir good, dir;
        {
            const auto run = opened(good, {0, 1}, false);
            QVERIFY(run);
            measured(run.get());
            QVERIFY(run->finish());
        }
        std::mt19937 random(1);
        std::size_t refused = 0;
        for (int round = 0; round < 100; ++round) {
            test::copyFiles(good.path(), dir.path());
            test::changeRecords(dir.path(), random);
            const auto merge = opened(dir, {}, true);
            QVERIFY(merge);
            measured(merge.get());
            refused += merge->finish() ? 0 : 1;
        }
        QVERIFY2(refused > 50, std::to_string(refused).c_str());
    }

    /// `measured`: all that a computation shows, as text; it is asked for in every way of sharing.
    void isTheSame(const std::function<std::string(UnitRun*)>& measured) {
        const std::string alone = measured(nullptr);
        QVERIFY(alone.size() > 100);
        for (const std::size_t count : {1u, 3u}) {
            const QTemporaryDir dir;
            for (std::size_t i = 0; i < count; ++i) {
                const auto run = opened(dir, {count - 1 - i, count}, false);
                QVERIFY(run);
                const std::string part = measured(run.get());
                QVERIFY(run->computed() > 0);
                QCOMPARE(part == alone, i + 1 == count); // the last one finds what the others have kept
                QVERIFY(run->finish());
            }
            const auto merge = opened(dir, {}, true);
            QVERIFY(merge && measured(merge.get()) == alone);
            QCOMPARE(merge->computed(), std::size_t(0));
            QVERIFY(merge->isWhole());
        }
    }

private Q_SLOTS:
    void initTestCase() {
        auto model = openModel(QS_SOURCE_DIR "/resources/samples/tiny-llama");
        QVERIFY(model);
        model_ = *model;
    }
    void analysis() {
        AnalysisPlan plan{model_, {}, {}, {}};
        for (const auto& tensor : model_->tensors)
            if (tensor.name.find("layers.0.") != std::string::npos) plan.tensors.push_back(&tensor); // norms too
        for (const char* text : {"nf4:block=32", "int8", "fp8_e4m3"}) plan.specs.emplace_back(text, *parseSpec(text));
        isTheSame([&](UnitRun* units) {
            auto mine = plan;
            mine.units = units;
            if (units) units->begin(weightOf(mine));
            const auto result = analyse(mine, {});
            if (!result) return result.error().message;
            std::string text = jsonOf(analysisColumns(), result->rows) + jsonOf(totalColumns(), totals(result->rows));
            for (const auto& row : result->rows) {
                for (const auto count : row->codeCounts) text += std::to_string(count) + " ";
                text += row->statistics ? std::to_string(row->statistics->kurtosis) : "none";
            }
            for (const auto& pooled : result->pooled)
                for (const auto* histogram : {&pooled->error, &pooled->value})
                    for (const auto count : histogram->counts())
                        if (count) text += std::to_string(count) + " ";
            return text;
        });
    }
    void changedAnalysis() {
        AnalysisPlan plan{model_, {}, {}, {}};
        for (const char* name : {"model.layers.0.mlp.down_proj.weight", "model.norm.weight"})
            plan.tensors.push_back(model_->find(name));
        for (const char* text : {"nf4:block=32", "fp8_e4m3"}) plan.specs.emplace_back(text, *parseSpec(text));
        standsChangedRecords([&](UnitRun* units) {
            auto mine = plan;
            mine.units = units;
            units->begin(weightOf(mine));
            const auto result = analyse(mine, {});
            if (!result) return result.error().message;
            for (const auto& pooled : result->pooled) (void)(pooled ? pooled->value.linear(-1, 1, 64).above : 0);
            return jsonOf(analysisColumns(), result->rows) + jsonOf(totalColumns(), totals(result->rows));
        });
    }
    void changedAudit() {
        standsChangedRecords([&](UnitRun* units) {
            const auto result = auditModel(model_, {}, units);
            return result ? jsonOf(findingColumns(), result->findings) : result.error().message;
        });
    }
    void sweep() {
        SweepPlan plan{model_, {}, *sweepSpecs({"nf4", "int4"}, {16, 32})};
        for (const auto& tensor : model_->tensors)
            if (tensor.isWeight() && tensor.name.find("layers.1.") != std::string::npos)
                plan.tensors.push_back(&tensor);
        isTheSame([&](UnitRun* units) {
            auto mine = plan;
            mine.units = units;
            const auto result = runSweep(mine, {});
            return result ? jsonOf(sweepColumns(), result->points) : result.error().message;
        });
    }
    void audit() {
        isTheSame([&](UnitRun* units) {
            const auto result = auditModel(model_, {}, units);
            if (!result) return result.error().message;
            return jsonOf(findingColumns(), result->findings) + jsonOf(outcomeColumns(), checkOutcomes(*result)) +
                   std::to_string(units ? units->leftOut() : 0);
        });
    }
};

QS_TEST(SharedAnalysisTest)
#include "shared_analysis_test.moc"
