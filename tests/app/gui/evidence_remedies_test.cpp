// SPDX-License-Identifier: GPL-3.0-or-later
// Every sentence of the page Evidence that refuses has buttons. Each is pressed here, and what it offers works.
#include "app/gui/theme.h"
#include "app/gui/widgets/banner.h"
#include "choose_file.h"
#include "core/eval/run/base_reference.h"
#include "shown_evidence.h"
#include "tests/support/test_program.h"

#include <QComboBox>
#include <QDir>
#include <QPushButton>
#include <QTemporaryDir>

using namespace qs;
using namespace qs::gui;

class TestEvidenceRemedies : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    const QStringList specs_ = {QStringLiteral("int4:block=32")};

    QString written(const char* name, const QByteArray& bytes) const {
        const QString path = folder_.filePath(QLatin1String(name));
        QFile file(path);
        return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() ? path : QString();
    }
    QString ids() const {
        QByteArray text;
        for (int i = 0; i < 128; ++i) text += QByteArray::number(32 + i * 7 % 90) + ' ';
        return written("ids.txt", text);
    }
    static QPushButton* remedy(const ShownEvidence& shown, const QString& text) {
        QPushButton* out = nullptr;
        const auto there = [&] {
            for (auto* one : shown.the<Banner>("evidenceTrouble")->findChildren<QPushButton*>())
                if (one->isVisible() && one->text() == text) out = one;
            return out != nullptr;
        };
        (void)QTest::qWaitFor(there, qs::test::kWait);
        return out;
    }
    /// Presses the button and sees its sentence go.
    static bool pressed(const ShownEvidence& shown, const char* text) {
        auto* button = remedy(shown, QString::fromUtf8(text));
        if (!button) return false;
        QTest::mouseClick(button, Qt::LeftButton);
        return shown.the<Banner>("evidenceTrouble")->text().isEmpty();
    }
    static QByteArray trouble(const ShownEvidence& shown) {
        return shown.the<Banner>("evidenceTrouble")->text().toUtf8();
    }
    static bool evaluates(const ShownEvidence& shown) {
        auto* start = shown.the<QPushButton>("evidenceStart");
        if (!QTest::qWaitFor([&] { return start->height() > 0; })) return false; // it is laid out in a later turn
        QTest::mouseClick(start, Qt::LeftButton);
        return shown.quiet() && trouble(shown).isEmpty() && shown.page()->record();
    }
    /// A base-logits file of the sample, of two chunks of 64 tokens.
    QString base(Session& session, const char* name) const {
        eval::EvaluationPlan plan;
        plan.context = 64, plan.chunks = 2;
        for (int i = 0; i < 128; ++i) plan.text.tokens.push_back(32 + i * 7 % 90);
        const QString path = folder_.filePath(QLatin1String(name));
        auto saver = eval::BaseSaver::of(path.toStdString(), plan);
        plan.compared = [&](const eval::LogitRows& rows) { return saver->take(rows); };
        return saver && eval::evaluate(session.model(), plan, Job()) && saver->finish(Job()) ? path : QString();
    }

