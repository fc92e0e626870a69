// SPDX-License-Identifier: GPL-3.0-or-later
// The window operated by events: pages, keys, drops, errors, state, and the longest time the event loop was blocked.
#include "app/gui/main_window.h"
#include "app/gui/menus.h"
#include "app/gui/page.h"
#include "app/gui/spec_edit.h"
#include "app/gui/task.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/banner.h"
#include "app/gui/widgets/job_lane.h"
#include "app/gui/widgets/key_figures.h"
#include "app/gui/widgets/tensor_browser.h"
#include "core/layouts/layout.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QApplication>
#include <QClipboard>
#include <QDropEvent>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QSemaphore>
#include <QSettings>
#include <QSlider>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>

#include <ctime>

using namespace qs;
using namespace qs::gui;

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

// Blocks all threads of the pool, so that new jobs do not start.
class HeldPool {
public:
    HeldPool() : threads_(QThreadPool::globalInstance()->maxThreadCount()) {
        for (int i = 0; i < threads_; ++i)
            QThreadPool::globalInstance()->start([this] {
                begun_.release();
                held_.acquire();
            });
        begun_.acquire(threads_);
    }
    ~HeldPool() {
        held_.release(threads_);
        QThreadPool::globalInstance()->waitForDone();
    }

private:
    int threads_;
    QSemaphore begun_, held_;
};

} // namespace

class TestMainWindow : public QObject {
    Q_OBJECT
    QTemporaryDir home_;

private Q_SLOTS:
    void initTestCase() {
        QCoreApplication::setOrganizationName(QStringLiteral("QuantScope"));
        QCoreApplication::setApplicationName(QStringLiteral("QuantScopeTest"));
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
        Theme::install(Theme::Mode::Dark);
    }

