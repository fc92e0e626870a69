// SPDX-License-Identifier: GPL-3.0-or-later
// Widgets that are dear to paint share turns of the event loop: none is forgotten, none starves, and what is shown
// meanwhile is what was there before.
#include "app/gui/theme.h"
#include "app/gui/widgets/shared_painting.h"

#include <QBackingStore>
#include <QElapsedTimer>
#include <QPaintEvent>
#include <QPainter>
#include <QTest>
#include <QVBoxLayout>

using namespace qs::gui;

namespace {

constexpr int kWidgets = 6;

class Dear : public QWidget {
public:
    explicit Dear(int& turn) : turn_(turn) { SharedPainting::of(*this, SharedPainting::Fit::Stretched); }
    QColor colour = Qt::red;
    QVector<int> paintedIn; ///< turns

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
        // An update request is a turn.
        window_->installEventFilter(this);
        window_->resize(300, 600);
        window_->show();
        QTRY_VERIFY(painted());
        QTest::qWait(30);
        forget();
    }
    void cleanup() { window_.reset(); }

    void everyWidgetIsPaintedAndNoTurnPaintsAll() {
        window_->resize(400, 700);
        QTRY_VERIFY(painted());
        QVERIFY2(mostInOneTurn() < kWidgets, qPrintable(QString::number(mostInOneTurn())));
        QTest::qWait(30);
        for (const auto* one : all_) QCOMPARE(one->paintedIn.size(), 1); // and then there is quiet
    }

    void whoWaitsShowsTheLastPicture() {
        for (auto* one : all_) one->colour = Qt::green;
        window_->resize(400, 700);
        QTRY_VERIFY(!all_.first()->paintedIn.isEmpty());
        QVERIFY(SharedPainting::somebodyWaits());
        for (const auto* one : all_) {
            const bool painted = !one->paintedIn.isEmpty();
            QCOMPARE(onScreen(*one), painted ? QColor(Qt::green) : QColor(Qt::red)); // nothing is blank
        }
        QTRY_VERIFY(painted());
        for (const auto* one : all_) QCOMPARE(onScreen(*one), QColor(Qt::green));
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
        QTRY_VERIFY(!all_.first()->paintedIn.isEmpty());
        for (const auto* one : all_) QVERIFY(onScreen(*one) != QColor(Qt::red));
        QTRY_VERIFY(painted());
    }

    void whoGoesAwayIsNotWaitedFor() {
        window_->resize(400, 700);
        QTRY_VERIFY(SharedPainting::somebodyWaits());
        all_.takeLast()->hide();
        delete all_.takeAt(3);
        QTRY_VERIFY(painted());
        forget();
        for (auto* one : all_) one->update();
        QTRY_VERIFY(painted());
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::UpdateRequest) ++turn_;
        return QObject::eventFilter(watched, event);
    }
};

QTEST_MAIN(TestSharedPainting)
#include "test_shared_painting.moc"
