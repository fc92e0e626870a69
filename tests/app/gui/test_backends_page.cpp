// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends_page.h"

#include "app/gui/pages/backends_matrix.h"
#include "app/gui/pages/backends_plan.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "artefacts.h"
#include "opened_session.h"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFile>
#include <QLineEdit>
#include <QLabel>
#include <QListWidget>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include <cmath>
#include <memory>

using namespace qs;
using namespace qs::gui;

namespace {

BenchmarkRow timedRow(const char* backend, const char* spec, std::int64_t m, double ns, const char* variant = "v") {
    BenchmarkRow row;
    row.backend = backend;
    row.device = "cpu:0";
    row.spec = spec;
    row.op = "matmul_t";
    row.act = "f32";
    row.m = m;
    row.n = row.k = 256;
    row.variant = variant;
    row.status = RowState::Ok;
    row.medianNs = ns;
    row.ciNs = Interval{ns * 0.99, ns * 1.01};
    row.gflops = 2.0 * double(m) * 256 * 256 / ns;
    row.intensity = double(m) * 4;
    return row;
}

} // namespace

class TestBackendsPage : public QObject {
    Q_OBJECT
    std::unique_ptr<Session> session_;

    template<class T> static T* find(QWidget& page, const char* name) {
        return page.findChild<T*>(QLatin1String(name));
    }
    std::unique_ptr<BackendsPage> make(QSize size = {1356, 802}) {
        auto page = std::make_unique<BackendsPage>(*session_);
        page->setAutoFillBackground(true);
        page->resize(size);
        page->show();
        if (!QTest::qWaitFor([&] { return find<QPushButton>(*page, "runBench")->isEnabled(); }, 20'000))
            qWarning("the plan cannot be run");
        return page;
    }
    /// Small and quick: cpu and openblas, nf4 beside f32, two M, a twentieth of a second a row.
    static void plan(BackendsPage& page, const QString& ms = QStringLiteral("1 4")) {
        auto* backends = find<QListWidget>(page, "planBackends");
        for (int i = 0; i < backends->count(); ++i) {
            const auto text = backends->item(i)->text();
            const bool on = text.startsWith(QLatin1String("cpu")) || text.startsWith(QLatin1String("openblas"));
            backends->item(i)->setCheckState(on && !text.contains(QLatin1String("not built")) ? Qt::Checked
                                                                                              : Qt::Unchecked);
        }
        auto* shapes = find<QListWidget>(page, "planShapes");
        for (int i = 0; i < shapes->count(); ++i)
            shapes->item(i)->setCheckState(i == 0 ? Qt::Checked : Qt::Unchecked);
        auto* specs = find<QListWidget>(page, "planSpecs");
        for (int i = 0; i < specs->count(); ++i) {
            const auto text = specs->item(i)->text();
            const bool on = text == QLatin1String("nf4:block=64") || text == QLatin1String("f32");
            specs->item(i)->setCheckState(on ? Qt::Checked : Qt::Unchecked);
        }
        find<QLineEdit>(page, "planM")->setText(ms);
        find<QDoubleSpinBox>(page, "planSeconds")->setValue(0.05);
    }

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        QVERIFY(openModel(*session_, samplePath()));
    }

    void latencyTakesTheFastestVariantAndMarksCrossovers() {
        std::vector<BenchmarkRow> rows = {timedRow("cpu", "nf4", 1, 100), timedRow("cpu", "nf4", 1, 80, "w"),
                                          timedRow("cpu", "nf4", 64, 9000), timedRow("openblas", "f32", 1, 300),
                                          timedRow("openblas", "f32", 64, 5000)};
        rows[1].approx = true; // faster, but not what the format says
        const auto group = latencyGroups(rows).value(0);
        QCOMPARE(latencyGroups(rows).size(), 1);
        const auto picture = latencyPicture(rows, group, false);
        QCOMPARE(picture.measured, 4);
        QCOMPARE(picture.series[0].points[0], QPointF(0, 0.1)); // log2 1, 100 ns in µs
        QCOMPARE(picture.series[0].points[1].x(), 6.0);
        QCOMPARE(picture.crossovers.size(), 1);
        QCOMPARE(picture.crossovers[0].x, 6.0);
        QVERIFY(picture.crossovers[0].label.contains(QLatin1String("openblas f32")));
        QCOMPARE(latencyPicture(rows, group, true).measured, 5);
        // Overlapping intervals name no winner.
        rows[4].ciNs = Interval{4000, 9500};
        QVERIFY(latencyPicture(rows, group, false).crossovers.isEmpty());
    }

    void speedupsAreRatiosAboutOne() {
        std::vector<BenchmarkRow> rows = {timedRow("cpu", "nf4", 1, 100), timedRow("cpu", "nf4", 4, 100),
                                          timedRow("cpu", "int8", 1, 100)};
        rows[0].speedup = 4;
        rows[1].speedup = 0.5;
        const auto picture = speedupPicture(rows);
        QCOMPARE(picture.map.rows, 2);
        QCOMPARE(picture.map.columns, 2);
        QCOMPARE(picture.map.values[0], 2.F);
        QCOMPARE(picture.map.values[2], -1.F);
        QVERIFY(std::isnan(picture.map.values[1])); // no speed-up known: hatched, not 1x
        QVERIFY(std::isnan(picture.map.values[3]));
        HeatMap map;
        map.setData(picture.map);
        QVERIFY(map.describe(0, 0).contains(QStringLiteral("4.00×")));
        QVERIFY(map.dataAsTsv().contains(QStringLiteral("0.5")));
    }

    void rooflineHasItsRidgeWhereTheRoofsMeet() {
        const std::vector<BenchmarkRow> rows = {timedRow("cpu", "nf4", 1, 100)};
        const std::vector<MeasuredRoof> roofs = {{"cpu", "cpu:0", "read_bw", 40e9, 3, {}},
                                                 {"cpu", "cpu:0", "f32", 400e9, 3, {}}};
        const auto picture = rooflinePicture(rows, roofs, QStringLiteral("cpu/cpu:0"));
        QCOMPARE(picture.series.size(), 2);
        QCOMPARE(picture.series[0].points[1], QPointF(1, 400)); // 400 GFLOP/s over 40 GB/s: ten operations a byte
        QCOMPARE(picture.rowOf, QVector<int>{0});
        QVERIFY(rooflinePicture(rows, roofs, QStringLiteral("cuda/0")).series.isEmpty());
    }

    void asksWhatCouldRun() {
        const auto page = make();
        auto* matrix = find<QTableView>(*page, "capabilityMatrix");
        const QAbstractItemModelTester tester(matrix->model());
        QTRY_VERIFY_WITH_TIMEOUT(!page->bench().asking(), 60'000);
        QVERIFY(!page->bench().answers().empty());
        bool native = false;
        for (const auto& answer : page->bench().answers())
            native |= answer.backend == "cpu" && answer.spec == "nf4:block=64" && answer.status == RowState::Ok;
        QVERIFY(native);
        QVERIFY(matrix->isVisible());
    }

    void runsShowsAndWrites() {
        QTemporaryDir folder;
        const auto page = make();
        plan(*page);
        QSignalSpy finished(&page->bench(), &BenchRun::finished);
        QTest::mouseClick(find<QPushButton>(*page, "runBench"), Qt::LeftButton);
        QVERIFY(page->bench().running());
        QVERIFY(find<QPushButton>(*page, "cancelBench")->isVisible());
        QVERIFY(finished.wait(120'000));
        const auto& rows = page->bench().rows();
        QVERIFY(rows.size() >= 6);
        int timed = 0;
        for (const auto& row : rows) {
            timed += row.medianNs.has_value();
            QVERIFY2(row.medianNs || !row.reason.empty(), row.variant.c_str());
            if (row.medianNs) QVERIFY(row.nmse.has_value()); // correct before timed
        }
        QVERIFY(timed >= 4);
        QVERIFY(!find<PlotChart>(*page, "latencyChart")->series().isEmpty());
        QVERIFY(!find<PlotChart>(*page, "rooflineChart")->series().isEmpty());
        auto* table = find<QTableView>(*page, "benchResults");
        QCOMPARE(table->model()->rowCount(), int(rows.size()));
        // One click opens what exactly was run.
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(table->model()->index(1, 0)).center());
        const auto text = find<QPlainTextEdit>(*page, "benchDetail")->toPlainText();
        QVERIFY(text.contains(table->model()->index(1, 2).data().toString()));
        QVERIFY(text.contains(QLatin1String("quantscope-cli bench")));

        QString path = folder.filePath(QStringLiteral("run.json"));
        page->setPathChooser([&](const QString&, bool) { return path; });
        QSignalSpy written(page.get(), &BackendsPage::written);
        for (auto* action : find<QToolButton>(*page, "exportBench")->menu()->actions())
            if (action->text().startsWith(QLatin1String("JSON"))) action->trigger();
        QVERIFY(written.wait(20'000));
        QVERIFY(readBenchBaseline(path.toStdString()));
        keepPicture(*page, QStringLiteral("backends-dark"));
        Theme::instance().setMode(Theme::Mode::Light);
        keepPicture(*page, QStringLiteral("backends-light"));
        Theme::instance().setMode(Theme::Mode::Dark);
    }

    void escapeKeepsWhatWasMeasured() {
        const auto page = make();
        plan(*page, QStringLiteral("1 2 3 4 5 6 7 8"));
        find<QDoubleSpinBox>(*page, "planSeconds")->setValue(1);
        QTest::mouseClick(find<QPushButton>(*page, "runBench"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!page->bench().rows().empty(), 60'000);
        session_->cancelJobs(); // what Esc does
        QVERIFY(!page->bench().running());
        QVERIFY(!page->bench().rows().empty());
        QVERIFY(find<QPushButton>(*page, "runBench")->isVisible());
    }

    void anUnusablePlanSaysWhy() {
        const auto page = make();
        find<QLineEdit>(*page, "planM")->setText(QStringLiteral("0 5000"));
        auto* complaint = find<QLabel>(*page, "planComplaint");
        QVERIFY(complaint->isVisible());
        QVERIFY(complaint->text().contains(QLatin1String("1 to 4096")));
        QVERIFY(!find<QPushButton>(*page, "runBench")->isEnabled());
        find<QLineEdit>(*page, "planM")->setText(QStringLiteral("1"));
        QVERIFY(find<QPushButton>(*page, "runBench")->isEnabled());
    }

    void aPluginThatIsNoneIsAColumnWithItsReason() {
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("broken.so"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("no library") > 0);
        file.close();
        const auto page = make();
        page->planner().addPlugin(path);
        QTest::mouseClick(find<QPushButton>(*page, "askBackends"), Qt::LeftButton);
        const auto reason = [&] {
            for (const auto& answer : page->bench().answers())
                if (answer.backend.find("broken") != std::string::npos) return answer.reason;
            return std::string();
        };
        QTRY_VERIFY_WITH_TIMEOUT(!reason().empty(), 60'000);
    }
};

QTEST_MAIN(TestBackendsPage)
#include "test_backends_page.moc"
