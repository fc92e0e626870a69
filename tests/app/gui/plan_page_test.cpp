// SPDX-License-Identifier: GPL-3.0-or-later
// The plan page by mouse and keyboard: the budget slider, locks from menus, groups, the recipe of the session on other
// pages, undo, the test against chance, a session that is opened again, and pictures.
#include "app/gui/page.h"
#include "app/gui/pages/plan/plan_budget.h"
#include "app/gui/pages/plan/plan_chance.h"
#include "app/gui/pages/plan/plan_charts.h"
#include "app/gui/pages/plan/plan_choice.h"
#include "app/gui/pages/plan/plan_units.h"
#include "app/gui/pages/report/report_page.h"
#include "app/gui/tensor_menu.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/heat_map.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/sketch.h"
#include "app/gui/widgets/tick_list.h"
#include "artefacts.h"
#include "core/session/kept_plan.h"
#include "opened_plan_page.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSlider>
#include <QTableView>
#include <QToolButton>

using namespace qs;
using namespace qs::gui;

class TestPlanPage : public OpenedPlanPage {
    Q_OBJECT

    /// Opens the menu of a unit by the keyboard's menu key on the strip, and takes an action by its name.
    bool take(int unit, const QString& action) {
        plan()->units()->strip()->setCurrent(unit);
        QContextMenuEvent key(QContextMenuEvent::Keyboard, {}, {});
        QApplication::sendEvent(plan()->units()->strip(), &key);
        auto* menu = page_->findChild<QMenu*>(QStringLiteral("planMenu"));
        if (!menu) return false;
        QAction* found = nullptr;
        for (auto* one : menu->findChildren<QAction*>())
            if (one->objectName() == action) found = one;
        const bool on = found && found->isEnabled();
        if (on) found->trigger();
        menu->close();
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        return on;
    }
    /// The headers of the columns that the table of units shows.
    QString shownColumns() const {
        const QTableView& table = *plan()->units()->table();
        QStringList out;
        for (int i = 0; i < table.model()->columnCount(); ++i)
            if (!table.isColumnHidden(i)) out << table.model()->headerData(i, Qt::Horizontal).toString();
        return out.join(u',');
    }

private Q_SLOTS:
    void initTestCase() {
        show();
        keepPicture(*page_, QStringLiteral("plan-empty"));
        // Before the first plan each card of the results shows what it will show: three charts, a map and three others.
        const auto sketches = page_->findChildren<Sketch*>();
        QCOMPARE(std::ranges::count_if(sketches, [](const Sketch* one) { return !one->isHidden(); }), 7);
        QVERIFY(openModel(*session_, samplePath()));
        QVERIFY(quiet());
    }

    /// A newcomer sees a plan without a click: NMSE needs only the analysis, and is called a proxy.
    void aPlanWithoutAClick() {
        QVERIFY(plan()->answer());
        QVERIFY(answer().options->units.size() > 10);
        // Names get the width that the shown columns of numbers leave.
        const QTableView& units = *plan()->units()->table();
        const auto shownWidth = [&] {
            int pixels = 0;
            for (int i = 0; i < units.model()->columnCount(); ++i) pixels += units.columnWidth(i); // 0 if it is hidden
            return pixels;
        };
        QTRY_COMPARE(shownWidth(), units.viewport()->width());
        QCOMPARE(answer().plan.gap(), 0.0);
        QVERIFY(answer().plan.bytes <= answer().budget);
        QVERIFY(the<QComboBox>("planObjective")->currentText().contains(u"proxy"));
        QVERIFY(the<QLabel>("planGap")->text().contains(u"proved"));
        QCOMPARE(the<QLabel>("planVerdict")->text(), QStringLiteral("KL not measured"));
        for (const char* name : {"planFrontier", "planMeasured", "planStrip", "planUnits", "planBudget", "planBpw"})
            QVERIFY2(!the<QWidget>(name)->accessibleName().isEmpty(), name);
        QAbstractItemModelTester tester(plan()->units()->table()->model());
        // Columns without a value are hidden: no time was measured, and nothing is locked.
        QVERIFY2(!shownColumns().contains(u"Time") && shownColumns().endsWith(u"Share of loss"),
                 qPrintable(shownColumns()));
        // The frontier holds a line, the uniform specs and the plan.
        QStringList names;
        for (const PlotSeries& series : plan()->charts()->predicted()->series()) names << series.name;
        for (const char* name : {"best for its size", "uniform", "plan"})
            QVERIFY2(names.contains(QLatin1String(name)), qPrintable(names.join(u',')));
    }

