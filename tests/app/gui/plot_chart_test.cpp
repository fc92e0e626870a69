// SPDX-License-Identifier: GPL-3.0-or-later
// PlotChart operated by events: ticks, zoom, pan, crosshair values, copies, themes, and the cost of replacing a series.
#include "app/gui/theme.h"
#include "app/gui/widgets/plot_axis.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/plot_range.h"
#include "artefacts.h"
#include "tests/support/test_program.h"

#include <QApplication>
#include <QClipboard>
#include <QElapsedTimer>
#include <QMimeData>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include <cmath>

using namespace qs::gui;

namespace {

PlotSeries bell(int points, double shift = 0) {
    PlotSeries series{QStringLiteral("density"), PlotSeries::Style::Area, 0, {}, {}};
    for (int i = 0; i < points; ++i) {
        const double x = -1 + 2.0 * i / (points - 1);
        series.points.append({x, std::exp(-8 * (x - shift) * (x - shift))});
    }
    return series;
}

QWidget* inside(PlotChart& chart) { return chart.findChild<QWidget*>(QStringLiteral("plot")); }

void wheel(PlotChart& chart, QPointF at, int turns, Qt::KeyboardModifiers modifiers = {}) {
    QWheelEvent event(at, chart.mapToGlobal(at), {}, {0, 120 * turns}, Qt::NoButton, modifiers, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(inside(chart), &event);
}

} // namespace

class TestPlotChart : public QObject {
    Q_OBJECT

private:
    static void show(PlotChart& chart) {
        chart.resize(480, 240);
        chart.setAxes(QStringLiteral("w / scale"), QStringLiteral("density"));
        chart.setData({bell(129)}, {{0.25, QStringLiteral("level 0.25"), false, false, 1}});
        chart.show();
        QVERIFY(QTest::qWaitForWindowExposed(&chart, qs::test::kWait));
    }

private Q_SLOTS:
    void initTestCase() { Theme::install(Theme::Mode::Dark); }

