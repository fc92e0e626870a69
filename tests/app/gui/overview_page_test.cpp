// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/page.h"
#include "app/gui/pages/overview/overview_rows.h"
#include "app/gui/pages/sweep/spec_set_view.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "artefacts.h"
#include "opened_session.h"
#include "tests/support/test_program.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPointer>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include <memory>

using namespace qs;
using namespace qs::gui;

namespace {

struct Overview {
    std::unique_ptr<QWidget> page;
    HeatMap* map;
    RankedBars* bars;
    QComboBox* metric;
    explicit Overview(Session& session, QSize size = {1056, 802}) : page(createOverviewPage(session, nullptr)) {
        page->setAutoFillBackground(true);
        page->resize(size);
        page->show();
        map = page->findChild<HeatMap*>(QStringLiteral("layerRoleMap"));
        bars = page->findChild<RankedBars*>(QStringLiteral("rankedBars"));
        metric = page->findChild<QComboBox*>(QStringLiteral("metricChoice"));
    }
    void choose(const char* id) {
        metric->setCurrentIndex(metric->findData(QLatin1String(id)));
        Q_EMIT metric->activated(metric->currentIndex());
    }
    void specsTab() {
        for (auto* button : page->findChildren<QToolButton*>())
            if (button->text() == u"Specs") button->click();
    }
};

} // namespace