    void theSliderMovesThePlan() {
        auto* slider = the<QSlider>("planBudget");
        slider->setFocus();
        double last = answer().plan.loss;
        auto lastBytes = answer().plan.bytes;
        for (int press = 0; press < 4; ++press) {
            QTest::keyClick(slider, Qt::Key_PageUp);
            QVERIFY(QTest::qWaitFor([&] { return answer().plan.bytes != lastBytes && !plan()->busy(); }, 60'000));
            QVERIFY(answer().plan.loss <= last);
            QVERIFY(answer().plan.bytes <= answer().budget);
            QVERIFY(std::fabs(the<QDoubleSpinBox>("planBpw")->value() -
                              8 * double(answer().budget) / double(answer().options->elements)) < 0.01);
            last = answer().plan.loss, lastBytes = answer().plan.bytes;
        }
        QVERIFY(the<QLabel>("planBudgetBytes")->text().contains(u"iB"));
        // The point stands where the figures are.
        const auto& series = plan()->charts()->predicted()->series();
        const auto point = std::find_if(series.begin(), series.end(), [](const auto& s) { return s.name == u"plan"; });
        QVERIFY(point != series.end());
        QCOMPARE(point->points.front().y(), answer().plan.loss);
        QVERIFY(std::fabs(point->points.front().x() - bpw()) < 1e-9);
        const double inBits = point->points.front().x();
        click("planInBytes");
        QVERIFY(plan()->charts()->predicted()->series().back().points.front().x() != inBits);
        click("planInBytes");
    }

    /// Menu -> lock -> bytes and loss move at once -> undo.
    void locksComeFromTheMenuAndGoByUndo() {
        const int down = unitOf("layers.1.mlp.down_proj");
        QVERIFY(down >= 0);
        const auto before = answer().plan;
        QVERIFY(session_->rules().isEmpty());
        QVERIFY(take(down, QStringLiteral("tensorKeep")));
        QVERIFY(session_->rules().contains(u"=keep"));
        QVERIFY(quiet());
        const int kept = unitOf("layers.1.mlp.down_proj");
        QCOMPARE(specOf(kept), std::string("keep"));
        QVERIFY(!answer().options->units.lock(std::size_t(kept)).empty());
        QVERIFY(answer().plan.loss != before.loss);
        QVERIFY(answer().plan.bytes <= answer().budget);
        // It is hatched, and the table names the rule.
        bool hatched = false;
        for (const StripCell& cell : plan()->units()->strip()->data().cells)
            hatched |= cell.unit == kept && cell.isLocked && cell.spec == -1;
        QVERIFY(hatched);
        QVERIFY(shownColumns().endsWith(u",Locked by"));
        QVERIFY(take(kept, QStringLiteral("int8"))); // from "Give it"
        QVERIFY(quiet());
        QCOMPARE(specOf(unitOf("layers.1.mlp.down_proj")), std::string("int8"));
        QVERIFY(take(unitOf("layers.1.mlp.down_proj"), QStringLiteral("tensorUnlock")));
        QVERIFY(quiet());
        QCOMPARE(answer().plan.bytes, before.bytes);
        QCOMPARE(answer().plan.loss, before.loss);
        QVERIFY(history_->canUndo());
        while (history_->canUndo()) history_->undo();
        QVERIFY(session_->rules().isEmpty());
        QVERIFY(quiet());
    }

    void groupsGetOneSpec() {
        const std::size_t before = answer().options->units.size();
        click("planGroup-qkv");
        QVERIFY(QTest::qWaitFor([&] { return plan()->answer() && answer().options->units.size() < before; }, 60'000));
        QVERIFY(quiet());
        const plan::PlanUnits& units = answer().options->units;
        for (std::size_t u = 0; u < units.size(); ++u)
            if (units.name(u).find("q_proj") != std::string::npos) QCOMPARE(units.tensors(u).size(), std::size_t(3));
        click("planGroup-qkv");
        QVERIFY(QTest::qWaitFor([&] { return plan()->answer() && answer().options->units.size() == before; }, 60'000));
        QVERIFY(quiet());
    }

    /// The plan becomes the recipe, and every page shows it.
    void onePlanForTheWholeSession() {
        QVERIFY(the<QPushButton>("planUse")->isEnabled());
        click("planUse");
        QCOMPARE(session_->decision().layout(), QLatin1String(answer().options->layout->id));
        QVERIFY(session_->recipe()->isMixed());
        QVERIFY(session_->keepsRest());
        QVERIFY(!the<QPushButton>("planUse")->isEnabled());
        QVERIFY(session_->rules().startsWith(u"# plan: "));
        QVERIFY(quiet());
        QVERIFY(answer().current);
        QCOMPARE(answer().current->bytes, answer().plan.bytes);
        QVERIFY(std::fabs(answer().current->loss / answer().plan.loss - 1) < 1e-9);
        // The rows of the model are those of the recipe.
        const auto weights = session_->weights().size();
        QVERIFY(QTest::qWaitFor([&] { return session_->recipeRows().size() == qsizetype(weights); }, 60'000));
        for (std::size_t i = 0; i < weights; ++i) {
            const auto& row = session_->recipeRows().at(i);
            const QuantSpec* spec = session_->recipe()->specOf(*session_->weights()[i]);
            QCOMPARE(row->status == Status::Ok, spec != nullptr);
            if (spec) QCOMPARE(canonicalText(row->spec), canonicalText(*spec));
        }
        // Overview.
        const std::unique_ptr<QWidget> overview(createOverviewPage(*session_, nullptr));
        overview->resize(1000, 600);
        overview->show();
        auto* map = overview->findChild<HeatMap*>(QStringLiteral("layerRoleMap"));
        QVERIFY(QTest::qWaitFor([&] { return map->data().values.size() > 0; }, 20'000));
        bool named = false;
        for (auto* label : overview->findChildren<QLabel*>()) named |= label->text().contains(u"recipe:");
        QVERIFY(named);
        // Compare says what the recipe gives the tensor, and shows it as B.
        for (const TensorInfo* weight : session_->weights()) {
            const QuantSpec* spec = session_->recipe()->specOf(*weight);
            if (spec && !(*spec == session_->spec()) && !(*spec == session_->specB())) session_->selectTensor(weight);
        }
        const std::unique_ptr<QWidget> compare(createComparePage(*session_, nullptr));
        compare->show();
        auto* button = compare->findChild<QPushButton*>(QStringLiteral("compareRecipe"));
        const QuantSpec* has = session_->recipe()->specOf(*session_->tensor());
        QVERIFY(has && button->text().contains(QString::fromStdString(specText(*has))));
        if (button->isEnabled()) {
            QTest::mouseClick(button, Qt::LeftButton);
            QCOMPARE(canonicalText(session_->specB()), canonicalText(*has));
        }
        // Backends list the specs of the recipe.
        const std::unique_ptr<QWidget> backends(createBackendsPage(*session_, nullptr));
        backends->show();
        auto* specs = backends->findChild<TickList*>(QStringLiteral("planSpecs"));
        for (const QuantSpec& spec : session_->recipe()->specs)
            QVERIFY(!specs->findItems(QString::fromStdString(specText(spec)), Qt::MatchExactly).isEmpty());
        // The report has a section of it, and of the plan.
        ReportPage report(*session_);
        report.show();
        QVERIFY(QTest::qWaitFor([&] { return report.report() != nullptr; }, 60'000));
        QStringList titles;
        for (const Section& section : report.report()->sections) titles << QString::fromStdString(section.title);
        QVERIFY2(titles.contains(QStringLiteral("Recipe")), qPrintable(titles.join(u',')));
        QVERIFY(titles.filter(QStringLiteral("Plan by")).size() == 1);
        for (const ReportWriter& writer : reportWriters()) {
            const auto text = writer.render(*report.report());
            QVERIFY2(text && !text->empty(), writer.id);
        }
        session_->setComparing(false);
    }

    /// Undo takes the whole plan back in one step, redo brings it.
    void undoTakesThePlanBack() {
        const QString rules = session_->rules();
        QVERIFY(history_->canUndo());
        while (session_->rules() == rules) history_->undo();
        QVERIFY(!session_->recipe()->isMixed());
        while (session_->rules() != rules) history_->redo();
        QVERIFY(session_->recipe()->isMixed());
        QVERIFY(quiet());
    }

    /// The heat-map of the overview changes the recipe, and the plan follows.
    void theMapChangesThePlan() {
        const int unit = unitOf("layers.0.self_attn.o_proj");
        QVERIFY(unit >= 0);
        const TensorInfo* tensor = answer().options->units.tensors(std::size_t(unit)).front();
        QMenu menu;
        addTensorActions(menu, *session_, *tensor);
        auto* keep = menu.findChild<QAction*>(QStringLiteral("tensorKeep"));
        QVERIFY(keep && keep->isEnabled());
        QVERIFY(menu.findChild<QMenu*>(QStringLiteral("tensorGive"))); // the specs of the plan
        keep->trigger();
        QVERIFY(quiet());
        QCOMPARE(specOf(unitOf("layers.0.self_attn.o_proj")), std::string("keep"));
        history_->undo();
        QVERIFY(quiet());
    }

    void picturesInAllSizes() {
        for (const auto mode : {Theme::Mode::Light, Theme::Mode::Dark}) {
            Theme::instance().setMode(mode);
            for (const QSize size : {QSize(2476, 1302), QSize(1196, 582), QSize(1356, 802)}) {
                page_->resize(size);
                QTest::qWait(60);
                keepPicture(
                    *page_,
                    QStringLiteral("plan-%1-%2").arg(size.width()).arg(mode == Theme::Mode::Dark ? u"dark" : u"light"));
            }
        }
    }

    /// KL on held-out text; cancel leaves what was there.
    void measuredBesideChance() {
        QVERIFY(the<QPushButton>("planMeasure")->isEnabled());
        click("planMeasure");
        QVERIFY(the<QPushButton>("planStop")->isVisible());
        QTest::qWait(20);
        click("planStop");
        QVERIFY(quiet());
        QVERIFY(plan()->measured().empty());
        QCOMPARE(the<QLabel>("planStatus")->text(), QStringLiteral("Cancelled"));
        if (qs::test::kThinning > 1) QSKIP("Minutes with sanitizers. test_core_plan and test_cli measure plans there.");
        // A few plans at a time: a cancel keeps them, the page shows them, and the lane says the same.
        QString lane;
        connect(session_.get(), &Session::jobCancelled, this, [&](const QString& kept) { lane = kept; });
        click("planMeasure");
        QVERIFY(QTest::qWaitFor([&] { return !plan()->measured().empty(); }, 150'000));
        click("planStop");
        QVERIFY(quiet());
        const std::shared_ptr<const plan::PlanProof> part = plan()->measured().front().proof;
        const std::size_t known = part->measured(), all = part->contenders.size();
        QVERIFY(known >= 5 && known < all);
        QCOMPARE(lane, QStringLiteral("%1 of %2 plans are measured and kept").arg(known).arg(all));
        QCOMPARE(the<QLabel>("planStatus")->text(),
                 QStringLiteral("Cancelled; %1. Measure goes on from there.").arg(lane));
        QCOMPARE(the<QLabel>("planVerdict")->text(), QStringLiteral("%1 of %2 measured").arg(known).arg(all));
        QCOMPARE(plan()->chance()->table()->model()->rowCount(), int(all));
        keepPicture(*page_, QStringLiteral("plan-partly-measured"));
        QCOMPARE(the<QPushButton>("planMeasure")->text(), QStringLiteral("Measure"));
        click("planMeasure");
        QVERIFY(QTest::qWaitFor([&] { return plan()->measured().front().proof->measured() > known; }, 150'000));
        QVERIFY(plan()->measured().front().proof->scores.front() == part->scores.front()); // it was not measured again
        QVERIFY(quiet());
        QVERIFY2(plan()->measured().size() == 1, qPrintable(the<QLabel>("planStatus")->text()));
        const plan::PlanProof& proof = *plan()->measured().front().proof;
        QVERIFY(proof.contenders.front().summary && proof.permuted);
        QCOMPARE(proof.permuted->draws, std::size_t(19));
        QVERIFY(plan()->chance()->table()->model()->rowCount() > 20);
        QVERIFY(plan()->chance()->verdicts().contains(u"rank p"));
        QVERIFY(the<QLabel>("planVerdict")->text().contains(u"measured KL"));
        if (PlanChance::isInside(proof)) {
            QVERIFY(plan()->chance()->verdicts().contains(u"inside the random band"));
            QVERIFY(the<QLabel>("planVerdict")->text().contains(u"inside the random band"));
        }
        QVERIFY(!plan()->charts()->measured()->series().isEmpty());
        QVERIFY(session_->decision().plan() && session_->decision().plan()->proof);
        keepPicture(*page_, QStringLiteral("plan-measured"));
        // More draws in the background: p and the band follow, and a cancel keeps what is finished.
        const double least = proof.permuted->least, largest = proof.permuted->largest;
        QCOMPARE(the<QPushButton>("planMeasure")->text(), QStringLiteral("More draws"));
        click("planMeasure");
        QCOMPARE(the<QComboBox>("planDraws")->currentData().toInt(), 39);
        QVERIFY(QTest::qWaitFor([&] { return plan()->measured().front().proof->draws() >= 24; }, 150'000));
        click("planStop");
        QVERIFY(quiet());
        QCOMPARE(plan()->measured().size(), std::size_t(1));
        const plan::PlanProof& more = *plan()->measured().front().proof;
        QVERIFY(more.draws() >= 24 && more.draws() < 39);
        QCOMPARE(more.permuted->draws, more.draws());
        QCOMPARE(more.permuted->rank, double(1 + more.permuted->notWorse) / double(1 + more.draws()));
        QVERIFY(more.permuted->least <= least && more.permuted->largest >= largest);
        QVERIFY(plan()->chance()->verdicts().contains(QStringLiteral("Against %1 shuffles").arg(more.draws())));
        QVERIFY(the<QLabel>("planStatus")
                    ->text()
                    .contains(QStringLiteral("%1 of %1 plans are measured and kept").arg(more.contenders.size())));
        QCOMPARE(session_->decision().plan()->proof->draws(), more.draws());
        click("planTabUnits");
    }

    void limitsOfSize() {
        auto* limits = the<QLineEdit>("planLimits");
        const auto enter = [&](const char* text) {
            limits->setText(QLatin1String(text));
            QTest::keyClick(limits, Qt::Key_Return);
        };
        const auto takers = [&](const char* spec) { // of units of down_proj
            std::size_t all = 0, own = 0;
            for (const auto& row : answer().rows)
                if (row.unit.find("down_proj") != std::string::npos) ++all, own += row.spec == spec;
            return std::pair(own, all);
        };
        enter("down_proj=int8");
        QVERIFY2(the<QLabel>("planStatus")->text().contains(u"is no limit: REGEX>=SPEC"),
                 qPrintable(the<QLabel>("planStatus")->text()));
        QVERIFY(takers("int8").first < takers("int8").second);
        enter("down_proj>=int8; v_proj<=int3:block=32");
        QVERIFY(
            QTest::qWaitFor([&] { return !plan()->busy() && takers("int8").first == takers("int8").second; }, 60'000));
        const auto back = planKept(session_->kept().find(QStringLiteral("plan"))->second.text());
        QVERIFY(back);
        QCOMPARE(back->limits.size(), std::size_t(2));
        QCOMPARE(plan::limitText(back->limits.back()), std::string("v_proj<=int3:block=32"));
        enter("");
        QVERIFY(
            QTest::qWaitFor([&] { return !plan()->busy() && takers("int8").first < takers("int8").second; }, 60'000));
    }

    void whatIsKeptComesBack() {
        const auto& kept = session_->kept();
        const auto found = kept.find(QStringLiteral("plan"));
        QVERIFY(found != kept.end());
        const std::string text = found->second.text();
        const auto back = planKept(text);
        QVERIFY2(back, back ? "" : back.error().message.c_str());
        QCOMPARE(QString::fromStdString(keptPlan(*back)), QString::fromStdString(text));
        QCOMPARE(back->measured.size(), std::size_t(qs::test::kThinning > 1 ? 0 : 1)); // see measuredBesideChance()
        if (qs::test::kThinning == 1)
            QCOMPARE(back->measured.front().proof->verdicts, plan()->measured().front().proof->verdicts);
        for (const std::size_t n : {std::size_t(0), text.size() / 3, text.size() - 2})
            QVERIFY(!planKept(text.substr(0, n)));
        QByteArray wrong = QByteArray::fromStdString(text);
        wrong.replace("\"objective\":\"nmse\"", "\"objective\":\"none\"");
        QVERIFY(!planKept(wrong.toStdString()));
    }

    void exportTakesTheLayout() {
        const QString layout = QLatin1String(answer().options->layout->id);
        click("planExport");
        QCOMPARE(session_->page(), QStringLiteral("export"));
        QCOMPARE(session_->decision().layout(), layout);
        const std::unique_ptr<QWidget> page(createExportPage(*session_, nullptr));
        QCOMPARE(page->findChild<QComboBox*>(QStringLiteral("exportLayout"))->currentData().toString(), layout);
    }

    void cleanupTestCase() { close(); }
};

QS_TEST(TestPlanPage)
#include "plan_page_test.moc"
