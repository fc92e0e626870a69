// SPDX-License-Identifier: GPL-3.0-or-later
// The plan page with measured times, by mouse and keyboard: nothing measured, rows of the page Backends, a budget of
// time, both budgets, a click on a dot of speed beside error, a target.
#include "app/gui/known_backends.h"
#include "app/gui/page.h"
#include "app/gui/pages/plan/plan_budget.h"
#include "app/gui/pages/plan/plan_choice.h"
#include "app/gui/pages/plan/plan_page.h"
#include "app/gui/pages/plan/plan_speed.h"
#include "app/gui/pages/plan/plan_time.h"
#include "app/gui/pages/plan/plan_units.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/tick_list.h"
#include "artefacts.h"
#include "core/plan/knapsack.h"
#include "core/session/kept_plan.h"
#include "opened_session.h"
#include "tests/core/plan/made_up_times.h"
#include "tests/support/test_program.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QToolButton>

#include <cmath>

using namespace qs;
using namespace qs::gui;

class TestPlanSpeed : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<QWidget> page_;

    template<class T> T* the(const char* name) const { return page_->findChild<T*>(QLatin1String(name)); }
    PlanPage* plan() const { return static_cast<PlanPage*>(page_.get()); }
    const PlanAnswer& answer() const { return *plan()->answer(); }
    void click(const char* name) { QTest::mouseClick(the<QAbstractButton>(name), Qt::LeftButton); }
    bool quiet() {
        QTest::qWait(10);
        return QTest::qWaitFor([&] { return !plan()->busy(); }, 150'000);
    }
    /// Types milliseconds into the field and leaves it.
    void typeMs(const char* text) {
        auto* box = the<QDoubleSpinBox>("planMs");
        box->setFocus();
        box->selectAll();
        QTest::keyClicks(box, QLatin1String(text));
        QTest::keyClick(box, Qt::Key_Return);
    }
    /// What is small is slow: wide specs are fast. At M = 16 it is the other way about.
    std::vector<BenchmarkRow> rowsOf(const std::vector<QuantSpec>& specs) const {
        std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
        for (const ModelShape& shape : modelShapes(*session_->model())) shapes.emplace_back(shape.n, shape.k);
        std::vector<BenchmarkRow> out;
        double at = 1;
        for (const QuantSpec& spec : specs) {
            plantest::addTimes(out, shapes, "cpu", specText(spec), 1, 1.0 / at);
            plantest::addTimes(out, shapes, "cpu", specText(spec), 16, 4.0 * at);
            plantest::addTimes(out, shapes, "openblas", specText(spec), 1, 2.0 / at);
            at *= 2;
        }
        return out;
    }

private Q_SLOTS:
    void initTestCase() {
        qputenv("XDG_CACHE_HOME", folder_.path().toLocal8Bit());
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        page_.reset(createPlanPage(*session_, nullptr));
        page_->resize(1356, 802);
        page_->show();
        QVERIFY(QTest::qWaitForWindowExposed(page_.get(), qs::test::kWait));
        QVERIFY(openModel(*session_, samplePath()));
        QVERIFY(quiet());
        QVERIFY(plan()->answer());
    }

    /// It is said, and the button opens the page Backends with these specs and all shapes.
    void nothingMeasured() {
        QVERIFY(the<QLabel>("planNoTimes")->isVisible());
        QVERIFY(!the<QDoubleSpinBox>("planMs")->isEnabled());
        QVERIFY(!plan()->speed()->map());
        click("planMeasureTimes");
        QCOMPARE(session_->page(), QLatin1String(kBackendsPage.id));
        QCOMPARE(session_->decision().benchWish().size(), answer().ground->settings.specs.size());
        const std::unique_ptr<QWidget> backends(createBackendsPage(*session_, nullptr));
        backends->resize(1356, 802);
        backends->show();
        auto* specs = backends->findChild<TickList*>(QStringLiteral("planSpecs"));
        auto* shapes = backends->findChild<TickList*>(QStringLiteral("planShapes"));
        QVERIFY(
            QTest::qWaitFor([&] { return shapes->count() == int(modelShapes(*session_->model()).size()); }, 20'000));
        QStringList wished, ticked;
        for (const QuantSpec& spec : session_->decision().benchWish()) wished << QString::fromStdString(specText(spec));
        for (int i = 0; i < specs->count(); ++i)
            if (specs->ticked(i)) ticked << specs->item(i)->text();
        for (const QString& one : wished) QVERIFY2(ticked.contains(one), qPrintable(one));
        for (int i = 0; i < shapes->count(); ++i) QVERIFY(shapes->ticked(i));
    }

    /// Rows that the session has become times at once.
    void rowsBecomeTimes() {
        session_->decision().setBenchRows(
            std::make_shared<const std::vector<BenchmarkRow>>(rowsOf(answer().ground->settings.specs)));
        QVERIFY(QTest::qWaitFor([&] { return the<QComboBox>("planTimes")->count() == 3; }, 60'000));
        QVERIFY(quiet());
        QVERIFY(!the<QLabel>("planNoTimes")->isVisible() && the<QDoubleSpinBox>("planMs")->isEnabled());
        QVERIFY(the<QComboBox>("planTimes")->currentText().contains(u"M = 1"));
        QVERIFY(answer().options->latencies);
        QVERIFY(!answer().ns); // any time
        QVERIFY(the<QLabel>("planTimeUse")->text().startsWith(u"plan "));
        QVERIFY(plan()->speed()->map());
        for (const char* name : {"planMs", "planTimes", "planSpeed", "planSpeedM", "planCrossovers", "planTarget"})
            QVERIFY2(!the<QWidget>(name)->accessibleName().isEmpty(), name);
    }

    /// A time that the plan by size does not keep: both budgets hold then, and the gap is shown.
    void aBudgetOfTime() {
        const auto before = answer().plan;
        const plan::Options& options = *answer().options;
        // Between the fastest plan of this size and the plan by size.
        const plan::TimedChoiceLists choices = options.of.byBoth();
        const std::vector<double> times(choices.ns.begin(), choices.ns.end());
        const auto fastest =
            plan::pickChoices({choices.first, times, choices.bytes}, answer().budget - options.fixedBytes);
        QVERIFY(fastest);
        const double least = fastest->loss + double(options.fixedNs);
        QVERIFY(least < double(before.ns));
        const double ms = (least + 0.6 * (double(before.ns) - least)) / 1e6;
        typeMs(qPrintable(QString::number(ms, 'f', 4)));
        QVERIFY2(QTest::qWaitFor([&] { return answer().ns.has_value(); }, 20'000),
                 qPrintable(the<QLabel>("planStatus")->text()));
        QVERIFY(quiet());
        QVERIFY(answer().plan.ns <= *answer().ns && answer().plan.bytes <= answer().budget);
        QVERIFY(answer().plan.loss >= before.loss && answer().plan.bound);
        QCOMPARE(the<QLabel>("planGap")->text().contains(u"proved"), answer().plan.gap() == 0);
        QVERIFY(session_->decision().plan() && session_->decision().plan()->budget.ns == answer().ns &&
                session_->decision().plan()->speed);
        keepPicture(*page_, QStringLiteral("plan-time"));
        // Kept in session files.
        const auto found = session_->kept().find(QStringLiteral("plan"));
        QVERIFY(found != session_->kept().end());
        const auto back = planKept(found->second.text());
        QVERIFY(back && back->ns == answer().ns);
        // Too little: a sentence, and the last plan stays.
        const auto kept = answer().plan.ns;
        typeMs("0.0001");
        QVERIFY(quiet());
        QVERIFY2(the<QLabel>("planStatus")->text().contains(u"too small"),
                 qPrintable(the<QLabel>("planStatus")->text()));
        QCOMPARE(answer().plan.ns, kept);
        typeMs("0");
        QVERIFY(QTest::qWaitFor([&] { return !answer().ns; }, 60'000));
        QVERIFY(quiet());
        QCOMPARE(answer().plan.loss, before.loss);
    }

    /// A click on a dot takes its backend, its M and its time.
    void aDotBecomesTheBudget() {
        click("planTabSpeed");
        QTest::qWait(60);
        PlotChart* chart = plan()->speed()->chart();
        const auto& map = *plan()->speed()->map();
        QCOMPARE(chart->series().size(), 2); // a colour for each backend
        for (const PlotSeries& series : chart->series()) QCOMPARE(series.radii.size(), series.points.size());
        QVERIFY(the<QLabel>("planCrossovers")->text().contains(u"becomes faster"));
        const plan::SpeedPoint* wanted = nullptr;
        for (const plan::SpeedPoint& point : map.points)
            if (point.m == 1 && point.where.backend == "openblas" && point.bytes <= answer().budget &&
                (!wanted || point.ns < wanted->ns))
                wanted = &point;
        QVERIFY(wanted);
        const auto ns = wanted->ns;
        keepPicture(*page_, QStringLiteral("plan-speed"));
        const QPointF at = chart->pixelOf(wanted->nsPerToken() / 1e3, wanted->loss);
        auto* area = chart->findChild<QWidget*>(QStringLiteral("plot"));
        QVERIFY(area);
        QTest::mouseClick(area, Qt::LeftButton, {}, area->mapFrom(chart, at.toPoint()));
        QVERIFY2(QTest::qWaitFor([&] { return answer().ns.has_value(); }, 20'000),
                 qPrintable(the<QLabel>("planStatus")->text()));
        QVERIFY(quiet());
        QVERIFY(std::fabs(double(*answer().ns) - ns) <= 100);
        QVERIFY(the<QComboBox>("planTimes")->currentText().contains(u"openblas"));
        // M of the picture.
        auto* m = the<QComboBox>("planSpeedM");
        m->setFocus();
        QTest::keyClick(m, Qt::Key_Down);
        QCOMPARE(m->currentText(), QStringLiteral("M = 16"));
        QCOMPARE(chart->series().size(), 1);
        typeMs("0");
        QVERIFY(quiet());
        click("planTabUnits");
    }

    /// The backend of the processor is asked, and units say what they cannot have.
    void aTarget() {
        auto* target = the<QComboBox>("planTarget");
        const int cpu = target->findData(QStringLiteral("cpu"));
        QVERIFY(cpu > 0);
        target->setFocus();
        while (target->currentIndex() < cpu) QTest::keyClick(target, Qt::Key_Down);
        QVERIFY2(QTest::qWaitFor([&] { return answer().ground->target != nullptr; }, 60'000),
                 qPrintable(the<QLabel>("planStatus")->text()));
        QVERIFY(quiet());
        QCOMPARE(answer().options->target->backend, std::string("cpu"));
        for (std::size_t u = 0; u < answer().options->units.size(); ++u)
            for (const plan::RefusedSpec& one : answer().options->of.refused(u)) {
                QVERIFY(!one.reason.empty());
                QVERIFY(answer().rows[u].refused.find(one.reason) != std::string::npos);
            }
        // It is asked at another M.
        auto* rows = the<QSpinBox>("planTargetRows");
        QVERIFY(rows->isEnabled() && !rows->accessibleName().isEmpty());
        QCOMPARE(answer().ground->target->m, std::int64_t(1));
        rows->setValue(16);
        QVERIFY(QTest::qWaitFor([&] { return answer().ground->target && answer().ground->target->m == 16; }, 60'000));
        QVERIFY(quiet());
        const auto kept = planKept(session_->kept().find(QStringLiteral("plan"))->second.text());
        QVERIFY(kept && kept->target == "cpu" && kept->targetRows == std::uint64_t(16));
        // A plugin that the user has added is a target too.
        const QString plugin = qs::test::wholePath(QStringLiteral(QS_BUILD_DIR "/tests/plugins/example.so"));
        if (QFile::exists(plugin)) {
            QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder_.path());
            const int before = target->count();
            keepPlugins({plugin});
            page_->hide();
            page_->show();
            QCOMPARE(target->count(), before + 1);
            QCOMPARE(target->currentData().toString(), QStringLiteral("cpu"));
            const QString id = target->itemData(before).toString();
            QCOMPARE(target->itemData(before, Qt::ToolTipRole).toString(), plugin);
            target->setCurrentIndex(before);
            QVERIFY2(
                QTest::qWaitFor([&] { return answer().ground->target->backend == id.toStdString() && !plan()->busy(); },
                                60'000),
                qPrintable(the<QLabel>("planStatus")->text()));
            QCOMPARE(answer().ground->target->m, std::int64_t(16));
            keepPlugins({});
        }
        while (target->currentIndex() > 0) QTest::keyClick(target, Qt::Key_Up);
        QVERIFY(QTest::qWaitFor([&] { return answer().ground->target == nullptr; }, 60'000));
        QVERIFY(!rows->isEnabled());
        QVERIFY(quiet());
    }

    /// Times of another model are none of this one.
    void anotherModel() {
        const QString path = writeLayeredModel(folder_.filePath(QStringLiteral("other.safetensors")), 1, 32);
        QVERIFY(openModel(*session_, path));
        QVERIFY(quiet());
        QVERIFY(the<QLabel>("planNoTimes")->isVisible());
        QVERIFY2(plan()->answer(), qPrintable(the<QLabel>("planStatus")->text()));
        QVERIFY(!answer().options->latencies);
    }

    void cleanupTestCase() {
        page_.reset();
        session_.reset();
    }
};

QS_TEST(TestPlanSpeed)
#include "plan_speed_test.moc"
