// SPDX-License-Identifier: GPL-3.0-or-later
// The page Evidence: a measurement that is cancelled, the session's recipe, a model that is stored quantized, an encoder.
#include "app/gui/page.h"
#include "app/gui/pages/evidence/evidence_choice.h"
#include "app/gui/pages/evidence/evidence_embeddings.h"
#include "app/gui/pages/evidence/evidence_figures.h"
#include "app/gui/pages/evidence/evidence_output.h"
#include "app/gui/pages/evidence/evidence_page.h"
#include "app/gui/pages/evidence/evidence_tensors.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/ranked_bars.h"
#include "app/gui/widgets/tick_list.h"
#include "artefacts.h"
#include "core/base/text.h"
#include "core/eval/run/report.h"
#include "core/export/export_model.h"
#include "core/export/recipe.h"
#include "core/session/kept_evidence.h"
#include "shown_evidence.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include <set>

using namespace qs;
using namespace qs::gui;

class TestEvidenceRuns : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    QString path(const char* name) const { return folder_.filePath(QLatin1String(name)); }

    /// The mean KL that `quantscope-cli eval` finds.
    void commandLineFigure(const QStringList& options, double& mean) const {
        QProcess cli;
        cli.start(QStringLiteral(QS_BIN_DIR "/quantscope-cli"),
                  QStringList{QStringLiteral("eval"), samplePath(), QStringLiteral("--no-floor"),
                              QStringLiteral("--json"), QStringLiteral("-"), QStringLiteral("--text"), heldOutText()} +
                      options);
        QVERIFY(cli.waitForFinished(150'000));
        const auto rows = QJsonDocument::fromJson(cli.readAllStandardOutput()).object()[QStringLiteral("rows")];
        QVERIFY2(rows.isArray(), cli.readAllStandardError().constData());
        mean = rows.toArray()[0].toObject()[QStringLiteral("kl_mean")].toDouble();
    }

private Q_SLOTS:
    void initTestCase() {
        // resume_test, evidence_page_test and evidence_kept_test run there.
        if (qs::test::kThinning > 1) QSKIP("whole evaluations take minutes without optimisation");
        qputenv("XDG_CACHE_HOME", folder_.path().toLocal8Bit()); // of finished runs
        Theme::install(Theme::Mode::Dark);
    }

    void aCancelledMeasurementGoesOn() {
        ShownEvidence shown;
        QVERIFY(shown.open(samplePath()));
        shown.take(heldOutText(), false, 64, 8, {QStringLiteral("int2:block=32")});
        shown.click("evidenceTabTensors");
        auto* tensors = shown.page()->tensors();
        auto* start = shown.the<QPushButton>("evidenceTensorStart");
        const QString first = start->text();
        const auto lines = [&]() -> QStringList {
            QStringList out;
            const QDir cache(path("quantscope/sensitivity"));
            for (const QString& name : cache.entryList(QDir::Files)) {
                QFile file(cache.filePath(name));
                if (file.open(QIODevice::ReadOnly))
                    out += QString::fromLatin1(file.readAll()).split(u'\n', Qt::SkipEmptyParts);
            }
            return out;
        };
        shown.click("evidenceTensorStart");
        QVERIFY(QTest::qWaitFor([&] { return !tensors->rows().empty() || !tensors->running(); }, 150'000));
        QVERIFY(tensors->running());
        shown.click("evidenceTensorStop");
        QCOMPARE(start->text(), QStringLiteral("Resume"));
        QVERIFY(QTest::qWaitFor([] { return QThreadPool::globalInstance()->activeThreadCount() == 0; }, 60'000));
        const auto kept = lines().size();
        QVERIFY(kept > 0);
        shown.click("evidenceTensorStart");
        QVERIFY(QTest::qWaitFor([&] { return !tensors->running(); }, 150'000));
        QCOMPARE(start->text(), first);
        QStringList keys;
        for (const QString& line : lines()) keys << line.left(64);
        QVERIFY(keys.size() >= kept);
        QCOMPARE(qsizetype(std::set(keys.begin(), keys.end()).size()), keys.size()); // no network went forward twice
        QCOMPARE(tensors->rows().size(), std::size_t(tensors->bars()->count()));
        QCOMPARE(tensors->chunks(), std::size_t(8));
    }

    /// Figures are those of the command line for the same recipe.
    void theRecipeIsEvaluated() {
        ShownEvidence shown;
        QVERIFY(shown.open(samplePath()));
        auto* list = shown.the<TickList>("evidenceSpecs");
        QVERIFY(!list->item(0)->text().startsWith(QStringLiteral("this recipe")));
        shown.session.setSpec(*parseSpec("int4:block=32"));
        shown.session.setRules(QStringLiteral("down_proj=int8\nnorm=keep\nembed=keep"), false);
        const QString name = shown.session.recipe()->title(shown.session.spec());
        QVERIFY2(list->item(0)->text() == QStringLiteral("this ") + name, qPrintable(list->item(0)->text()));
        QVERIFY(list->ticked(0));
        QVERIFY(list->item(0)->toolTip().contains(QStringLiteral("down_proj=int8")));
        shown.take(heldOutText(), false, 64, 2, {});
        QVERIFY(!shown.the<QPushButton>("evidenceStart")->isEnabled()); // nothing is ticked
        list->item(0)->setCheckState(Qt::Checked);
        shown.click("evidenceStart");
        QVERIFY(shown.quiet());
        const auto record = shown.page()->record();
        QVERIFY(record);
        QCOMPARE(record->changes.size(), std::size_t(1));
        QCOMPARE(record->changes[0].row.kind, eval::RowKind::Recipe);
        QCOMPARE(QString::fromStdString(record->changes[0].row.spec), name);
        QCOMPARE(shown.page()->output()->table()->model()->index(0, 0).data().toString(), name);
        keepPicture(*shown.widget, QStringLiteral("evidence-recipe"));

        QFile file(path("recipe.json"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray::fromStdString(recipeText(shown.session.recipe()->asRecipe())));
        file.close();
        double mean = 0;
        commandLineFigure({QStringLiteral("--recipe"), file.fileName(), QStringLiteral("--ctx"), QStringLiteral("64"),
                           QStringLiteral("--chunks"), QStringLiteral("2")},
                          mean);
        QVERIFY(mean > 0);
        QCOMPARE(record->changes[0].row.summary->divergence.mean, mean);

        const auto back = evidenceKept(keptEvidence(*record));
        QVERIFY(back);
        QCOMPARE(back->changes[0].row.kind, eval::RowKind::Recipe);
        const auto section = eval::recordSection(*back);
        const auto& columns = section.tables.front().columns;
        QVERIFY(std::any_of(columns.begin(), columns.end(), [](const auto& one) { return one.id == "recipe"; }));

        shown.session.setRules(QString(), false);
        QVERIFY(!list->item(0)->text().startsWith(QStringLiteral("this recipe")));
    }

    /// Every card, the report and what is kept say that the reference is itself quantized.
    void aQuantizedReferenceIsSaid() {
        const std::string original = "tests/data/eval/llama";
        const auto model = openModel(original);
        QVERIFY(model);
        QuantizeRequest request;
        request.spec = *parseSpec("int4:dialect=ct:block=32:scaletype=f16");
        request.layout = "gptq", request.choice = "self_attn.*_proj.weight";
        request.output = path("stored/").toStdString();
        const auto done = exportModel(**model, request, Job());
        QVERIFY2(done, done ? "" : done.error().message.c_str());

        ShownEvidence shown;
        QVERIFY(shown.open(QString::fromStdString(request.output)));
        const auto* remark = shown.the<QLabel>("evidenceQuantizedReference");
        QVERIFY2(remark->text().startsWith(QStringLiteral("The reference is itself quantized")),
                 qPrintable(remark->text()));
        shown.take(qs::test::wholePath(QStringLiteral("tests/data/eval/llama/tokens.npy")), true, 8, 0,
                   {QStringLiteral("int3:block=16")});
        shown.click("evidenceStart");
        QVERIFY(shown.quiet());
        const auto record = shown.page()->record();
        QVERIFY(record);
        QVERIFY(record->quantizedMatrices > 0 && record->quantizedMatrices < record->matrices);
        const QStringList notes = shown.notesOfCards();
        const auto says = std::count_if(notes.begin(), notes.end(), [](const QString& note) {
            return note.contains(QStringLiteral("the reference is itself quantized"));
        });
        QCOMPARE(int(says), 5); // figures, three charts, worst tokens
        for (const char* tab : {"evidenceTabTensors", "evidenceTabTrust", "evidenceTabOutput"}) {
            shown.click(tab);
            QVERIFY(remark->isVisible());
        }
        keepPicture(*shown.widget, QStringLiteral("evidence-quantized"));
        const auto back = evidenceKept(keptEvidence(*record));
        QVERIFY(back && back->quantizedMatrices == record->quantizedMatrices);
        const std::string sentence = eval::referenceRemark(record->matrices, record->quantizedMatrices);
        QVERIFY(eval::recordSection(*back).note.find(sentence) != std::string::npos);
        QVERIFY(shown.open(samplePath()));
        QCOMPARE(remark->text(), QString());
    }

    void anEncoderHasCosines() {
        ShownEvidence shown;
        QVERIFY(shown.open(qs::test::wholePath(QStringLiteral("tests/data/eval/bert"))));
        const QString tokens = qs::test::wholePath(QStringLiteral("tests/data/eval/bert/tokens.npy"));
        shown.take(tokens, true, 6, 0, {QStringLiteral("int4:block=16"), QStringLiteral("int2:block=16")});
        QVERIFY(shown.the<QPushButton>("evidenceStart")->isEnabled());
        QVERIFY(!shown.the<QWidget>("evidenceScored")->isEnabled());
        shown.click("evidenceStart");
        QVERIFY(shown.quiet());
        const auto record = shown.page()->record();
        QVERIFY(record && shown.page()->ofEncoder());
        eval::EvaluationPlan plan;
        plan.text = *eval::textFromTokens(tokens.toStdString(), Job());
        plan.context = 6;
        for (const char* spec : {"int4:block=16", "int2:block=16"})
            plan.changes.push_back(eval::quantizedAs(*parseSpec(spec), {.asStored = true}));
        const auto result = eval::evaluateEmbeddings(shown.session.model(), plan, Job());
        QVERIFY(result);
        QCOMPARE(record->embeddings.size(), std::size_t(2));
        auto* found = shown.page()->ofEncoder();
        QVERIFY(found->isVisible() && !shown.page()->output()->isVisible());
        for (int row = 0; row < 2; ++row) {
            QCOMPARE(record->embeddings[std::size_t(row)].cosines, result->cosines[std::size_t(row)]);
            const auto summary = eval::summarizeCosines(result->cosines[std::size_t(row)]);
            found->table()->selectRow(row);
            QCOMPARE(found->figures()->text("cosine"),
                     QString::fromStdString(significantText(summary->cosine.mean, 6)));
            QCOMPARE(found->figures()->text("least"), QString::fromStdString(significantText(summary->least, 6)));
            const auto& line = found->chunks()->series()[row];
            QCOMPARE(line.points.size(), qsizetype(4));
            QCOMPARE(line.points[2].y(), result->cosines[std::size_t(row)][2]);
            QCOMPARE(found->shares()->series()[row].points.back().y(), 100.0);
        }
        keepPicture(*shown.widget, QStringLiteral("evidence-encoder"));
        const auto back = evidenceKept(keptEvidence(*record));
        QVERIFY2(back, back ? "" : back.error().message.c_str());
        QCOMPARE(back->embeddings[1].cosines, record->embeddings[1].cosines);
        QCOMPARE(back->embeddings[1].row.summary->least, record->embeddings[1].row.summary->least);
        QCOMPARE(eval::recordSection(*back).title, std::string("Evidence: the model's embeddings"));
        shown.click("evidenceTabTensors");
        QVERIFY(!shown.the<QPushButton>("evidenceTensorStart")->isEnabled());
        QVERIFY(shown.the<QPushButton>("evidenceTensorStart")->toolTip().contains(QStringLiteral("encoder")));
    }
};

QS_TEST(TestEvidenceRuns)
#include "evidence_runs_test.moc"
