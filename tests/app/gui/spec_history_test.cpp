// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/spec_history.h"

#include "app/gui/main_window.h"
#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/spec_edit.h"
#include "app/gui/theme.h"
#include "opened_session.h"
#include "tests/support/test_program.h"

#include <QToolButton>
#include <QWidget>

using namespace qs;
using namespace qs::gui;

class TestSpecHistory : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { Theme::install(Theme::Mode::Dark); }

    void undoGoesThroughTheHistory() {
        Session session;
        SpecHistory history(session);
        const auto first = session.spec();
        for (const auto block : {128u, 256u, 512u}) session.setSpec(withBlock(session.spec(), block)); // one drag
        session.setSpec(presets()[1]);
        QVERIFY(history.canUndo() && !history.canRedo());
        history.undo();
        QCOMPARE(session.spec().blockSize(), 512u);
        history.undo();
        QCOMPARE(session.spec(), first);
        QVERIFY(!history.canUndo());
        history.redo();
        history.redo();
        QCOMPARE(session.spec(), presets()[1]);
        history.undo();
        session.setSpecB(presets()[3]); // a new branch of the history
        QVERIFY(!history.canRedo());
        history.undo();
        QVERIFY(history.canUndo());
    }

    /// Views are no steps, on no page: no page, tab, toggle or tensor. A change of B that is undone is shown.
    void viewsAreNoSteps() {
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, samplePath()));
        const SpecHistory& history = window.history();
        int pressed = 0;
        for (const PageTraits& page : pages()) {
            session.showPage(QString::fromLatin1(page.id));
            QTRY_COMPARE(window.currentPage()->objectName(), QStringLiteral("page-") + QLatin1String(page.id));
            QTest::qWait(20);
            for (auto* toggle : window.currentPage()->findChildren<QToolButton*>()) {
                if (!toggle->isCheckable() || !toggle->isVisible() || !toggle->isEnabled()) continue;
                QTest::mouseClick(toggle, Qt::LeftButton), ++pressed;
                QVERIFY2(!history.canUndo(), qPrintable(QString::fromLatin1(page.id) + u' ' + toggle->objectName()));
            }
        }
        QVERIFY2(pressed > 20, qPrintable(QString::number(pressed)));
        auto* compare = window.findChild<QToolButton*>(QStringLiteral("comparing"));
        session.showPage(QStringLiteral("overview"));
        QTRY_VERIFY(compare->isVisible() && !session.comparing());
        for (int i = 0; i < 3; ++i) QTest::mouseClick(compare, Qt::LeftButton);
        QVERIFY(session.comparing() && !history.canUndo());
        session.selectTensor(session.weights().back());
        const auto before = session.specB();
        session.setSpecB(presets()[2]);
        QVERIFY(history.canUndo());
        QTest::mouseClick(compare, Qt::LeftButton);
        QVERIFY(!session.comparing() && history.at() == 1);
        window.history().undo();
        QVERIFY(session.comparing() && session.specB() == before && !history.canUndo());
    }

    /// However slow a drag is, it is one step; a second drag is another one.
    void slowDragsAreOneStep() {
        Session session;
        SpecHistory history(session);
        const auto first = session.spec();
        QWidget slider;
        const auto drag = [&](std::initializer_list<unsigned> blocks) {
            QTest::mousePress(&slider, Qt::LeftButton);
            for (const auto block : blocks) {
                session.setSpec(withBlock(session.spec(), block));
                QTest::qWait(500); // longer than between the steps of a key that is held
            }
            QTest::mouseRelease(&slider, Qt::LeftButton);
        };
        drag({128u, 256u});
        drag({512u, 1024u});
        QCOMPARE(history.at(), std::size_t(2));
        history.undo();
        QCOMPARE(session.spec().blockSize(), 256u);
        history.undo();
        QCOMPARE(session.spec(), first);
    }

    /// The budget of a plan is a change like others, comes back from a file, and is forgotten with its model, as rules are.
    void budgetsAreSteps() {
        Session session;
        SpecHistory history(session);
        session.decision().setBudget(4.5);
        QVERIFY(history.canUndo() && history.undoText().contains(QStringLiteral("budget")));
        session.setRules(QStringLiteral("a=keep"), false);
        for (const double bpw : {4.25, 4.0, 3.75}) session.decision().setBudget(bpw); // keys that are held
        QCOMPARE(history.at(), std::size_t(3));
        history.undo();
        QCOMPARE(session.decision().budget(), std::optional(4.5));
        QVERIFY(!session.rules().isEmpty());
        const auto steps = history.steps();
        QCOMPARE(steps[3].budget, std::optional(3.75));
        QVERIFY(!steps[0].budget);
        history.undo(), history.undo();
        QVERIFY(!session.decision().budget());
        history.restore(steps, 3);
        QCOMPARE(session.decision().budget(), std::optional(3.75));
        QVERIFY(openModel(session, samplePath()));
        QVERIFY(!session.decision().budget());
        QVERIFY(session.rules().isEmpty() && !session.keepsRest());
        QVERIFY(!history.canUndo() && !history.canRedo());
    }
};

QS_TEST(TestSpecHistory)
#include "spec_history_test.moc"
