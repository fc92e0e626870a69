// SPDX-License-Identifier: GPL-3.0-or-later
// The block slider in the whole window, with a 4096 x 4096 F32 tensor: the time from a key press to repainted charts,
// and that the next value cancels the job before.
#include "app/gui/main_window.h"
#include "app/gui/tensor_probe.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/staged_refresh.h"
#include "core/quant/spec/formats.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QElapsedTimer>
#include <QSlider>
#include <QTemporaryDir>
#include <QThreadPool>

#include <map>

using namespace qs;
using namespace qs::gui;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kTimed = false;
#else
constexpr bool kTimed = true;
#endif
constexpr int kSide = 4096;
constexpr double kRedrawMs = 33;
constexpr int kRounds = 20; ///< limit
constexpr int kSteps = 7;   ///< blocks of 16 to 2048

/// Records when each chart was last painted.
class PaintClock : public QObject {
public:
    PaintClock() { clock_.start(); }
    void watch(QWidget* viewport) {
        viewport->installEventFilter(this);
        painted_[viewport] = -1;
    }
    void restart() {
        clock_.restart();
        for (auto& [viewport, ms] : painted_) ms = -1;
    }
    double ms() const { return double(clock_.nsecsElapsed()) / 1e6; }
    /// -1 if a chart has not been painted yet.
    double allPaintedMs() const {
        double last = 0;
        for (const auto& [viewport, ms] : painted_) {
            if (ms < 0) return -1;
            last = std::max(last, ms);
        }
        return last;
    }
    std::size_t size() const { return painted_.size(); }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::Paint) painted_[watched] = ms();
        return false;
    }

private:
    QElapsedTimer clock_;
    std::map<QObject*, double> painted_;
};

} // namespace

