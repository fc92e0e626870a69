// SPDX-License-Identifier: GPL-3.0-or-later
// Changes of a plan by mouse: a spec of a unit by a click, the budget by one drag, a recipe of a file to start from, and
// undo of each.
#include "app/gui/pages/plan/plan_charts.h"
#include "app/gui/pages/plan/plan_choice.h"
#include "app/gui/pages/plan/plan_units.h"
#include "app/gui/widgets/plot_chart.h"
#include "artefacts.h"
#include "choose_file.h"
#include "core/session/kept_plan.h"
#include "opened_plan_page.h"

#include <QCheckBox>
#include <QDialog>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QPointer>
#include <QPushButton>
#include <QSlider>
#include <QStyleOptionSlider>
#include <QTableView>

#include <set>

using namespace qs;
using namespace qs::gui;

class TestPlanChanges : public OpenedPlanPage {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        show();
        QVERIFY(openModel(*session_, samplePath()));
        QVERIFY(quiet());
        QVERIFY(plan()->answer());
    }

    /// Click on a cell -> click on a spec: bytes, loss and the point move; the popup stays; undo.
    void aClickChangesASpec() {
        const auto before = answer().plan;
        const std::size_t at = history_->at();
        const int unit = unitOf("layers.1.mlp.down_proj");
        auto* strip = plan()->units()->strip();
        std::size_t cell = 0;
        while (strip->data().cells[cell].unit != unit) ++cell;
        QTest::mouseClick(strip, Qt::LeftButton, {}, strip->cellRect(cell).center().toPoint());
        QPointer<QWidget> popup = QApplication::activePopupWidget();
        QVERIFY(popup && popup->objectName() == u"unitPopup");
        QCOMPARE(strip->current(), unit);
        QVERIFY(session_->tensor()->name.find("layers.1.mlp.down_proj") != std::string::npos);
        auto* choices = popup->findChild<QTableView*>(QStringLiteral("unitChoices"));
        auto* facts = popup->findChild<QLabel*>(QStringLiteral("unitFacts"));
        const auto text = [&](int row, int column) { return choices->model()->index(row, column).data().toString(); };
        // Every spec of the plan with its bytes and loss, the present one marked.
        QCOMPARE(choices->model()->rowCount(), int(answer().options->choices) + 1);
        int marked = -1, other = -1;
        for (int row = 0; row < choices->model()->rowCount(); ++row) {
            QVERIFY(!text(row, 2).isEmpty() && !text(row, 4).isEmpty());
            if (text(row, 0) == u"●")
                marked = row;
            else if (row > 0)
                other = row;
        }
        QVERIFY(marked > 0 && other > 0);
        QCOMPARE(text(marked, 1).toStdString(), specOf(unit));
        const std::string wanted = text(other, 1).toStdString();
        const QString said = facts->text();
        QTest::mouseClick(choices->viewport(), Qt::LeftButton, {},
                          choices->visualRect(choices->model()->index(other, 1)).center());
        QVERIFY(quiet());
        QCOMPARE(specOf(unitOf("layers.1.mlp.down_proj")), wanted);
        QVERIFY(answer().plan.loss != before.loss && facts->text() != said);
        QVERIFY(popup && popup->isVisible());
        QCOMPARE(text(other, 0), QStringLiteral("●"));
        QVERIFY(!text(marked, 4).isEmpty()); // what it could be is still known, although it is locked
        auto* locked = popup->findChild<QCheckBox*>(QStringLiteral("unitLocked"));
        QVERIFY(locked->isChecked());
        keepPicture(*popup, QStringLiteral("plan-unit-popup"));
        QTest::keyClick(popup, Qt::Key_Escape);
        QTRY_VERIFY(!popup);
        QCOMPARE(history_->at(), at + 1);
        history_->undo();
        QVERIFY(quiet());
        QCOMPARE(answer().plan.loss, before.loss);
        // The spec of a row opens it too, and its box locks what the plan gives.
        auto* table = plan()->units()->table();
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                          table->visualRect(table->model()->index(0, 1)).center());
        popup = QApplication::activePopupWidget();
        QVERIFY(popup);
        locked = popup->findChild<QCheckBox*>(QStringLiteral("unitLocked"));
        QTest::mouseClick(locked, Qt::LeftButton, {}, {8, locked->height() / 2});
        QVERIFY(quiet());
        QVERIFY(!answer().options->units.lock(std::size_t(plan()->units()->unitOfRow(0))).empty());
        QCOMPARE(answer().plan.loss, before.loss);
        QTest::mouseClick(locked, Qt::LeftButton, {}, {8, locked->height() / 2});
        QVERIFY(session_->rules().isEmpty());
        QTest::keyClick(popup, Qt::Key_Escape);
        QTRY_VERIFY(!popup);
        while (history_->canUndo()) history_->undo();
        QVERIFY(quiet());
    }

    /// One drag is one step, however many pixels it takes.
    void theBudgetIsInTheHistory() {
        auto* slider = the<QSlider>("planBudget");
        const auto start = answer().budget;
        const std::size_t at = history_->at();
        const auto drag = [&](int by) {
            QStyleOptionSlider option;
            option.initFrom(slider);
            option.minimum = slider->minimum(), option.maximum = slider->maximum();
            option.sliderPosition = slider->value(), option.sliderValue = slider->value();
            option.orientation = Qt::Horizontal;
            const QPoint from =
                slider->style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, slider).center();
            QTest::mousePress(slider, Qt::LeftButton, {}, from);
            for (int step = 1; step <= 4; ++step) {
                QTest::mouseMove(slider, from + QPoint(step * by / 4, 0));
                QTest::qWait(5);
            }
            QVERIFY(slider->isSliderDown());
            QCOMPARE(history_->at(), at); // nothing is a step before the end
            QTest::mouseRelease(slider, Qt::LeftButton, {}, from + QPoint(by, 0));
        };
        drag(80);
        QVERIFY(quiet());
        QCOMPARE(history_->at(), at + 1);
        const auto moved = answer().budget;
        QVERIFY(moved > start);
        QVERIFY(session_->decision().budget());
        the<QDoubleSpinBox>("planBpw")->setFocus();
        history_->undo();
        QVERIFY(quiet());
        QCOMPARE(answer().budget, start);
        QVERIFY(std::fabs(the<QDoubleSpinBox>("planBpw")->value() -
                          8 * double(start) / double(answer().options->elements)) < 0.001);
        history_->redo();
        QVERIFY(quiet());
        QCOMPARE(answer().budget, moved);
        history_->undo();
        QVERIFY(quiet());
        QCOMPARE(answer().budget, start);
    }

    /// A recipe of a file: its specs are to choose from, it is a point beside the frontier, and it locks nothing.
    void startsFromARecipe() {
        QFile file(folder_.filePath(QStringLiteral("r.json")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("{\"__default__\":{\"w_bits\":8},\".*/(query|key)\":{\"w_bits\":4}}");
        file.close();
        while (history_->canUndo()) history_->undo();
        click("planStartOpen");
        QVERIFY(chooseFile(*page_, file.fileName()));
        auto* dialog = page_->findChild<QDialog*>(QStringLiteral("recipeDialog"));
        QVERIFY(dialog);
        auto* start = dialog->findChild<QPushButton*>(QStringLiteral("startPlan"));
        QTRY_VERIFY(start->isEnabled());
        QTest::mouseClick(start, Qt::LeftButton);
        QTRY_COMPARE(session_->decision().start().name, QStringLiteral("r.json"));
        dialog->close();
        QVERIFY(quiet());
        QCOMPARE(session_->page(), QStringLiteral("plan"));
        QVERIFY(session_->rules().isEmpty());
        std::set<std::string> ticked, said;
        for (const QuantSpec& spec : plan()->choice()->settings().specs) ticked.insert(specText(spec));
        for (const QuantSpec& spec : session_->decision().start().recipe->specs) said.insert(specText(spec));
        QVERIFY(ticked == said && said.size() == 2 && said.begin()->starts_with("int4"));
        const plan::PlanUnits& units = answer().options->units;
        for (std::size_t u = 0; u < units.size(); ++u) QVERIFY(units.lock(u).empty());
        QCOMPARE(answer().start.size(), std::size_t(1));
        const plan::Mixture& mixture = answer().start.front().mixture;
        QVERIFY(mixture.unmeasured == 0 && mixture.loss > 0 && mixture.bytes < answer().options->mostBytes());
        QVERIFY(the<QLabel>("planStartFigures")->text().contains(u"bpw"));
        const auto series = plan()->charts()->predicted()->series();
        const auto point =
            std::find_if(series.begin(), series.end(), [](const auto& s) { return s.name == u"r.json"; });
        QVERIFY(point != series.end());
        QCOMPARE(point->points.front().y(), mixture.loss);
        // A plan of its size is at least as good.
        const auto bytes = mixture.bytes;
        const double loss = mixture.loss;
        click("planStartSize");
        QVERIFY(quiet());
        QCOMPARE(answer().budget, bytes);
        QVERIFY(answer().plan.bytes <= bytes && answer().plan.loss <= loss * (1 + 1e-12));
        QVERIFY(session_->decision().plan()->recipes.size() == 1);
        keepPicture(*page_, QStringLiteral("plan-start"));
        // It is kept with the page.
        const auto kept = planKept(session_->kept().find(QStringLiteral("plan"))->second.text());
        QVERIFY(kept && kept->startName == "r.json" && !kept->startRules.empty());
        const auto locked = [&](const char* unit) {
            return !answer().options->units.lock(std::size_t(unitOf(unit))).empty();
        };
        // Its skip list alone: what it keeps is locked, nothing else is.
        click("planStartSkips");
        QVERIFY(quiet());
        QVERIFY(locked("embed_tokens") && !locked("layers.0.self_attn.q_proj"));
        QCOMPARE(specOf(unitOf("embed_tokens")), std::string("keep"));
        history_->undo();
        QVERIFY(quiet());
        QVERIFY(!locked("embed_tokens"));
        // Locking it is a wish of its own.
        click("planStartLock");
        QVERIFY(quiet());
        QVERIFY(locked("layers.0.self_attn.q_proj") && locked("layers.1.mlp.down_proj"));
        history_->undo();
        QVERIFY(quiet());
        click("planStartForget");
        QVERIFY(quiet());
        QVERIFY(answer().start.empty() && the<QWidget>("planStartOpen")->isVisible());
    }

    void cleanupTestCase() { close(); }
};

QS_TEST(TestPlanChanges)
#include "plan_changes_test.moc"
