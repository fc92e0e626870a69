// SPDX-License-Identifier: GPL-3.0-or-later
// What a session file kept of the model's output reaches all pages as soon as it is open, without the page Evidence.
#include "app/gui/page.h"
#include "app/gui/pages/evidence/evidence_page.h"
#include "app/gui/pages/evidence/evidence_tensors.h"
#include "app/gui/restored_evidence.h"
#include "app/gui/session_saver.h"
#include "app/gui/spec_history.h"
#include "app/gui/theme.h"
#include "core/analysis/analysis.h"
#include "core/session/kept_evidence.h"
#include "core/session/kept_sensitivity.h"
#include "opened_session.h"
#include "tests/support/test_program.h"

#include <QSignalSpy>
#include <QTemporaryDir>

using namespace qs;
using namespace qs::gui;

namespace {

eval::SensitivityRow measuredRow(const TensorInfo& tensor, const char* spec, double kl) {
    eval::SensitivityRow row;
    row.unit = tensor.name, row.tensors = {tensor.name}, row.spec = spec, row.how = "alone";
    row.divergence = eval::Estimate{kl, {}, kl / 10}, row.tokens = 64;
    return row;
}

} // namespace

class TestEvidenceKept : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

private Q_SLOTS:
    void initTestCase() { Theme::install(Theme::Mode::Dark); }

    /// All pages have what a session file kept, before the page Evidence is made; and the page takes it as it is.
    void keptFiguresReachAllPages() {
        const QString text = samplePath() + QStringLiteral("/heldout.txt");
        const QString file = folder_.filePath(QStringLiteral("kept.qscope"));
        const char* spec = "int3:block=32";
        eval::EvaluationRecord record;
        record.textPath = text.toStdString(), record.textSha256 = std::string(64, 'a');
        record.context = 128, record.wanted = 5, record.tokens = 640, record.chunks = 5;
        {
            Session session;
            QVERIFY(openModel(session, samplePath()));
            eval::Sensitivity tensors;
            double kl = 0;
            for (const TensorInfo* weight : session.weights())
                tensors.rows.push_back(measuredRow(*weight, spec, kl += 1));
            tensors.chunks = 3;
            session.keep(QLatin1String(kTensorsKept), [tensors] { return keptSensitivity(tensors); });
            session.keep(QLatin1String(kEvidenceKept), [record] { return keptEvidence(record); });
            SpecHistory history(session);
            SessionSaver saver(session, history, nullptr);
            QSignalSpy saved(&saver, &SessionSaver::saved);
            saver.save(file);
            QVERIFY(saved.wait(20'000));
        }
        Session session;
        QVERIFY(openModel(session, file));
        QTRY_VERIFY(session.output().restored());
        QVERIFY(session.output().evidence() && session.output().effects());
        QCOMPARE(session.output().evidence()->context, std::size_t(128));
        QCOMPARE(session.output().text().path, text.toStdString());
        QCOMPARE(session.output().text().chunks, std::size_t(5));
        QVERIFY(session.output().text().sensitivities && session.output().text().sensitivities->contains("alone"));
        QCOMPARE(session.output().text().measuredChunks, std::size_t(3));
        session.analyseModel(*parseSpec(spec));
        QVERIFY(everythingMeasured(session, *parseSpec(spec)));
        for (std::size_t i = 0; i < session.weights().size(); ++i)
            QCOMPARE(*klAloneMetric().value(*session.modelRows(*parseSpec(spec)).at(i)), double(i + 1));
        const auto effects = session.output().effects();
        QSignalSpy evidence(&session.output(), &ModelOutput::evidenceChanged),
            texts(&session.output(), &ModelOutput::textChanged);
        const std::unique_ptr<QWidget> widget(createEvidencePage(session, nullptr));
        widget->show();
        auto* page = static_cast<EvidencePage*>(widget.get());
        QTRY_VERIFY(page->record());
        QCOMPARE(page->record(), session.output().evidence());
        QCOMPARE(page->tensors()->rows().size(), session.weights().size());
        QCOMPARE(session.output().effects(), effects);
        QCOMPARE(evidence.size(), qsizetype(0));
        QCOMPARE(texts.size(), qsizetype(0));
        session.close();
        QVERIFY(!session.output().evidence() && !session.output().effects() && !session.output().restored());
    }

    void aDamagedTextIsSaid() {
        const auto read = readEvidence({});
        QVERIFY(!read.record && read.tensors.rows.empty() && read.trouble.empty());
        const auto bad = std::make_shared<const std::string>("{}");
        for (const EvidenceTexts& texts : {EvidenceTexts{bad, {}, {}, {}}, EvidenceTexts{{}, bad, {}, {}},
                                           EvidenceTexts{{}, {}, bad, {}}, EvidenceTexts{{}, {}, {}, bad}}) {
            const auto damaged = readEvidence(texts);
            QVERIFY(damaged.trouble.find("damaged") != std::string::npos);
            QVERIFY(!damaged.record && !damaged.byHow && effectsOf(damaged).empty());
            QVERIFY(!damaged.begun && !damaged.begunTensors);
            QCOMPARE(textOf(damaged), OutputText());
        }
    }
};

QS_TEST(TestEvidenceKept)
#include "evidence_kept_test.moc"