    void everyPageOpensAndIsDrawn() {
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window, qs::test::kWait));
        keepPicture(window, QStringLiteral("window-start-empty"));
        QVERIFY(openModel(session, samplePath()));
        QVERIFY(everythingMeasured(session, session.spec()));
        for (const auto mode : {Theme::Mode::Dark, Theme::Mode::Light}) {
            Theme::instance().setMode(mode);
            for (const auto& page : pages()) {
                const auto id = QString::fromLatin1(page.id);
                QTest::mouseClick(window.findChild<QToolButton*>(QStringLiteral("rail-") + id), Qt::LeftButton);
                QCOMPARE(session.page(), id);
                QVERIFY(window.currentPage()->isVisible());
                QVERIFY(tensorMeasured(session));
                QTest::qWait(30);
                const auto picture = window.grab().toImage();
                QCOMPARE(picture.size(), window.size());
                QCOMPARE(picture.pixelColor(2, window.height() / 2), Theme::instance().tokens().surface);
                keepPicture(window,
                            QStringLiteral("window-%1-%2")
                                .arg(id, mode == Theme::Mode::Dark ? QStringLiteral("dark") : QStringLiteral("light")));
            }
        }
        Theme::instance().setMode(Theme::Mode::Dark);
    }

    /// A file written by `quantize` shows its stored fields. The button of the banner shows the decoded tensors.
    void storedTensorsAreDecoded() {
        const QTemporaryDir folder;
        const auto source = folder.filePath(QStringLiteral("m.safetensors"));
        const auto stored = folder.filePath(QStringLiteral("stored.safetensors"));
        QVERIFY(!writeLayeredModel(source, 1, 16).isEmpty());
        const auto model = qs::openModel(source.toStdString());
        QVERIFY(model);
        QVERIFY(qs::quantizeModel(**model, {*qs::parseSpec("nf4:block=32"), "q_proj|k_proj", "", stored.toStdString()},
                                  qs::Job()));
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, source));
        QVERIFY(!session.hasStored() && window.message().isEmpty());
        QVERIFY(openModel(session, stored));
        const std::string name = "model.layers.0.self_attn.q_proj.weight";
        QVERIFY(session.hasStored() && !session.model()->find(name) && session.model()->find(name + ".packed"));
        QTRY_VERIFY(window.message().contains(QStringLiteral("stored quantized")));
        session.showPage(QStringLiteral("labs"));
        QTest::qWait(30);
        keepPicture(window, QStringLiteral("window-stored"));
        auto* decode = window.findChild<QPushButton*>(QStringLiteral("bannerAction"));
        QVERIFY(decode->isVisible());
        QSignalSpy changed(&session, &Session::modelChanged);
        QTest::mouseClick(decode, Qt::LeftButton);
        QTRY_VERIFY(changed.size() == 1 && session.model());
        QVERIFY(!session.hasStored() && window.message().isEmpty() && !session.model()->find(name + ".packed"));
        QCOMPARE(session.model()->path, stored.toStdString());
        QTRY_COMPARE(session.page(), QStringLiteral("labs"));
        const auto* tensor = session.model()->find(name);
        QVERIFY(tensor && tensor->shape == (std::vector<std::int64_t>{16, 64}));
        session.selectTensor(tensor);
        session.setSpec(*qs::parseSpec("nf4:block=32")); // nf4 of the decoded values gives the same values, except for
                                                         // rounding to BF16
        QVERIFY(tensorMeasured(session));
        QVERIFY(*qs::findMetric("nmse")->value(*session.current()) < 1e-5);
    }

    /// A refused spec comes with buttons for specs that fit.
    void aRefusalHasButtons() {
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, samplePath()));
        session.showPage(QStringLiteral("tensor"));
        session.selectTensor(session.weights().front());
        session.setSpec(*qs::parseSpec("q4_k")); // needs blocks of 256; rows of the sample are shorter
        QVERIFY(tensorMeasured(session));
        auto* refusal = window.findChild<Banner*>(QStringLiteral("refusal"));
        QTRY_VERIFY(refusal->isVisible());
        QVERIFY2(refusal->text().contains(QStringLiteral("q4_k")), qPrintable(refusal->text()));
        const auto offers = refusal->findChildren<QPushButton*>(QStringLiteral("bannerAction"));
        QVERIFY(!offers.isEmpty());
        keepPicture(window, QStringLiteral("window-refusal"));
        const QString wanted = offers.front()->text();
        QTest::mouseClick(offers.front(), Qt::LeftButton);
        QCOMPARE(QStringLiteral("Use ") + QString::fromStdString(qs::specText(session.spec())), wanted);
        QTRY_VERIFY(session.current() && !session.currentIsStale() && session.current()->status == qs::Status::Ok);
        QTRY_VERIFY(!refusal->isVisible());
        QVERIFY(everythingMeasured(session, session.spec()));
        QCOMPARE(session.modelRows(session.spec()).refused(), qsizetype(0)); // the offered spec fits all tensors, not
                                                                             // only this one
    }

    void keysDoWhatTheMenuSays() {
        Session session;
        MainWindow window(session);
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window, qs::test::kWait));
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

    /// A run over the model is replaced by a spec that is already measured: nothing runs, and the job lane says so.
    void aWithdrawnRunLeavesTheLane() {
        Session session;
        MainWindow window(session);
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window, qs::test::kWait));
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
        QCOMPARE(lane->text(), QStringLiteral("Cancelled; what was measured is kept"));
    }

    void commandsOfAModelNeedOne() {
        Session session;
        MainWindow window(session);
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window, qs::test::kWait));
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
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window, qs::test::kWait));
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
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window, qs::test::kWait));
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
        for (const char* wanted :
             {"Ctrl+O", "Ctrl+Shift+O", "Ctrl+F", "Up",           "Down",   "[",   "]",  "Space", "B", "C", "1", "9",
              "Ctrl+Z", "Ctrl+Shift+Z", "Ctrl+C", "Ctrl+Shift+C", "Ctrl+R", "Esc", "F1", "Ctrl+Q"})
            QVERIFY2(keys.count(QString::fromLatin1(wanted)) == 1, wanted);
        QCOMPARE(keys.removeDuplicates(), 0);
    }

    void errorIsShownInPlaceAndTheWindowGoesOn() {
        Session session;
        MainWindow window(session);
        window.show();
        const auto broken = home_.filePath(QStringLiteral("broken.safetensors"));
        QFile file(broken);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("not a checkpoint at all");
        file.close();
        session.open(broken);
        auto* error = window.findChild<QLabel*>(QStringLiteral("openError"));
        QTRY_VERIFY(error->isVisible());
        QVERIFY2(error->text().contains(QLatin1String("broken.safetensors")), qPrintable(error->text()));
        keepPicture(window, QStringLiteral("window-open-error"));
        QVERIFY(openModel(session, samplePath()));
        QVERIFY(!error->isVisible());
        // With a model open, the message is shown above the page and the model stays open.
        session.open(broken);
        QTRY_VERIFY(!window.message().isEmpty());
        QVERIFY(session.model());
        QVERIFY(tensorMeasured(session));
    }

    void dropOpens() {
        Session session;
        MainWindow window(session);
        window.show();
        QMimeData mime;
        mime.setUrls({QUrl::fromLocalFile(samplePath())});
        QDragEnterEvent enter({600, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop({600, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &drop);
        QTRY_VERIFY(session.model());
        QMimeData text;
        text.setText(QStringLiteral("hello"));
        QDragEnterEvent refused({600, 400}, Qt::CopyAction, &text, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &refused);
        QVERIFY(!refused.isAccepted());
    }

    /// A folder of the Hugging Face cache: every file is a link to a blob with a meaningless name.
    void aFolderOfTheHubCacheOpens() {
        const QString cache = home_.filePath(QStringLiteral("hub/models--org--tiny"));
        const QString snapshot = cache + QStringLiteral("/snapshots/0123abcd");
        QVERIFY(QDir().mkpath(snapshot) && QDir().mkpath(cache + QStringLiteral("/blobs")));
        const auto link = [&](const QString& blob, const QString& name) {
            return QFile::link(QStringLiteral("../../blobs/") + blob, snapshot + u'/' + name);
        };
        QStringList map;
        for (const int layer : {0, 1}) {
            const QString tensor = QStringLiteral("model.layers.%1.mlp.up_proj.weight").arg(layer);
            const QString blob = QStringLiteral("feed%1").arg(layer);
            const QString shard = QStringLiteral("model-0000%1-of-00002.safetensors").arg(layer + 1);
            QVERIFY(writeModelFile(cache + QStringLiteral("/blobs/") + blob,
                                   {{tensor, {64, 64}, normalValues(64 * 64, 0.02, quint64(layer) + 1)}}));
            QVERIFY(link(blob, shard));
            map << QStringLiteral("\"%1\":\"%2\"").arg(tensor, shard);
        }
        QFile index(cache + QStringLiteral("/blobs/beef"));
        QVERIFY(index.open(QIODevice::WriteOnly));
        index.write(
            QStringLiteral("{\"metadata\":{\"total_size\":32768},\"weight_map\":{%1}}").arg(map.join(u',')).toUtf8());
        index.close();
        QVERIFY(link(QStringLiteral("beef"), QStringLiteral("model.safetensors.index.json")));

        Session session;
        MainWindow window(session);
        window.show();
        QMimeData mime;
        mime.setUrls({QUrl::fromLocalFile(snapshot)});
        QDragEnterEvent enter({600, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &enter);
        QDropEvent drop({600, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &drop);
        QTRY_VERIFY(session.model());
        QCOMPARE(session.weights().size(), std::size_t(2));
        QCOMPARE(session.model()->warnings.size(), std::size_t(0));
        QVERIFY2(window.windowTitle().startsWith(QStringLiteral("org/tiny")), qPrintable(window.windowTitle()));
        QVERIFY(everythingMeasured(session, session.spec()));
        QTRY_COMPARE(session.page(), QStringLiteral("overview"));
        for (std::size_t i = 0; i < 2; ++i) QVERIFY(session.modelRows(session.spec()).at(i)->status == Status::Ok);
        keepPicture(window, QStringLiteral("window-hub-cache"));

        // The folder above may contain several snapshots. The message names one, and the window does not change.
        QSignalSpy refused(&session, &Session::failed);
        session.open(cache);
        QTRY_COMPARE(refused.size(), 1);
        QVERIFY(refused.front().front().toString().contains(QStringLiteral("snapshots/0123abcd")));
        QTRY_VERIFY(window.message().contains(QStringLiteral("snapshots/0123abcd")));
        QCOMPARE(session.weights().size(), std::size_t(2));
    }

    void stateSurvivesARestart() {
        const auto recent = samplePath();
        {
            Session session;
            keepSaved(session, 20);
            QVERIFY(openModel(session, recent));
            session.selectTensor(session.weights()[7]);
            session.setSpec(*parseSpec("int8:block=32"));
            session.showPage(QStringLiteral("tensor"));
            QTest::qWait(120); // the state as a crash would leave it: nothing is saved at the end
            QCOMPARE(readState(QSettings()), session.state());
        }
        Session session;
        keepSaved(session);
        QTRY_VERIFY(!session.recentFiles().isEmpty());
        QCOMPARE(QFileInfo(session.recentFiles().front()).canonicalFilePath(), QFileInfo(recent).canonicalFilePath());
        MainWindow window(session);
        window.show();
        QVERIFY(!session.model()); // the last model is offered, not opened
        QSignalSpy opened(&session, &Session::modelChanged);
        session.restore(session.resumable());
        QVERIFY(opened.wait(20000));
        QCOMPARE(session.tensor(), session.weights()[7]);
        QCOMPARE(canonicalText(session.spec()), canonicalText(*parseSpec("int8:block=32")));
        QTRY_COMPARE(session.page(), QStringLiteral("tensor"));
        QVERIFY(tensorMeasured(session));
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

QS_TEST(TestMainWindow)
#include "main_window_test.moc"
