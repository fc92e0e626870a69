// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/theme.h"
#include "app/gui/widgets/colour_scale.h"
#include "app/gui/widgets/heat_map.h"
#include "artefacts.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QClipboard>
#include <QElapsedTimer>
#include <QGuiApplication>
#include <QSet>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include <cmath>
#include <memory>

using namespace qs::gui;

namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

HeatMapData smallMap() {
    HeatMapData data;
    data.rows = 3;
    data.columns = 4;
    data.values = {1, 2, 3, 4, 5, kNone, 7, 8, 9, 10, 11, 12};
    data.rowLabels = {QStringLiteral("q"), QStringLiteral("k"), QStringLiteral("v")};
    data.xTitle = QStringLiteral("layer");
    data.yTitle = QStringLiteral("role");
    data.unit = QStringLiteral("NMSE");
    return data;
}

HeatMapData blockMap(int side) {
    HeatMapData data;
    data.rows = data.columns = side;
    data.values.resize(qsizetype(side) * side);
    for (int i = 0; i < data.values.size(); ++i)
        data.values[i] =
            0.004f + 0.002f * float(std::sin(i * 12.9898) * std::cos(i * 0.37)) + (i % side % 97 == 5 ? 0.01f : 0);
    data.xTitle = QStringLiteral("block along the row");
    data.yTitle = QStringLiteral("row");
    data.unit = QStringLiteral("NMSE");
    data.rowScale = 8;
    return data;
}

QColor colourAt(const QImage& picture, const HeatMap& map, int row, int column) {
    return picture.pixelColor(map.cellRect(row, column).center().toPoint());
}

} // namespace

class TestHeatMap : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<HeatMap> make(const HeatMapData& data, QSize size = {480, 260}) {
        auto map = std::make_unique<HeatMap>();
        QPalette palette = map->palette();
        palette.setColor(QPalette::Window, Theme::instance().tokens().surface);
        map->setPalette(palette);
        map->resize(size);
        map->setData(data);
        map->show();
        return map;
    }

