// SPDX-License-Identifier: GPL-3.0-or-later
// Session files in the window: saved, opened again, with sources that changed, and saved by themselves.
#include "app/gui/main_window.h"
#include "app/gui/session.h"
#include "app/gui/session_saver.h"
#include "app/gui/spec_history.h"
#include "app/gui/theme.h"
#include "core/session/session_file.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <cstdio>

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
            QTest::qWait(450); // another gesture
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
        Session fresh; // the open one also says that its file is gone
        QSignalSpy failed(&fresh, &Session::failed);
        fresh.open(file);
        QVERIFY(failed.wait(20000));
        QVERIFY2(failed.front().front().toString().contains(QStringLiteral("is not there")),
                 qPrintable(failed.front().front().toString()));
        QVERIFY(!fresh.model());
    }

    /// Written to, replaced and removed under a window that has it open.
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
                return read && read->at < read->history.size() &&
                       read->history[read->at].specA == canonicalText(*parseSpec("int8:block=16"));
            }(),
            20000);
        QVERIFY(window.saver().path().isEmpty()); // nobody chose that place
    }
};

QS_TEST(TestSessionFile)
#include "test_session_file.moc"
