// SPDX-License-Identifier: GPL-3.0-or-later
// Session files in the window: save, open, changed sources, automatic saving, and a killed program.
#include "app/gui/main_window.h"
#include "app/gui/pages/audit/audit_page.h"
#include "app/gui/session.h"
#include "app/gui/session_saver.h"
#include "app/gui/spec_history.h"
#include "app/gui/theme.h"
#include "core/session/session_file.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QProcess>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

using namespace qs;
using namespace qs::gui;

class TestSessionFile : public QObject {
    Q_OBJECT
    QTemporaryDir home_;

private Q_SLOTS:
    void initTestCase() {
        QStandardPaths::setTestModeEnabled(true);
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
        Theme::install(Theme::Mode::Dark);
    }

    void cleanupTestCase() { QFile::remove(SessionSaver::autosavePath()); }
    void aSessionFileBringsEverythingBack() {
        const auto file = home_.filePath(QStringLiteral("work.qscope"));
        {
            Session session;
            MainWindow window(session);
            window.show();
            QVERIFY(openModel(session, samplePath()));
            session.setSpec(*parseSpec("int8:block=32"));
            QTest::qWait(450); // a separate undo step
            session.setSpec(*parseSpec("nf4:block=128"));
            session.setRules(QStringLiteral("down_proj=int8"), true);
            session.selectTensor(session.weights()[5]);
            session.setMetric(QStringLiteral("sqnr_db"));
            session.showPage(QStringLiteral("tensor"));
            QTRY_COMPARE_WITH_TIMEOUT(session.modelRows(session.spec()).size(), qsizetype(session.weights().size()),
                                      20000);
            QSignalSpy saved(&window.saver(), &SessionSaver::saved);
            window.saver().save(file);
            QVERIFY(saved.wait(20000));
            QCOMPARE(window.saver().path(), file);
        }
        Session session;
        MainWindow window(session);
        window.show();
        QSignalSpy opened(&session, &Session::modelChanged);
        bool hadRows = false;
        connect(&session, &Session::sessionOpened, this, [&] {
            hadRows = session.modelRows(*parseSpec("nf4:block=128")).size() == qsizetype(session.weights().size());
        });
        session.open(file);
        QVERIFY(opened.wait(20000));
        QVERIFY(hadRows); // before anything was measured again
        QCOMPARE(canonicalText(session.spec()), canonicalText(*parseSpec("nf4:block=128")));
        QCOMPARE(session.tensor(), session.weights()[5]);
        QCOMPARE(session.metric(), QStringLiteral("sqnr_db"));
        QCOMPARE(window.saver().path(), file);
        QTRY_COMPARE(session.page(), QStringLiteral("tensor"));
        QCOMPARE(session.rules(), QStringLiteral("down_proj=int8"));
        QVERIFY(session.keepsRest());
        QVERIFY(window.history().canUndo());
        window.history().undo();
        QCOMPARE(session.rules(), QString());
        window.history().undo();
        QCOMPARE(canonicalText(session.spec()), canonicalText(*parseSpec("int8:block=32")));
        QCOMPARE(window.message(), QString());
    }

    void aSessionWhoseSourceChangedSaysSo() {
        const auto model = home_.filePath(QStringLiteral("source.safetensors")),
                   file = home_.filePath(QStringLiteral("changed.qscope"));
        const auto write = [&](int seed) {
            return writeModelFile(model, {{QStringLiteral("w"), {64, 64}, normalValues(64 * 64, 0.02, seed)}});
        };
        QVERIFY(write(1));
        {
            Session session;
            MainWindow window(session);
            QVERIFY(openModel(session, model));
            QTRY_COMPARE_WITH_TIMEOUT(session.modelRows(session.spec()).size(), qsizetype(1), 20000);
            QSignalSpy saved(&window.saver(), &SessionSaver::saved);
            window.saver().save(file);
            QVERIFY(saved.wait(20000));
        }
        QVERIFY(write(2));
        Session session;
        MainWindow window(session);
        window.show();
        QSignalSpy opened(&session, &Session::modelChanged), noticed(&session, &Session::noticed);
        session.open(file);
        QVERIFY(opened.wait(20000));
        QTRY_COMPARE(noticed.size(), qsizetype(1));
        QVERIFY2(window.message().contains(QStringLiteral("has changed since this session was saved")),
                 qPrintable(window.message()));

        QVERIFY(QFile::remove(model));
        Session fresh; // an open session also reports that its file is gone
        QSignalSpy failed(&fresh, &Session::failed);
        fresh.open(file);
        QVERIFY(failed.wait(20000));
        QVERIFY2(failed.front().front().toString().contains(QStringLiteral("is not there")),
                 qPrintable(failed.front().front().toString()));
        QVERIFY(!fresh.model());
    }