    void ticksAreRoundAndFew_data() {
        QTest::addColumn<double>("lo");
        QTest::addColumn<double>("hi");
        QTest::newRow("density") << 0.0 << 1.13;
        QTest::newRow("levels") << -1.02 << 1.02;
        QTest::newRow("errors") << -0.0123 << 0.0123;
        QTest::newRow("tiny") << -3.1e-7 << 2.9e-7;
        QTest::newRow("rows") << 0.0 << 4095.0;
        QTest::newRow("large") << 0.0 << 3.3e9;
        QTest::newRow("narrow") << 0.70001 << 0.70002;
        QTest::newRow("int8") << -127.0 << 127.0;
    }
    void ticksAreRoundAndFew() {
        QFETCH(double, lo);
        QFETCH(double, hi);
        for (int most = 2; most <= 6; ++most) {
            const PlotTicks ticks = linearTicks(lo, hi, most);
            QVERIFY2(ticks.ticks.size() <= most && !ticks.ticks.isEmpty(), qPrintable(QString::number(most)));
            const double step = niceStep(lo, hi, most);
            const double mantissa = step / std::pow(10.0, std::floor(std::log10(step) + 1e-9));
            QVERIFY(std::abs(mantissa - 1) < 1e-6 || std::abs(mantissa - 2) < 1e-6 || std::abs(mantissa - 2.5) < 1e-6 ||
                    std::abs(mantissa - 5) < 1e-6);
            for (const PlotTick& tick : ticks.ticks) {
                QVERIFY(tick.at >= lo - step * 1e-6 && tick.at <= hi + step * 1e-6);
                QVERIFY(std::abs(tick.at / step - std::round(tick.at / step)) < 1e-6);
            }
            QVERIFY2(ticks.ticks.first().label.size() <= 9, qPrintable(ticks.ticks.first().label));
        }
    }
    void labelsAreTheValues() {
        const PlotTicks ticks = linearTicks(-0.0123, 0.0123, 6);
        QCOMPARE(ticks.exponent, 0);
        QCOMPARE(ticks.ticks.first().label, QStringLiteral("−0.010"));
        for (const double codes : {2.0, 4.0, 14.0, 15.0, 254.0})
            for (const PlotTick& tick : linearTicks(-0.5, codes + 0.5, 6, 0).ticks)
                QCOMPARE(QString(tick.label).replace(QChar(0x2212), u'-').toDouble(), tick.at);
        for (const double most : {1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 9.0, 12.0, 27.0, 10'500.0}) { // counts
            const auto counts = linearTicks(0, most * 1.05, 6, 0).ticks;
            QVERIFY(counts.size() >= 2);
            for (const PlotTick& tick : counts) {
                QCOMPARE(tick.at, std::round(tick.at));
                QCOMPARE(tick.label.toDouble(), tick.at);
            }
        }
        const PlotTicks tiny = linearTicks(0, 3e-6, 4);
        QCOMPARE(tiny.exponent, -6);
        QCOMPARE(tiny.ticks.last().label, QStringLiteral("3"));
        QCOMPARE(timesTenTo(-6), QStringLiteral("×10⁻⁶"));
        const PlotTicks decades = logTicks(-7.2, 0.4, 6);
        QVERIFY(decades.ticks.size() <= 6 && decades.ticks.size() >= 3);
        QCOMPARE(decades.ticks.last().label, QStringLiteral("1"));
        for (const double none : {0.0, -1.0}) QVERIFY(linearTicks(0, none, 6).ticks.isEmpty());
    }

    void wheelZoomsAboutTheCursorAndDoubleClickResets() {
        PlotChart chart;
        show(chart);
        QSignalSpy moved(&chart, &PlotChart::viewChanged);
        const QPointF at = chart.pixelOf(0.5, 0.5);
        wheel(chart, at, 3);
        QCOMPARE(moved.size(), 1);
        QVERIFY(chart.isZoomed());
        QVERIFY((chart.pixelOf(0.5, 0.5) - at).manhattanLength() < 1.0); // the point under the cursor stays
        const double span = moved.last()[1].toDouble() - moved.last()[0].toDouble();
        QVERIFY(std::abs(span - 2 * std::pow(0.8, 3)) < 1e-6);
        wheel(chart, at, 2, Qt::ShiftModifier);
        QVERIFY(moved.last()[3].toDouble() - moved.last()[2].toDouble() < 1.0);
        QTest::mouseDClick(inside(chart), Qt::LeftButton, {}, at.toPoint());
        QVERIFY(!chart.isZoomed());
        wheel(chart, at, -50); // zooming out stops at the full range
        QVERIFY(!chart.isZoomed());
    }

    /// At scale factors such as 125 % and 150 %, every level line has the same width in pixels.
    void levelLinesAreAsWideEverywhere() {
        for (const double scale : {1.0, 1.25, 1.5, 2.0}) {
            PlotChart chart;
            show(chart);
            QVector<PlotMarker> markers;
            for (int i = 0; i < 16; ++i)
                markers << PlotMarker{-0.9 + 0.1137 * i, QStringLiteral("level"), false, false, 1};
            chart.setData({}, markers);
            QImage image(chart.size() * scale, QImage::Format_RGB32);
            image.setDevicePixelRatio(scale);
            image.fill(Qt::black);
            chart.render(&image);
            const QRgb line = Theme::instance().tokens().dataB.rgb();
            const int y = int(chart.pixelOf(0, 0.53).y() * scale);
            QVector<int> widths;
            const auto like = [line](QRgb pixel) { // the line colour on the card, half transparent
                return qRed(pixel) > qBlue(pixel) + 60 && qRed(pixel) > qRed(line) / 2;
            };
            for (int x = 0; x < image.width(); ++x) {
                if (!like(image.pixel(x, y))) continue;
                int width = 0;
                while (x < image.width() && like(image.pixel(x, y))) ++x, ++width;
                widths << width;
            }
            QVERIFY2(widths.size() >= 14, qPrintable(QString::number(widths.size())));
            QCOMPARE(widths, QVector<int>(widths.size(), widths.front()));
        }
    }

    void dragPansInsideHome() {
        PlotChart chart;
        show(chart);
        wheel(chart, chart.pixelOf(0, 0.5), 4);
        QSignalSpy moved(&chart, &PlotChart::viewChanged);
        QSignalSpy clicks(&chart, &PlotChart::clicked);
        const QPoint from = chart.plotArea().center().toPoint();
        QTest::mousePress(inside(chart), Qt::LeftButton, {}, from);
        QTest::mouseMove(inside(chart), from + QPoint(60, 0));
        QTest::mouseMove(inside(chart), from + QPoint(90, 0));
        QTest::mouseRelease(inside(chart), Qt::LeftButton, {}, from + QPoint(90, 0));
        QVERIFY(moved.size() >= 1);
        QVERIFY(moved.last()[0].toDouble() < -0.42);
        QVERIFY(moved.last()[0].toDouble() >= -1.0);
        QCOMPARE(clicks.size(), 0);
        QTest::mouseClick(inside(chart), Qt::LeftButton, {}, from);
        QCOMPARE(clicks.size(), 1);
    }

    void hoverReadsExactValuesAndMarkers() {
        PlotChart chart;
        show(chart);
        QSignalSpy hovered(&chart, &PlotChart::hovered);
        QTest::mouseMove(inside(chart), chart.pixelOf(0.25, 0.4).toPoint());
        QVERIFY(hovered.size() >= 1);
        QVERIFY(std::abs(hovered.last()[0].toDouble() - 0.25) < 0.01);
        const QStringList lines = chart.crosshairLines();
        QCOMPARE(lines.size(), 3);
        QCOMPARE(lines[0], QStringLiteral("level 0.25"));
        QCOMPARE(lines[1], QStringLiteral("w / scale 0.25"));
        QCOMPARE(lines[2], QStringLiteral("density 0.60653")); // exp(-8 / 16)
        keepPicture(chart, QStringLiteral("plot-chart-hover"));
        QEvent leave(QEvent::Leave);
        QApplication::sendEvent(inside(chart), &leave);
        QVERIFY(chart.crosshairLines().isEmpty());
        QVERIFY(std::isnan(hovered.last()[0].toDouble()));
    }

    void keysWalkAndZoom() {
        PlotChart chart;
        show(chart);
        chart.setFocus(Qt::TabFocusReason);
        QTest::keyClick(&chart, Qt::Key_Right);
        QCOMPARE(chart.crosshairLines().first(), QStringLiteral("w / scale 0"));
        QTest::keyClick(&chart, Qt::Key_Right);
        QCOMPARE(chart.crosshairLines().first(), QStringLiteral("w / scale 0.015625"));
        QTest::keyClick(&chart, Qt::Key_Plus);
        QVERIFY(chart.isZoomed());
        QTest::keyClick(&chart, Qt::Key_Home);
        QVERIFY(!chart.isZoomed());
        QTest::keyClick(&chart, Qt::Key_Escape);
        QVERIFY(chart.crosshairLines().isEmpty());
    }

    void linkedCrosshair() {
        PlotChart one, two;
        show(one);
        show(two);
        connect(&one, &PlotChart::hovered, &two, &PlotChart::showCrosshair);
        QTest::mouseMove(inside(one), one.pixelOf(-0.5, 0.4).toPoint());
        QCOMPARE(two.crosshairLines(), one.crosshairLines());
    }

    void linkedChartsShareTheirRanges() {
        PlotChart one, two;
        show(one);
        show(two);
        PlotSeries high = bell(129);
        for (QPointF& point : high.points) point.setY(point.y() * 4);
        one.setYRangeLinked(&two);
        two.setData({high}, {});
        QCOMPARE(one.pixelOf(0, 2).y(), two.pixelOf(0, 2).y());
        wheel(one, one.pixelOf(0.2, 1), 2);
        QCOMPARE(one.pixelOf(0.3, 1), two.pixelOf(0.3, 1));
    }

    void zerosSurviveALogarithmicAxis() {
        PlotChart chart;
        show(chart);
        PlotSeries gaps = bell(65);
        for (int i = 0; i < 20; ++i) gaps.points[i].setY(0);
        chart.setData({gaps}, {});
        chart.setLogY(true);
        QVERIFY(chart.logY());
        const double least = std::exp(-8.0);
        QVERIFY(chart.pixelOf(0, least).y() <= chart.plotArea().bottom());
        QVERIFY(chart.pixelOf(0, 1).y() >= chart.plotArea().top());
        const auto outline = outlineOf(gaps, true, -9);
        QCOMPARE(outline.size(), gaps.points.size());
        QCOMPARE(outline.first().y(), -9.0);
        keepPicture(chart, QStringLiteral("plot-chart-log"));
        chart.setData({}, {}); // empty data must not crash
        chart.setData({PlotSeries{}}, {});
        QVERIFY(!chart.grab().isNull());
    }

    void manyPointsKeepTheirExtremes() {
        QVector<QPointF> points;
        for (int i = 0; i < 5000; ++i) points.append({double(i), std::sin(i * 0.37) + (i == 3210 ? 9 : 0)});
        const auto few = thinned(points, {0, 4999}, 400);
        QVERIFY(few.size() <= 802);
        QCOMPARE(few.first(), points.first());
        QCOMPARE(few.last(), points.last());
        QVERIFY(few.contains(points[3210]));
        for (int i = 1; i < few.size(); ++i) QVERIFY(few[i - 1].x() < few[i].x());
        for (int column = 0; column < 400; ++column) {
            const auto span = [&](const QVector<QPointF>& of) {
                double low = 1e9, high = -1e9;
                for (int i = 1; i + 1 < of.size(); ++i) {
                    if (int(std::floor(of[i].x() / (4999.0 / 400))) != column) continue;
                    low = std::min(low, of[i].y()), high = std::max(high, of[i].y());
                }
                return QPointF(low, high);
            };
            QCOMPARE(span(few), span(points));
        }
        QCOMPARE(thinned(points, {0, 4999}, 2500), points); // two points per pixel: all are kept
        QCOMPARE(thinned(points, {100, 110}, 400), points); // zoomed in: all are kept
        QCOMPARE(thinned(points, {7, 7}, 400), points);     // no view yet
    }

    void zoomShowsWhatWasThinned() {
        PlotChart chart, plain;
        PlotSeries many{QStringLiteral("rows"), PlotSeries::Style::Line, 0, {}, {}};
        for (int i = 0; i < 20000; ++i) many.points.append({double(i), double(i % 7)});
        PlotSeries few = many;
        few.points = many.points.mid(9990, 21);
        for (PlotChart* one : {&chart, &plain}) {
            one->resize(480, 240);
            one->setAxes(QStringLiteral("row"), QStringLiteral("y"));
            one->show();
        }
        chart.setData({many}, {});
        plain.setData({few}, {});
        QVERIFY(QTest::qWaitForWindowExposed(&chart, qs::test::kWait));
        chart.setXView(9990, 10010);
        plain.setXView(9990, 10010);
        // Lines continue to the edges only in the chart with more points, so the middle part is compared.
        const QRect middle(120, 0, 280, 200);
        QCOMPARE(chart.grab(middle).toImage(), plain.grab(middle).toImage());
    }

    void dataLeavesInEveryForm() {
        PlotChart chart;
        show(chart);
        const QString tsv = chart.dataAsTsv();
        QCOMPARE(tsv.count(u'\n'), 1 + 129 + 1);
        QVERIFY(tsv.startsWith(QStringLiteral("series\tw / scale\tdensity")));
        QVERIFY(tsv.contains(QStringLiteral("density\t0\t1\t")));
        const QByteArray svg = chart.asSvg();
        QVERIFY(svg.contains("<svg") && svg.contains("w / scale") && svg.contains("<path"));
        chart.copyAll();
        const QMimeData* mime = QApplication::clipboard()->mimeData();
        QVERIFY(mime->hasFormat(QStringLiteral("image/svg+xml")) && mime->hasText() && mime->hasImage());
    }

    void everyStyleInBothThemes() {
        for (const auto mode : {Theme::Mode::Dark, Theme::Mode::Light}) {
            Theme::instance().setMode(mode);
            PlotChart chart;
            show(chart);
            PlotSeries line = bell(129, 0.2), dots = bell(33, -0.2), bars = bell(17);
            line.style = PlotSeries::Style::Line;
            line.token = 1;
            line.name = QStringLiteral("line");
            dots.style = PlotSeries::Style::Dots;
            dots.token = 2;
            dots.name = QStringLiteral("dots");
            bars.style = PlotSeries::Style::Bars;
            bars.token = 3;
            bars.name = QStringLiteral("bars");
            chart.setLegend(true);
            chart.setData({bell(129), line, dots, bars}, {{-0.5, QStringLiteral("p50"), true, true, 4}});
            QTest::qWait(10);
            const QImage picture = chart.grab().toImage();
            QSet<QRgb> colours;
            for (int y = 0; y < picture.height(); ++y)
                for (int x = 0; x < picture.width(); ++x) colours.insert(picture.pixel(x, y));
            for (const QColor& token : {Theme::instance().tokens().dataC, Theme::instance().tokens().line})
                QVERIFY(colours.contains(token.rgb()));
            keepPicture(chart, mode == Theme::Mode::Dark ? QStringLiteral("plot-chart-dark")
                                                         : QStringLiteral("plot-chart-light"));
        }
        Theme::instance().setMode(Theme::Mode::Dark);
    }

    void manyMarkersBecomeARug() {
        PlotChart chart;
        show(chart);
        QVector<PlotMarker> levels;
        for (int i = -127; i <= 127; ++i) levels.append({i / 127.0, QString::number(i), false, false, 1});
        chart.setData({bell(129)}, levels);
        QTest::qWait(10);
        const QColor level = Theme::instance().tokens().dataB;
        const auto reddish = [&](const QImage& image, int y) {
            int count = 0;
            for (int x = 0; x < image.width(); ++x)
                count += image.pixelColor(x, y).red() > level.red() - 130 && image.pixelColor(x, y).blue() < 130;
            return count;
        };
        const QImage picture = chart.grab().toImage();
        QVERIFY(reddish(picture, int(chart.plotArea().bottom()) - 3) > 60);
        QCOMPARE(reddish(picture, int(chart.plotArea().top()) + 10), 0);
        keepPicture(chart, QStringLiteral("plot-chart-rug"));
    }

    void replacingIsCheap() {
        PlotChart chart;
        show(chart);
        chart.setData({bell(512)}, {});
        QTest::qWait(20);
        QVector<qint64> times;
        for (int i = 0; i < 60; ++i) {
            QElapsedTimer timer;
            timer.start();
            chart.setData({bell(512, 0.001 * i)}, {});
            inside(chart)->repaint();
            times.append(timer.nsecsElapsed());
        }
        std::sort(times.begin(), times.end());
        const double median = double(times[times.size() / 2]) / 1e6;
        qInfo("replace and repaint of 512 points: median %.2f ms", median);
        QVERIFY2(median < 40,
                 "far from what Qt Charts costs: something is rebuilt on each change"); // the limit is high because
                                                                                        // sanitized builds run this too
    }
};

QS_TEST(TestPlotChart)
#include "plot_chart_test.moc"
