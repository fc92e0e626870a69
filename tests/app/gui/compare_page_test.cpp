// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/page.h"
#include "app/gui/pages/compare/compare_plots.h"
#include "app/gui/theme.h"
#include "artefacts.h"
#include "opened_session.h"
#include "tests/support/test_program.h"

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QTableView>
#include <QToolButton>
#include <QWheelEvent>

#include <memory>

using namespace qs;
using namespace qs::gui;

namespace {

struct Compare {
    std::unique_ptr<QWidget> page;
    explicit Compare(Session& session, QSize size = {1056, 802}) : page(createComparePage(session, nullptr)) {
        page->setAutoFillBackground(true);
        page->resize(size);
        page->show();
    }
    template<class T> T* find(const char* name) const { return page->findChild<T*>(QLatin1String(name)); }
    HeatMap* map(const char* name) const { return find<HeatMap>(name); }
    PlotChart* chart(const char* name) const { return find<PlotChart>(name); }
};

} // namespace

class TestComparePage : public QObject {
    Q_OBJECT
    std::unique_ptr<Session> session_;

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        QVERIFY(openModel(*session_, samplePath()));
        session_->setSpec(*parseSpec("nf4:block=64"));
        session_->setSpecB(*parseSpec("nf4:block=32"));
        for (const auto* tensor : session_->weights())
            if (tensor->name.find("layers.0.mlp.down_proj") != std::string::npos) session_->selectTensor(tensor);
    }

    void showsBothWithTheirFigures() {
        Compare compare(*session_);
        QVERIFY(session_->comparing()); // the page always compares with B
        QVERIFY(tensorMeasured(*session_));
        QTRY_VERIFY(!compare.map("mapB")->data().values.isEmpty());
        QVERIFY(compare.find<QLabel>("titleA")->text().contains(QStringLiteral("nf4:block=64")));
        QVERIFY(compare.find<QLabel>("titleB")->text().contains(QStringLiteral("nf4:block=32")));
        QTRY_VERIFY(compare.find<QLabel>("figuresB")->text().contains(QStringLiteral("bpw")));
        QCOMPARE(compare.chart("densityA")->markers().size(), 16);
        QTRY_VERIFY(!compare.chart("densityB")->series().isEmpty());
        for (const char* name : {"densityA", "densityB", "errorA", "errorB"})
            QVERIFY2(!compare.chart(name)->isZoomed(), name); // at first the whole range is visible
        // Smaller blocks store more and have less error. The signs and words must agree.
        const auto rows = figureRows(session_->current().get(), session_->currentB().get());
        const auto row = [&](std::string_view begins) {
            return *std::find_if(rows.begin(), rows.end(),
                                 [&](const FigureRow& r) { return r.title.starts_with(begins); });
        };
        QCOMPARE(row("bpw").verdict, std::string("worse"));
        QVERIFY(row("bpw").delta.starts_with("+"));
        QCOMPARE(row("SQNR").verdict, std::string("better"));
        QCOMPARE(row("NMSE").verdict, std::string("better"));
        QVERIFY(row("NMSE").delta.starts_with("−"));
        auto* table = compare.find<QTableView>("figureTable");
        const QAbstractItemModelTester tester(table->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        QVERIFY(table->model()->rowCount() > 5);
    }

    void theLockGivesOneScale() {
        session_->setSpecB(*parseSpec("int8"));
        Compare compare(*session_);
        QVERIFY(tensorMeasured(*session_));
        auto *a = compare.map("mapA"), *b = compare.map("mapB");
        QTRY_VERIFY(!b->data().values.isEmpty());
        QCOMPARE(a->scale().lo, b->scale().lo);
        QCOMPARE(a->scale().hi, b->scale().hi);
        auto* lock = compare.find<QToolButton>("lockScales");
        QVERIFY(lock->isChecked());
        lock->click();
        QTRY_VERIFY(a->scale().hi > 2 * b->scale().hi); // separate colour scales: int8 has a much smaller error
        lock->click();
        QTRY_COMPARE(a->scale().hi, b->scale().hi);
    }

    void theDifferenceCanBeHidden() {
        Compare compare(*session_);
        QVERIFY(tensorMeasured(*session_));
        auto* map = compare.map("mapDifference");
        QTRY_VERIFY(map->isVisible());
        QTRY_VERIFY(map->data().diverging);
        const int width = compare.map("mapA")->width();
        compare.find<QToolButton>("showDifference")->click();
        QCoreApplication::processEvents();
        QVERIFY(!map->isVisible());
        QTRY_VERIFY(compare.map("mapA")->width() > width);
        compare.find<QToolButton>("showDifference")->click();
        QVERIFY(map->isVisible());
    }

    void zoomAndHoverAreShared() {
        session_->setSpecB(*parseSpec("nf4:block=32"));
        Compare compare(*session_);
        QVERIFY(tensorMeasured(*session_));
        auto *a = compare.map("mapA"), *b = compare.map("mapB");
        QTRY_VERIFY(b->data().columns > a->data().columns);
        const QPointF at = a->plotRect().center();
        QWheelEvent in(at, a->mapToGlobal(at), {}, {0, 240}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(a, &in);
        QVERIFY(a->view().width() < a->data().columns);
        QVERIFY(std::abs(b->view().x() - 2 * a->view().x()) < 1e-6); // the same part of the tensor
        QVERIFY(std::abs(b->view().width() - 2 * a->view().width()) < 1e-6);
        QTest::mouseDClick(a, Qt::LeftButton, {}, at.toPoint());
        QCOMPARE(b->view().width(), double(b->data().columns));

        auto *x = compare.chart("errorA"), *y = compare.chart("errorB");
        QVERIFY(y->crosshairLines().isEmpty());
        Q_EMIT x->hovered(0);
        QVERIFY(!y->crosshairLines().isEmpty());
        Q_EMIT x->hovered(std::nan(""));
        QVERIFY(y->crosshairLines().isEmpty());
    }

    void theDifferenceOfMapsIsThatOfTheCoveringCells() {
        TensorAnalysis a, b;
        a.inspection = std::make_shared<const Inspection>(Inspection{{1, 2, 1, 2, 64, {1, 2}}, {}, {}});
        b.inspection = std::make_shared<const Inspection>(Inspection{{1, 4, 1, 4, 32, {1, 3, 5, 7}}, {}, {}});
        const auto map = blockMapDifference(a, b);
        QCOMPARE(map.columns, 4);
        QCOMPARE(map.values, (QVector<float>{0, 2, 3, 5}));
    }

    void densitiesHoldEveryWeight() {
        const auto row = session_->current();
        const auto extent = densityExtent(*row);
        const auto picture = densityPicture(*row, extent);
        double area = 0;
        for (const auto& point : picture.series[0].points)
            area += point.y() * (extent.hi - extent.lo) / double(picture.series[0].points.size());
        QVERIFY2(std::abs(area - 1) < 1e-6, qPrintable(QString::number(area)));
    }

    void aRefusalIsASentenceInItsPane() {
        const auto before = session_->specB();
        // A spec that the tensor's shape refuses.
        TensorAnalysis refused;
        refused.status = Status::Refused;
        refused.reason = "no";
        const auto rows = figureRows(session_->current().get(), &refused);
        for (const auto& row : rows) {
            QCOMPARE(row.b, std::string("not measured"));
            QVERIFY(row.verdict.empty());
        }
        QCOMPARE(session_->specB(), before);
    }

    void worksWithoutAModel() {
        Session none;
        Compare compare(none);
        QCoreApplication::processEvents();
        QVERIFY(!compare.map("mapA")->isVisible());
    }

    void pictures() {
        session_->setSpecB(*parseSpec("int8"));
        for (const auto mode : {Theme::Mode::Dark, Theme::Mode::Light})
            for (const QSize size : {QSize(1056, 802), QSize(2176, 1342)}) {
                Theme::instance().setMode(mode);
                Compare compare(*session_, size);
                QVERIFY(tensorMeasured(*session_));
                QTest::qWait(50);
                keepPicture(*compare.page,
                            QStringLiteral("compare-%1-%2")
                                .arg(mode == Theme::Mode::Dark ? QStringLiteral("dark") : QStringLiteral("light"))
                                .arg(size.width()));
            }
    }
};

QS_TEST(TestComparePage)
#include "compare_page_test.moc"