class TestBlockSlider : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    QString path_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<MainWindow> window_;
    QSlider* slider_ = nullptr;
    StagedRefresh* stages_ = nullptr;

    bool fresh() const {
        return session_->current() && !session_->currentIsStale() && session_->current()->spec == session_->spec();
    }
    bool quiet() const { return fresh() && !session_->busy() && !stages_->pending(); }

    /// Results are cached while a model is open. So the model is opened again, with blocks of 16.
    void openAnew() {
        QSignalSpy opened(session_.get(), &Session::modelChanged);
        session_->setSpec(*parseSpec("nf4:block=16"));
        session_->open(path_);
        QTRY_VERIFY_WITH_TIMEOUT(!opened.isEmpty() && session_->model(), 60'000);
        session_->showPage(QStringLiteral("tensor"));
        QTRY_COMPARE(window_->currentPage()->objectName(), QStringLiteral("page-tensor"));
        stages_ = window_->currentPage()->findChild<StagedRefresh*>();
        QVERIFY(stages_);
        QTRY_VERIFY_WITH_TIMEOUT(quiet(), 60'000);
        slider_ = window_->findChild<QSlider*>(QStringLiteral("block"));
        QVERIFY(slider_ && slider_->isVisible() && slider_->isEnabled());
        slider_->setFocus();
        QTest::qWait(20);
    }

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        path_ = folder_.filePath(QStringLiteral("large.safetensors"));
        QVERIFY(writeModelFile(path_, {{QStringLiteral("layers.0.mlp.down_proj.weight"),
                                        {kSide, kSide},
                                        normalValues(std::size_t(kSide) * kSide, 0.02, 1)}}));
        session_ = std::make_unique<Session>();
        window_ = std::make_unique<MainWindow>(*session_);
        window_->show();
        QTest::qWait(50);
        openAnew();
    }

    /// Wall-clock time, because that is what a user sees. Other load only makes a step longer. So for each of the seven
    /// steps the best round counts, and the test checks the median of these. Rounds are added, up to twenty, while the
    /// median is above the limit. So a step of 34 ms on an idle machine always fails. A step of 18 ms fails only if the
    /// machine is loaded for the whole half minute.
    void aStepIsRepaintedWithin33Ms() {
        if (!kTimed) QSKIP("a sanitizer's speed is not the program's");
        PaintClock clock;
        for (auto* chart : window_->currentPage()->findChildren<PlotChart*>())
            if (chart->isVisible()) clock.watch(chart->findChild<QWidget*>(QStringLiteral("plot")));
        QVERIFY(clock.size() >= 5); // density, error, block, and two of the channels
        std::vector<double> best(kSteps, 1e9);
        int rounds = 0;
        do {
            openAnew();
            if (QTest::currentTestFailed()) return;
            for (int step = 0; step < kSteps; ++step) {
                const auto before = session_->spec();
                clock.restart();
                QTest::keyClick(slider_, Qt::Key_Right);
                while (!(fresh() && !(session_->spec() == before) && !stages_->pending()) && clock.ms() < 10'000)
                    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents); // with a time limit it would spin
                QCoreApplication::sendPostedEvents(); // scenes and widgets post events to each other about what to
                                                      // repaint
                while (clock.allPaintedMs() < 0 && clock.ms() < 10'000) QTest::qWait(1); // waits for requested paints
                QCOMPARE(session_->current()->spec.blockSize(), std::uint32_t(32 << step));
                const double ms = clock.allPaintedMs();
                QVERIFY(ms > 0);
                best[std::size_t(step)] = std::min(best[std::size_t(step)], ms);
            }
            ++rounds;
        } while (rounds < 3 || (median(best) > kRedrawMs && rounds < kRounds));
        QString each;
        for (const double ms : best) each += QStringLiteral(" %1").arg(ms, 0, 'f', 1);
        const auto said = QStringLiteral("nf4 on %1 x %1 F32, %2: median of the steps %3 ms, best of %4 rounds each:%5")
                              .arg(kSide)
                              .arg(QString::fromStdString(isaName()))
                              .arg(median(best), 0, 'f', 1)
                              .arg(rounds)
                              .arg(each);
        qInfo("%s", qPrintable(said));
        QVERIFY2(median(best) <= kRedrawMs, qPrintable(said));
    }

    /// Seven values in quick succession: one job is started for each, and only the last one completes. On a loaded
    /// machine a job may complete between two keys, so the best of some bursts counts.
    void theNextValueCancelsTheJobBefore() {
        const auto probes = session_->findChildren<TensorProbe*>();
        QCOMPARE(probes.size(), 2); // A and B
        int fewest = kSteps + 1;
        for (int burst = 0; burst < 10 && fewest > 1; ++burst) {
            openAnew();
            if (QTest::currentTestFailed()) return;
            const int begun = probes[0]->begun(), ended = probes[0]->ended();
            QSignalSpy answers(session_.get(), &Session::currentChanged);
            for (int step = 0; step < kSteps; ++step) QTest::keyClick(slider_, Qt::Key_Right);
            QCOMPARE(session_->spec().blockSize(), std::uint32_t(2048));
            QCOMPARE(probes[0]->begun() - begun, kSteps);
            QTRY_VERIFY_WITH_TIMEOUT(quiet(), 60'000);
            QThreadPool::globalInstance()->waitForDone(); // cancelled jobs too
            QCOMPARE(session_->current()->spec.blockSize(), std::uint32_t(2048));
            QCOMPARE(answers.size(), 1); // results of cancelled jobs are never shown
            fewest = std::min(fewest, probes[0]->ended() - ended);
        }
        QCOMPARE(fewest, 1);
    }

    /// Slow changes: a value that stays for a while is shown, and so is the next one.
    void everyValueThatStandsIsShown() {
        openAnew();
        const auto probes = session_->findChildren<TensorProbe*>();
        QCOMPARE(probes.size(), 2);
        const int begun = probes[0]->begun(), ended = probes[0]->ended();
        for (int step = 0; step < 3; ++step) {
            QTest::keyClick(slider_, Qt::Key_Right);
            QTRY_VERIFY_WITH_TIMEOUT(fresh() && session_->current()->spec.blockSize() == 32u << step, 60'000);
        }
        QCOMPARE(probes[0]->begun() - begun, 3);
        QCOMPARE(probes[0]->ended() - ended, 3);
    }

private:
    static double median(std::vector<double> values) {
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    }
};

QS_TEST(TestBlockSlider)
#include "block_slider_test.moc"
