// SPDX-License-Identifier: GPL-3.0-or-later
// Work off the window's thread: what arrives, in which order, and what does not.
#include "app/gui/task.h"
#include "tests/support/test_program.h"

#include <QSignalSpy>
#include <QTest>

#include <atomic>

using namespace qs;
using namespace qs::gui;

class TestTask : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void mailArrivesBeforeTheResult() {
        Task task;
        QStringList heard;
        connect(&task, &Task::over, this, [&] { heard << QStringLiteral("over"); });
        using Mail = std::vector<int>;
        task.run<Mail>(
            {},
            [](const Job&, Inbox<Mail>& inbox) -> Result<int> {
                for (int i = 0; i < 3; ++i) inbox.write([&](Mail& mail) { mail.push_back(i); });
                return 7;
            },
            [&](const Mail& mail) {
                QVERIFY(task.running());
                for (const int one : mail) heard << QString::number(one);
            },
            [&](int result) {
                QVERIFY(!task.running());
                heard << QString::number(result);
            });
        QVERIFY(task.running());
        QTRY_VERIFY(!task.running());
        QCOMPARE(heard.join(u' '), QStringLiteral("0 1 2 7 over"));
    }

    void cancelKeepsWhatHasArrivedAndDropNothing() {
        for (const bool cancels : {true, false}) {
            Task task;
            QSignalSpy cancelled(&task, &Task::cancelled), over(&task, &Task::over);
            std::atomic<bool> sent{false};
            int arrived = 0, done = 0;
            task.setInterval(60'000);
            task.run<int>(
                {},
                [&](const Job& job, Inbox<int>& inbox) -> Result<int> {
                    inbox.write([](int& mail) { mail = 5; });
                    sent = true;
                    while (!job.cancelled()) QTest::qSleep(1);
                    sent = false;
                    return 1;
                },
                [&](int mail) { arrived = mail; }, [&](int) { ++done; });
            QTRY_VERIFY(sent);
            cancels ? task.cancel() : task.drop();
            QVERIFY(!task.running());
            QCOMPARE(arrived, cancels ? 5 : 0);
            QCOMPARE(cancelled.size(), cancels ? 1 : 0);
            QCOMPARE(over.size(), cancels ? 1 : 0);
            QTRY_VERIFY(!sent);
            QTest::qWait(20);
            QCOMPARE(done, 0);
        }
    }

    void aFailureIsASentence() {
        Task task;
        QSignalSpy failed(&task, &Task::failed), over(&task, &Task::over);
        task.run(
            {}, [](const Job&) -> Result<int> { return fail("nothing is there"); }, [](int) { QFAIL("no value"); });
        QTRY_COMPARE(over.size(), 1);
        QCOMPARE(failed.size(), 1);
        QCOMPARE(failed[0][0].toString(), QString::fromStdString(oneSentence("nothing is there")));
        task.run(
            {}, [](const Job&) -> Result<int> { throw std::bad_alloc(); }, [](int) { QFAIL("no value"); });
        QTRY_COMPARE(failed.size(), 2);
        bool asResult = false; // whoever takes the Result hears of it there
        task.run(
            {}, [](const Job&) -> Result<int> { return fail("no"); }, [&](const Result<int>& r) { asResult = !r; });
        QTRY_VERIFY(asResult);
        QCOMPARE(failed.size(), 2);
    }

    void theListShowsTheNewestAndCancelsAll() {
        TaskList list;
        Task first(&list), second(&list), quiet(&list);
        std::string shown;
        connect(&list, &TaskList::progressed, this, [&](const Progress& p) { shown = p.what; });
        const auto work = [](const Job& job) -> Result<int> {
            while (!job.cancelled()) QTest::qSleep(1);
            return 0;
        };
        first.run("First", work, [](int) {});
        second.run("Second", work, [](int) {});
        quiet.run({}, work, [](int) {});
        QCOMPARE(shown, std::string("Second"));
        second.drop();
        QCOMPARE(shown, std::string("First"));
        list.cancelAll();
        QVERIFY(!list.busy() && !first.running() && quiet.running());
    }
};

QS_TEST(TestTask)
#include "task_test.moc"