    /// A file is changed, replaced and removed while the window has it open.
    void aFileThatChangesWhileItIsOpenIsNoticed() {
        const auto model = home_.filePath(QStringLiteral("watched.safetensors")),
                   other = home_.filePath(QStringLiteral("other.safetensors"));
        const auto write = [&](const QString& path, int seed) {
            return writeModelFile(path, {{QStringLiteral("w"), {64, 64}, normalValues(64 * 64, 0.02, seed)}});
        };
        QVERIFY(write(model, 1));
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, model));
        QSignalSpy noticed(&session, &Session::noticed);
        QVERIFY(write(model, 2));
        QTRY_COMPARE(noticed.size(), qsizetype(1));
        QVERIFY2(window.message().contains(QStringLiteral("watched.safetensors changed on disk")),
                 qPrintable(window.message()));
        QVERIFY(write(other, 3));
        QCOMPARE(std::rename(QFile::encodeName(other).constData(), QFile::encodeName(model).constData()), 0);
        QTRY_COMPARE(noticed.size(), qsizetype(2));
        QVERIFY(QFile::remove(model));
        QTRY_COMPARE(noticed.size(), qsizetype(3));
        QVERIFY2(window.message().contains(QStringLiteral("is no longer where it was opened")),
                 qPrintable(window.message()));
    }

    void aSessionThatNamesItselfIsRefused() {
        const auto file = home_.filePath(QStringLiteral("round.qscope"));
        SessionFile itself;
        itself.opened = file.toStdString();
        QVERIFY(writeSession(file.toStdString(), itself, Job()));
        Session session;
        QSignalSpy failed(&session, &Session::failed);
        session.open(file);
        QVERIFY(failed.wait(20000));
        QVERIFY2(failed.front().front().toString().contains(QStringLiteral("names another session")),
                 qPrintable(failed.front().front().toString()));
    }

    void theSessionSavesItself() {
        QFile::remove(SessionSaver::autosavePath());
        Session session;
        MainWindow window(session);
        window.saver().startAutosave(20);
        QSignalSpy saved(&window.saver(), &SessionSaver::saved);
        QVERIFY(openModel(session, samplePath()));
        QVERIFY(saved.wait(20000));
        QVERIFY(readSession(SessionSaver::autosavePath().toStdString()));
        session.setSpec(*parseSpec("int8:block=16"));
        QTRY_VERIFY_WITH_TIMEOUT(
            [&] {
                const auto read = readSession(SessionSaver::autosavePath().toStdString());
                return read && read->at < read->history.size() && read->history[read->at].specA == "int8:block=16";
            }(),
            20000);
        QVERIFY(window.saver().path().isEmpty()); // the user did not choose this path
    }

    /// Session files and settings store specs as the user typed them, and restore them so.
    void specsKeepTheirSpelling() {
        const auto file = home_.filePath(QStringLiteral("spelled.qscope"));
        {
            Session session;
            MainWindow window(session);
            QVERIFY(openModel(session, samplePath()));
            session.setSpec(*parseSpec("int4:block=32"));
            session.setSpecB(*parseSpec("fp8_e4m3"));
            session.setComparing(true);
            QCOMPARE(session.state().specA, QStringLiteral("int4:block=32"));
            QCOMPARE(session.state().specB, QStringLiteral("fp8_e4m3"));
            QVERIFY(everythingMeasured(session, session.spec()));
            QSignalSpy saved(&window.saver(), &SessionSaver::saved);
            window.saver().save(file);
            QVERIFY(saved.wait(20000));
        }
        auto kept = readSession(file.toStdString());
        QVERIFY(kept);
        QCOMPARE(kept->history[kept->at].specA, std::string("int4:block=32"));
        bool found = false;
        for (const auto& results : kept->results) found |= results.spec == "int4:block=32";
        QVERIFY(found);
        const auto reopened = [&] {
            Session session;
            MainWindow window(session);
            if (!openModel(session, file)) return QString();
            const auto row = session.modelRows(session.spec()).at(0);
            return QString::fromStdString(specText(session.spec()) + " " + specText(session.specB()) + " " +
                                          (row ? row->specAsTyped : "no row"));
        };
        QCOMPARE(reopened(), QStringLiteral("int4:block=32 fp8_e4m3 int4:block=32"));
        // Older versions stored the canonical text.
        const auto full = [](std::string& text) { text = canonicalText(*parseSpec(text)); };
        for (auto& step : kept->history) full(step.specA), full(step.specB);
        for (auto& results : kept->results) full(results.spec);
        QVERIFY(writeSession(file.toStdString(), *kept));
        QCOMPARE(reopened(), QStringLiteral("int4:block=32 fp8_e4m3 int4:block=32"));
    }

    /// The real program is killed: the next start says so and restores what was computed.
    void aKilledProgramIsNoticedAndRestored() {
        const QTemporaryDir place;
        QProcess program;
        auto environment = QProcessEnvironment::systemEnvironment();
        for (const auto& [name, value] : {std::pair{"XDG_CONFIG_HOME", "config"}, std::pair{"XDG_DATA_HOME", "data"}})
            environment.insert(QLatin1String(name), place.filePath(QLatin1String(value)));
        environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
        environment.insert(QStringLiteral("QS_AUTOSAVE_MS"), QStringLiteral("100"));
        program.setProcessEnvironment(environment);
        program.start(QStringLiteral(QS_BIN_DIR "/quantscope"),
                      {samplePath(), QStringLiteral("--page"), QStringLiteral("audit")});
        QVERIFY(program.waitForStarted());
        const auto data = place.filePath(QStringLiteral("data/QuantScope/QuantScope"));
        const auto saved = data + QStringLiteral("/autosave.qscope");
        QTRY_VERIFY_WITH_TIMEOUT(
            [&] {
                const auto read = readSession(saved.toStdString());
                return read && read->kept.contains("audit");
            }(),
            60000);
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(place.filePath(QStringLiteral("config/QuantScope/QuantScope.conf"))),
                                 20000);
        const auto marks = [&] { return QDir(data).entryList({QStringLiteral("running-*")}).size(); };
        QCOMPARE(marks(), 1);
        program.kill(); // SIGKILL
        QVERIFY(program.waitForFinished());
        QCOMPARE(program.exitStatus(), QProcess::CrashExit);
        QCOMPARE(marks(), 1);

        qputenv("XDG_DATA_HOME", place.filePath(QStringLiteral("data")).toLocal8Bit());
        QStandardPaths::setTestModeEnabled(false);
        const QString names[] = {QCoreApplication::organizationName(), QCoreApplication::applicationName()};
        QCoreApplication::setOrganizationName(QStringLiteral("QuantScope"));
        QCoreApplication::setApplicationName(QStringLiteral("QuantScope"));
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, place.filePath(QStringLiteral("config")));
        const auto restore = qScopeGuard([&] {
            qunsetenv("XDG_DATA_HOME");
            QStandardPaths::setTestModeEnabled(true);
            QCoreApplication::setOrganizationName(names[0]);
            QCoreApplication::setApplicationName(names[1]);
            QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
        });
        {
            Session session;
            keepSaved(session);
            MainWindow window(session);
            window.show();
            auto* said = window.findChild<QLabel*>(QStringLiteral("endedUnexpectedly"));
            QVERIFY(said && said->isVisible());
            QVERIFY2(said->text().startsWith(u"The last run ended unexpectedly. Resume brings back tiny-llama as of "),
                     qPrintable(said->text()));
            QVERIFY(!QFile::exists(saved)); // the old file was set aside, so the next model can be saved there
            keepPicture(window, QStringLiteral("start-after-a-crash"));
            QSignalSpy opened(&session, &Session::modelChanged);
            for (auto* button : window.findChildren<QToolButton*>())
                if (button->accessibleName() == u"Resume tiny-llama") QTest::mouseClick(button, Qt::LeftButton);
            QVERIFY(opened.wait(20000));
            QTRY_VERIFY2(window.message().startsWith(u"Restored as of "), qPrintable(window.message()));
            AuditPage* audit = nullptr;
            QTRY_VERIFY((audit = window.findChild<AuditPage*>()) && audit->result());
            QVERIFY(session.restored(QStringLiteral("audit"))); // restored, not audited again
            QVERIFY(window.saver().path().isEmpty());
            QCOMPARE(marks(), 1);
        }
        QCOMPARE(marks(), 0);
        Session session; // after a normal end
        keepSaved(session);
        MainWindow window(session);
        window.show();
        QVERIFY(!window.findChild<QLabel*>(QStringLiteral("endedUnexpectedly"))->isVisible());
    }
};

QS_TEST(TestSessionFile)
#include "session_file_test.moc"
