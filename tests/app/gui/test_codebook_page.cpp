// SPDX-License-Identifier: GPL-3.0-or-later
// The codebook page over three formats: 16 levels with a polynomial decode, 255 without, and none at all.
#include "app/gui/page.h"
#include "app/gui/pages/codebook_page_cards.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/staged_refresh.h"
#include "artefacts.h"
#include "model_file.h"

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>

using namespace qs;
using namespace qs::gui;

class TestCodebookPage : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<QWidget> page_;

    template<class T> T* card() const { return page_->findChild<T*>(); }
    void use(const char* spec) {
        session_->setSpec(*parseSpec(spec));
        QTRY_VERIFY(session_->current() && !session_->currentIsStale() &&
                    session_->current()->spec == session_->spec());
        QTRY_VERIFY(!page_->findChild<StagedRefresh*>()->pending()); // however busy the machine is
        QTest::qWait(20);
    }

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        const QString path = folder_.filePath(QStringLiteral("one.safetensors"));
        QVERIFY(writeModelFile(
            path, {{QStringLiteral("layers.0.mlp.down_proj.weight"), {128, 512}, normalValues(128 * 512, 0.02, 7)}}));
        session_ = std::make_unique<Session>();
        page_.reset(createCodebookPage(*session_, nullptr));
        page_->resize(1056, 802);
        page_->show();
        QVERIFY(QTest::qWaitForWindowExposed(page_.get()));
        session_->open(path);
        QTRY_VERIFY(session_->tensor());
        use("nf4:block=64");
    }

    void levelsBoundariesAndOccupancyAgree() {
        const auto& markers = card<LevelsCard>()->chart()->markers();
        QCOMPARE(markers.size(), 16 + 15);
        const auto& bars = card<OccupancyCard>()->chart()->series()[0].points;
        QCOMPARE(bars.size(), 16);
        double total = 0;
        for (const QPointF& bar : bars) total += bar.y();
        QVERIFY(std::abs(total - 100) < 1e-6);
        QVERIFY(card<OccupancyCard>()->note().contains(QStringLiteral("of 4.000 bits")));
        QVERIFY(card<OccupancyCard>()->note().endsWith(QStringLiteral("dead codes 0")));
        // A boundary lies between its two levels.
        for (int i = 0; i < 15; ++i) QVERIFY(markers[i].x < markers[16 + i].x && markers[16 + i].x < markers[i + 1].x);
    }

    void hoveringACodeMarksItEverywhere() {
        PlotChart* chart = card<OccupancyCard>()->chart();
        QTest::mouseMove(chart->findChild<QWidget*>(QStringLiteral("plot")), chart->pixelOf(9, 1).toPoint());
        QCOMPARE(chart->crosshairLines().first(), QStringLiteral("code 9"));
        QVERIFY(
            card<LevelsCard>()->chart()->crosshairLines().first().startsWith(QStringLiteral("code 9: level 0.16093")));
        QCOMPARE(card<CodeTableCard>()->table()->currentIndex().row(), 9);
    }

    void theTableIsAModelAndCopies() {
        QTableView* table = card<CodeTableCard>()->table();
        QAbstractItemModelTester tester(table->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(table->model()->rowCount(), 16);
        table->selectRow(3);
        QVERIFY(card<OccupancyCard>()->chart()->crosshairLines().first() == QStringLiteral("code 3"));
        QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
        const QStringList lines = QApplication::clipboard()->text().split(u'\n', Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 2);
        QCOMPARE(lines[0].count(u'\t'), table->model()->columnCount() - 1);
        QVERIFY(lines[1].startsWith(QStringLiteral("3\t")));
    }

    void theDecodeDifferenceIsMeasured() {
        auto* decode = card<DecodeCard>();
        QTRY_VERIFY(decode->verdict().startsWith(QStringLiteral("MSE ")));
        QVERIFY(decode->verdict().contains(QStringLiteral("by the polynomial")));
        keepPicture(*page_, QStringLiteral("codebook-page-dark"));
        Theme::instance().setMode(Theme::Mode::Light);
        QTest::qWait(50);
        keepPicture(*page_, QStringLiteral("codebook-page-light"));
        Theme::instance().setMode(Theme::Mode::Dark);
        DecodeComparison none;
        QVERIFY(decodeVerdict(none).startsWith(QStringLiteral("Not measured")));
        DecodeComparison both;
        both.table.n = both.poly.n = 4;
        both.table.se2 = 2, both.poly.se2 = 3;
        QVERIFY(decodeVerdict(both).contains(QStringLiteral("+50.00 %")));
    }

    void manyLevelsStayReadable() {
        use("int8");
        QCOMPARE(card<LevelsCard>()->chart()->markers().size(), 255 + 254);
        QCOMPARE(card<OccupancyCard>()->chart()->series()[0].points.size(), 255);
        QCOMPARE(card<CodeTableCard>()->table()->model()->rowCount(), 255);
        QVERIFY(card<DecodeCard>()->message().contains(QStringLiteral("INT8")));
        keepPicture(*page_, QStringLiteral("codebook-page-int8"));
    }

    void formatsWithoutLevelsSaySo() {
        use("f16");
        for (const Card* one : std::initializer_list<const Card*>{card<LevelsCard>(), card<OccupancyCard>(),
                                                                  card<CodeTableCard>(), card<DecodeCard>()})
            QVERIFY(one->message().contains(QStringLiteral("no codebook")));
        use("nf4:block=64");
        QCOMPARE(card<LevelsCard>()->message(), QString());
        QCOMPARE(card<DecodeCard>()->message(), QString());
    }

    void cleanupTestCase() {
        page_.reset();
        session_.reset();
    }
};

QTEST_MAIN(TestCodebookPage)
#include "test_codebook_page.moc"
