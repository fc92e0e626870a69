// SPDX-License-Identifier: GPL-3.0-or-later
// The tensor page operated by events. The small model has one known outlier and one tensor that the format refuses.
#include "app/gui/page.h"
#include "app/gui/pages/tensor/tensor_page_block.h"
#include "app/gui/pages/tensor/tensor_page_cards.h"
#include "app/gui/pages/tensor/tensor_page_header.h"
#include "app/gui/pages/tensor/tensor_page_map.h"
#include "app/gui/pages/tensor/tensor_page_strip.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/plot_analysis.h"
#include "app/gui/widgets/staged_refresh.h"
#include "artefacts.h"
#include "model_file.h"
#include "tests/support/test_program.h"

#include <QApplication>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>

#include <limits>

using namespace qs;
using namespace qs::gui;

namespace {

/// The toggle buttons of a card; its info mark is not one.
QList<QToolButton*> togglesOf(const QWidget& card) {
    auto buttons = card.findChildren<QToolButton*>();
    buttons.removeIf([](const QToolButton* button) { return !button->isCheckable(); });
    return buttons;
}

constexpr int kRows = 96, kColumns = 256;
constexpr int kOutlierRow = 23, kOutlierColumn = 3 * 64 + 41;

QWidget* plotOf(PlotChart* chart) { return chart->findChild<QWidget*>(QStringLiteral("plot")); }

QuantSpec specOf(const char* text) { return *parseSpec(text); }

} // namespace