private Q_SLOTS:
    void initTestCase() { Theme::install(Theme::Mode::Dark); }

    void coloursFollowTheValues() {
        const auto map = make(smallMap());
        const QImage picture = map->grab().toImage();
        QCOMPARE(colourAt(picture, *map, 0, 0).rgb(), Theme::viridis(0).rgb());
        QCOMPARE(colourAt(picture, *map, 2, 3).rgb(), Theme::viridis(1).rgb());
        QCOMPARE(map->scale().lo, 1.0);
        QCOMPARE(map->scale().hi, 12.0);
    }

    void notMeasuredIsHatchedAndAbsentIsBlank() {
        auto data = smallMap();
        data.absent = QVector<bool>(12, false);
        data.absent[7] = true;
        const auto map = make(data);
        map->setGap(2);
        const QImage picture = map->grab().toImage();
        const auto coloursOf = [&](int row, int column) {
            QSet<QRgb> seen;
            const QRect area = map->cellRect(row, column).toRect().adjusted(4, 4, -4, -4);
            for (int y = area.top(); y < area.bottom(); ++y)
                for (int x = area.left(); x < area.right(); ++x) seen.insert(picture.pixel(x, y));
            return seen;
        };
        const auto& tokens = Theme::instance().tokens();
        QCOMPARE(coloursOf(0, 1).size(), 1); // measured: a single colour
        QVERIFY(coloursOf(1, 1).contains(tokens.raised.rgb()));
        QVERIFY(coloursOf(1, 1).contains(tokens.faint.rgb()));
        QCOMPARE(coloursOf(1, 3), QSet<QRgb>{tokens.surface.rgb()});
        QVERIFY(map->describe(1, 1).contains(QStringLiteral("not measured")));
        QVERIFY(!map->describe(1, 0).contains(QStringLiteral("not measured")));
    }

    void hoverAndClickName() {
        const auto map = make(smallMap());
        QSignalSpy hovered(map.get(), &HeatMap::cellHovered), clicked(map.get(), &HeatMap::cellClicked);
        QTest::mouseMove(map.get(), map->cellRect(1, 2).center().toPoint());
        QTRY_COMPARE(hovered.size(), 1);
        QCOMPARE(hovered.last(), (QList<QVariant>{1, 2}));
        QTest::mouseClick(map.get(), Qt::LeftButton, {}, map->cellRect(2, 3).center().toPoint());
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked.last(), (QList<QVariant>{2, 3}));
        QCOMPARE(map->currentRow(), 2);
        QEvent leave(QEvent::Leave);
        QCoreApplication::sendEvent(map.get(), &leave);
        QCOMPARE(hovered.last(), (QList<QVariant>{-1, -1}));
    }

    void theCurrentCellIsOutlined() {
        const auto map = make(smallMap());
        map->setCurrent(1, 2);
        const QImage picture = map->grab().toImage();
        const QRectF cell = map->cellRect(1, 2);
        QSet<QRgb> edge;
        for (int x = -2; x <= 2; ++x) edge.insert(picture.pixel(int(cell.left()) + x, int(cell.center().y())));
        QVERIFY(edge.contains(Theme::instance().tokens().accent.rgb()));
    }

    void keysMoveAndOpen() {
        auto data = smallMap();
        data.absent = QVector<bool>(12, false);
        data.absent[1] = true;
        const auto map = make(data);
        QSignalSpy clicked(map.get(), &HeatMap::cellClicked);
        QTest::keyClick(map.get(), Qt::Key_Right); // nothing selected: goes to the first cell
        QCOMPARE(std::pair(map->currentRow(), map->currentColumn()), std::pair(0, 0));
        QTest::keyClick(map.get(), Qt::Key_Right); // skips the empty cell
        QCOMPARE(map->currentColumn(), 2);
        QTest::keyClick(map.get(), Qt::Key_Down);
        QTest::keyClick(map.get(), Qt::Key_Return);
        QCOMPARE(clicked.last(), (QList<QVariant>{1, 2}));
        for (int i = 0; i < 9; ++i) QTest::keyClick(map.get(), Qt::Key_Down);
        QCOMPARE(map->currentRow(), 2);
    }

    void wheelZoomsAboutTheCursorAndDoubleClickResets() {
        const auto map = make(blockMap(64));
        const QRectF whole = map->view();
        const QPointF at =
            map->plotRect().topLeft() + QPointF(map->plotRect().width() / 4, map->plotRect().height() / 4);
        QWheelEvent in(at, map->mapToGlobal(at), {}, {0, 240}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(map.get(), &in);
        QVERIFY(map->view().width() < whole.width() * 0.7);
        // The value under the cursor stays there.
        QVERIFY(std::abs(map->view().x() + map->view().width() / 4 - 16) < 1e-6);

        const double x = map->view().x();
        QTest::mousePress(map.get(), Qt::LeftButton, {}, at.toPoint());
        QTest::mouseMove(map.get(), at.toPoint() - QPoint(60, 0));
        QTest::mouseRelease(map.get(), Qt::LeftButton, {}, at.toPoint() - QPoint(60, 0));
        QVERIFY(map->view().x() > x);
        QTest::mouseDClick(map.get(), Qt::LeftButton, {}, at.toPoint());
        QCOMPARE(map->view(), whole);
    }

    void theWorstCellSharesAPixel() {
        HeatMapData data;
        data.rows = data.columns = 512;
        data.values = QVector<float>(512 * 512, 1.f);
        data.values[100 * 512 + 301] = 50.f;
        data.lo = 1;
        data.hi = 50;
        const auto map = make(data, {220, 160});
        QImage picture = map->grab().toImage();
        QCOMPARE(colourAt(picture, *map, 100, 301).rgb(), Theme::viridis(1).rgb());
        data.lowIsGood = false; // now the largest value is the best one and must not hide its neighbours
        map->setData(data);
        picture = map->grab().toImage();
        QCOMPARE(colourAt(picture, *map, 100, 301).rgb(), Theme::viridis(1).rgb()); // bright is worse: here the
                                                                                    // smallest value
    }

    void divergingIsCentredAtZero() {
        auto data = smallMap();
        data.diverging = true;
        data.values = {-3, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
        const auto map = make(data);
        QCOMPARE(map->scale().lo, -3.0);
        QCOMPARE(map->scale().hi, 3.0);
        const QImage picture = map->grab().toImage();
        QCOMPARE(colourAt(picture, *map, 0, 1).rgb(), Theme::diverging(0).rgb());
    }

    void theEndsOfALegendDiffer() {
        const auto ends = [](double lo, double hi, int decimals) { return endTexts(lo, hi, decimals); };
        QCOMPARE(ends(0.00817, 0.0142, -1), std::pair(QStringLiteral("0.00817"), QStringLiteral("0.0142")));
        QCOMPARE(ends(20.7, 20.9, 2), std::pair(QStringLiteral("20.70"), QStringLiteral("20.90")));
        QCOMPARE(ends(20.7012, 20.7034, 2), std::pair(QStringLiteral("20.701"), QStringLiteral("20.703")));
        QCOMPARE(ends(3, 3, -1).first, ends(3, 3, -1).second); // a single value has a single label
        for (const double gap : {1e-2, 1e-3, 1e-4, 1e-5})
            for (const int decimals : {-1, 0, 2, 4}) {
                const auto [lo, hi] = ends(0.5, 0.5 + gap, decimals);
                QVERIFY2(lo != hi, qPrintable(lo));
            }
        QCOMPARE(ends(kNone, kNone, -1).first, QStringLiteral("–"));
    }
    void logColourNeedsPositiveValues() {
        const auto scale = ColourScale::over({0.f, 1e-4f, 1e-2f, 1.f}, 0, 0, true, false);
        QCOMPARE(scale.lo, double(1e-4f));
        QVERIFY(std::abs(scale.position(1e-2) - 0.5) < 1e-6);
        QCOMPARE(scale.position(0), 0.0);
        QCOMPARE(int(scale.level(std::nan(""))), 0);
    }

    void copiesDataWithGaps() {
        const auto map = make(smallMap());
        map->copyData();
        const QStringList lines = QGuiApplication::clipboard()->text().split(QLatin1Char('\n'));
        QCOMPARE(lines[0], QStringLiteral("role/layer\t0\t1\t2\t3"));
        QCOMPARE(lines[2], QStringLiteral("k\t5\t\t7\t8")); // a cell that is not measured is empty, never 0
    }

    void aThemeChangeRepaints() {
        auto data = smallMap();
        data.absent = QVector<bool>(12, false);
        const auto map = make(data);
        map->setGap(2);
        const QImage dark = map->grab().toImage();
        Theme::instance().setMode(Theme::Mode::Light);
        const QImage light = map->grab().toImage();
        Theme::instance().setMode(Theme::Mode::Dark);
        QVERIFY(dark != light);
    }

    void repaintsQuickly() {
        const auto map = make(blockMap(512), {1280, 800});
        QImage target(map->size(), QImage::Format_ARGB32_Premultiplied);
        QElapsedTimer clock;
        qint64 best = 1'000'000'000, bestNew = best;
        auto data = blockMap(512);
        for (int i = 0; i < 5; ++i) {
            clock.start();
            map->setData(data);
            map->render(&target);
            bestNew = std::min(bestNew, clock.nsecsElapsed());
            clock.start();
            map->render(&target);
            best = std::min(best, clock.nsecsElapsed());
        }
        qInfo("512x512 at 1280x800: %.2f ms with new data, %.2f ms repainted", double(bestNew) / 1e6,
              double(best) / 1e6);
        if (qs::test::kThinning == 1) QVERIFY2(bestNew < 100'000'000, "far from a few milliseconds");
    }

    void pictures() {
        for (const auto mode : {Theme::Mode::Dark, Theme::Mode::Light}) {
            Theme::instance().setMode(mode);
            const QString suffix = mode == Theme::Mode::Dark ? QStringLiteral("-dark") : QStringLiteral("-light");
            auto map = make(blockMap(256), {480, 260});
            map->setCurrent(100, 40);
            keepPicture(*map, QStringLiteral("heat-map-blocks") + suffix);
            auto data = smallMap();
            data.diverging = true;
            map = make(data, {480, 200});
            map->setGap(2);
            map->setCurrent(0, 1);
            keepPicture(*map, QStringLiteral("heat-map-cells") + suffix);
        }
        Theme::instance().setMode(Theme::Mode::Dark);
    }
};

QS_TEST(TestHeatMap)
#include "heat_map_test.moc"
