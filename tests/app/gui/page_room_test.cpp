// SPDX-License-Identifier: GPL-3.0-or-later
// In a large window every page shows something useful before anything was measured: it is not mostly empty.
#include "app/gui/page.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/sketch.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/settled_window.h"
#include "tests/support/test_program.h"

#include <QFontDatabase>
#include <QImage>

#include <algorithm>

using namespace qs;
using namespace qs::gui;

namespace {

constexpr int kCell = 32;         // pixels
constexpr double kMostEmpty = 60; // percent of the cells

/// Percent of the cells of `kCell` x `kCell` pixels in which all pixels have one colour.
double emptyShare(const QImage& image) {
    const auto blank = [&](int left, int top) {
        for (int y = top; y < std::min(top + kCell, image.height()); ++y)
            for (int x = left; x < std::min(left + kCell, image.width()); ++x)
                if (image.pixel(x, y) != image.pixel(left, top)) return false;
        return true;
    };
    int cells = 0, empty = 0;
    for (int y = 0; y < image.height(); y += kCell)
        for (int x = 0; x < image.width(); x += kCell) {
            ++cells;
            empty += blank(x, y);
        }
    return cells == 0 ? 100 : 100.0 * empty / cells;
}

} // namespace

class TestPageRoom : public QObject {
    Q_OBJECT
    std::unique_ptr<Session> session_;
    std::unique_ptr<MainWindow> window_;

private Q_SLOTS:
    void initTestCase() {
        const auto fonts = QFontDatabase::families();
        if (!fonts.contains(QStringLiteral("Inter")) || !fonts.contains(QStringLiteral("JetBrains Mono")))
            QSKIP("Inter and JetBrains Mono, for which the window is laid out, are not installed");
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        window_ = std::make_unique<MainWindow>(*session_);
        window_->resize(2560, 1440);
        window_->show();
        QVERIFY(openModel(*session_, samplePath()));
        QVERIFY(everythingMeasured(*session_, session_->spec()));
    }

    /// Tests the measure itself.
    void emptyCellsAreCounted() {
        QImage image(4 * kCell, kCell, QImage::Format_RGB32);
        image.fill(Qt::black);
        QCOMPARE(emptyShare(image), 100.0);
        image.setPixelColor(kCell + 5, 5, Qt::white);
        QCOMPARE(emptyShare(image), 75.0);
        image.setPixelColor(4 * kCell - 1, kCell - 1, Qt::white);
        QCOMPARE(emptyShare(image), 50.0);
    }

    void everyPage_data() {
        QTest::addColumn<QString>("id");
        for (const auto& page : pages()) QTest::addRow("%s", page.id) << QString::fromLatin1(page.id);
    }
    void everyPage() {
        QFETCH(QString, id);
        session_->showPage(id);
        QTRY_VERIFY(window_->currentPage()->objectName().endsWith(id));
        QVERIFY(settles(*session_, *window_));
        keepPicture(*window_, QStringLiteral("large-") + id);
        const double empty = emptyShare(window_->currentPage()->grab().toImage());
        qInfo("%s: %.1f %% of the cells have one colour", qPrintable(id), empty);
        QVERIFY2(empty < kMostEmpty, qPrintable(QStringLiteral("%1 % are empty").arg(empty, 0, 'f', 1)));
    }

    /// A card that waits for a button shows below its sentence what it will show.
    void cardsThatWaitHaveASketch() {
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("large.safetensors"));
        constexpr int rows = 2048, columns = 2176; // more than pages measure by themselves
        QVERIFY(writeModelFile(path, {{QStringLiteral("layers.0.up_proj.weight"),
                                       {rows, columns},
                                       normalValues(std::size_t(rows) * columns, 0.02, 1)}}));
        QVERIFY(openModel(*session_, path));
        QVERIFY(everythingMeasured(*session_, session_->spec()));
        QStringList waiting;
        for (const auto& page : pages()) {
            session_->showPage(QString::fromLatin1(page.id));
            QTRY_VERIFY(window_->currentPage()->objectName().endsWith(QLatin1String(page.id)));
            QVERIFY(settles(*session_, *window_));
            for (const auto* card : window_->currentPage()->findChildren<Card*>()) {
                if (!card->message().contains(QStringLiteral("press "), Qt::CaseInsensitive)) continue;
                const auto* sketch = card->findChild<Sketch*>();
                QVERIFY2(sketch && !sketch->isHidden(),
                         qPrintable(QLatin1String(page.id) + QStringLiteral(": ") + card->message()));
                waiting << QLatin1String(page.id);
            }
        }
        for (const char* id : {"sweep", "labs", "backends"}) QVERIFY2(waiting.contains(QLatin1String(id)), id);
    }
};

QS_TEST(TestPageRoom)
#include "page_room_test.moc"