private Q_SLOTS:
    void initTestCase() {
        qputenv("XDG_CACHE_HOME", folder_.path().toLocal8Bit()); // of finished runs
        Theme::install(Theme::Mode::Dark);
    }

    void anotherModel() {
        ShownEvidence shown;
        const QString alone = folder_.filePath(QStringLiteral("alone.safetensors"));
        QVERIFY(!writeLayeredModel(alone, 1, 32).isEmpty());
        QVERIFY(shown.open(alone));
        QVERIFY(trouble(shown).contains("config.json"));
        QVERIFY(pressed(shown, "Open another model"));
        QCOMPARE(shown.session.page(), QStringLiteral("start"));
    }

    void theSample() {
        ShownEvidence shown;
        const QString alone = folder_.filePath(QStringLiteral("alone.safetensors"));
        QVERIFY(!writeLayeredModel(alone, 1, 32).isEmpty());
        QVERIFY(shown.open(alone));
        QSignalSpy changed(&shown.session, &Session::modelChanged);
        QVERIFY(pressed(shown, "Open the sample"));
        QVERIFY(changed.wait(60'000));
        QCOMPARE(QFileInfo(QString::fromStdString(shown.session.model()->path)), QFileInfo(Session::samplePath()));
        QTRY_VERIFY(shown.the<QPushButton>("evidenceSample")->isVisible());
        QVERIFY(trouble(shown).isEmpty());
    }

    void anotherText() {
        ShownEvidence shown;
        QVERIFY(shown.open(samplePath()));
        shown.take(written("bad.txt", "\xff\xfe\xff"), false, 64, 1, specs_);
        shown.click("evidenceStart");
        QVERIFY(shown.quiet());
        QVERIFY2(trouble(shown).contains("UTF-8"), trouble(shown).constData());
        QVERIFY(pressed(shown, "Choose another text…"));
        const QString text = QFileInfo(heldOutText()).absoluteFilePath();
        QVERIFY(chooseFile(*shown.widget, text));
        QCOMPARE(shown.page()->choice()->settings().path, text.toStdString());
        QVERIFY2(evaluates(shown), trouble(shown).constData());
        QVERIFY(!shown.page()->record()->ids);
    }

    /// Ids that are none are replaced by ids.
    void otherIds() {
        ShownEvidence shown;
        QVERIFY(shown.open(samplePath()));
        shown.take(written("bad_ids.txt", "1 2 x"), true, 64, 1, specs_);
        shown.click("evidenceStart");
        QVERIFY(shown.quiet());
        QVERIFY2(!trouble(shown).isEmpty(), "ids");
        QVERIFY(pressed(shown, "Choose another text…"));
        QVERIFY(chooseFile(*shown.widget, ids()));
        QVERIFY(shown.page()->choice()->settings().ids);
        QVERIFY2(evaluates(shown), trouble(shown).constData());
        QVERIFY(shown.page()->record()->ids);
    }

    /// A folder without a tokenizer.
    void tokenIds() {
        const QDir bare(folder_.filePath(QStringLiteral("bare")));
        QVERIFY(QDir().mkpath(bare.path()));
        for (const char* name : {"config.json", "model.safetensors"})
            QVERIFY(QFile::copy(QDir(samplePath()).filePath(QLatin1String(name)), bare.filePath(QLatin1String(name))));
        ShownEvidence shown;
        QVERIFY(shown.open(bare.path()));
        QTRY_VERIFY(!shown.the<QPushButton>("evidenceText")->isEnabled());
        QVERIFY(pressed(shown, "Choose token ids…"));
        QVERIFY(chooseFile(*shown.widget, ids()));
        shown.take(QString::fromStdString(shown.page()->choice()->settings().path), true, 64, 1, specs_);
        QVERIFY2(evaluates(shown), (trouble(shown) + shown.said("evidenceStatus").toUtf8()).constData());
        QVERIFY(shown.page()->record()->ids);
    }

    void noBackend() {
        ShownEvidence shown;
        QVERIFY(shown.open(samplePath()));
        shown.take(ids(), true, 64, 1, specs_);
        auto* backends = shown.the<QComboBox>("evidenceBackend");
        backends->setCurrentIndex(backends->findData(QStringLiteral("cpu")));
        const QByteArray worker = qgetenv("QS_WORKER");
        qputenv("QS_WORKER", "/nowhere/worker");
        shown.click("evidenceStart");
        const bool ended = shown.quiet();
        if (worker.isNull())
            qunsetenv("QS_WORKER");
        else
            qputenv("QS_WORKER", worker);
        QVERIFY(ended);
        QVERIFY2(trouble(shown).contains("/nowhere/worker"), trouble(shown).constData());
        QVERIFY(pressed(shown, "Evaluate without a backend"));
        QVERIFY(shown.page()->running() && backends->currentIndex() == 0);
        QVERIFY(shown.quiet());
        QVERIFY2(shown.page()->record(), trouble(shown).constData());
        QCOMPARE(shown.page()->record()->changes.size(), std::size_t(1));
    }

    /// A base of another text gives way to the model, which is evaluated at once.
    void theModelItself() {
        ShownEvidence shown;
        QVERIFY(shown.open(samplePath()));
        const QString path = base(shown.session, "base.kld");
        QVERIFY(!path.isEmpty());
        shown.take(heldOutText(), false, 64, 1, specs_);
        shown.page()->choice()->setBase(path);
        shown.click("evidenceStart");
        QVERIFY(shown.quiet());
        QVERIFY2(trouble(shown).contains("another text"), trouble(shown).constData());
        QVERIFY(pressed(shown, "Use the model itself"));
        QVERIFY(shown.page()->choice()->settings().base.empty());
        QVERIFY(shown.page()->running() && shown.quiet());
        QVERIFY2(shown.page()->record(), trouble(shown).constData());
        QCOMPARE(shown.page()->record()->textPath, heldOutText().toStdString());
    }

    /// A base that is none, whose tokens were to be the text: the page waits for one.
    void theModelItselfWithoutAText() {
        ShownEvidence shown;
        QVERIFY(shown.open(samplePath()));
        shown.take({}, false, 64, 1, specs_);
        shown.page()->choice()->setBase(written("none.kld", "_logits_"));
        shown.click("evidenceStart");
        QVERIFY(shown.quiet());
        QVERIFY(pressed(shown, "Use the model itself"));
        QVERIFY(!shown.page()->running() && !shown.the<QPushButton>("evidenceStart")->isEnabled());
        QVERIFY(shown.the<QPushButton>("evidenceSample")->isVisible());
    }
};

QS_TEST(TestEvidenceRemedies)
#include "evidence_remedies_test.moc"
