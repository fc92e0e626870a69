// SPDX-License-Identifier: GPL-3.0-or-later
// The plan page by mouse and keyboard: the budget slider, locks from menus, groups, the recipe of the session on other
// pages, undo, the test against chance, a session that is opened again, and pictures.
#include "app/gui/page.h"
#include "app/gui/pages/plan/plan_budget.h"
#include "app/gui/pages/plan/plan_chance.h"
#include "app/gui/pages/plan/plan_charts.h"
#include "app/gui/pages/plan/plan_choice.h"
#include "app/gui/pages/plan/plan_page.h"
#include "app/gui/pages/plan/plan_units.h"
#include "app/gui/pages/report/report_page.h"
#include "app/gui/spec_history.h"
#include "app/gui/tensor_menu.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/heat_map.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/tick_list.h"
#include "artefacts.h"
#include "choose_file.h"
#include "core/session/kept_plan.h"
#include "opened_session.h"
#include "tests/support/test_program.h"
#include "tests/support/thinned.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDialog>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QMenu>
#include <QPointer>
#include <QPushButton>
#include <QSlider>
#include <QStyleOptionSlider>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include <set>

using namespace qs;
using namespace qs::gui;

class TestPlanPage : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<SpecHistory> history_;
    std::unique_ptr<QWidget> page_;

    template<class T> T* the(const char* name) const { return page_->findChild<T*>(QLatin1String(name)); }
    PlanPage* plan() const { return static_cast<PlanPage*>(page_.get()); }
    const PlanAnswer& answer() const { return *plan()->answer(); }
    double bpw() const { return answer().plan.bpw(*answer().options); }
    void click(const char* name) { QTest::mouseClick(the<QAbstractButton>(name), Qt::LeftButton); }
    bool quiet() {
        QTest::qWait(10);
        return QTest::qWaitFor([&] { return !plan()->busy(); }, 150'000);
    }
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
    int unitOf(const char* part) const {
        const auto& units = answer().options->units;
        for (std::size_t u = 0; u < units.size(); ++u)
            if (units[u].name.find(part) != std::string::npos) return int(u);
        return -1;
    }
    std::string specOf(int unit) const {
        const auto& options = *answer().options;
        const auto* spec = options.specOf(options.of[std::size_t(unit)][answer().plan.picked[std::size_t(unit)]]);
        return spec ? specText(*spec) : "keep";
    }

private Q_SLOTS:
    void initTestCase() {
        qputenv("XDG_CACHE_HOME", folder_.path().toLocal8Bit());
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        history_ = std::make_unique<SpecHistory>(*session_);
        page_.reset(createPlanPage(*session_, nullptr));
        page_->resize(1356, 802); // the size left in a window of 1440x900
        page_->show();
        QVERIFY(QTest::qWaitForWindowExposed(page_.get(), qs::test::kWait));
        QTest::qWait(50);
        keepPicture(*page_, QStringLiteral("plan-empty"));
        QVERIFY(openModel(*session_, samplePath()));
        QVERIFY(quiet());
    }

    /// A newcomer sees a plan without a click: NMSE needs only the analysis, and is called a proxy.
    void aPlanWithoutAClick() {
        QVERIFY(plan()->answer());
        QVERIFY(answer().options->units.size() > 10);
        QCOMPARE(answer().plan.gap(), 0.0);
        QVERIFY(answer().plan.bytes <= answer().budget);
        QVERIFY(the<QComboBox>("planObjective")->currentText().contains(u"proxy"));
        QVERIFY(the<QLabel>("planGap")->text().contains(u"proved"));
        QCOMPARE(the<QLabel>("planVerdict")->text(), QStringLiteral("KL not measured"));
        for (const char* name : {"planFrontier", "planMeasured", "planStrip", "planUnits", "planBudget", "planBpw"})
            QVERIFY2(!the<QWidget>(name)->accessibleName().isEmpty(), name);
        QAbstractItemModelTester tester(plan()->units()->table()->model());
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
        QVERIFY(!answer().options->units[std::size_t(kept)].lock.empty());
        QVERIFY(answer().plan.loss != before.loss);
        QVERIFY(answer().plan.bytes <= answer().budget);
        // It is hatched, and the table names the rule.
        bool hatched = false;
        for (const StripCell& cell : plan()->units()->strip()->data().cells)
            hatched |= cell.unit == kept && cell.isLocked && cell.spec == -1;
        QVERIFY(hatched);
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
        QVERIFY(!answer().options->units[std::size_t(plan()->units()->unitOfRow(0))].lock.empty());
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
        QVERIFY(session_->planBudget());
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

    void groupsGetOneSpec() {
        const std::size_t before = answer().options->units.size();
        click("planGroup-qkv");
        QVERIFY(QTest::qWaitFor([&] { return plan()->answer() && answer().options->units.size() < before; }, 60'000));
        QVERIFY(quiet());
        for (const auto& unit : answer().options->units)
            if (unit.name.find("q_proj") != std::string::npos) QCOMPARE(unit.tensors.size(), std::size_t(3));
        click("planGroup-qkv");
        QVERIFY(QTest::qWaitFor([&] { return plan()->answer() && answer().options->units.size() == before; }, 60'000));
        QVERIFY(quiet());
    }

    /// The plan becomes the recipe, and every page shows it.
    void onePlanForTheWholeSession() {
        QVERIFY(the<QPushButton>("planUse")->isEnabled());
        click("planUse");
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
        const TensorInfo* tensor = answer().options->units[std::size_t(unit)].tensors.front();
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
        QTRY_COMPARE(session_->planStart().name, QStringLiteral("r.json"));
        dialog->close();
        QVERIFY(quiet());
        QCOMPARE(session_->page(), QStringLiteral("plan"));
        QVERIFY(session_->rules().isEmpty());
        std::set<std::string> ticked, said;
        for (const QuantSpec& spec : plan()->choice()->settings().specs) ticked.insert(specText(spec));
        for (const QuantSpec& spec : session_->planStart().recipe->specs) said.insert(specText(spec));
        QVERIFY(ticked == said && said.size() == 2 && said.contains("int8"));
        for (const auto& unit : answer().options->units) QVERIFY(unit.lock.empty());
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
        session_->setPlanBudget(8 * double(mixture.bytes) / double(answer().options->elements) + 1e-9);
        QVERIFY(quiet());
        QVERIFY(answer().plan.loss <= mixture.loss * (1 + 1e-12));
        QVERIFY(session_->plan()->recipes.size() == 1);
        keepPicture(*page_, QStringLiteral("plan-start"));
        // It is kept with the page.
        const auto kept = planKept(session_->kept().find(QStringLiteral("plan"))->second.text());
        QVERIFY(kept && kept->startName == "r.json" && !kept->startRules.empty());
        // Locking it is a wish of its own.
        click("planStartLock");
        QVERIFY(quiet());
        for (const auto& unit : answer().options->units) QVERIFY(!unit.lock.empty());
        history_->undo();
        QVERIFY(quiet());
        click("planStartForget");
        QVERIFY(quiet());
        QVERIFY(answer().start.empty() && the<QWidget>("planStartOpen")->isVisible());
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
        QVERIFY(the<QLabel>("planStatus")->text().contains(u"ancelled"));
        if (qs::test::kThinning > 1) QSKIP("Minutes with sanitizers. test_core_plan and test_cli measure plans there.");
        click("planMeasure");
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
        QVERIFY(session_->plan() && session_->plan()->proof);
        keepPicture(*page_, QStringLiteral("plan-measured"));
        click("planTabUnits");
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
        QCOMPARE(session_->exportLayout(), layout);
        const std::unique_ptr<QWidget> page(createExportPage(*session_, nullptr));
        QCOMPARE(page->findChild<QComboBox*>(QStringLiteral("exportLayout"))->currentData().toString(), layout);
    }

    void cleanupTestCase() {
        page_.reset();
        history_.reset();
        session_.reset();
    }
};

QS_TEST(TestPlanPage)
#include "plan_page_test.moc"
