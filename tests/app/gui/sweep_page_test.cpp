// SPDX-License-Identifier: GPL-3.0-or-later
// The sweep page by mouse and keyboard: what is swept, the points, a click on a point, the stop, the saved report, and
// pictures.
#include "app/gui/page.h"
#include "app/gui/pages/sweep/sweep_page.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/small_multiples.h"
#include "app/gui/widgets/tick_list.h"
#include "artefacts.h"
#include "opened_session.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>

using namespace qs;
using namespace qs::gui;

class TestSweepPage : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<QWidget> page_;

    template<class T> T* the(const char* name) const { return page_->findChild<T*>(QLatin1String(name)); }
    SweepPage* sweep() const { return static_cast<SweepPage*>(page_.get()); }
    void click(const char* name) { QTest::mouseClick(the<QAbstractButton>(name), Qt::LeftButton); }
    bool quiet() {
        QTest::qWait(20);
        return QTest::qWaitFor([&] { return !sweep()->running(); }, 150'000); // long enough for sanitized builds beside
                                                                              // other tests
    }
    void onlyTick(const QStringList& lines) {
        auto* list = the<TickList>("sweepFormats");
        for (int i = 0; i < list->count(); ++i)
            list->item(i)->setCheckState(lines.contains(list->item(i)->text()) ? Qt::Checked : Qt::Unchecked);
    }
    void onlyBlocks(const QList<int>& blocks) {
        for (auto* box : page_->findChildren<QCheckBox*>())
            if (box->isChecked() != blocks.contains(box->text().toInt()))
                QTest::mouseClick(box, Qt::LeftButton, {}, {8, 8});
    }

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        page_.reset(createSweepPage(*session_, nullptr));
        page_->resize(1056, 802); // the size left in a window of 1440x900
        page_->show();
        QVERIFY(QTest::qWaitForWindowExposed(page_.get(), qs::test::kWait));
        keepPicture(*page_, QStringLiteral("sweep-empty"));
        // In sanitized builds a sweep of the sample would take minutes.
        const QString small = folder_.filePath(QStringLiteral("small.safetensors"));
        QVERIFY(!writeLayeredModel(small, 3, 32).isEmpty());
        QVERIFY(openModel(*session_, qs::test::kThinning > 1 ? small : samplePath()));
    }

    /// A small model is swept at once. Every point must equal the session's own analysis.
    void aSmallModelIsSweptAtOnce() {
        QTRY_VERIFY(sweep()->running() || sweep()->result());
        QVERIFY(quiet());
        QVERIFY(sweep()->result());
        const auto& result = *sweep()->result();
        QCOMPARE(result.classes.front(), std::string("all tensors"));
        QVERIFY(result.specs > 40);
        QCOMPARE(sweep()->plots()->panels().size(), result.classes.size());
        for (const auto& panel : sweep()->plots()->panels()) QVERIFY(!panel.dots.empty());
        for (const auto mode : {Theme::Mode::Light, Theme::Mode::Dark}) {
            Theme::instance().setMode(mode);
            for (const QSize size : {QSize(2176, 1462), QSize(1056, 802)}) {
                page_->resize(size);
                QTest::qWait(60);
                keepPicture(*page_, QStringLiteral("sweep-%1-%2")
                                        .arg(size.width())
                                        .arg(mode == Theme::Mode::Dark ? u"dark" : u"light"));
            }
        }
        QCOMPARE(page_->width(), 1056);
        QAbstractItemModelTester tester(sweep()->table()->model());
        QVERIFY(sweep()->table()->model()->rowCount() > 5);
    }

    void whatIsSweptFollowsTheTicks() {
        onlyTick({});
        QVERIFY(!the<QPushButton>("sweepStart")->isEnabled());
        onlyTick({QStringLiteral("nf4")});
        onlyBlocks({32, 64});
        QVERIFY(the<QLabel>("sweepStatus")->text().startsWith(u"2 specs"));
        auto* typed = the<QLineEdit>("sweepAdd");
        QTest::keyClicks(typed, QStringLiteral("int4:calib=ms"));
        QTest::keyClick(typed, Qt::Key_Return);
        QVERIFY(the<QLabel>("sweepStatus")->text().contains(u"calib"));
        QTest::keyClicks(typed, QStringLiteral("e"));
        QTest::keyClick(typed, Qt::Key_Return);
        QVERIFY(typed->text().isEmpty());
        QVERIFY(the<QLabel>("sweepStatus")->text().startsWith(u"4 specs"));
        click("sweepStart");
        QVERIFY(quiet());
        QCOMPARE(sweep()->result()->specs, std::size_t(4));
        // The selection of the browser is swept.
        const auto& weights = session_->weights();
        session_->setSelection({weights[0], weights[1]});
        QVERIFY(the<QLabel>("sweepStatus")->text().contains(u"2 tensors"));
        session_->setSelection({});
    }

    void aClickOpensATensorWithTheSpec() {
        auto* plots = sweep()->plots();
        const auto& result = *sweep()->result();
        int panel = 0;
        while (result.classes[std::size_t(panel)] != "down_proj") ++panel;
        const auto& dot = plots->panels()[std::size_t(panel)].dots.front();
        session_->showPage(QStringLiteral("sweep"));
        session_->selectTensor(session_->model()->find("model.embed_tokens.weight"));
        const QPoint at = plots->dotPosition(panel, dot.id).toPoint();
        QVERIFY(plots->viewport()->rect().contains(at));
        QTest::mouseMove(plots->viewport(), at);
        QTest::mouseClick(plots->viewport(), Qt::LeftButton, {}, at);
        QCOMPARE(session_->page(), QStringLiteral("tensor"));
        QCOMPARE(specText(session_->spec()), result.at(std::size_t(panel), std::size_t(dot.id)).specText);
        QVERIFY(QString::fromStdString(session_->tensor()->name).contains(u"down_proj"));
        // The keyboard does the same: arrow to the next point, then Enter.
        session_->showPage(QStringLiteral("sweep"));
        plots->setFocus();
        QTest::keyClick(plots, Qt::Key_Right);
        QTest::keyClick(plots, Qt::Key_Return);
        QCOMPARE(session_->page(), QStringLiteral("tensor"));
        QTest::keyClick(plots, Qt::Key_Down);
        QCOMPARE(plots->currentPanel(), std::min(panel + 1, int(result.classes.size()) - 1));
        QVERIFY(plots->dataAsTsv().count(u'\n') > 10 && plots->asSvg().contains("<svg"));
    }

    void theReportIsSaved() {
        QSignalSpy saved(sweep(), &SweepPage::saved);
        const QString path = folder_.filePath(QStringLiteral("sweep.html"));
        sweep()->saveTo(path);
        QVERIFY(saved.wait(20'000));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly) && file.readAll().contains("Frontier of each class"));
        sweep()->saveTo(folder_.filePath(QStringLiteral("sweep.txt")));
        QVERIFY(the<QLabel>("sweepStatus")->text().contains(u".html"));
    }

    void stopKeepsTheWindowAlive() {
        onlyTick({QStringLiteral("nf4"), QStringLiteral("codebook:bits=4"), QStringLiteral("codebook:bits=8"),
                  QStringLiteral("q3_k"), QStringLiteral("q2_k")});
        onlyBlocks({8, 16, 32, 64, 128, 256, 512, 1024});
        click("sweepStart");
        QVERIFY(sweep()->running() && the<QPushButton>("sweepStop")->isVisible());
        click("sweepStop");
        QVERIFY(!sweep()->running());
        QVERIFY(the<QLabel>("sweepStatus")->text().contains(u"ancelled"));
        QVERIFY(the<QPushButton>("sweepStart")->isVisible() && !the<QPushButton>("sweepSave")->isVisible());
        session_->close();
        QVERIFY(!sweep()->result());
    }

    void cleanupTestCase() {
        page_.reset();
        session_.reset();
    }
};

QS_TEST(TestSweepPage)
#include "sweep_page_test.moc"
