// SPDX-License-Identifier: GPL-3.0-or-later
// The labs page by mouse and keyboard: operations, training with a stop, products. Saves pictures in two sizes and both
// themes.
#include "app/gui/page.h"
#include "app/gui/pages/labs/lab_operations.h"
#include "app/gui/pages/labs/lab_products.h"
#include "app/gui/pages/labs/lab_qat.h"
#include "app/gui/pages/labs/lab_solvers.h"
#include "app/gui/pages/labs/labs_page.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/ranked_bars.h"
#include "artefacts.h"
#include "model_file.h"
#include "opened_session.h"
#include "tests/support/test_program.h"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include <algorithm>

using namespace qs;
using namespace qs::gui;

class TestLabsPage : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<QWidget> page_;

    template<class T> T* the(const char* name = "") const { return page_->findChild<T*>(QLatin1String(name)); }
    void click(const char* name) { QTest::mouseClick(the<QAbstractButton>(name), Qt::LeftButton); }
    LabPanel* panel() const { return static_cast<LabsPage*>(page_.get())->panel(); }
    bool quiet() {
        QTest::qWait(20);
        return QTest::qWaitFor([&] { return !panel()->running(); }, 30'000);
    }
    void pictures(const QString& name) {
        for (const auto mode : {Theme::Mode::Light, Theme::Mode::Dark}) {
            Theme::instance().setMode(mode);
            for (const QSize size : {QSize(1056, 802), QSize(2176, 1462)}) {
                page_->resize(size);
                QTest::qWait(60);
                keepPicture(*page_, QStringLiteral("%1-%2-%3")
                                        .arg(name)
                                        .arg(size.width())
                                        .arg(mode == Theme::Mode::Dark ? u"dark" : u"light"));
            }
        }
        page_->resize(1056, 802);
        QCOMPARE(page_->width(), 1056); // the width left in a window of 1440
    }

private Q_SLOTS:
    void initTestCase() {
        qputenv("QUANTSCOPE_FORMATS", folder_.filePath(QStringLiteral("formats")).toUtf8());
        Theme::install(Theme::Mode::Dark);
        const QString path = folder_.filePath(QStringLiteral("one.safetensors"));
        QVERIFY(writeModelFile(
            path, {{QStringLiteral("layers.0.mlp.down_proj.weight"), {128, 256}, normalValues(128 * 256, 0.02, 7)},
                   {QStringLiteral("layers.0.mlp.up_proj.weight"), {64, 128}, normalValues(64 * 128, 0.02, 8)}}));
        QVERIFY(writeModelFile(folder_.filePath(QStringLiteral("inputs.safetensors")),
                               {{QStringLiteral("anything"), {40, 256}, normalValues(40 * 256, 1, 9)}}));
        QVERIFY(writeModelFile(folder_.filePath(QStringLiteral("gradients.safetensors")),
                               {{QStringLiteral("g"), {40, 64}, normalValues(40 * 64, 0.01, 10)}}));
        session_ = std::make_unique<Session>();
        page_.reset(createLabsPage(*session_, nullptr));
        page_->resize(1056, 802);
        page_->show();
        QVERIFY(QTest::qWaitForWindowExposed(page_.get(), qs::test::kWait));
        QVERIFY(page_->grab().toImage().size() == page_->size()); // without a model there is a sentence, and no crash
        keepPicture(*page_, QStringLiteral("labs-empty"));
        QVERIFY(openModel(*session_, path));
        session_->setSpec(*parseSpec("nf4:block=64"));
        session_->selectTensor(session_->model()->find("layers.0.mlp.down_proj.weight"));
        QVERIFY(tensorMeasured(*session_));
    }

    void operationsFollowTheirArguments() {
        auto* lab = the<OperationsPanel>("labOperations");
        QVERIFY(quiet());
        QVERIFY(lab->rows().size() >= 6);
        for (auto* view : lab->findChildren<QTableView*>()) QAbstractItemModelTester tester(view->model());
        const auto transposed = lab->rows().front();
        QCOMPARE(transposed.operation, std::string("transpose"));
        QVERIFY(!transposed.caused->exact());
        // A bar says how only if there are several ways to do the operation.
        const auto* bars = lab->findChildren<RankedBars*>().front();
        for (std::size_t i = 0; i < lab->rows().size(); ++i) {
            const auto& row = lab->rows()[i];
            const auto ways = std::ranges::count(lab->rows(), row.operation, &value::WhatIfRow::operation);
            QCOMPARE(bars->bar(int(i)).name.toStdString(),
                     ways == 1 ? row.operation : row.operation + ", " + row.detail);
        }
        QCOMPARE(bars->bar(0).name, QStringLiteral("transpose"));
        pictures(QStringLiteral("labs-operations"));

        QLineEdit* order = lab->argument(0);
        QTest::mouseClick(order, Qt::LeftButton);
        order->selectAll();
        QTest::keyClicks(order, QStringLiteral("0,1"));
        QTest::keyClick(order, Qt::Key_Return);
        QVERIFY(quiet());
        QVERIFY(lab->rows().front().caused->exact());
        order->selectAll();
        QTest::keyClicks(order, QStringLiteral("7"));
        QTest::keyClick(order, Qt::Key_Return);
        QVERIFY(quiet());
        QVERIFY(QString::fromStdString(lab->rows().front().reason).contains(u"not an order"));
        QVERIFY(the<QLabel>("operationTrouble")->text().contains(u"not an order") &&
                order->property("invalid").toBool());
    }

    /// Each field offers values that fit the shape; one of them is tried.
    void argumentsAreChoices() {
        auto* lab = the<OperationsPanel>("labOperations");
        for (std::size_t i = 0; i < value::whatIfOperations().size(); ++i) {
            auto* box = qobject_cast<QComboBox*>(lab->argument(i)->parentWidget());
            QVERIFY(box && box->count() >= 2);
        }
        auto* order = qobject_cast<QComboBox*>(lab->argument(0)->parentWidget());
        order->setFocus();
        order->setCurrentIndex(0);
        QTest::keyClick(order, Qt::Key_Down); // the order as it is
        QVERIFY(quiet());
        QCOMPARE(order->currentText(), QStringLiteral("0,1"));
        QTRY_VERIFY(lab->rows().front().caused && lab->rows().front().caused->exact());
        for (const auto& operation : value::whatIfOperations())
            for (const auto& choice : operation.choices({8, 64})) {
                value::Tensor w;
                w.shape = {8, 64}, w.values.assign(512, 0.5f), w.dtype = DType::F32;
                const auto subject = value::whatIfSubject(w, *parseSpec("int8"), {});
                QVERIFY(subject);
                const auto rows = operation.run(*subject, choice, {});
                QVERIFY2(rows && rows->front().reason.empty(), choice.c_str());
            }
        order->setCurrentIndex(0);
        Q_EMIT order->activated(0);
        QVERIFY(quiet());
    }

    void operationsFollowTheSpec() {
        auto* lab = the<OperationsPanel>("labOperations");
        session_->setSpec(*parseSpec("int8"));
        QVERIFY(quiet());
        QCOMPARE(lab->rows()[0].operation, std::string("transpose"));
        QTRY_VERIFY(*lab->rows().back().bytesBefore == 128u * 256 + 128 * 4);
        session_->setSpec(*parseSpec("nf4:block=64"));
        QVERIFY(quiet());
    }

    void trainingIsWatchedStoppedAndSaved() {
        click("lab-qat");
        auto* lab = the<QatPanel>("labQat");
        QVERIFY(lab && lab->isVisible() && !lab->result());
        keepPicture(*page_, QStringLiteral("labs-qat-before"));
        the<QSpinBox>("qatSteps")->setValue(60);
        click("qatStart");
        QVERIFY(the<QPushButton>("qatStop")->isVisible());
        QVERIFY(quiet());
        QVERIFY(lab->result() && !lab->result()->stopped);
        QVERIFY(lab->result()->bestLoss < 0.9 * lab->result()->startLoss);
        QCOMPARE(lab->chart()->series()[0].points.size(), 61);
        QVERIFY(the<QLabel>("qatFigure2")->text().endsWith(u"dB"));
        pictures(QStringLiteral("labs-qat"));

        QSignalSpy saved(lab, &QatPanel::saved);
        const QString path = folder_.filePath(QStringLiteral("latent.safetensors"));
        lab->saveTo(path);
        QVERIFY(saved.wait(qs::test::kWait));
        const auto written = qs::openModel(path.toStdString());
        QVERIFY(written && (*written)->find("layers.0.mlp.down_proj.weight"));

        // The result is a new spec. It becomes B, beside the spec it was trained with.
        QSignalSpy kept(lab, &QatPanel::kept);
        QCOMPARE(the<QLineEdit>("qatName")->text(), QStringLiteral("down_proj_qat"));
        click("qatKeep");
        QVERIFY(kept.wait(qs::test::kWait));
        QCOMPARE(kept[0][0].toString(), QStringLiteral("nf4:block=64:dialect=down_proj_qat"));
        QVERIFY(session_->comparing() && specText(session_->specB()) == "nf4:block=64:dialect=down_proj_qat");
        QTRY_VERIFY(session_->currentB() && session_->current() && !session_->currentIsStale());
        QVERIFY(std::abs(session_->currentB()->sums.se2 / session_->currentB()->sums.sw2 / *lab->result()->weightNmse -
                         1) < 1e-6);
        QVERIFY(session_->currentB()->sums.se2 != session_->current()->sums.se2);
        QVERIFY(lab->result()); // the curve is still there
        session_->setComparing(false);

        the<QSpinBox>("qatSteps")->setValue(100000);
        click("qatStart");
        QTRY_VERIFY(lab->chart()->series()[0].points.size() > 3);
        click("qatStop");
        QVERIFY(quiet());
        QVERIFY(lab->result() && lab->result()->stopped);

        click("qatStart");
        QTest::qWait(60);
        session_->cancelJobs(); // the action of Esc
        QVERIFY(quiet());
        QVERIFY(!lab->result());
        QVERIFY(the<QLabel>("qatStatus")->text().contains(u"ancelled"));
    }

    void productsOfPresetsAndOwnSpecs() {
        click("lab-products");
        auto* lab = the<ProductsPanel>("labProducts");
        QTRY_VERIFY(!lab->rows().empty());
        QVERIFY(quiet());
        QCOMPARE(lab->rows().size(), std::size_t(3));
        for (const auto& row : lab->rows()) QVERIFY(row.error && *row.error->sqnrDb() > 15);
        QVERIFY(lab->cacheRows().size() >= 7);
        for (auto* view : lab->findChildren<QTableView*>()) QAbstractItemModelTester tester(view->model());
        pictures(QStringLiteral("labs-products"));

        QLineEdit* w = lab->choice(value::LabOperand::ForwardW);
        w->selectAll();
        QTest::keyClicks(w, QStringLiteral("nf4:block=7"));
        QTest::keyClick(w, Qt::Key_Return);
        QVERIFY(quiet());
        QVERIFY(!lab->rows()[0].error && !lab->rows()[0].reason.empty() && lab->rows()[2].error);
        QCOMPARE(the<QComboBox>("labPreset")->currentText(), QStringLiteral("own choice"));
    }

    void solversKeepTheOutput() {
        session_->setSpec(*parseSpec("int4:block=64"));
        click("lab-solvers");
        auto* lab = the<SolversPanel>("labSolvers");
        QVERIFY(lab && lab->isVisible() && lab->rows().empty());
        click("solverStart");
        QVERIFY(quiet());
        QCOMPARE(lab->rows().size(), std::size_t(1));
        QVERIFY(*lab->rows()[0].output < 0.8 * *lab->rows()[0].nearestOutput);
        QVERIFY(lab->rows()[0].inputs.starts_with("synthetic")); // marked as synthetic
        auto* solver = the<QComboBox>("solver");
        QCOMPARE(solver->count(), int(solve::solvers().size()));
        solver->setCurrentIndex(1);
        QVERIFY(the<QLineEdit>("solverOptions")->text().startsWith(u"awq:grid=20"));
        click("solverStart");
        QVERIFY(quiet());
        QCOMPARE(lab->rows().size(), std::size_t(2));
        QVERIFY(*lab->rows()[1].output <= *lab->rows()[1].nearestOutput);
        for (auto* view : lab->findChildren<QTableView*>()) QAbstractItemModelTester tester(view->model());
        pictures(QStringLiteral("labs-solvers"));

        QSignalSpy saved(lab, &SolversPanel::saved);
        const QString path = folder_.filePath(QStringLiteral("solved.safetensors"));
        lab->saveTo(path);
        QVERIFY(saved.wait(qs::test::kWait));
        const auto written = qs::openModel(path.toStdString());
        QVERIFY(written && (*written)->find("layers.0.mlp.down_proj.weight.column_scale"));

        the<QLineEdit>("solverOptions")->setText(QStringLiteral("awq:grid=none"));
        click("solverStart");
        QVERIFY(the<QLabel>("solverStatus")->text().contains(u"grid=20"));
        session_->setSpec(*parseSpec("nf4:block=64"));
        QVERIFY(quiet());
        QVERIFY(lab->rows().empty()); // the rows were of another spec
    }

    void inputsComeFromAFile() {
        click("lab-products");
        QVERIFY(quiet());
        auto* page = static_cast<LabsPage*>(page_.get());
        QSignalSpy changed(page, &LabsPage::inputsChanged);
        page->openInputs(folder_.filePath(QStringLiteral("inputs.safetensors")));
        QVERIFY(changed.wait(qs::test::kWait));
        QVERIFY(the<QToolButton>("labInputs")->text().contains(u"inputs.safetensors"));
        QVERIFY(quiet());
        // A tensor that the inputs do not fit gives a message in the card; the page still works.
        session_->selectTensor(session_->model()->find("layers.0.mlp.up_proj.weight"));
        QVERIFY(quiet());
        bool said = false;
        for (auto* label : page_->findChildren<QLabel*>())
            said = said || label->text().contains(u"do not fit this layer");
        QVERIFY(said);
        page->openInputs({});
        QVERIFY(quiet());
        // Gradients are loaded in the same way.
        page->openInputs(folder_.filePath(QStringLiteral("gradients.safetensors")), LabsPage::Given::Gradients);
        QVERIFY(changed.wait(qs::test::kWait));
        QVERIFY(the<QToolButton>("labInputs")->text().contains(u"gradients.safetensors"));
        QVERIFY(quiet());
        QCOMPARE(the<ProductsPanel>("labProducts")->rows().size(), std::size_t(3));
        page->openInputs({}, LabsPage::Given::Gradients);
        QVERIFY(quiet());
    }

    void cleanupTestCase() {
        page_.reset();
        session_.reset();
    }
};

QS_TEST(TestLabsPage)
#include "labs_page_test.moc"
