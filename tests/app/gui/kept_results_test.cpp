// SPDX-License-Identifier: GPL-3.0-or-later
// Results of pages in session files: they are shown again without computing them again.
#include "app/gui/main_window.h"
#include "app/gui/pages/audit/audit_page.h"
#include "app/gui/pages/export/export_page.h"
#include "app/gui/pages/sweep/sweep_page.h"
#include "app/gui/session.h"
#include "app/gui/session_saver.h"
#include "app/gui/theme.h"
#include "core/session/session_file.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/lane_count.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QPushButton>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

using namespace qs;
using namespace qs::gui;
using namespace qs::test;

class TestKeptResults : public QObject {
    Q_OBJECT
    QTemporaryDir home_;

private Q_SLOTS:
    void initTestCase() {
        QStandardPaths::setTestModeEnabled(true);
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
        Theme::install(Theme::Mode::Dark);
    }

    void cleanupTestCase() { QFile::remove(SessionSaver::autosavePath()); }
    /// Page results are stored in the session: nothing is computed again, and the user is not asked.
    void whatPagesComputedComesBack() {
        const auto file = home_.filePath(QStringLiteral("computed.qscope"));
        const auto other = home_.filePath(QStringLiteral("compared.safetensors"));
        QVERIFY(!writeLayeredModel(other, 2, 16).isEmpty());
        const auto model = home_.filePath(QStringLiteral("model.safetensors")); // small, because everything is swept
        QVERIFY(!writeLayeredModel(model, 2, 32).isEmpty());
        std::size_t findings = 0, points = 0, rows = 0;
        {
            Session session;
            MainWindow window(session);
            window.resize(1280, 680); // the smallest window
            window.show();
            QVERIFY(openModel(session, model));
            session.showPage(QStringLiteral("audit"));
            AuditPage* audit = nullptr;
            QTRY_VERIFY((audit = window.findChild<AuditPage*>()) && audit->isVisible());
            QTRY_VERIFY_WITH_TIMEOUT(audit->result() && !audit->running(), 60000);
            audit->compareWith(other);
            QTRY_VERIFY_WITH_TIMEOUT(audit->differences() && !audit->running(), 60000);
            session.showPage(QStringLiteral("sweep"));
            SweepPage* sweep = nullptr;
            QTRY_VERIFY((sweep = window.findChild<SweepPage*>()) && sweep->isVisible());
            if (!sweep->running())
                QTest::mouseClick(window.findChild<QPushButton*>(QStringLiteral("sweepStart")), Qt::LeftButton);
            QTRY_VERIFY_WITH_TIMEOUT(sweep->result() && !sweep->running(), 300000);
            session.showPage(QStringLiteral("export"));
            ExportPage* exports = nullptr;
            QTRY_VERIFY((exports = window.findChild<ExportPage*>()) && exports->isVisible());
            exports->setOutputChooser(
                [&](const QString&) { return home_.filePath(QStringLiteral("out.safetensors")); });
            QSignalSpy exported(exports, &ExportPage::exported);
            auto* write = window.findChild<QPushButton*>(QStringLiteral("exportWrite"));
            QTRY_VERIFY_WITH_TIMEOUT(write->isEnabled(), 20000);
            const auto place = [&] { return write->mapTo(&window, QPoint()); };
            const auto before = place();
            QTest::mouseClick(write, Qt::LeftButton);
            QVERIFY(exported.wait(60000));
            QTest::qWait(50);
            QCOMPARE(place(), before); // no widget moves under the mouse
            QVERIFY(exports->certificate());
            findings = audit->result()->findings.size(), points = sweep->result()->points.size();
            rows = audit->differences()->rows.size();
            QSignalSpy saved(&window.saver(), &SessionSaver::saved);
            window.saver().save(file);
            QVERIFY(saved.wait(60000));
        }
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, file));
        QTRY_COMPARE(session.page(), QStringLiteral("export"));
        ExportPage* exports = nullptr;
        QTRY_VERIFY((exports = window.findChild<ExportPage*>()) && exports->certificate());
        QVERIFY(exports->certificate()->proof.proved());
        QTRY_VERIFY(!session.busy());
        const LaneCount lane(session); // no job is started
        session.showPage(QStringLiteral("audit"));
        AuditPage* audit = nullptr;
        QTRY_VERIFY((audit = window.findChild<AuditPage*>()) && audit->result() && audit->differences());
        QCOMPARE(audit->result()->findings.size(), findings);
        QCOMPARE(audit->differences()->rows.size(), rows);
        session.showPage(QStringLiteral("sweep"));
        SweepPage* sweep = nullptr;
        QTRY_VERIFY((sweep = window.findChild<SweepPage*>()) && sweep->result());
        QCOMPARE(sweep->result()->points.size(), points);
        QVERIFY(sweep->result()->points.front().sqnrDb());
        QCOMPARE(lane.begun(), 0);
        // A session saved again without visiting the pages keeps all results.
        const auto again = home_.filePath(QStringLiteral("again.qscope"));
        QSignalSpy saved(&window.saver(), &SessionSaver::saved);
        window.saver().save(again);
        QVERIFY(saved.wait(60000));
        const auto first = readSession(file.toStdString()), second = readSession(again.toStdString());
        QVERIFY(first && second && first->kept == second->kept);
        QCOMPARE(first->kept.size(), std::size_t(4));
        // Another checkpoint has none of these results.
        QVERIFY(openModel(session, other));
        QVERIFY(session.kept().empty());
    }
};

QS_TEST(TestKeptResults)
#include "kept_results_test.moc"
