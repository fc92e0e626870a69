// SPDX-License-Identifier: GPL-3.0-or-later
// The codebook page with three formats: 16 levels and a polynomial decode, 255 levels without one, and no levels.
#include "app/gui/page.h"
#include "app/gui/pages/codebook/codebook_gap_card.h"
#include "app/gui/pages/codebook/codebook_lab.h"
#include "app/gui/pages/codebook/codebook_page_cards.h"
#include "app/gui/session.h"
#include "app/gui/spec_history.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/staged_refresh.h"
#include "artefacts.h"
#include "choose_file.h"
#include "core/solve/codebooks.h"
#include "model_file.h"
#include "tests/support/test_program.h"

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QDoubleSpinBox>
#include <QElapsedTimer>
#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QRegularExpression>
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
        QTRY_VERIFY(!page_->findChild<StagedRefresh*>()->pending()); // also on a busy machine
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
        QVERIFY(QTest::qWaitForWindowExposed(page_.get(), qs::test::kWait));
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
        QVERIFY(card<OccupancyCard>()->note().endsWith(QStringLiteral("  0 dead")));
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

    void draggingALevelMovesEveryFigure() {
        QTRY_VERIFY(card<GapCard>()->figures().startsWith(QStringLiteral("SQNR ")));
        const QString before = card<GapCard>()->figures();
        // No gap to the optimum or to the bound is negative.
        QVERIFY2(!before.contains(QStringLiteral(" -")), qPrintable(before));
        PlotChart* chart = card<LevelsCard>()->chart();
        auto* plot = chart->findChild<QWidget*>(QStringLiteral("plot"));
        const double was = chart->markers()[12].x;
        const QRectF area = chart->plotArea();
        const QPoint from(int(std::lround(chart->pixelOf(was, 0).x())), int(area.center().y()));
        const double errorBefore = card<OccupancyCard>()->chart()->series()[2].points[12].y();
        QTest::mouseMove(plot, from);
        QTest::mousePress(plot, Qt::LeftButton, {}, from);
        QElapsedTimer timer;
        double slowest = 0;
        for (int step = 1; step <= 12; ++step) {
            timer.start();
            QTest::mouseMove(plot, from + QPoint(step, 0));
            slowest = std::max(slowest, double(timer.nsecsElapsed()) * 1e-6);
        }
        QTest::mouseRelease(plot, Qt::LeftButton, {}, from + QPoint(12, 0));
        qInfo("slowest step of a drag: %.1f ms", slowest);
        const double is = chart->markers()[12].x;
        QVERIFY2(std::abs(chart->pixelOf(is, 0).x() - (from.x() + 12)) < 1.5, qPrintable(QString::number(is)));
        QVERIFY(is > was && !chart->isZoomed()); // the level moved; the view did not
        QVERIFY(std::abs(chart->markers()[16 + 12].x - (is + chart->markers()[13].x) / 2) < 1e-9);
        QVERIFY(card<GapCard>()->figures() != before);
        QVERIFY(card<GapCard>()->verdict().startsWith(QStringLiteral("Moved: −")));
        QVERIFY(card<OccupancyCard>()->chart()->series()[2].points[12].y() > errorBefore);
        QCOMPARE(card<CodeTableCard>()->table()->model()->index(12, 1).data().toString().left(6),
                 QString::number(is, 'f', 6).left(6));
        keepPicture(*page_, QStringLiteral("codebook-page-moved"));
        QTest::mouseClick(page_->findChild<QPushButton*>(QStringLiteral("reset")), Qt::LeftButton);
        QCOMPARE(card<GapCard>()->figures(), before);
        QCOMPARE(chart->markers()[12].x, was);
    }

    /// Ctrl+Z undoes the last change: the levels, and not the A/B toggle.
    void movedLevelsAreUndone() {
        SpecHistory history(*session_);
        session_->setComparing(true);
        QTRY_VERIFY(session_->current() && !session_->currentIsStale());
        QTRY_VERIFY(card<GapCard>()->figures().startsWith(QStringLiteral("SQNR ")));
        const QString own = card<GapCard>()->figures();
        QTest::mouseClick(page_->findChild<QPushButton*>(QStringLiteral("useBest")), Qt::LeftButton);
        const QString best = card<GapCard>()->figures();
        QVERIFY(best != own);
        QTest::qWait(450); // a separate undo step
        card<CodeTableCard>()->table()->selectRow(5);
        auto* level = page_->findChild<QDoubleSpinBox*>(QStringLiteral("level"));
        level->setValue(level->value() - 0.05);
        const QString moved = card<GapCard>()->figures();
        QVERIFY(moved != best);
        QCOMPARE(history.undoText(), QStringLiteral("&Undo change of levels"));
        history.undo();
        QCOMPARE(card<GapCard>()->figures(), best);
        history.undo();
        QCOMPARE(card<GapCard>()->figures(), own);
        QVERIFY(session_->comparing());
        QCOMPARE(history.undoText(), QStringLiteral("&Undo spec change"));
        history.redo();
        QCOMPARE(card<GapCard>()->figures(), best);
        use("int8"); // has its own levels
        QVERIFY(!session_->movedLevels().levels.empty());
        history.undo();
        QTRY_VERIFY(session_->current() && session_->current()->spec.format == "nf4");
        QTRY_COMPARE(card<GapCard>()->figures(), best);
        // As a session file stores them.
        const auto steps = history.steps();
        Session other;
        SpecHistory restored(other);
        restored.restore(steps, history.at());
        QCOMPARE(other.movedLevels(), session_->movedLevels());
        history.undo();
        QVERIFY(!history.canUndo() && session_->comparing()); // what is shown is no step
        QCOMPARE(card<GapCard>()->figures(), own);
    }

    void theBestLevelsBecomeAFormat() {
        QTemporaryDir formats;
        qputenv("QUANTSCOPE_FORMATS", formats.path().toUtf8());
        QTest::mouseClick(page_->findChild<QPushButton*>(QStringLiteral("useBest")), Qt::LeftButton);
        QVERIFY(card<GapCard>()->figures().contains(QStringLiteral("to Lloyd-Max 0.00 dB")));
        card<CodeTableCard>()->table()->selectRow(5);
        auto* level = page_->findChild<QDoubleSpinBox*>(QStringLiteral("level"));
        const double moved = level->value() - 0.001;
        level->setValue(moved);
        QVERIFY(std::abs(card<LevelsCard>()->chart()->markers()[5].x - moved) < 1e-9);
        auto* id = page_->findChild<QLineEdit*>(QStringLiteral("formatId"));
        auto* save = page_->findChild<QPushButton*>(QStringLiteral("save"));
        QVERIFY(!save->isEnabled());
        id->setText(QStringLiteral("nf4"));
        QTest::mouseClick(save, Qt::LeftButton);
        QVERIFY(card<GapCard>()->verdict().startsWith(QStringLiteral("Not saved: there is a format nf4 already")));
        id->setText(QStringLiteral("for_page"));
        QTest::keyClick(id, Qt::Key_Return);
        QVERIFY(QFile::exists(formats.filePath(QStringLiteral("for_page.json"))));
        QCOMPARE(session_->spec().format, std::string("for_page"));
        QTRY_VERIFY(session_->current() && session_->current()->spec.format == "for_page");
        QVERIFY(std::abs(double(session_->current()->levels[5]) - moved) < 1e-6);
        QTRY_VERIFY(card<GapCard>()->figures().startsWith(QStringLiteral("SQNR ")));
        QTRY_COMPARE(card<LevelsCard>()->chart()->markers().size(), 16 + 15);
        keepPicture(*page_, QStringLiteral("codebook-page-saved"));
        use("nf4:block=64");
    }

    /// Learned per tensor, per role and per model. In this model all give the same values.
    void levelsAreLearnedForMoreThanATensor() {
        auto* learn = page_->findChild<QPushButton*>(QStringLiteral("learnFor"));
        QVERIFY(learn->isEnabled());
        const auto actions = learn->menu()->actions();
        QVERIFY(actions.size() >= 5);
        QString levels;
        for (int share = 0; share < 3; ++share) {
            QTest::mouseClick(page_->findChild<QPushButton*>(QStringLiteral("reset")), Qt::LeftButton);
            const QString said = actions[share]->text() + QStringLiteral(": +");
            QVERIFY(!card<GapCard>()->verdict().startsWith(said));
            actions[share]->trigger();
            QTRY_VERIFY(card<GapCard>()->verdict().startsWith(said));
            const QString figures = card<GapCard>()->figures();
            QVERIFY(levels.isEmpty() || figures == levels);
            levels = figures;
        }
        // Close to the optimum of a histogram of these values, which the gap is measured against.
        QVERIFY2(levels.contains(QRegularExpression(QStringLiteral("to Lloyd-Max -?0\\.0"))), qPrintable(levels));
        QTest::mouseClick(page_->findChild<QPushButton*>(QStringLiteral("reset")), Qt::LeftButton);
        use("int8");
        QVERIFY(!learn->isEnabled() && learn->toolTip().contains(QStringLiteral("is not a codebook")));
        use("nf4:block=64");
    }

    /// Column weights from an importance matrix of llama.cpp, chosen in the dialog: the learned levels fit the counted
    /// columns.
    void columnsAreWeighedByAnImportanceMatrix() {
        const auto i32 = [](std::int32_t value) { return QByteArray(reinterpret_cast<const char*>(&value), 4); };
        const QByteArray name = session_->tensor()->name.c_str();
        const int columns = int(session_->tensor()->lastAxis());
        std::vector<float> sums(std::size_t(columns), 0.F);
        for (int i = 0; i < columns / 4; ++i)
            sums[std::size_t(i)] = 3; // 3 calls sum to 3: weight 1; other columns have weight 0
        const QString path = folder_.filePath(QStringLiteral("imatrix.dat"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(i32(1) + i32(std::int32_t(name.size())) + name + i32(3) + i32(columns) +
                   QByteArray(reinterpret_cast<const char*>(sums.data()), columns * 4) + i32(3) + i32(4) + "text");
        file.close();

        const auto actions = page_->findChild<QPushButton*>(QStringLiteral("learnFor"))->menu()->actions();
        auto* weigh = actions.back();
        const auto learned = [&] {
            QTest::mouseClick(page_->findChild<QPushButton*>(QStringLiteral("reset")), Qt::LeftButton);
            actions[0]->trigger();
            const bool done = QTest::qWaitFor(
                [&] { return card<GapCard>()->verdict().contains(QStringLiteral(" dB against ")); }, 30'000);
            return done ? page_->findChild<CodebookLab*>()->fit().levels : std::vector<double>();
        };
        const auto alike = learned();
        QVERIFY(!alike.empty());
        weigh->trigger();
        QVERIFY(chooseFile(*page_, {})); // cancelled: no weights
        QVERIFY(!weigh->isChecked());
        weigh->trigger();
        QVERIFY(chooseFile(*page_, path));
        QTRY_VERIFY(weigh->isChecked());
        QCOMPARE(weigh->text(), QStringLiteral("Columns weighted by imatrix.dat"));
        const auto weighed = learned();
        QVERIFY(weighed.size() == alike.size() && weighed != alike);
        QVERIFY(card<GapCard>()->verdict().contains(QStringLiteral("columns weighed by imatrix.dat")));
        // The command line learns the same levels.
        const auto matrix = openModel(path.toStdString());
        QVERIFY(matrix);
        const auto books =
            solve::learnCodebooks(*session_->model(), std::vector{session_->tensor()},
                                  *parseSpec("codebook:bits=4:block=64"), solve::Share::Tensor, matrix->get(), Job());
        QVERIFY2(books, books ? "" : books.error().message.c_str());
        const auto& levels = books->at(session_->tensor())->levels;
        QCOMPARE(std::vector<double>(levels.begin(), levels.end()), weighed);
        // The action again removes the weights. A wrong file gives a message.
        weigh->trigger();
        QVERIFY(!weigh->isChecked() && !page_->findChild<QFileDialog*>());
        QCOMPARE(learned(), alike);
        const QString none = folder_.filePath(QStringLiteral("none.dat"));
        QFile other(none);
        QVERIFY(other.open(QIODevice::WriteOnly) && other.write("no importance matrix") > 0);
        other.close();
        weigh->trigger();
        QVERIFY(chooseFile(*page_, none));
        QTRY_VERIFY2(card<GapCard>()->verdict().contains(QStringLiteral("none.dat")),
                     qPrintable(card<GapCard>()->verdict()));
        QVERIFY(!weigh->isChecked());
        QTest::mouseClick(page_->findChild<QPushButton*>(QStringLiteral("reset")), Qt::LeftButton);
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

QS_TEST(TestCodebookPage)
#include "codebook_page_test.moc"
