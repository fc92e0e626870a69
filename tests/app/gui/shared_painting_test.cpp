// SPDX-License-Identifier: GPL-3.0-or-later
// Widgets that are slow to paint are painted in different turns of the event loop. All of them must be painted, and
// until then show their former content.
#include "app/gui/theme.h"
#include "app/gui/widgets/kept_pixels.h"
#include "app/gui/widgets/shared_painting.h"
#include "tests/support/test_program.h"

#include <QBackingStore>
#include <QElapsedTimer>
#include <QLabel>
#include <QPaintEvent>
#include <QPainter>
#include <QTest>
#include <QVBoxLayout>

#include <functional>

using namespace qs::gui;

namespace {

constexpr int kWidgets = 6;

class Dear : public QWidget {
public:
    explicit Dear(int& turn) : turn_(turn) { SharedPainting::of(*this, SharedPainting::Fit::Stretched); }
    QColor colour = Qt::red;
    QVector<int> paintedIn; ///< the turns in which it was painted

protected:
    void paintEvent(QPaintEvent*) override {
        paintedIn << turn_;
        QElapsedTimer clock;
        clock.start();
        while (clock.elapsed() < 3) {
        }
        QPainter(this).fillRect(rect(), colour);
    }

private:
    int& turn_;
};

} // namespace

class TestSharedPainting : public QObject {
    Q_OBJECT
    int turn_ = 0;
    std::unique_ptr<QWidget> window_;
    QVector<Dear*> all_;
    std::function<void()> beforeATurn_;
    int halfWay_ = 0, wrong_ = 0;

    bool painted() const {
        return !SharedPainting::somebodyWaits() &&
               std::all_of(all_.begin(), all_.end(), [](const Dear* one) { return !one->paintedIn.isEmpty(); });
    }
    void forget() {
        for (auto* one : all_) one->paintedIn.clear();
    }
    QColor onScreen(const Dear& one) const {
        const auto* device = window_->backingStore()->paintDevice();
        const auto at = one.mapTo(window_.get(), one.rect().center());
        return static_cast<const QImage*>(device)->pixelColor(at);
    }
    int mostInOneTurn() const {
        QMap<int, int> count;
        for (const auto* one : all_)
            for (const int turn : one->paintedIn) ++count[turn];
        return *std::max_element(count.begin(), count.end());
    }

private Q_SLOTS:
    void init() {
        Theme::install(Theme::Mode::Dark);
        window_ = std::make_unique<QWidget>();
        auto* column = new QVBoxLayout(window_.get());
        all_.clear();
        for (int i = 0; i < kWidgets; ++i) {
            all_ << new Dear(turn_);
            column->addWidget(all_.last());
        }
        halfWay_ = wrong_ = 0;
        // An update request starts a turn.
        window_->installEventFilter(this);
        window_->resize(300, 600);
        window_->show();
        QTRY_VERIFY(painted());
        QTest::qWait(30);
        forget();
    }
    void cleanup() {
        beforeATurn_ = {};
        window_.reset();
    }

    void everyWidgetIsPaintedAndNoTurnPaintsAll() {
        window_->resize(400, 700);
        QTRY_VERIFY(painted());
        QVERIFY2(mostInOneTurn() < kWidgets, qPrintable(QString::number(mostInOneTurn())));
        QTest::qWait(30);
        for (const auto* one : all_) QCOMPARE(one->paintedIn.size(), 1); // after that nothing more is painted
    }

    void whoWaitsShowsTheLastPicture() {
        for (auto* one : all_) one->colour = Qt::green;
        window_->resize(400, 700);
        beforeATurn_ = [this] { // the content of the screen after the turn before
            const auto painted = [](const Dear* one) { return !one->paintedIn.isEmpty(); };
            if (std::none_of(all_.begin(), all_.end(), painted)) return;
            if (!std::all_of(all_.begin(), all_.end(), painted)) ++halfWay_;
            for (const auto* one : all_) // nothing is blank
                if (onScreen(*one) != QColor(painted(one) ? Qt::green : Qt::red)) ++wrong_;
        };
        QTRY_VERIFY(painted());
        for (const auto* one : all_) QCOMPARE(onScreen(*one), QColor(Qt::green));
        QVERIFY(halfWay_ > 0);
        QCOMPARE(wrong_, 0);
    }

