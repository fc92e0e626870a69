// SPDX-License-Identifier: GPL-3.0-or-later
// The benchmark plan in the window: choices, stored settings, and the answers of the backends.
#include "app/gui/pages/backends/backends_matrix.h"
#include "app/gui/widgets/card.h"
#include "artefacts.h"
#include "core/bench/run/benchmark.h"
#include "opened_backends_page.h"
#include "tests/support/test_program.h"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include <cmath>
#include <set>

using namespace qs;
using namespace qs::gui;

class TestBackendsPlan : public QObject, OpenedBackendsPage {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(open("quantscope-tests-plan")); }

    /// The matrix follows the plan: after a change of spec, operation or activation and a short pause, the backends are
    /// queried.
    void theMatrixFollowsThePlan() {
        const auto page = make();
        QTRY_VERIFY_WITH_TIMEOUT(page->settled(), 60'000);
        plan(*page);
        auto* specs = find<QListWidget>(*page, "planSpecs");
        const auto added = specs->findItems(QStringLiteral("fp8_e4m3"), Qt::MatchExactly);
        QCOMPARE(added.size(), 1);
        added.front()->setCheckState(Qt::Checked);
        auto* act = find<QComboBox>(*page, "planAct");
        act->setCurrentIndex(act->findData(QStringLiteral("fp8_e4m3")));
        QTRY_VERIFY_WITH_TIMEOUT(page->settled(), 60'000);
        std::set<std::string> asked;
        for (const auto& answer : page->bench().answers()) {
            asked.insert(answer.spec);
            if (answer.backend == "openblas") QCOMPARE(answer.status, RowState::Declined); // it does not quantize x
        }
        QCOMPARE(asked, (std::set<std::string>{"f32", "fp8_e4m3", "nf4:block=64"}));
        const auto note = [&] {
            auto* card = find<QTableView>(*page, "capabilityMatrix")->parentWidget();
            while (card && !qobject_cast<Card*>(card)) card = card->parentWidget();
            QString text;
            for (const auto* label : card->findChildren<QLabel*>()) text += label->text() + u'|';
            return text;
        };
        QVERIFY2(note().contains(QStringLiteral("act fp8_e4m3   M 1")), qPrintable(note()));
        // Operations without M and x disable these fields.
        auto* op = find<QComboBox>(*page, "planOp");
        for (const char* id : {"dequantize", "quantize", "quantize_stats"}) {
            op->setCurrentIndex(op->findData(QLatin1String(id)));
            QVERIFY(!act->isEnabled() && !find<QLineEdit>(*page, "planM")->isEnabled());
        }
        QTRY_VERIFY_WITH_TIMEOUT(page->settled(), 60'000);
        QVERIFY2(note().contains(QLatin1String("Quantize and measure")) && !note().contains(QLatin1String("act ")),
                 qPrintable(note()));
        op->setCurrentIndex(op->findData(QStringLiteral("matmul_t")));
        QVERIFY(act->isEnabled());
    }

    /// A PJRT plugin given by its path: the backend pjrt runs on it, or only compiles. It is still there after a
    /// restart.
    void aPjrtPluginIsKept() {
        const QString fake = qs::test::wholePath(QStringLiteral(QS_BAD_DIR "/fake_pjrt.so"));
        if (!QFile::exists(fake)) QSKIP("this build has no pjrt backend");
        qputenv("QUANTSCOPE_PJRT_TOPOLOGY", "v6e:2x2");
        {
            const auto page = make();
            page->planner().addPlugin(fake);
            QTRY_VERIFY_WITH_TIMEOUT(page->settled(), 60'000);
            auto* matrix = find<QTableView>(*page, "capabilityMatrix");
            bool compiles = false;
            for (int column = 0; column < matrix->model()->columnCount(); ++column)
                if (matrix->model()->headerData(column, Qt::Horizontal).toString() == QLatin1String("pjrt"))
                    compiles = matrix->model()->index(0, column).data().toString() == QLatin1String("compile only");
            QVERIFY(compiles);
            keepPicture(*page, QStringLiteral("backends-compile-only"));
        }
        qunsetenv("QUANTSCOPE_PJRT_TOPOLOGY");
        const auto named = [](BackendsPage& page) {
            for (const auto& source : page.planner().sources())
                if (source.named) return QString::fromStdString(*source.option("path"));
            return QString();
        };
        const auto page = make();
        QCOMPARE(named(*page), fake);
        auto* backends = find<QListWidget>(*page, "planBackends");
        backends->setCurrentItem(backends->findItems(QStringLiteral("pjrt"), Qt::MatchExactly).front());
        backends->setFocus();
        page->activateWindow();
        for (auto* action : backends->actions()) action->trigger(); // Delete, or the context menu
        QVERIFY(named(*page).isEmpty());
        QVERIFY(named(*make()).isEmpty());
    }

    /// With a PJRT plugin a topology can be entered. It is stored and is part of the command of a row.
    void theTopologyToCompileFor() {
        const QString fake = qs::test::wholePath(QStringLiteral(QS_BAD_DIR "/fake_pjrt.so"));
        if (!QFile::exists(fake)) QSKIP("this build has no pjrt backend");
        const auto optionsOf = [](BackendsPage& page) {
            const auto planned = page.planner().plan();
            for (const auto& source : planned ? planned->backends : std::vector<BackendSource>())
                if (source.id == "pjrt") return source.options;
            return Options{{"no", "plan"}};
        };
        const Options plain = {{"path", fake.toStdString()}};
        {
            const auto page = make();
            auto* topology = find<QLineEdit>(*page, "planTopology");
            QVERIFY(!topology->isVisible());
            page->planner().addPlugin(fake);
            QVERIFY(topology->isVisible() && topology->text().isEmpty());
            QCOMPARE(optionsOf(*page), plain);
            // The whole plan is visible in a window of 1440 x 900.
            QTRY_VERIFY_WITH_TIMEOUT(page->settled(), 60'000);
            for (const auto* area : page->planner().findChildren<QScrollArea*>())
                QCOMPARE(area->verticalScrollBar()->maximum(), 0);
            keepPicture(*page, QStringLiteral("backends-plan-topology"));
            auto* complaint = find<QLabel>(*page, "planComplaint");
            topology->setFocus();
            QTest::keyClicks(topology, QStringLiteral("v6e"));
            QVERIFY2(complaint->isVisible() && complaint->text().contains(QLatin1String("topology 'v6e'")),
                     qPrintable(complaint->text()));
            QTest::keyClicks(topology, QStringLiteral(":1x1,chips_per_host_bounds=1,1,1"));
            QVERIFY(!complaint->isVisible());
            QCOMPARE(optionsOf(*page),
                     (Options{plain[0], {"topology", "v6e:1x1"}, {"chips_per_host_bounds", "1,1,1"}}));
            topology->selectAll();
            QTest::keyClicks(topology, QStringLiteral("v6e:2x2"));
        }
        const auto page = make();
        auto* topology = find<QLineEdit>(*page, "planTopology");
        QCOMPARE(topology->text(), QStringLiteral("v6e:2x2"));
        QCOMPARE(optionsOf(*page), (Options{plain[0], {"topology", "v6e:2x2"}}));
        plan(*page, QStringLiteral("1"));
        auto* backends = find<QListWidget>(*page, "planBackends");
        for (int i = 0; i < backends->count(); ++i)
            backends->item(i)->setCheckState(backends->item(i)->text() == QLatin1String("pjrt") ? Qt::Checked
                                                                                                : Qt::Unchecked);
        QSignalSpy finished(&page->bench(), &BenchRun::finished);
        QTest::mouseClick(find<QPushButton>(*page, "runBench"), Qt::LeftButton);
        QVERIFY(finished.wait(60'000));
        QVERIFY(!page->bench().rows().empty());
        for (const auto& row : page->bench().rows()) {
            QCOMPARE(row.verdict.status, RowState::CompileOnly);
            QVERIFY2(row.question.command.find("--backend pjrt:topology=v6e:2x2 --plugin ") != std::string::npos,
                     row.question.command.c_str());
        }
        topology->selectAll();
        QTest::keyClick(topology, Qt::Key_Delete);
        QCOMPARE(optionsOf(*page), plain);
        QVERIFY(find<QLineEdit>(*make(), "planTopology")->text().isEmpty());
        page->planner().removePlugin(fake);
        QVERIFY(!topology->isVisible());
    }

    /// y = x W of a model uses the model's values, on the chosen number of threads.
    void theModelsValuesOnAsManyThreads() {
        const auto page = make();
        plan(*page, QStringLiteral("1"));
        auto* backends = find<QListWidget>(*page, "planBackends");
        for (int i = 0; i < backends->count(); ++i)
            backends->item(i)->setCheckState(i == 0 ? Qt::Checked : Qt::Unchecked);
        auto* op = find<QComboBox>(*page, "planOp");
        op->setCurrentIndex(op->findData(QStringLiteral("matmul")));
        auto* threads = find<QSpinBox>(*page, "planThreads");
        QCOMPARE(threads->value(), threads->maximum());
        QCOMPARE(page->planner().plan()->threads, 0u); // 0: all threads
        threads->setValue(1);
        QSignalSpy finished(&page->bench(), &BenchRun::finished);
        QTest::mouseClick(find<QPushButton>(*page, "runBench"), Qt::LeftButton);
        QVERIFY(finished.wait(60'000));
        auto random = *page->planner().plan();
        random.model = nullptr;
        for (auto& shape : random.shapes) shape.tensor.clear();
        const auto other = runBenchmark(random, Job());
        QVERIFY(other.has_value() && other->rows.size() == page->bench().rows().size() && !other->rows.empty());
        for (std::size_t i = 0; i < other->rows.size(); ++i) {
            const auto& row = page->bench().rows()[i];
            QVERIFY2(row.question.op == "matmul" && !row.question.tensor.empty() && row.question.threads == 1,
                     row.answer.variant.id.c_str());
            QVERIFY2(row.question.command.find(" --model ") != std::string::npos, row.question.command.c_str());
            if (threads->maximum() > 1)
                QVERIFY2(row.question.command.find(" --threads 1 ") != std::string::npos, row.question.command.c_str());
            const auto random = other->rows[i].check.formatNmse;
            if (row.question.spec != "f32") // f32 has no format error
                QVERIFY(row.check.formatNmse && random && std::abs(*row.check.formatNmse / *random - 1) > 1e-3);
        }
        QCOMPARE(find<QSpinBox>(*make(), "planThreads")->value(), 1); // stored in the settings
        threads->setValue(threads->maximum());
    }

    void asMuchMemoryAsItMayTake() {
        const auto page = make();
        plan(*page, QStringLiteral("1"));
        QCOMPARE(page->planner().plan()->memoryBytes, std::uint64_t(0)); // 0: half of the free memory
        find<QSpinBox>(*page, "planMemory")->setValue(512);
        QCOMPARE(page->planner().plan()->memoryBytes, std::uint64_t(512) << 20);
    }

    void asksWhatCouldRun() {
        const auto page = make();
        auto* matrix = find<QTableView>(*page, "capabilityMatrix");
        const QAbstractItemModelTester tester(matrix->model());
        QTRY_VERIFY_WITH_TIMEOUT(!page->bench().asking(), 60'000);
        QVERIFY(!page->bench().answers().empty());
        bool native = false;
        for (const auto& answer : page->bench().answers())
            native |= answer.backend == "cpu" && answer.spec == "nf4:block=64" && answer.status == RowState::Ok;
        QVERIFY(native);
        QVERIFY(matrix->isVisible());
        // The number of rows is known from the answers: one per variant of backends that run, one for others.
        plan(*page);
        std::size_t rows = 0;
        for (const auto& answer : page->bench().answers())
            if ((answer.backend == "cpu" || answer.backend == "openblas") &&
                (answer.spec == "nf4:block=64" || answer.spec == "f32"))
                rows += 2 * std::max<std::size_t>(1, answer.variants.size()); // two values of M
        QVERIFY2(find<QLabel>(*page, "planNote")->text().startsWith(QStringLiteral("%1 rows:").arg(rows)),
                 qPrintable(find<QLabel>(*page, "planNote")->text()));
    }

    /// A backend that crashes shows a word in the matrix and a retry button. Other backends and the window continue.
    void aCrashIsSetAsideAndTriedAgain() {
        const auto page = make();
        auto* retry = find<QToolButton>(*page, "retryBackends");
        QTRY_VERIFY_WITH_TIMEOUT(!page->bench().asking(), 60'000);
        QVERIFY(!retry->isVisible());
        page->planner().addPlugin(QStringLiteral(QS_BAD_DIR "/bad_load.so"));
        const auto answered = [&] {
            bool crashed = false, native = false;
            for (const auto& answer : page->bench().answers()) {
                crashed |= answer.backend == "bad_load.so" && answer.status == RowState::Crashed &&
                           answer.reason.find("SIGSEGV") != std::string::npos;
                native |= answer.backend == "cpu" && answer.status == RowState::Ok;
            }
            return crashed && native && !page->bench().asking();
        };
        QTest::mouseClick(find<QPushButton>(*page, "askBackends"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(answered(), 60'000);
        QVERIFY(retry->isVisible() && retry->toolTip().contains(QLatin1String("bad_load.so: crashed")));
        QVERIFY(quarantineReason(page->planner().sources().back()).has_value());
        QTest::mouseClick(retry, Qt::LeftButton);
        QVERIFY(page->bench().asking());
        QTRY_VERIFY_WITH_TIMEOUT(answered(), 60'000);
        QVERIFY(retry->isVisible()); // it crashed again
        for (const auto& source : page->planner().sources()) releaseQuarantine(source);
        page->planner().removePlugin(QStringLiteral(QS_BAD_DIR "/bad_load.so"));
    }

    /// Formats that no backend accepts are grey, with a reason, and never part of a plan.
    void formatsThatNoBackendTakes() {
        const auto page = make();
        auto* specs = find<QListWidget>(*page, "planSpecs");
        const auto item = [&](const char* format) {
            const auto found = specs->findItems(QLatin1String(format), Qt::MatchStartsWith);
            return found.isEmpty() ? nullptr : found.front();
        };
        QVERIFY(item("nf4") && (item("nf4")->flags() & Qt::ItemIsEnabled));
        for (const char* none : {"q4_0", "mxfp4", "nvfp4"}) {
            QVERIFY2(item(none) && !(item(none)->flags() & Qt::ItemIsEnabled), none);
            QVERIFY(item(none)->checkState() == Qt::Unchecked);
            QVERIFY2(item(none)->text().endsWith(QLatin1String("no backend")) &&
                         item(none)->toolTip().contains(QLatin1String("backend interface")),
                     qPrintable(item(none)->toolTip()));
        }
        auto* add = find<QLineEdit>(*page, "planAddSpec");
        add->setText(QStringLiteral("int8:sym=no"));
        QTest::keyClick(add, Qt::Key_Return);
        auto* complaint = find<QLabel>(*page, "planComplaint");
        QVERIFY2(complaint->isVisible() && complaint->text().contains(QLatin1String("zero points")),
                 qPrintable(complaint->text()));
    }

    void anUnusablePlanSaysWhy() {
        const auto page = make();
        find<QLineEdit>(*page, "planM")->setText(QStringLiteral("0 5000"));
        auto* complaint = find<QLabel>(*page, "planComplaint");
        QVERIFY(complaint->isVisible());
        QVERIFY(complaint->text().contains(QLatin1String("1 to 4096")));
        QVERIFY(!find<QPushButton>(*page, "runBench")->isEnabled());
        find<QLineEdit>(*page, "planM")->setText(QStringLiteral("1"));
        QVERIFY(find<QPushButton>(*page, "runBench")->isEnabled());
    }

    void aPluginThatIsNoneIsAColumnWithItsReason() {
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("broken.so"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("no library") > 0);
        file.close();
        const auto page = make();
        page->planner().addPlugin(path);
        QTest::mouseClick(find<QPushButton>(*page, "askBackends"), Qt::LeftButton);
        const auto reason = [&] {
            for (const auto& answer : page->bench().answers())
                if (answer.backend.find("broken") != std::string::npos) return answer.reason;
            return std::string();
        };
        QTRY_VERIFY_WITH_TIMEOUT(!reason().empty(), 60'000);
        page->planner().removePlugin(path);
    }
};

QS_TEST(TestBackendsPlan)
#include "backends_plan_test.moc"
