// SPDX-License-Identifier: GPL-3.0-or-later
// An evaluation that was cancelled, or whose window was closed, goes on behind the chunks that it had finished, and
// gives bit for bit what one gives that was never stopped.
#include "app/gui/pages/evidence/evidence_output.h"
#include "app/gui/pages/evidence/evidence_tensors.h"
#include "app/gui/session_saver.h"
#include "app/gui/spec_history.h"
#include "app/gui/theme.h"
#include "artefacts.h"
#include "core/session/kept_evidence.h"
#include "shown_evidence.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QDir>
#include <QPushButton>
#include <QTemporaryDir>
#include <QThreadPool>

using namespace qs;
using namespace qs::gui;

namespace {

/// Every figure of an evaluation, bit for bit; not its time.
std::string figuresOf(const ShownEvidence& shown) {
    eval::EvaluationRecord record = *shown.page()->record();
    record.seconds = 0;
    return keptEvidence(record);
}

/// Waits for a chunk without turns of the event loop, so that the run cannot end before it is cancelled.
bool oneChunkIsThere(const ShownEvidence& shown) {
    for (int i = 0; i < 150'000 && shown.page()->reach().done == 0; ++i) QThread::msleep(1);
    return shown.page()->reach().done > 0;
}

/// Begins an evaluation and cancels it behind its first chunk.
bool stopsAfterAChunk(const ShownEvidence& shown) {
    shown.click("evidenceStart");
    const bool isThere = oneChunkIsThere(shown);
    shown.click("evidenceStop");
    return isThere;
}

bool poolIsIdle() {
    return QTest::qWaitFor([] { return QThreadPool::globalInstance()->activeThreadCount() == 0; }, 150'000);
}

} // namespace

class TestEvidenceResume : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    QString path(const char* name) const { return folder_.filePath(QLatin1String(name)); }
    QStringList records() const {
        return QDir(path("quantscope/evaluations")).entryList({QStringLiteral("*.records")});
    }

    /// Saves the session of a window.
    static bool save(ShownEvidence& shown, const QString& file) {
        SpecHistory history(shown.session);
        SessionSaver saver(shown.session, history, nullptr);
        QSignalSpy saved(&saver, &SessionSaver::saved);
        saver.save(file);
        return saved.wait(60'000);
    }

private Q_SLOTS:
    void initTestCase() {
        if (qs::test::kThinning > 1)
            QSKIP("whole evaluations take minutes without optimisation"); // resume_test runs there
        qputenv("XDG_CACHE_HOME", folder_.path().toLocal8Bit());
        Theme::install(Theme::Mode::Dark);
    }

    void aClosedWindowGoesOn_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("context");
        QTest::addColumn<int>("chunks");
        // An encoder passes 16384 tokens together.
        QFile ids(path("ids.txt"));
        QVERIFY(ids.open(QIODevice::WriteOnly));
        QByteArray all;
        for (int i = 0; i < 8 * 16384; ++i) all += QByteArray::number(i % 37 * (i % 37) % 37) + '\n';
        ids.write(all);
        QTest::newRow("predictions") << samplePath() << heldOutText() << 64 << 160;
        QTest::newRow("encoder") << QStringLiteral(QS_SOURCE_DIR "/tests/data/eval/bert") << ids.fileName() << 8 << 0;
    }

    void aClosedWindowGoesOn() {
        QFETCH(QString, model);
        QFETCH(QString, text);
        QFETCH(int, context);
        QFETCH(int, chunks);
        const QStringList specs = {QStringLiteral("int3:block=16"), QStringLiteral("int5:block=16")};
        const QString file = path("stopped.qscope");
        EvidenceReach before;
        {
            ShownEvidence shown;
            QVERIFY(shown.open(model));
            shown.take(text, text.endsWith(QStringLiteral("ids.txt")), context, chunks, specs);
            auto* resume = shown.the<QPushButton>("evidenceResume");
            QVERIFY(poolIsIdle() && !resume->isVisible());
            QVERIFY(stopsAfterAChunk(shown));
            before = shown.page()->reach();
            QVERIFY2(before.done > 0 && before.done < before.chunks, qPrintable(QString::number(before.done)));
            QVERIFY(!shown.page()->record() && resume->isVisible() && resume->isEnabled());
            QVERIFY2(shown.said("evidenceStatus")
                         .contains(tr("Cancelled after %1 of %2 chunks").arg(before.done).arg(before.chunks)),
                     qPrintable(shown.said("evidenceStatus")));
            // Other settings are another evaluation.
            shown.the<QSpinBox>("evidenceContext")->setValue(context / 2);
            QVERIFY(poolIsIdle() && !resume->isVisible());
            shown.the<QSpinBox>("evidenceContext")->setValue(context);
            QTRY_VERIFY(resume->isVisible());
            QVERIFY(save(shown, file));
        }
        QVERIFY(poolIsIdle() && !records().isEmpty());

        ShownEvidence again;
        QVERIFY(again.open(file));
        auto* resume = again.the<QPushButton>("evidenceResume");
        QTRY_VERIFY_WITH_TIMEOUT(resume->isVisible(), 30'000);
        const EvidenceReach found = again.page()->reach();
        QVERIFY(found.done >= before.done && found.done < before.chunks); // the run may have finished a chunk more
        QCOMPARE(found.chunks, before.chunks);
        QVERIFY2(
            again.said("evidenceStatus").contains(tr("%1 of %2 chunks are done").arg(found.done).arg(found.chunks)),
            qPrintable(again.said("evidenceStatus")));
        keepPicture(*again.widget, QStringLiteral("evidence-stopped"));
        again.click("evidenceResume");
        QVERIFY(again.page()->running());
        QVERIFY(again.quiet() && again.page()->record());
        const std::string resumed = figuresOf(again);
        QVERIFY(!resume->isVisible() && records().isEmpty());
        QVERIFY(!again.session.kept().contains(QLatin1String("evidence-begun")));

        again.click("evidenceStart");
        QVERIFY(again.quiet());
        QCOMPARE(resumed, figuresOf(again));
    }

    /// Evaluate begins anew, whatever is there.
    void evaluateBeginsAnew() {
        ShownEvidence shown;
        QVERIFY(shown.open(samplePath()));
        shown.take(heldOutText(), false, 64, 160, {QStringLiteral("int3:block=16")});
        QVERIFY(stopsAfterAChunk(shown));
        shown.click("evidenceStart");
        for (int i = 0; i < 150'000 && shown.page()->reach().chunks == 0; ++i) QThread::msleep(1);
        QCOMPARE(shown.page()->reach().chunks, std::size_t(160));
        QCOMPARE(shown.page()->reach().done, std::size_t(0)); // the first chunks still go forward
        shown.click("evidenceStop");
        QVERIFY(poolIsIdle());
    }

    /// Without a folder for records an evaluation runs, and cannot be resumed.
    void noFolderNoResume() {
        const QByteArray before = qgetenv("XDG_CACHE_HOME");
        QFile blocked(path("blocked"));
        QVERIFY(blocked.open(QIODevice::WriteOnly));
        qputenv("XDG_CACHE_HOME", blocked.fileName().toLocal8Bit());
        {
            ShownEvidence shown;
            QVERIFY(shown.open(samplePath()));
            shown.take(heldOutText(), false, 64, 160, {QStringLiteral("int3:block=16")});
            QVERIFY(stopsAfterAChunk(shown));
            QVERIFY(!shown.the<QPushButton>("evidenceResume")->isVisible());
            QCOMPARE(shown.said("evidenceStatus"), tr("Cancelled."));
            QVERIFY(poolIsIdle());
        }
        qputenv("XDG_CACHE_HOME", before);
    }

    /// The same of a measurement of each tensor.
    void aMeasurementGoesOn() {
        const QString file = path("tensors.qscope");
        const auto begin = [&](ShownEvidence& shown) {
            shown.click("evidenceTabTensors");
            shown.click("evidenceTensorStart");
        };
        const auto rowsOfAll = [&](ShownEvidence& shown) {
            begin(shown);
            const auto* tensors = shown.page()->tensors();
            const bool isDone = QTest::qWaitFor([&] { return !tensors->running(); }, 150'000);
            return isDone ? tensors->rows() : std::vector<eval::SensitivityRow>();
        };
        std::vector<eval::SensitivityRow> whole;
        {
            ShownEvidence shown;
            QVERIFY(shown.open(samplePath()));
            shown.take(heldOutText(), false, 64, 8, {QStringLiteral("int2:block=32")});
            auto* tensors = shown.page()->tensors();
            begin(shown);
            QVERIFY(QTest::qWaitFor([&] { return !tensors->rows().empty() || !tensors->running(); }, 150'000));
            shown.click("evidenceTensorStop");
            QVERIFY(save(shown, file) && poolIsIdle());
        }
        {
            ShownEvidence shown;
            QVERIFY(shown.open(file));
            QTRY_COMPARE_WITH_TIMEOUT(shown.the<QPushButton>("evidenceTensorStart")->text(), QStringLiteral("Resume"),
                                      30'000);
            whole = rowsOfAll(shown);
            QVERIFY(!shown.session.kept().contains(QLatin1String("sensitivity-begun")));
        }
        QVERIFY(QDir(path("quantscope/sensitivity")).removeRecursively());
        ShownEvidence shown;
        QVERIFY(shown.open(samplePath()));
        shown.take(heldOutText(), false, 64, 8, {QStringLiteral("int2:block=32")});
        const auto fresh = rowsOfAll(shown);
        QVERIFY(!fresh.empty());
        QCOMPARE(whole.size(), fresh.size());
        for (std::size_t i = 0; i < fresh.size(); ++i)
            for (const auto& column : eval::sensitivityColumns())
                QVERIFY2(column.value(whole[i]) == column.value(fresh[i]), column.id.c_str());
    }
};

QS_TEST(TestEvidenceResume)
#include "evidence_resume_test.moc"
