// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/spec_history.h"

#include "app/gui/session.h"
#include "app/gui/spec_edit.h"
#include "app/gui/theme.h"
#include "tests/support/test_program.h"

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
        session.setComparing(true); // a new branch of the history
        QVERIFY(!history.canRedo());
        history.undo();
        QVERIFY(!session.comparing());
    }
};

QS_TEST(TestSpecHistory)
#include "spec_history_test.moc"