class TestTensorPage : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<QWidget> page_;

    template<class T> T* card() const { return page_->findChild<T*>(); }
    void settle() {
        QTRY_VERIFY(session_->current() && !session_->currentIsStale());
        QTRY_VERIFY(session_->current()->spec == session_->spec());
        QTRY_COMPARE(session_->current()->tensor, session_->tensor()->name);
        QTRY_VERIFY(!page_->findChild<StagedRefresh*>()->pending()); // also on a busy machine
        QTest::qWait(20);
    }
    void select(const char* name) {
        session_->selectTensor(session_->model()->find(name));
        settle();
    }

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        std::vector<ModelTensor> tensors;
        for (int layer = 0; layer < 4; ++layer) {
            for (const char* role : {"self_attn.q_proj", "mlp.up_proj", "mlp.down_proj"}) {
                auto values = normalValues(kRows * kColumns, 0.02, tensors.size() + 1);
                const QString name =
                    QStringLiteral("model.layers.%1.%2.weight").arg(layer).arg(QString::fromLatin1(role));
                tensors.push_back({name, {kRows, kColumns}, std::move(values)});
            }
        }
        tensors[2].values[kOutlierRow * kColumns + kOutlierColumn] = 0.9F; // layers.0.mlp.down_proj
        tensors[4].values[100] = std::numeric_limits<float>::quiet_NaN();  // layers.1.mlp.up_proj
        tensors.push_back({QStringLiteral("zeros.weight"), {8, 64}, std::vector<float>(8 * 64, 0.0F)});
        tensors.push_back({QStringLiteral("empty.weight"), {0, 64}, {}});
        const QString path = folder_.filePath(QStringLiteral("small.safetensors"));
        QVERIFY(writeModelFile(path, tensors));
        session_ = std::make_unique<Session>();
        page_.reset(createTensorPage(*session_, nullptr));
        page_->resize(1056, 802);
        page_->show();
        QVERIFY(QTest::qWaitForWindowExposed(page_.get(), qs::test::kWait));
        keepPicture(*page_, QStringLiteral("tensor-page-empty"));
        QVERIFY(!card<DensityCard>()->isVisible()); // a sentence and a button instead
        session_->open(path);
        QTRY_VERIFY(session_->model());
        session_->setSpec(specOf("nf4:block=64"));
        select("model.layers.0.mlp.down_proj.weight");
        QVERIFY(card<DensityCard>()->isVisible());
    }

    void densityHoldsEveryWeight() {
        const auto& series = card<DensityCard>()->chart()->series();
        QCOMPARE(series.size(), 1);
        const auto& points = series[0].points;
        const double width = points[1].x() - points[0].x();
        double mass = 0;
        for (const QPointF& point : points) mass += point.y() * width;
        QVERIFY2(std::abs(mass - 1) < 1e-9, qPrintable(QString::number(mass, 'g', 12)));
        QCOMPARE(card<DensityCard>()->chart()->markers().size(), 16);
        QCOMPARE(card<DensityCard>()->note(), QString()); // with absmax no value is beyond the levels
    }

    void tailsAreCountedNotDropped() {
        session_->setSpec(specOf("ternary:scale=channel"));
        settle();
        const AnalysisPlot plot = weightDensity(*session_->current());
        double mass = plot.below + plot.above;
        const double width = plot.series.points[1].x() - plot.series.points[0].x();
        for (const QPointF& point : plot.series.points) mass += point.y() * width * plot.total;
        QVERIFY(std::abs(mass - double(kRows * kColumns)) < 1e-3);
        QVERIFY(plot.below + plot.above > 0);
        QVERIFY(card<DensityCard>()->note().contains(QStringLiteral("beyond the axis")));
        QCOMPARE(card<DensityCard>()->chart()->markers().size(), 3);
        session_->setSpec(specOf("nf4:block=64"));
        settle();
    }

    void hoverZoomAndReset() {
        PlotChart* chart = card<DensityCard>()->chart();
        QTest::mouseMove(plotOf(chart), chart->pixelOf(0.16093, chart->series()[0].points[60].y() / 2).toPoint());
        QVERIFY(chart->crosshairLines().first().startsWith(QStringLiteral("code 9: level 0.16093")));
        const QPointF at = chart->plotArea().center();
        QWheelEvent wheel(at, chart->mapToGlobal(at), {}, {0, 240}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
        QApplication::sendEvent(plotOf(chart), &wheel);
        QVERIFY(chart->isZoomed());
        session_->setSpec(specOf("nf4:block=128")); // a step of the slider keeps the zoom
        settle();
        QVERIFY(chart->isZoomed());
        QTest::mouseDClick(plotOf(chart), Qt::LeftButton, {}, at.toPoint());
        QVERIFY(!chart->isZoomed());
        session_->setSpec(specOf("nf4:block=64"));
        settle();
    }

    void togglesOfTheErrorCard() {
        auto* error = card<ErrorCard>();
        QVERIFY2(error->note().startsWith(QStringLiteral("linear within ±")), qPrintable(error->note()));
        QCOMPARE(error->chart()->markers().size(), 6);
        const auto toggles = togglesOf(*error);
        QCOMPARE(toggles.size(), 3);
        // Symlog by default: all errors are visible up to the largest, and the shares sum to 100 %.
        QVERIFY(toggles[0]->isChecked());
        const double largest = double(session_->current()->sums.maxAbs);
        const auto axis = errorAxis(*session_->current(), nullptr, true);
        QVERIFY(axis.symlog.on() && axis.range == largest);
        double shares = 0;
        for (const auto& point : error->chart()->series()[0].points) shares += point.y();
        QVERIFY2(std::abs(shares - 100) < 1e-6, qPrintable(QString::number(shares)));
        QVERIFY(std::abs(error->chart()->markers().last().x - axis.symlog.place(session_->current()->p99)) < 1e-12);
        error->chart()->showCrosshair(axis.place());
        const auto lines = error->chart()->crosshairLines(); // values, not positions on the axis
        QVERIFY2(lines.first().section(u' ', -1).toDouble() > 0.9 * largest, qPrintable(lines.join(u'|')));
        error->chart()->showCrosshair(std::nan(""));
        QTest::mouseClick(toggles[0], Qt::LeftButton); // linear, with the tails given as text
        QVERIFY(std::abs(error->chart()->markers().last().x - session_->current()->p99) < 1e-12);
        QTest::mouseClick(toggles[1], Qt::LeftButton); // ECDF
        const auto& points = error->chart()->series()[0].points;
        for (int i = 1; i < points.size(); ++i) QVERIFY(points[i].y() >= points[i - 1].y());
        QVERIFY(points.first().y() < 0.2 && points.last().y() > 99.8 && points.last().y() <= 100.0);
        QTest::mouseClick(toggles[0], Qt::LeftButton);
        QCOMPARE(error->chart()->series()[0].points.last(), QPointF(axis.place(), 100));
        QTest::mouseClick(toggles[1], Qt::LeftButton);
        QTest::mouseClick(toggles[2], Qt::LeftButton);
        QVERIFY(error->chart()->logY());
        keepPicture(*page_, QStringLiteral("tensor-page-log"));
        QTest::mouseClick(toggles[2], Qt::LeftButton);
        QVERIFY(!error->chart()->logY());
    }

    void theWorstBlockIsShownFirst() {
        select("model.layers.1.self_attn.q_proj.weight");
        select("model.layers.0.mlp.down_proj.weight");
        auto* block = card<BlockCard>();
        QTRY_VERIFY(block->shown());
        QTRY_COMPARE(block->shown()->row, kOutlierRow);
        QCOMPARE(block->shown()->block, 3);
        QCOMPARE(block->shown()->cause, std::string("outlier-dominated"));
        QCOMPARE(block->chart()->series().size(), 2);
        QCOMPARE(block->chart()->series()[0].points.size(), 64);
        QCOMPARE(float(block->chart()->series()[0].points[41].y()), 0.9F);
        QCOMPARE(card<BlockMapCard>()->map()->currentRow(), kOutlierRow);
        QCOMPARE(card<BlockMapCard>()->map()->currentColumn(), 3);
    }

    void clickOnTheMapChangesTheBlock() {
        auto* block = card<BlockCard>();
        HeatMap* map = card<BlockMapCard>()->map();
        QSignalSpy shown(block, &BlockCard::blockShown);
        QTest::mouseClick(map, Qt::LeftButton, {}, map->cellRect(50, 1).center().toPoint());
        QTRY_COMPARE(shown.size(), 1);
        QCOMPARE(block->shown()->row, 50);
        QCOMPARE(block->shown()->block, 1);
        block->chart()->setFocus();
        QTest::keyClick(block->chart(), Qt::Key_Right);
        QTRY_COMPARE(block->shown()->block, 2);
        QTest::keyClick(block->chart(), Qt::Key_Up);
        QTRY_COMPARE(block->shown()->row, 49);
        // With another block size, the block with the same weights is shown.
        session_->setSpec(specOf("nf4:block=32"));
        settle();
        QTRY_COMPARE(block->shown()->values.size(), std::size_t(32));
        QCOMPARE(block->shown()->row, 49);
        QCOMPARE(block->shown()->block, 4);
        session_->setSpec(specOf("nf4:block=64"));
        settle();
        QTest::mouseMove(plotOf(block->chart()), block->chart()->plotArea().center().toPoint());
        QVERIFY(block->chart()->crosshairLines().last().contains(QStringLiteral("code ")));
    }

    void aRowOfTheProfileShowsItsWorstBlock() {
        auto* channels = card<ChannelCard>();
        const auto& points = channels->magnitudes()->series()[0].points;
        QCOMPARE(points.size(), kRows);
        QCOMPARE(float(points[kOutlierRow].y()), 0.9F);
        QTest::mouseClick(plotOf(channels->errors()), Qt::LeftButton, {},
                          channels->errors()->pixelOf(kOutlierRow, 0.01).toPoint());
        QTRY_COMPARE(card<BlockCard>()->shown()->row, kOutlierRow);
        QCOMPARE(card<BlockCard>()->shown()->block, 3);
        QTest::mouseMove(plotOf(channels->errors()), channels->errors()->pixelOf(40, 0.01).toPoint());
        QCOMPARE(channels->magnitudes()->crosshairLines().first(), QStringLiteral("row 40"));
    }

    void theProfileShowsColumnsToo() {
        auto* channels = card<ChannelCard>();
        QVERIFY(!channels->magnitudes()->isHidden() && channels->columns()->isHidden());
        channels->columnsToggle()->click();
        QVERIFY(channels->magnitudes()->isHidden() && channels->errors()->isHidden() &&
                !channels->columns()->isHidden());
        QVERIFY(channels->note().contains(QStringLiteral("columns")));
        const auto& points = channels->columns()->series()[0].points;
        const auto most = std::max_element(points.begin(), points.end(),
                                           [](const QPointF& a, const QPointF& b) { return a.y() < b.y(); });
        QCOMPARE(float(most->y()), 0.9F);
        channels->columnsToggle()->click();
        QVERIFY(channels->note().contains(QStringLiteral("rows")));
    }

    void theMapSaysWhatItShows() {
        HeatMap* map = card<BlockMapCard>()->map();
        QCOMPARE(map->data().rows, kRows);
        QCOMPARE(map->data().columns, 4);
        QCOMPARE(map->data().unit, QStringLiteral("NMSE"));
        QCOMPARE(card<BlockMapCard>()->note(), QStringLiteral("96 rows × 4 blocks"));
        const auto toggles = togglesOf(*card<BlockMapCard>());
        QTest::mouseClick(toggles.first(), Qt::LeftButton);
        QVERIFY(map->data().logColour);
        QTest::mouseClick(toggles.first(), Qt::LeftButton);
    }

    void pooledCellsCoverEveryBlockOnce() {
        BlockMap map;
        map.rows = 5, map.columns = 3, map.tensorRows = 13, map.blocksPerRow = 7;
        std::vector<int> seen(13 * 7);
        for (int r = 0; r < map.rows; ++r) {
            for (int c = 0; c < map.columns; ++c) {
                const BlockRegion region = regionOf(map, r, c);
                for (auto row = region.row; row < region.rowEnd; ++row) {
                    for (auto block = region.block; block < region.blockEnd; ++block) {
                        ++seen[std::size_t(row * 7 + block)];
                        QCOMPARE(cellOf(map, row, block), std::pair(r, c));
                    }
                }
            }
        }
        QCOMPARE(std::count(seen.begin(), seen.end(), 1), 13 * 7);
    }

    void secondSpecIsDrawnAsASecondSeries() {
        session_->setSpecB(specOf("nf4:block=16"));
        session_->setComparing(true);
        QTRY_VERIFY(session_->currentB() && !session_->currentIsStale());
        QTRY_COMPARE(card<ErrorCard>()->chart()->series().size(), 2);
        QTRY_COMPARE(card<DensityCard>()->chart()->series().size(), 2);
        QCOMPARE(card<ErrorCard>()->chart()->series()[1].token, 1);
        keepPicture(*page_, QStringLiteral("tensor-page-ab"));
        session_->setSpecB(specOf("int8")); // its levels reach 127, so there is no common axis
        QTRY_COMPARE(card<DensityCard>()->chart()->series().size(), 1);
        session_->setComparing(false);
        settle();
        QTRY_COMPARE(card<ErrorCard>()->chart()->series().size(), 1);
    }

    void aRefusedTensorSaysWhy() {
        select("model.layers.1.mlp.up_proj.weight");
        QCOMPARE(session_->current()->status, Status::Refused);
        for (const Card* one :
             std::initializer_list<const Card*>{card<DensityCard>(), card<ErrorCard>(), card<BlockMapCard>(),
                                                card<BlockCard>(), card<ChannelCard>()}) {
            QVERIFY2(one->message().startsWith(QStringLiteral("Not measured: ")), qPrintable(one->message()));
            QVERIFY(one->message().contains(QStringLiteral("NaN")));
        }
        keepPicture(*page_, QStringLiteral("tensor-page-refused"));
        select("model.layers.0.mlp.down_proj.weight");
        QCOMPARE(card<DensityCard>()->message(), QString());
        QTRY_COMPARE(card<BlockCard>()->message(), QString());
    }

    void degenerateTensorsStayAlive() {
        select("zeros.weight");
        QVERIFY(card<ErrorCard>()->message().contains(QStringLiteral("reproduced exactly")));
        select("empty.weight");
        QVERIFY(!page_->grab().isNull());
        for (const char* spec : {"binary", "ternary:scale=block:block=32", "f16", "bf16", "int8", "int8:scale=tensor",
                                 "nf4:block=65536"}) {
            session_->setSpec(specOf(spec));
            select("model.layers.2.mlp.up_proj.weight");
            QVERIFY(!page_->grab().isNull());
        }
        session_->setSpec(specOf("nf4:block=64"));
        settle();
    }

    void theStripFindsTheTensor() {
        session_->analyseModel(session_->spec());
        auto* strip = card<SensitivityStrip>();
        QTRY_VERIFY_WITH_TIMEOUT(session_->modelRows(session_->spec()).size() == qsizetype(session_->weights().size()),
                                 20000);
        QTRY_VERIFY(strip->message().isEmpty());
        select("model.layers.0.mlp.down_proj.weight");
        const int row = strip->map()->currentRow(), column = strip->map()->currentColumn();
        QVERIFY(row >= 0 && column >= 0);
        select("model.layers.3.mlp.down_proj.weight");
        QTest::mouseClick(strip->map(), Qt::LeftButton, {}, strip->map()->cellRect(row, column).center().toPoint());
        QCOMPARE(session_->tensor()->name, std::string("model.layers.0.mlp.down_proj.weight"));
        settle();
        QTest::qWait(100);
        keepPicture(*page_, QStringLiteral("tensor-page-dark"));
        Theme::instance().setMode(Theme::Mode::Light);
        QTest::qWait(50);
        keepPicture(*page_, QStringLiteral("tensor-page-light"));
        Theme::instance().setMode(Theme::Mode::Dark);
    }

    /// What the layout keeps is not shown as if it were written in fewer bytes.
    void aKeptTensorSaysSo() {
        session_->open(QStringLiteral(QS_SOURCE_DIR "/resources/samples/tiny-llama"));
        QTRY_VERIFY(session_->model() && session_->model()->find("model.embed_tokens.weight"));
        session_->setSpec(specOf("nf4:dialect=bnb"));
        session_->analyseModel(session_->spec());
        QTRY_VERIFY_WITH_TIMEOUT(session_->recipeRows().size() == qsizetype(session_->weights().size()), 60000);
        auto* header = card<TensorHeader>();
        select("model.embed_tokens.weight");
        QTRY_VERIFY2(header->accessibleName().contains(QStringLiteral("96.00 KiB, kept")),
                     qPrintable(header->accessibleName()));
        select("model.norm.weight");
        QTRY_VERIFY(header->accessibleName().endsWith(QStringLiteral("384 B, kept")));
        select("model.layers.0.self_attn.q_proj.weight");
        QTRY_VERIFY(header->accessibleName().contains(QStringLiteral(" → ")));
    }

    void cleanupTestCase() {
        page_.reset();
        session_.reset();
    }
};

QS_TEST(TestTensorPage)
#include "tensor_page_test.moc"