    void nobodyStarvesWhileTheWindowIsDragged() {
        for (int step = 0; step < 24; ++step) {
            window_->resize(400 + step, 700);
            QTest::qWait(8);
        }
        for (const auto* one : all_)
            QVERIFY2(one->paintedIn.size() >= 2, qPrintable(QString::number(all_.indexOf(one))));
        QTRY_VERIFY(painted());
    }

    void picturesOnPurposeAreWhole() {
        for (auto* one : all_) one->colour = Qt::green;
        const auto picture = window_->grab().toImage();
        for (const auto* one : all_) {
            QCOMPARE(one->paintedIn.size(), 1);
            QCOMPARE(picture.pixelColor(one->mapTo(window_.get(), one->rect().center())), QColor(Qt::green));
        }
        QVERIFY(!SharedPainting::somebodyWaits());
    }

    void nothingOfTheOtherThemeIsShown() {
        for (auto* one : all_) one->colour = Qt::green;
        Theme::instance().setMode(Theme::Mode::Light);
        window_->resize(400, 700);
        beforeATurn_ = [this] {
            for (const auto* one : all_)
                if (turn_ > 0 && onScreen(*one) == QColor(Qt::red)) ++wrong_;
        };
        turn_ = -1; // at the first turn the other theme is still on the screen
        QTRY_VERIFY(painted());
        QCOMPARE(wrong_, 0);
    }

    /// A window with its own paint function that requests an update before its widgets do is painted twice by Qt.
    void aChangeOfThemePaintsTheWindowOnce() {
        struct Counted : QWidget {
            using QWidget::QWidget;
            int painted = 0;
            void paintEvent(QPaintEvent*) override { ++painted; }
        };
        QWidget window;
        auto* column = new QVBoxLayout(&window);
        column->addWidget(new QLabel(QStringLiteral("a label, as every window has")));
        auto* counted = new Counted;
        column->addWidget(counted, 1);
        window.resize(300, 200);
        window.show();
        QTRY_VERIFY(counted->painted > 0);
        QTest::qWait(30);
        counted->painted = 0;
        Theme::instance().setMode(Theme::Mode::Light);
        QTRY_VERIFY(counted->painted > 0);
        QTest::qWait(30);
        QCOMPARE(counted->painted, 1);
    }

    void picturesAreKeptInMemoryOfThoseThatAreGone() {
        QImage window(700, 500, QImage::Format_RGB32);
        for (int y = 0; y < window.height(); ++y)
            for (int x = 0; x < window.width(); ++x) window.setPixel(x, y, qRgb(x % 256, y % 256, 7));
        const QRect part(20, 30, 600, 400);
        const auto before = KeptPixels::spareBytes();
        {
            KeptPixels kept;
            kept.keep(window, part);
            QCOMPARE(kept.image(), window.copy(part));
            kept.keep(window, part.adjusted(0, 0, -100, -50)); // smaller, in the same memory
            QCOMPARE(kept.image(), window.copy(part.adjusted(0, 0, -100, -50)));
        }
        const auto after = KeptPixels::spareBytes();
        QVERIFY(after >= before);
        {
            KeptPixels again;
            again.keep(window, part);
            QVERIFY(KeptPixels::spareBytes() < after); // the memory was reused
            QCOMPARE(again.image(), window.copy(part));
        }
        QImage large(3000, 2000, QImage::Format_RGB32); // 24 MB
        large.fill(Qt::blue);
        {
            KeptPixels one, two;
            one.keep(large, large.rect());
            two.keep(large, large.rect());
        }
        QVERIFY(KeptPixels::spareBytes() <= KeptPixels::kSpareBytes);
    }

    void whoGoesAwayIsNotWaitedFor() {
        window_->resize(400, 700);
        bool gone = false;
        beforeATurn_ = [&] {
            if (gone || !SharedPainting::somebodyWaits()) return;
            gone = true;
            all_.takeLast()->hide();
            delete all_.takeAt(3);
        };
        QTRY_VERIFY(gone && painted());
        forget();
        for (auto* one : all_) one->update();
        QTRY_VERIFY(painted());
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::UpdateRequest) {
            if (beforeATurn_) beforeATurn_();
            ++turn_;
        }
        return QObject::eventFilter(watched, event);
    }
};

QS_TEST(TestSharedPainting)
#include "shared_painting_test.moc"
