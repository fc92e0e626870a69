// SPDX-License-Identifier: GPL-3.0-or-later
// Keys and menus of the window.
#include "app/gui/main_window.h"
#include "app/gui/menus.h"
#include "app/gui/page.h"
#include "app/gui/spec_edit.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/guide_dialog.h"
#include "app/gui/widgets/tensor_browser.h"
#include "core/report/libraries.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/held_pool.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QScrollBar>
#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <QTextBrowser>
#include <QThread>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>

using namespace qs;
using namespace qs::gui;
using namespace qs::test;

class TestWindowKeys : public QObject {
    Q_OBJECT
    QTemporaryDir home_;

private Q_SLOTS:
    void initTestCase() {
        QCoreApplication::setOrganizationName(QStringLiteral("QuantScope"));
        QCoreApplication::setApplicationName(QStringLiteral("QuantScopeTest"));
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
        Theme::install(Theme::Mode::Dark);
    }

    void keysDoWhatTheMenuSays() {
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        QVERIFY(openModel(session, samplePath()));
        QVERIFY(everythingMeasured(session, session.spec()));
        QCOMPARE(session.page(), QStringLiteral("overview"));
        QTest::keyClick(&window, Qt::Key_3);
        QCOMPARE(session.spec(), presets()[2]);
        QTest::keyClick(&window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(session.spec().format, std::string("nf4"));
        QTest::keyClick(&window, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(session.spec(), presets()[2]);
        QTest::keyClick(&window, Qt::Key_B);
        QVERIFY(session.comparing());
        QTest::keyClick(&window, Qt::Key_B);
        QVERIFY(!session.comparing());
        QTest::keyClick(&window, Qt::Key_R, Qt::ControlModifier);
        QCOMPARE(session.page(), QStringLiteral("report"));
        QTest::keyClick(&window, Qt::Key_C);
        QCOMPARE(session.page(), QStringLiteral("compare"));

        session.selectTensor(session.model()->find("model.layers.1.self_attn.q_proj.weight"));
        QTest::keyClick(&window, Qt::Key_BracketRight);
        QCOMPARE(session.tensor()->name, std::string("model.layers.2.self_attn.q_proj.weight"));
        QTest::keyClick(&window, Qt::Key_BracketLeft);
        QCOMPARE(session.tensor()->name, std::string("model.layers.1.self_attn.q_proj.weight"));
        window.browser().view()->setFocus();
        QTest::keyClick(window.browser().view(), Qt::Key_Down);
        QVERIFY(session.tensor()->name != "model.layers.1.self_attn.q_proj.weight");

        QTest::keyClick(&window, Qt::Key_F, Qt::ControlModifier);
        auto* filter = window.findChild<QLineEdit*>(QStringLiteral("filter"));
        QVERIFY(filter->hasFocus());
        const bool comparing = session.comparing();
        QTest::keyClicks(filter, QStringLiteral("b3")); // in a text field, letters and digits are text, not shortcuts
        QCOMPARE(filter->text(), QStringLiteral("b3"));
        QCOMPARE(session.comparing(), comparing);
        session.cancelJobs();
        QTest::keyClick(filter, Qt::Key_Escape);
        QVERIFY(filter->text().isEmpty());

        window.browser().view()->setFocus();
        QTest::keyClick(&window, Qt::Key_C, Qt::ControlModifier);
        QVERIFY(QApplication::clipboard()->text().startsWith(QLatin1String("Tensor\t")));
        QTest::keyClick(&window, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(QApplication::clipboard()->mimeData()->hasImage());
        QTest::keyClick(window.browser().view(), Qt::Key_Space);
        QVERIFY(QApplication::activePopupWidget());
        keepPicture(*QApplication::activePopupWidget(), QStringLiteral("peek"));
        QTest::keyClick(QApplication::activePopupWidget(), Qt::Key_Space);
        QVERIFY(!QApplication::activePopupWidget());
        QTest::keyClick(&window, Qt::Key_F1);
        auto* keys = window.findChild<QWidget*>(QStringLiteral("keys"));
        QVERIFY(keys && keys->isVisible());
        keepPicture(*keys, QStringLiteral("keys"));
        keys->close();
    }

    /// Real keys at the window: what is open is closed first. Work is stopped only when nothing is open, and work that has
    /// run for long only after a question.
    void escClosesWhatIsOpenFirst() {
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        QVERIFY(openModel(session, samplePath()));
        QVERIFY(everythingMeasured(session, session.spec()));
        const auto esc = [&] { QTest::keyClick(window.windowHandle(), Qt::Key_Escape); };
        Task work(&session.tasks());
        bool cancelled = false;
        connect(&work, &Task::cancelled, this, [&] { cancelled = true; });
        const auto begin = [&] {
            cancelled = false;
            work.run(
                "Measuring for hours",
                [](const Job& job) -> Result<int> {
                    while (!job.cancelled()) QThread::msleep(2);
                    return cancelledError();
                },
                [](int) {});
        };
        work.setKept([] { return QStringLiteral("4 of 30 plans are kept"); });
        begin();

        auto* list = window.findChild<QComboBox*>(QStringLiteral("overviewMetric"));
        if (!list)
            for (auto* box : window.currentPage()->findChildren<QComboBox*>())
                if (box->isVisible() && !box->isEditable()) list = box;
        QVERIFY(list);
        QTest::mouseClick(list, Qt::LeftButton);
        QTRY_VERIFY(QApplication::activePopupWidget());
        esc();
        QTRY_VERIFY(!QApplication::activePopupWidget());
        QVERIFY(work.running());
        bool wasOpen = false;
        QTimer::singleShot(100, this, [&] {
            wasOpen = QApplication::activePopupWidget() != nullptr;
            esc();
        });
        window.openMenu(); // returns when the menu has been closed
        QVERIFY(wasOpen && work.running());

        session.tasks().setLong(0);
        window.cancel(); // what the key does when nothing is open
        QTRY_VERIFY(window.findChild<QWidget*>(QStringLiteral("stopQuestion")));
        auto* question = window.findChild<QMessageBox*>(QStringLiteral("stopQuestion"));
        QVERIFY2(question->informativeText().contains(u"4 of 30 plans are kept"),
                 qPrintable(question->informativeText()));
        keepPicture(*question, QStringLiteral("stop-question"));
        QTest::keyClick(question, Qt::Key_Escape); // Esc twice stops nothing
        QTRY_VERIFY(!window.findChild<QWidget*>(QStringLiteral("stopQuestion")));
        QVERIFY(work.running());
        window.cancel();
        QTRY_VERIFY(window.findChild<QWidget*>(QStringLiteral("stopQuestion")));
        QTest::mouseClick(window.findChild<QPushButton*>(QStringLiteral("stopWork")), Qt::LeftButton);
        QVERIFY(cancelled && !work.running());
        QTRY_VERIFY(!window.findChild<QWidget*>(QStringLiteral("stopQuestion")));

        begin(); // the window does not go away with it either
        window.close();
        QVERIFY(window.isVisible() && work.running());
        QTRY_VERIFY(window.findChild<QWidget*>(QStringLiteral("stopQuestion")));
        QTest::mouseClick(window.findChild<QPushButton*>(QStringLiteral("goOn")), Qt::LeftButton);
        QTRY_VERIFY(!window.findChild<QWidget*>(QStringLiteral("stopQuestion")));
        QVERIFY(window.isVisible() && work.running());

        session.tasks().setLong(10'000);
        window.cancel(); // short work is stopped at once
        QVERIFY(cancelled && !work.running());
    }

    void everyPageHasAGuide() {
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        QTest::keyClick(&window, Qt::Key_F1, Qt::ShiftModifier);
        auto* guide = window.findChild<GuideDialog*>();
        QVERIFY(guide && guide->isVisible());
        auto* text = guide->findChild<QTextBrowser*>(QStringLiteral("guideText"));
        for (const PageTraits& page : pages()) {
            const QString place = QLatin1String(page.guide);
            guide->showPlace(place);
            QVERIFY2(place.startsWith(guide->file()) && !guide->file().isEmpty(), page.id);
            QVERIFY2(text->document()->characterCount() > 500, page.id);
            QCOMPARE(guide->heading().isEmpty(), !place.contains(u'#'));
        }
        guide->showPlace(QLatin1String(pages().back().guide));
        QTest::qWait(50);
        keepPicture(*guide, QStringLiteral("guide"));
        QVERIFY(text->verticalScrollBar()->value() > 0); // it went to the heading
        auto* back = guide->findChild<QPushButton*>(QStringLiteral("guideBack"));
        const QString before = guide->file();
        QTest::mouseClick(back, Qt::LeftButton);
        QVERIFY(guide->file() != before);
        guide->close();
    }

    void aboutNamesEveryLibrary() {
        Session session;
        MainWindow window(session);
        window.show();
        QAction* about = nullptr;
        for (auto* action : window.findChildren<QAction*>())
            if (action->text() == QStringLiteral("&About QuantScope")) about = action;
        QVERIFY(about);
        about->trigger();
        auto* dialog = window.findChild<QWidget*>(QStringLiteral("about"));
        QVERIFY(dialog && dialog->isVisible());
        const auto* table = dialog->findChild<QTableView*>(QStringLiteral("aboutLibraries"));
        QVERIFY(table);
        QCOMPARE(table->model()->rowCount(), int(libraries().size()));
        QCOMPARE(table->model()->index(0, 2).data().toString(), QLatin1String(libraries()[0].licence));
        keepPicture(*dialog, QStringLiteral("about"));
        dialog->close();
    }

    void commandsOfAModelNeedOne() {
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        const auto named = [&](const QString& title) -> QAction* {
            for (auto* action : window.findChildren<QAction*>())
                if (action->text().remove(u'&').section(u'\t', 0, 0) == title) return action;
            return nullptr;
        };
        const QStringList ofModel{QStringLiteral("Close model"),   QStringLiteral("Report"),
                                  QStringLiteral("Export"),        QStringLiteral("Copy table"),
                                  QStringLiteral("Filter"),        QStringLiteral("Next"),
                                  QStringLiteral("Peek"),          QStringLiteral("Second spec B beside A"),
                                  QStringLiteral("Overview"),      QStringLiteral("Analyse the model under A"),
                                  QStringLiteral("Tensor browser")};
        for (const auto& title : ofModel) QVERIFY2(named(title) && !named(title)->isEnabled(), qPrintable(title));
        for (const char* title : {"Open file…", "Keys", "Open"})
            QVERIFY2(named(QString::fromUtf8(title)) && named(QString::fromUtf8(title))->isEnabled(), title);
        const auto before = session.spec();
        QTest::keyClick(&window, Qt::Key_3);
        QCOMPARE(session.spec(), before);
        QVERIFY(openModel(session, samplePath()));
        for (const auto& title : ofModel) QVERIFY2(named(title)->isEnabled(), qPrintable(title));
        QTest::keyClick(&window, Qt::Key_W, Qt::ControlModifier);
        QTRY_VERIFY(!session.model());
        for (const auto& title : ofModel) QVERIFY2(!named(title)->isEnabled(), qPrintable(title));
    }

    /// Key repeat while the space bar is held must neither hide nor show the preview again.
    void spaceThatIsHeldPeeksOnce() {
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        QVERIFY(openModel(session, samplePath()));
        QTRY_VERIFY(window.browser().isVisible() && window.browser().view()->currentIndex().isValid());
        auto* view = window.browser().view();
        view->setFocus();
        QTest::keyPress(view, Qt::Key_Space);
        auto* peek = QApplication::activePopupWidget();
        QVERIFY(peek);
        for (int i = 0; i < 3; ++i) {
            QKeyEvent again(QEvent::KeyPress, Qt::Key_Space, Qt::NoModifier, QStringLiteral(" "), true);
            QApplication::sendEvent(peek, &again);
            QCOMPARE(QApplication::activePopupWidget(), peek);
        }
        QTest::keyClick(peek, Qt::Key_Space);
        QVERIFY(!QApplication::activePopupWidget());
        QKeyEvent again(QEvent::KeyPress, Qt::Key_Space, Qt::NoModifier, QStringLiteral(" "), true);
        QApplication::sendEvent(view, &again);
        QVERIFY(!QApplication::activePopupWidget());
    }

    /// A button that is disabled while its job runs gets the focus back when it is enabled again.
    void theFocusWaitsForAPressedButton() {
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        QVERIFY(openModel(session, samplePath()));
        QTest::mouseClick(window.findChild<QToolButton*>(QStringLiteral("rail-audit")), Qt::LeftButton);
        QTRY_VERIFY(window.findChild<QPushButton*>(QStringLiteral("auditStart")));
        auto* start = window.findChild<QPushButton*>(QStringLiteral("auditStart"));
        QTRY_VERIFY(start->isVisible() && start->isEnabled() && !session.laneBusy());
        start->setFocus();
        {
            const HeldPool held;
            QTest::keyClick(start, Qt::Key_Space);
            QVERIFY(!start->isEnabled());
            auto* there = QApplication::focusWidget();
            QVERIFY2(there && !there->inherits("QAbstractButton"),
                     there ? there->metaObject()->className() : "nothing");
        }
        QTRY_VERIFY(start->isEnabled());
        QCOMPARE(QApplication::focusWidget(), start);
    }

    void everyKeyIsListedOnce() {
        Session session;
        MainWindow window(session);
        QStringList keys;
        for (const auto& line : keyLines(window)) keys << line.keys;
        for (const char* wanted : {"Ctrl+O", "Ctrl+Shift+O",
                                   "Ctrl+F", "Up",
                                   "Down",   "[",
                                   "]",      "Space",
                                   "B",      "C",
                                   "1",      "9",
                                   "Ctrl+Z", "Ctrl+Shift+Z",
                                   "Ctrl+C", "Ctrl+Shift+C",
                                   "Ctrl+R", "Esc",
                                   "F1",     "Shift+F1",
                                   "Ctrl+Q"})
            QVERIFY2(keys.count(QString::fromLatin1(wanted)) == 1, wanted);
        QCOMPARE(keys.removeDuplicates(), 0);
    }
};

QS_TEST(TestWindowKeys)
#include "window_keys_test.moc"