class TestOverviewPage : public QObject {
    Q_OBJECT
    std::unique_ptr<Session> session_;

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        QVERIFY(openModel(*session_, samplePath()));
        QVERIFY(everythingMeasured(*session_, session_->spec()));
    }

    void rolesAndLayersComeFromNames() {
        std::vector<TensorInfo> tensors;
        for (const char* name : {"model.embed_tokens.weight", "model.layers.0.mlp.down_proj.weight",
                                 "model.layers.0.self_attn.q_proj.weight", "model.layers.7.self_attn.q_proj.weight",
                                 "model.layers.7.mlp.experts.0.up_proj.weight",
                                 "model.layers.7.mlp.experts.1.up_proj.weight", "lm_head.weight"})
            tensors.push_back({.name = name, .shape = {2, 2}});
        Weights weights;
        for (const auto& tensor : tensors) weights.push_back(&tensor);
        const auto grid = roleGrid(weights);
        QCOMPARE(grid.layers, (QStringList{QStringLiteral("0"), QStringLiteral("7"), QStringLiteral("other")}));
        QCOMPARE(grid.roles.first(), QStringLiteral("q_proj"));
        QCOMPARE(grid.roles.last(), QStringLiteral("lm_head"));
        QCOMPARE(grid.rowOf[4], grid.rowOf[5]); // experts share a cell
        QCOMPARE(grid.columnOf[0], 2);
        // Before anything is measured: cells with tensors are present with value NaN; the others are absent.
        const auto map = roleMap(grid, ModelRows(), *findMetric("nmse"));
        for (std::size_t cell = 0; cell < grid.cells.size(); ++cell) {
            QVERIFY(std::isnan(map.map.values[qsizetype(cell)]));
            QCOMPARE(bool(map.map.absent[qsizetype(cell)]), grid.cells[cell].empty());
        }
    }

    void aModelWithoutLayersStillHasAMap() {
        std::vector<TensorInfo> tensors(100);
        Weights weights;
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            tensors[i].name = "w" + std::to_string(i);
            weights.push_back(&tensors[i]);
        }
        const auto grid = roleGrid(weights);
        QVERIFY(grid.layers.isEmpty());
        QVERIFY(grid.rows * grid.columns >= 100);
        tensors[0].name = "layers.999999.w"; // a hostile layer number must not make a million columns
        QVERIFY(roleGrid(weights).columns < 300);
    }

    void fillsWhileItIsMeasured() {
        Session fresh;
        Overview overview(fresh);
        QVERIFY(openModel(fresh, samplePath()));
        const auto& before = overview.map->data();
        QCOMPARE(before.values.size(), qsizetype(before.rows) * before.columns);
        QVERIFY(std::all_of(before.values.begin(), before.values.end(), [](float v) { return std::isnan(v); }));
        QCOMPARE(overview.bars->bar(0).text, QStringLiteral("not measured"));
        QVERIFY(everythingMeasured(fresh, fresh.spec()));
        QTRY_VERIFY(std::isfinite(overview.bars->bar(overview.bars->count() - 1).value));
        auto* bytes = overview.page->findChild<RankedBars*>(QStringLiteral("bytesByFormat"));
        QTRY_VERIFY(bytes->count() >= 2); // before, after, and tensors that are not quantized
        QVERIFY(bytes->bar(0).name.startsWith(QStringLiteral("before: BF16")));
        QVERIFY(bytes->bar(0).value > bytes->bar(1).value);
        auto* counted = overview.page->findChild<QLabel*>(QStringLiteral("bytesCountedIn"));
        QTRY_COMPARE(counted->text(), QStringLiteral("after: as the layout eformer writes it"));
        QVERIFY(counted->isVisible() && counted->sizeHint().width() <= counted->width()); // it is not cut
        bytes->setBars({{QStringLiteral("before"), 100, {}, {}}, {QStringLiteral("after"), 80, {}, {}}});
        QCOMPARE(bytes->axisBegin(), 0.0); // the axis of bars starts at 0, even if the sizes are close
        const auto& after = overview.map->data();
        for (qsizetype cell = 0; cell < after.values.size(); ++cell)
            QCOMPARE(std::isnan(after.values[cell]), bool(after.absent[cell]));
    }

    void barsAreSortedByTheMetricsDirection() {
        Overview overview(*session_);
        const auto* mapCard = qobject_cast<const Card*>(overview.map->parentWidget());
        QVERIFY(mapCard);
        for (const char* id : {"nmse", "sqnr_db"}) {
            overview.choose(id);
            QCOMPARE(session_->metric(), QLatin1String(id));
            const auto& metric = *findMetric(id);
            QTRY_COMPARE(mapCard->accessibleName(), mapTitle(metric, true));
            QVERIFY(mapTitle(metric, true).contains(QStringLiteral(", a proxy: layer × role")));
            // A refresh may wait for its minimum interval.
            QTRY_COMPARE(overview.map->data().lowIsGood, metric.better != Direction::HigherIsBetter);
            const auto& bars = *overview.bars;
            QCOMPARE(bars.count(), int(session_->weights().size()));
            for (int i = 1; i < bars.count(); ++i)
                QVERIFY2(!metric.isWorse(bars.bar(i).value, bars.bar(i - 1).value), qPrintable(bars.bar(i).name));
        }
        overview.choose("nmse");
    }

    void aClickOpensTheTensor() {
        Overview overview(*session_);
        session_->showPage(QStringLiteral("overview"));
        const auto grid = roleGrid(session_->weights());
        const std::size_t weight = session_->weights().size() / 2;
        const auto at = overview.map->cellRect(grid.rowOf[weight], grid.columnOf[weight]).center().toPoint();
        QTest::mouseClick(overview.map, Qt::LeftButton, {}, at);
        QCOMPARE(session_->tensor(), session_->weights()[weight]);
        QCOMPARE(session_->page(), QStringLiteral("tensor"));

        session_->showPage(QStringLiteral("overview"));
        const QString worst = overview.bars->bar(0).name;
        QTest::mouseClick(overview.bars->viewport(), Qt::LeftButton, {}, overview.bars->barRect(0).center());
        QVERIFY(QString::fromStdString(session_->tensor()->name).contains(worst));
        QCOMPARE(session_->page(), QStringLiteral("tensor"));
        QCOMPARE(overview.bars->current(), 0);
        session_->showPage(QStringLiteral("overview"));
    }

    /// "Choose its spec…" in the menu of a bar, a click on a spec: the recipe has it, and the map shows it.
    void itsMenuChangesTheRecipe() {
        Overview overview(*session_);
        QTest::mouseClick(overview.bars->viewport(), Qt::LeftButton, {}, overview.bars->barRect(0).center());
        session_->showPage(QStringLiteral("overview"));
        QContextMenuEvent key(QContextMenuEvent::Keyboard, {}, {}); // of the bar that is current
        QCoreApplication::sendEvent(overview.bars->viewport(), &key);
        auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        QVERIFY(menu && menu->actions().front()->text() == QStringLiteral("Choose its spec…"));
        QTest::keyClick(menu, Qt::Key_Down);
        QTest::keyClick(menu, Qt::Key_Return);
        QPointer<QWidget> popup = overview.page->findChild<QWidget*>(QStringLiteral("unitPopup"));
        QVERIFY(popup);
        auto* choices = popup->findChild<QTableView*>(QStringLiteral("unitChoices"));
        const QAbstractItemModelTester tester(choices->model());
        const auto rowOf = [&](const char* spec) {
            for (int row = 0; row < choices->model()->rowCount(); ++row)
                if (choices->model()->index(row, 1).data().toString() == QLatin1String(spec)) return row;
            return -1;
        };
        const auto present = [&](int row) { return choices->model()->index(row, 0).data().toString() == u"●"; };
        const int has = rowOf(specText(session_->spec()).c_str()), keep = rowOf("keep");
        QVERIFY(has >= 0 && keep >= 0 && present(has) && !present(keep));
        QVERIFY(!choices->model()->index(has, 4).data().toString().isEmpty()); // its NMSE
        QTest::mouseClick(choices->viewport(), Qt::LeftButton, {},
                          choices->visualRect(choices->model()->index(keep, 1)).center());
        const std::string name = session_->tensor()->name;
        QVERIFY(session_->recipe()->specOf(*session_->tensor()) == nullptr);
        QVERIFY(popup && popup->isVisible());
        QTRY_VERIFY(present(rowOf("keep")));
        auto* locked = popup->findChild<QCheckBox*>(QStringLiteral("unitLocked"));
        QVERIFY(locked->isChecked());
        keepPicture(*popup, QStringLiteral("unit-popup"));
        QTest::mouseClick(locked, Qt::LeftButton, {}, {8, locked->height() / 2});
        QVERIFY(session_->rules().isEmpty());
        QTest::keyClick(popup, Qt::Key_Escape);
        QTRY_VERIFY(!popup);
    }

    void hoverNamesTheTensorAndLinks() {
        Overview overview(*session_);
        const auto grid = roleGrid(session_->weights());
        const QString text = overview.map->describe(grid.rowOf[1], grid.columnOf[1]);
        QVERIFY2(text.startsWith(grid.shown[1]), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("bpw 4.5")), qPrintable(text));
        const QImage before = overview.bars->grab().toImage();
        QTest::mouseMove(overview.map, overview.map->cellRect(grid.rowOf[1], grid.columnOf[1]).center().toPoint());
        QTRY_VERIFY(overview.bars->grab().toImage() != before); // the bar of the same tensor is highlighted
    }

    void theCumulativeCurveEndsAtAll() {
        const auto grid = roleGrid(session_->weights());
        const auto share = errorShare(grid, session_->modelRows(session_->spec()));
        QCOMPARE(share.tensors, int(session_->weights().size()));
        QVERIFY(std::abs(share.curve.points.last().y() - 100) < 1e-9);
        for (qsizetype i = 2; i < share.curve.points.size(); ++i) // the worst tensors come first, so the curve gets
                                                                  // flatter
            QVERIFY(share.curve.points[i].y() - share.curve.points[i - 1].y() <=
                    share.curve.points[i - 1].y() - share.curve.points[i - 2].y() + 1e-9);
        const auto spread = sqnrSpread(grid, session_->modelRows(session_->spec()));
        double counted = 0;
        for (const auto& point : spread.bars.points) counted += point.y();
        QCOMPARE(int(counted), share.tensors);
    }

    void severalSpecsSideBySide() {
        Overview overview(*session_);
        overview.specsTab();
        auto* view = overview.page->findChild<SpecSetView*>();
        for (const auto& spec : view->chosen()) QVERIFY(everythingMeasured(*session_, spec));
        auto* table = overview.page->findChild<QTableView*>(QStringLiteral("specTotals"));
        const QAbstractItemModelTester tester(table->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        const int all = int(view->chosen().size());
        QTRY_COMPARE(table->model()->rowCount(), all);
        QVERIFY(all >= 4);

        auto* typed = overview.page->findChild<QLineEdit*>(QStringLiteral("addSpec"));
        QTest::keyClicks(typed, QStringLiteral("nf4:block=3x"));
        QTest::keyClick(typed, Qt::Key_Return);
        QCOMPARE(int(view->chosen().size()), all); // refused with a message
        typed->clear();
        QTest::keyClicks(typed, QStringLiteral("nf4:block=32"));
        QTest::keyClick(typed, Qt::Key_Return);
        QTRY_COMPARE(table->model()->rowCount(), all + 1);

        auto* list = overview.page->findChild<QListWidget*>(QStringLiteral("specSet"));
        list->item(list->count() - 1)->setCheckState(Qt::Unchecked);
        QTRY_COMPARE(table->model()->rowCount(), all);

        auto* matrix = overview.page->findChild<HeatMap*>(QStringLiteral("specMatrix"));
        QCOMPARE(matrix->data().rows, all);
        QTest::mouseClick(matrix, Qt::LeftButton, {}, matrix->cellRect(1, 0).center().toPoint());
        QCOMPARE(session_->spec(), view->chosen()[0]); // it is now spec A
        QCOMPARE(session_->page(), QStringLiteral("tensor"));
        session_->setSpec(*parseSpec("nf4:block=64"));
        session_->showPage(QStringLiteral("overview"));
    }

    void aThousandTensorsStayQuick() {
        QTemporaryDir folder;
        Session big;
        QVERIFY(openModel(big, writeLayeredModel(folder.filePath(QStringLiteral("big.safetensors")), 143, 16)));
        QCOMPARE(big.weights().size(), std::size_t(1001));
        Overview overview(big);
        QVERIFY(everythingMeasured(big, big.spec()));
        QCoreApplication::processEvents();
        double worst = 0;
        for (const char* id : {"sqnr_db", "nmse", "max_abs", "nmse"}) {
            QElapsedTimer clock;
            clock.start();
            overview.choose(id);
            qInfo("map and bars %.2f ms", double(clock.nsecsElapsed()) / 1e6);
            worst = std::max(worst, double(clock.nsecsElapsed()) / 1e6);
            clock.restart();
            overview.page->grab();
            qInfo("painting %.2f ms", double(clock.nsecsElapsed()) / 1e6);
            clock.restart();
            QCoreApplication::processEvents(); // paints the charts
            qInfo("charts %.2f ms", double(clock.nsecsElapsed()) / 1e6);
            worst = std::max(worst, double(clock.nsecsElapsed()) / 1e6);
        }
        qInfo("longest handler with 1,001 tensors: %.2f ms", worst);
        QVERIFY2(worst < 200, "16 ms is the limit; this is for sanitizers");
        keepPicture(*overview.page, QStringLiteral("overview-1001-tensors"));
    }

    void emptyAndBroken() {
        Session none;
        Overview overview(none);
        QVERIFY(!overview.map->isVisible()); // a sentence is shown instead
        overview.specsTab();
        QVERIFY(!overview.page->findChild<HeatMap*>(QStringLiteral("specMatrix"))->isVisible());
    }

    void pictures() {
        for (const auto mode : {Theme::Mode::Dark, Theme::Mode::Light})
            for (const QSize size : {QSize(1056, 802), QSize(2176, 1342)}) {
                Theme::instance().setMode(mode);
                Overview overview(*session_, size);
                QVERIFY(everythingMeasured(*session_, session_->spec()));
                QTest::qWait(50);
                const QString name =
                    QStringLiteral("-%1-%2")
                        .arg(mode == Theme::Mode::Dark ? QStringLiteral("dark") : QStringLiteral("light"))
                        .arg(size.width());
                keepPicture(*overview.page, QStringLiteral("overview") + name);
                overview.specsTab();
                for (const auto& spec : overview.page->findChild<SpecSetView*>()->chosen())
                    QVERIFY(everythingMeasured(*session_, spec));
                QTest::qWait(100);
                keepPicture(*overview.page, QStringLiteral("overview-specs") + name);
            }
        Theme::instance().setMode(Theme::Mode::Dark);
    }
};

QS_TEST(TestOverviewPage)
#include "overview_page_test.moc"
