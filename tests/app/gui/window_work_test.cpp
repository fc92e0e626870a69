// SPDX-License-Identifier: GPL-3.0-or-later
// Work that the window starts: the job lane, key figures, and the longest time the event loop was blocked.
#include "app/gui/main_window.h"
#include "app/gui/spec_edit.h"
#include "app/gui/task.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/job_lane.h"
#include "app/gui/widgets/key_figures.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/held_pool.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QElapsedTimer>
#include <QLabel>
#include <QProgressBar>
#include <QSettings>
#include <QSlider>
#include <QTemporaryDir>
#include <QTimer>
#include <ctime>

using namespace qs;
using namespace qs::gui;
using namespace qs::test;

namespace {

// The longest time between two turns of the event loop: wall-clock time, and CPU time of this thread. The test checks
// CPU time, because it does not depend on other load.
class Probe : public QObject {
public:
    Probe() {
        timer_.setTimerType(Qt::PreciseTimer);
        connect(&timer_, &QTimer::timeout, this, [this] {
            longest_ = std::max(longest_, clock_.restart());
            const double now = cpuMs();
            longestCpu_ = std::max(longestCpu_, now - cpu_);
            cpu_ = now;
        });
        clock_.start();
        cpu_ = cpuMs();
        timer_.start(1);
    }
    qint64 longestMs() const { return longest_; }
    double longestCpuMs() const { return longestCpu_; }

private:
    static double cpuMs() {
        timespec t{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return double(t.tv_sec) * 1e3 + double(t.tv_nsec) / 1e6;
    }
    QTimer timer_;
    QElapsedTimer clock_;
    qint64 longest_ = 0;
    double cpu_ = 0, longestCpu_ = 0;
};

} // namespace

class TestWindowWork : public QObject {
    Q_OBJECT
    QTemporaryDir home_;

private Q_SLOTS:
    void initTestCase() {
        QCoreApplication::setOrganizationName(QStringLiteral("QuantScope"));
        QCoreApplication::setApplicationName(QStringLiteral("QuantScopeTest"));
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
        Theme::install(Theme::Mode::Dark);
    }

    /// A run over the model is replaced by a spec that is already measured: nothing runs, and the job lane says so.
    void aWithdrawnRunLeavesTheLane() {
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        QVERIFY(openModel(session, samplePath()));
        QTest::keyClick(&window, Qt::Key_1);
        QVERIFY(everythingMeasured(session, session.spec()));
        QTRY_VERIFY(!session.busy());
        auto* lane = window.findChild<JobLane*>();
        auto* bar = lane->findChild<QProgressBar*>();
        auto* rate = lane->findChild<QLabel*>(QStringLiteral("laneRate"));
        session.selectTensor(nullptr); // otherwise its chart would be computed first
        session.showPage(QStringLiteral("start"));
        QTRY_COMPARE(window.currentPage()->objectName(), QStringLiteral("page-start"));
        QTest::qWait(50);
        const HeldPool held; // Qt paints large areas on the same pool, so no page with charts may be shown now
        const auto analysing = [&] { return bar->isVisible() && lane->text().startsWith(u"Analysing"); };
        QTest::keyClick(&window, Qt::Key_7);
        QTRY_VERIFY(analysing());
        QVERIFY(session.laneBusy() && !rate->isVisible()); // the rate of the run before is not shown
        QTest::keyClick(&window, Qt::Key_1);
        QVERIFY(!session.laneBusy());
        QVERIFY(!bar->isVisible());
        QCOMPARE(lane->text(), QStringLiteral("Ready"));
        QTest::keyClick(&window, Qt::Key_7);
        QTRY_VERIFY(analysing());
        QTest::keyClick(&window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(session.spec(), presets()[0]);
        QCOMPARE(lane->text(), QStringLiteral("Ready"));

        // When a job ends, the lane shows a job that still runs. Late messages of the ended job are not shown.
        QTest::keyClick(&window, Qt::Key_7);
        QTRY_VERIFY(analysing());
        Task second(&session.tasks()), first(&session.tasks());
        const auto nothing = [](const Job&) -> Result<int> { return 0; };
        second.run("Second", nothing, [](int) {});
        first.run("First", nothing, [](int) {});
        QCOMPARE(lane->text(), QStringLiteral("First")); // the newest
        QTest::keyClick(&window, Qt::Key_1);
        QVERIFY(session.laneBusy());
        QCOMPARE(lane->text(), QStringLiteral("First"));
        first.drop();
        QCOMPARE(lane->text(), QStringLiteral("Second"));
        QTest::qWait(60); // progress is looked for 20 times a second
        QCOMPARE(lane->text(), QStringLiteral("Second"));
        QTest::keyClick(&window, Qt::Key_Escape);
        QCOMPARE(lane->text(), QStringLiteral("Cancelled"));
    }

    void keyFiguresFollowInTheFrameOfTheCharts() {
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, samplePath()));
        auto* figures = window.findChild<KeyFigures*>();
        QTRY_COMPARE(session.page(), QStringLiteral("overview"));
        QCOMPARE(figures->owner(), QStringLiteral("Model")); // the card says what the figures are about
        session.showPage(QStringLiteral("tensor"));
        QCOMPARE(figures->owner(), QStringLiteral("Tensor"));
        QVERIFY(tensorMeasured(session));
        const auto before = figures->text(0);
        QString atSignal;
        connect(&session, &Session::currentChanged, this, [&] { atSignal = figures->text(0); });
        session.setSpec(withBlock(session.spec(), 16));
        QVERIFY(tensorMeasured(session));
        QTRY_VERIFY(!atSignal.isEmpty());
        QCOMPARE(atSignal, figures->text(0));
        QVERIFY(atSignal != before);
    }

    void slidingNeverHoldsTheEventLoop() {
        const auto path = home_.filePath(QStringLiteral("big.safetensors"));
        QVERIFY(writeModelFile(
            path,
            {{QStringLiteral("model.layers.0.mlp.up_proj.weight"), {2048, 4096}, normalValues(2048 * 4096, 0.02, 1)}}));
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, path));
        session.showPage(QStringLiteral("tensor"));
        QVERIFY(tensorMeasured(session));
        auto* slider = window.findChild<QSlider*>(QStringLiteral("block"));
        QElapsedTimer handler;
        qint64 slowestNs = 0;
        Probe probe;
        for (int turn = 0; turn < 3; ++turn)
            for (int at = 0; at <= slider->maximum(); ++at) {
                handler.start();
                slider->setValue(at);
                slowestNs = std::max(slowestNs, handler.nsecsElapsed());
                QTest::qWait(25);
            }
        QVERIFY(tensorMeasured(session));
        QTest::qWait(100);
        qInfo("while sliding the event loop was held at most %lld ms, %.1f ms of them computing; slowest slider step "
              "%.2f ms",
              static_cast<long long>(probe.longestMs()), probe.longestCpuMs(), double(slowestNs) / 1e6);
#if !defined(__SANITIZE_ADDRESS__)
        QVERIFY(probe.longestCpuMs() < 100);
#endif
        QCOMPARE(session.current()->spec, session.spec()); // the last request was answered
    }
};

QS_TEST(TestWindowWork)
#include "window_work_test.moc"
