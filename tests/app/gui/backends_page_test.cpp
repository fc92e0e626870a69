// SPDX-License-Identifier: GPL-3.0-or-later
// A benchmark run in the window: what is shown, clicked and written.
#include "app/gui/pages/backends/backends_rows.h"
#include "app/gui/widgets/banner.h"
#include "artefacts.h"
#include "core/bench/report/compare.h"
#include "opened_backends_page.h"
#include "tests/core/bench/fake_world.h"
#include "tests/support/test_program.h"

#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QMenu>
#include <QPlainTextEdit>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include <atomic>
#include <cmath>

using namespace qs;
using namespace qs::gui;

class TestBackendsPage : public QObject, OpenedBackendsPage {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(open("quantscope-tests-backends")); }

    void runsShowsAndWrites() {
        QTemporaryDir folder;
        const auto page = make();
        plan(*page, QStringLiteral("1 4"));
        auto* backends = find<QListWidget>(*page, "planBackends");
        QStringList asked;
        for (int i = 0; i < backends->count(); ++i) {
            const auto text = backends->item(i)->text(); // items with options are the same backend again
            if (text.contains(QLatin1String("not built")) || text.contains(u':')) continue;
            backends->item(i)->setCheckState(Qt::Checked);
            asked << backends->item(i)->text();
        }
        QVERIFY(asked.contains(QLatin1String("cpu")));
        QSignalSpy finished(&page->bench(), &BenchRun::finished);
        QSignalSpy progress(session_.get(), &Session::jobProgress);
        QTest::mouseClick(find<QPushButton>(*page, "runBench"), Qt::LeftButton);
        QVERIFY(page->bench().running());
        QVERIFY(find<QPushButton>(*page, "cancelBench")->isVisible());
        QVERIFY(finished.wait(120'000));
        QTRY_VERIFY_WITH_TIMEOUT(page->settled(), 60'000);
        QVERIFY(!page->bench().answers().empty()); // the query that the run interrupted was sent again
        QVERIFY(progress.size() > 3);
        QCOMPARE(progress.last()[0].value<Progress>().what, std::string("Benchmark"));
        const auto& rows = page->bench().rows();
        QVERIFY(rows.size() >= 6);
        int timed = 0;
        for (const auto& row : rows) {
            timed += row.timing.medianNs.has_value();
            QVERIFY2(row.timing.medianNs || !row.verdict.reason.empty(), row.answer.variant.id.c_str());
            if (row.timing.medianNs) QVERIFY(row.check.nmse.has_value()); // correct before timed
        }
        QVERIFY(timed >= 4);
        for (const auto& name : std::as_const(asked)) // a backend that cannot run gives a row with the reason
            QVERIFY2(std::any_of(rows.begin(), rows.end(),
                                 [&](const auto& row) { return row.question.backend == name.toStdString(); }),
                     qPrintable(name));
        auto* table = find<QTableView>(*page, "benchResults");
        auto* text = find<QPlainTextEdit>(*page, "benchDetail");
        QCOMPARE(table->model()->rowCount(), int(rows.size()));
        // A time that is not there says why in its place.
        const auto notRun =
            std::find_if(rows.begin(), rows.end(), [](const auto& row) { return !row.timing.medianNs; });
        if (notRun != rows.end()) {
            const auto cell = table->model()->index(int(notRun - rows.begin()), 4);
            QCOMPARE(cell.data().toString().replace(u' ', u'_'),
                     QString::fromUtf8(rowStateText(notRun->verdict.status)));
            QCOMPARE(cell.data(Qt::ToolTipRole).toString(), QString::fromStdString(notRun->verdict.reason));
        }
        const auto isShown = [&](const BenchmarkRow& row) {
            return text->toPlainText().contains(QString::fromStdString(row.answer.variant.id)) &&
                   text->toPlainText().contains(QString::fromStdString(row.question.command));
        };
        // A click on a table row shows exactly what was run...
        const auto click = [&](int row) {
            QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                              table->visualRect(table->model()->index(row, 0)).center());
        };
        click(1);
        QVERIFY(isShown(rows[1]));
        QVERIFY(text->toPlainText().contains(QLatin1String("quantscope-cli bench")));
        // ... and so do clicks on a latency point, a roofline point and a map cell; they also select the row.
        auto* latency = find<PlotChart>(*page, "latencyChart");
        QVERIFY(!latency->series().isEmpty());
        const auto chart = latencyCharts(rows, LatencyLines::Fastest).front();
        const auto& line = chart.series.back();
        QTest::mouseClick(latency->findChild<QWidget*>(QStringLiteral("plot")), Qt::LeftButton, {},
                          latency->pixelOf(std::log2(line.m.back()), line.ns.back() / 1e3).toPoint());
        QVERIFY(isShown(rows[line.rows.back()]));
        QCOMPARE(table->currentIndex().row(), int(line.rows.back()));
        auto* roofline = find<PlotChart>(*page, "rooflineChart");
        QVERIFY(!roofline->series().isEmpty());
        const auto roofs = rooflines(rows, page->bench().run().roofs);
        const auto own = std::find_if(roofs.begin(), roofs.end(), [](const auto& one) { return one.backend == "cpu"; });
        QVERIFY(own != roofs.end() && own->bytesPerSecond > 0 && !own->peaks.empty());
        // The roofline follows the row clicked last, maybe of another backend. The device is chosen by keyboard here.
        auto* device = find<QComboBox>(*page, "rooflineDevice");
        QCOMPARE(device->currentText(), deviceKey(rows[line.rows.back()]));
        const int wanted = device->findText(QStringLiteral("cpu/cpu:0"));
        QTest::keyClick(device, Qt::Key_Home);
        for (int i = 0; i < wanted; ++i) QTest::keyClick(device, Qt::Key_Down);
        const auto& point = own->points.front();
        QTest::mouseClick(roofline->findChild<QWidget*>(QStringLiteral("plot")), Qt::LeftButton, {},
                          roofline->pixelOf(std::log10(point.intensity), point.gflops).toPoint());
        QCOMPARE(rows[std::size_t(table->currentIndex().row())].question.backend, own->backend);
        QVERIFY(isShown(rows[std::size_t(table->currentIndex().row())]));
        auto* map = find<HeatMap>(*page, "speedupMap");
        const auto maps = speedupMaps(rows);
        QVERIFY2(!maps.empty(), "f32 sgemm was not timed: is the openblas backend built?");
        const auto& cells = maps.front();
        QTest::mouseClick(map, Qt::LeftButton, {}, map->cellRect(0, 0).center().toPoint());
        QVERIFY(isShown(rows[std::size_t(cells.rows.front())]));
        QCOMPARE(std::pair(map->currentRow(), map->currentColumn()), std::pair(0, 0));
        // The same row stays selected in the table of errors.
        const int selected = table->currentIndex().row();
        auto* choice = find<QComboBox>(*page, "tableChoice");
        choice->setCurrentIndex(1);
        QCOMPARE(table->currentIndex().row(), selected);
        click(0);
        QVERIFY(isShown(rows[0]));
        keepPicture(*page, QStringLiteral("backends-correctness"));
        choice->setCurrentIndex(0);
        // Programs that the backend reports for a row.
        const auto showing = [&](const char* kind) {
            return std::find_if(rows.begin(), rows.end(), [kind](const auto& row) {
                return std::any_of(row.answer.artifacts.begin(), row.answer.artifacts.end(),
                                   [kind](const auto& one) { return !kind || one.first == kind; });
            });
        };
        const auto program = showing("stablehlo"); // only with a PJRT plugin
        const auto withText = program != rows.end() ? program : showing(nullptr);
        QVERIFY(withText != rows.end());
        table->selectRow(int(withText - rows.begin()));
        auto* artifact = find<QComboBox>(*page, "artifactChoice");
        QVERIFY(artifact->isVisible());
        artifact->setCurrentIndex(1);
        QCOMPARE(text->toPlainText(), QString::fromStdString(withText->answer.artifacts[0].second));
        artifact->setCurrentIndex(artifact->count() - 1);
        keepPicture(*page, QStringLiteral("backends-program"));
        auto* copy = find<QToolButton>(*page, "copyCommand");
        QVERIFY(copy->isVisible());
        QTest::mouseClick(copy, Qt::LeftButton);
        QCOMPARE(QGuiApplication::clipboard()->text(), QString::fromStdString(withText->question.command));
        artifact->setCurrentIndex(0);

        QString path = folder.filePath(QStringLiteral("run.json"));
        page->setPathChooser([&](const QString&, bool) { return path; });
        QSignalSpy written(page.get(), &BackendsPage::written);
        for (auto* action : find<QToolButton>(*page, "exportBench")->menu()->actions())
            if (action->text().startsWith(QLatin1String("JSON"))) action->trigger();
        QVERIFY(written.wait(20'000));
        QVERIFY(readBenchBaseline(path.toStdString()));
        path = folder.filePath(QStringLiteral("run.html")); // with charts
        for (auto* action : find<QToolButton>(*page, "exportBench")->menu()->actions())
            if (action->text().startsWith(QLatin1String("HTML"))) action->trigger();
        QVERIFY(written.wait(20'000));
        QFile html(path);
        QVERIFY(html.open(QIODevice::ReadOnly));
        const auto document = html.readAll();
        for (const char* part : {"<svg", "Latency against M", "Roofline of cpu"})
            QVERIFY2(document.contains(part), part);
        path = folder.filePath(QStringLiteral("run.json"));
        // The written file can be loaded as baseline. The run compared with itself is neither faster nor slower.
        QTest::mouseClick(find<QToolButton>(*page, "loadBaseline"), Qt::LeftButton);
        QTRY_COMPARE(choice->currentIndex(), 4);
        QCOMPARE(table->model()->rowCount(), int(rows.size()));
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            const auto verdict = table->model()->index(row, 2).data().toString();
            QVERIFY2(verdict != QLatin1String("faster") && verdict != QLatin1String("slower"), qPrintable(verdict));
        }
        // The verdict is visible in a small window too.
        QVERIFY(table->visualRect(table->model()->index(0, 2)).right() < table->viewport()->width());
        // So is the name of each row, without the part common to all rows.
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            const auto name = table->model()->index(row, 0);
            QVERIFY2(table->fontMetrics().horizontalAdvance(name.data().toString()) < table->columnWidth(0) - 8,
                     qPrintable(QStringLiteral("%1 in %2 px of %3")
                                    .arg(name.data().toString())
                                    .arg(table->columnWidth(0))
                                    .arg(table->viewport()->width())));
            QVERIFY(name.data(Qt::ToolTipRole).toString().contains(QLatin1String("act=f32")));
        }
        keepPicture(*page, QStringLiteral("backends-baseline"));
        choice->setCurrentIndex(2);
        keepPicture(*page, QStringLiteral("backends-roofs"));
        choice->setCurrentIndex(3);
        keepPicture(*page, QStringLiteral("backends-model"));
        choice->setCurrentIndex(0);
        QCOMPARE(table->currentIndex().row(), int(withText - rows.begin())); // the former selection
        for (const auto mode : {Theme::Mode::Light, Theme::Mode::Dark})
            for (const QSize size : {QSize(1356, 802), QSize(2476, 1402)}) {
                Theme::instance().setMode(mode);
                page->resize(size);
                QTest::qWait(50);
                QTRY_VERIFY(page->settled());
                keepPicture(*page, QStringLiteral("backends-%1-%2")
                                       .arg(mode == Theme::Mode::Dark ? u"dark" : u"light")
                                       .arg(size.width()));
            }
    }

    /// On a busy machine: "busy" instead of a ratio, a reason for the hatched map, and a button that repeats those
    /// rows.
    void busyRowsAreTimedAgain() {
        benchtest::World world;
        world.addOpenblas(4e6);
        world.add("cpu", {benchtest::variantOf("v", benchtest::Fault::None, 1e6)});
        world.plan.specs = {{"nf4", *parseSpec("nf4")}, {"f32", *parseSpec("f32")}};
        for (auto& [id, fake] : world.prototypes) fake.probeFactors.assign(2000, 0.5);
        const auto page = make();
        QTRY_VERIFY_WITH_TIMEOUT(page->settled(), 60'000);
        auto* table = find<QTableView>(*page, "benchResults");
        auto* text = find<QPlainTextEdit>(*page, "benchDetail");
        auto* why = find<QLabel>(*page, "speedupBusy");
        auto* again = find<QToolButton>(*page, "againBench");
        QVERIFY(!why->isVisible() && !again->isVisible());
        QSignalSpy finished(&page->bench(), &BenchRun::finished);
        page->bench().start(world.plan);
        QVERIFY(finished.wait(60'000));
        const auto speedups = [&](bool busy) { // cells shown as busy, or as not busy
            int count = 0;
            for (std::size_t i = 0; i < page->bench().rows().size(); ++i) {
                const auto cell = table->model()->index(int(i), 5).data().toString();
                if (page->bench().rows()[i].timing.medianNs) count += (cell == QLatin1String("busy")) == busy;
            }
            return count;
        };
        QTRY_VERIFY_WITH_TIMEOUT(page->settled(), 60'000);
        QVERIFY(speedups(true) >= 3);
        QCOMPARE(speedups(false), 0);
        QVERIFY2(text->toPlainText().contains(QLatin1String("busy: the ratio")), qPrintable(text->toPlainText()));
        QVERIFY2(why->isVisible() && why->text().contains(QLatin1String("timed on a busy machine")) &&
                     why->text().contains(QLatin1String("reading memory ran at 50 % of its best")),
                 qPrintable(why->text()));
        QCOMPARE(again->text(), QStringLiteral("Time %1 busy rows again").arg(speedups(true)));
        QVERIFY(again->isVisible());
        for (const auto mode : {Theme::Mode::Light, Theme::Mode::Dark}) {
            Theme::instance().setMode(mode);
            QTRY_VERIFY(page->settled());
            keepPicture(*page, QStringLiteral("backends-busy-%1").arg(mode == Theme::Mode::Dark ? u"dark" : u"light"));
        }
        for (auto& [id, fake] : world.prototypes) fake.probeFactors.clear();
        QTest::mouseClick(again, Qt::LeftButton);
        QVERIFY(page->bench().running() && find<QPushButton>(*page, "cancelBench")->isVisible());
        QVERIFY(finished.wait(60'000));
        QTRY_VERIFY_WITH_TIMEOUT(page->settled(), 60'000);
        QCOMPARE(speedups(true), 0);
        QVERIFY(speedups(false) >= 3);
        QVERIFY(!why->isVisible() && !again->isVisible());
        QVERIFY(find<QPushButton>(*page, "runBench")->isVisible());
    }

    /// A run of minutes on a busy machine asks first; a short run does not.
    void aLongRunOnABusyMachineIsAskedAbout() {
        const auto page = make();
        plan(*page);
        QTRY_VERIFY_WITH_TIMEOUT(page->settled(), 60'000);
        std::atomic<int> asked = 0;
        page->setLoadProbe([&](const Job&) {
            ++asked;
            return std::optional(MachineLoad{3.4, 4});
        });
        auto* run = find<QPushButton>(*page, "runBench");
        auto* seconds = find<QDoubleSpinBox>(*page, "planSeconds");
        auto* banner = find<Banner>(*page, "benchBusy");
        QTest::mouseClick(run, Qt::LeftButton);
        QVERIFY(page->bench().running() && asked == 0);
        page->bench().cancel();
        seconds->setValue(seconds->maximum());
        QTRY_VERIFY(page->planner().secondsNeeded() > 60);
        QTest::mouseClick(run, Qt::LeftButton);
        QTRY_VERIFY(banner->isVisible());
        QCOMPARE(asked.load(), 1);
        QVERIFY(!page->bench().running());
        QVERIFY2(banner->text().startsWith(u"Other programs keep 3.4 of 4 processors busy"),
                 qPrintable(banner->text()));
        keepPicture(*page, QStringLiteral("backends-busy-asked"));
        QTest::mouseClick(banner->findChild<QPushButton*>(), Qt::LeftButton);
        QVERIFY(page->bench().running() && !banner->isVisible());
        page->bench().cancel();
        page->setLoadProbe([](const Job&) { return std::optional(MachineLoad{0.1, 4}); });
        QTest::mouseClick(run, Qt::LeftButton);
        QTRY_VERIFY(page->bench().running());
        page->bench().cancel();
    }

    void escapeKeepsWhatWasMeasured() {
        const auto page = make();
        // Rows of one M arrive together. Many short rows: some arrive soon, and some are left to cancel.
        plan(*page, QStringLiteral("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"));
        QTest::mouseClick(find<QPushButton>(*page, "runBench"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!page->bench().rows().empty(), 60'000);
        session_->cancelJobs(); // the action of Esc
        QVERIFY(!page->bench().running());
        QVERIFY(!page->bench().rows().empty());
        QVERIFY(find<QPushButton>(*page, "runBench")->isVisible());
        keepPicture(*page, QStringLiteral("backends-cancelled"));
        // The partial result can be written, marked as incomplete.
        auto* exportButton = find<QToolButton>(*page, "exportBench");
        QVERIFY(exportButton->isEnabled());
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("part.json"));
        page->setPathChooser([&](const QString&, bool) { return path; });
        QSignalSpy written(page.get(), &BackendsPage::written);
        for (auto* action : exportButton->menu()->actions())
            if (action->text().startsWith(QLatin1String("JSON"))) action->trigger();
        QVERIFY(written.wait(20'000));
        const auto part = readBenchBaseline(path.toStdString());
        QVERIFY2(part.has_value(), part ? "" : part.error().message.c_str());
        QCOMPARE(part->rows.size(), page->bench().rows().size());
        QVERIFY(std::any_of(part->provenance.begin(), part->provenance.end(),
                            [](const auto& line) { return line.first == "incomplete"; }));
        // The button cancels too, and another run can be started.
        QTest::mouseClick(find<QPushButton>(*page, "runBench"), Qt::LeftButton);
        QVERIFY(page->bench().running() && page->bench().rows().empty());
        QTRY_VERIFY_WITH_TIMEOUT(!page->bench().rows().empty(), 60'000);
        QTest::mouseClick(find<QPushButton>(*page, "cancelBench"), Qt::LeftButton);
        QVERIFY(!page->bench().running() && !page->bench().rows().empty());
    }
};

QS_TEST(TestBackendsPage)
#include "backends_page_test.moc"
