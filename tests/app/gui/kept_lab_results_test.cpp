// SPDX-License-Identifier: GPL-3.0-or-later
// Results of labs in session files: they are shown again without computing them again.
#include "app/gui/main_window.h"
#include "app/gui/pages/labs/lab_operations.h"
#include "app/gui/pages/labs/lab_products.h"
#include "app/gui/pages/labs/lab_qat.h"
#include "app/gui/pages/labs/lab_solvers.h"
#include "app/gui/session.h"
#include "app/gui/session_saver.h"
#include "app/gui/theme.h"
#include "core/session/session_file.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/lane_count.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::gui;
using namespace qs::test;

class TestKeptLabResults : public QObject {
    Q_OBJECT
    QTemporaryDir home_;

private Q_SLOTS:
    void initTestCase() {
        QStandardPaths::setTestModeEnabled(true);
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
        Theme::install(Theme::Mode::Dark);
    }

    void cleanupTestCase() { QFile::remove(SessionSaver::autosavePath()); }
    /// The same for the labs, whose results are about one tensor under one spec. Restored results can be saved and kept
    /// like new ones.
    void whatLabsComputedComesBack() {
        const auto file = home_.filePath(QStringLiteral("labs.qscope"));
        const auto other = home_.filePath(QStringLiteral("unlike.safetensors"));
        qputenv("QUANTSCOPE_FORMATS", home_.filePath(QStringLiteral("formats")).toUtf8());
        QVERIFY(!writeLayeredModel(other, 2, 16).isEmpty());
        const auto part = [](MainWindow& window, const char* name) {
            return window.findChild<QWidget*>(QLatin1String(name));
        };
        const auto press = [&](MainWindow& window, const char* name) {
            QTest::mouseClick(part(window, name), Qt::LeftButton);
        };
        std::string tensor;
        double best = 0;
        QVector<QPointF> curve;
        QStringList figures;
        std::vector<value::WhatIfRow> operations;
        std::vector<value::KvRow> cache;
        const auto figuresOf = [&](MainWindow& window) {
            QStringList all;
            for (int i = 0; i < 5; ++i) all << window.findChild<QLabel*>(QStringLiteral("qatFigure%1").arg(i))->text();
            return all;
        };
        {
            Session session;
            MainWindow window(session);
            window.show();
            QVERIFY(openModel(session, samplePath()));
            session.setSpec(*parseSpec("int4:block=64"));
            session.selectTensor(session.weights()[5]);
            tensor = session.tensor()->name;
            session.showPage(QStringLiteral("labs"));
            OperationsPanel* tried = nullptr;
            QTRY_VERIFY((tried = window.findChild<OperationsPanel*>()) && tried->isVisible());
            tried->argument(0)->setText(QStringLiteral("0,1"));
            QTest::keyClick(tried->argument(0), Qt::Key_Return);
            QTRY_VERIFY_WITH_TIMEOUT(!tried->rows().empty() && !tried->running(), 60000);
            QVERIFY(tried->rows().front().caused->exact()); // with that argument
            operations = tried->rows();
            press(window, "lab-products");
            auto* products = window.findChild<ProductsPanel*>();
            QTRY_COMPARE(window.findChild<QSpinBox*>(QStringLiteral("kvDim"))->value(), 32); // taken from the model
            window.findChild<QSpinBox*>(QStringLiteral("kvHeads"))->setValue(3);             // changed by the user
            QTRY_VERIFY_WITH_TIMEOUT(products->cacheRows().size() > 6 && !products->running(), 60000);
            QTest::qWait(300);
            QTRY_VERIFY_WITH_TIMEOUT(!products->running(), 60000);
            cache = products->cacheRows();
            press(window, "lab-qat");
            auto* qat = window.findChild<QatPanel*>();
            window.findChild<QSpinBox*>(QStringLiteral("qatSteps"))->setValue(12);
            window.findChild<QSpinBox*>(QStringLiteral("qatInputs"))->setValue(40);
            press(window, "qatStart");
            QTRY_VERIFY_WITH_TIMEOUT(qat->result() && !qat->running(), 60000);
            best = qat->result()->bestLoss;
            curve = qat->chart()->series()[0].points;
            figures = figuresOf(window);
            QCOMPARE(curve.size(), 13);
            press(window, "lab-solvers");
            auto* solvers = window.findChild<SolversPanel*>();
            for (const int solver : {0, 1}) {
                window.findChild<QComboBox*>(QStringLiteral("solver"))->setCurrentIndex(solver);
                press(window, "solverStart");
                QTRY_VERIFY_WITH_TIMEOUT(solvers->rows().size() == std::size_t(solver + 1) && !solvers->running(),
                                         60000);
            }
            solvers->saveTo(home_.filePath(QStringLiteral("before.safetensors")));
            QTRY_VERIFY(!solvers->running());
            press(window, "lab-operations");
            session.showPage(QStringLiteral("overview"));
            QSignalSpy saved(&window.saver(), &SessionSaver::saved);
            window.saver().save(file);
            QVERIFY(saved.wait(60000));
        }
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, file));
        QTRY_COMPARE(session.page(), QStringLiteral("overview"));
        QTRY_VERIFY_WITH_TIMEOUT(!session.busy(), 60000);
        const LaneCount lane(session); // no job is started
        session.showPage(QStringLiteral("labs"));
        OperationsPanel* tried = nullptr;
        QTRY_VERIFY((tried = window.findChild<OperationsPanel*>()) && tried->isVisible() && !tried->rows().empty());
        QCOMPARE(tried->argument(0)->text(), QStringLiteral("0,1"));
        QCOMPARE(tried->rows().size(), operations.size());
        QVERIFY(tried->rows().front().caused->exact());
        QTest::qWait(300); // panels that are not visible start nothing by themselves
        QCOMPARE(lane.begun(), 0);
        press(window, "lab-products");
        auto* products = window.findChild<ProductsPanel*>();
        QTRY_VERIFY(!products->rows().empty());
        QTest::qWait(400); // changes of the fields have taken effect
        QCOMPARE(window.findChild<QSpinBox*>(QStringLiteral("kvHeads"))->value(), 3);
        QCOMPARE(products->cacheRows().size(), cache.size());
        QVERIFY(products->cacheRows().front().bytesPerToken == cache.front().bytesPerToken);
        press(window, "lab-qat");
        auto* qat = window.findChild<QatPanel*>();
        QTRY_VERIFY(qat->result());
        QCOMPARE(qat->result()->bestLoss, best);
        QVERIFY(qat->chart()->series()[0].points == curve);
        QCOMPARE(figuresOf(window), figures);
        QCOMPARE(window.findChild<QSpinBox*>(QStringLiteral("qatSteps"))->value(), 12);
        QCOMPARE(window.findChild<QSpinBox*>(QStringLiteral("qatInputs"))->value(), 40);
        QVERIFY(part(window, "qatSave")->isVisible() && part(window, "qatKeep")->isVisible());
        QVERIFY(window.findChild<QLabel*>(QStringLiteral("qatStatus"))->text().startsWith(u"As it was trained before"));
        keepPicture(window, QStringLiteral("labs-qat-restored"));
        press(window, "lab-solvers");
        auto* solvers = window.findChild<SolversPanel*>();
        QTRY_COMPARE(solvers->rows().size(), std::size_t(2));
        QVERIFY(window.findChild<QLineEdit*>(QStringLiteral("solverOptions"))->text().startsWith(u"awq:"));
        QVERIFY(part(window, "solverSave")->isVisible());
        QCOMPARE(lane.begun(), 0);

        // The saved files are equal byte by byte.
        solvers->saveTo(home_.filePath(QStringLiteral("after.safetensors")));
        QTRY_VERIFY(!solvers->running());
        QTRY_VERIFY(lane.begun() > 0); // so the counter does work
        const auto bytes = [&](const char* name) {
            QFile written(home_.filePath(QLatin1String(name)));
            return written.open(QIODevice::ReadOnly) ? written.readAll() : QByteArray();
        };
        QVERIFY(bytes("before.safetensors").size() > 1000);
        QVERIFY(bytes("before.safetensors") == bytes("after.safetensors"));
        press(window, "lab-qat");
        QSignalSpy written(qat, &QatPanel::saved), kept(qat, &QatPanel::kept);
        qat->saveTo(home_.filePath(QStringLiteral("latent.safetensors")));
        QVERIFY(written.wait(20000));
        const auto latent = qs::openModel(home_.filePath(QStringLiteral("latent.safetensors")).toStdString());
        QVERIFY(latent && (*latent)->find(tensor));
        press(window, "qatKeep");
        QVERIFY(kept.wait(20000));
        QTRY_VERIFY(session.comparing() && session.currentB() && session.current() && !session.currentIsStale());
        const auto& sums = session.currentB()->sums; // the trained weights that were restored
        QVERIFY(std::abs(sums.se2 / sums.sw2 / *qat->result()->weightNmse - 1) < 1e-6);
        session.setComparing(false);

        // Another tensor has none of these results. The first one gets them back.
        session.selectTensor(session.weights()[6]);
        QTRY_VERIFY(!qat->result());
        QVERIFY(!part(window, "qatSave")->isVisible());
        session.selectTensor(session.weights()[5]);
        QTRY_VERIFY(qat->result());
        // A session saved now still has all results.
        const auto again = home_.filePath(QStringLiteral("labs-again.qscope"));
        QSignalSpy saved(&window.saver(), &SessionSaver::saved);
        window.saver().save(again);
        QVERIFY(saved.wait(60000));
        const auto first = readSession(file.toStdString()), second = readSession(again.toStdString());
        QVERIFY(first && second && first->kept == second->kept);
        QCOMPARE(first->kept.size(), std::size_t(4));
        // A cancelled training removes the earlier one, also from the session.
        press(window, "qatStart");
        session.cancelJobs();
        QTRY_VERIFY(!qat->running());
        QVERIFY(!qat->result() && !session.kept().contains(QStringLiteral("lab-training")));
        // Another checkpoint has none of these results.
        QVERIFY(openModel(session, other));
        QVERIFY(!qat->result() && solvers->rows().empty());
        for (const auto& [name, one] : session.kept()) QVERIFY2(!one.restored, qPrintable(name));
    }

    /// Training results whose weights do not fit into a session file, and results that are impossible.
    void aTrainingWithoutItsWeightsSaysSo() {
        const auto file = home_.filePath(QStringLiteral("weightless.qscope"));
        SessionFile made;
        made.opened = samplePath().toStdString();
        made.view = {{"tensor", "model.layers.0.self_attn.k_proj.weight"}, {"page", "overview"}};
        made.history = {{"nf4:block=64", "int8", false}};
        const auto seen = [&](const char* latent, QatPanel*& qat, MainWindow& window, Session& session) {
            const nlohmann::json training{{"tensor", made.view["tensor"]},
                                          {"spec", "nf4:block=64"},
                                          {"inputs", "x.npy"},
                                          {"rows", 8},
                                          {"steps", 3},
                                          {"rate", 0.005},
                                          {"losses", {0.5, 0.25, 0.125}},
                                          {"weight_nmse", 0.5},
                                          {"latent", latent}};
            made.kept["lab-training"] = training.dump();
            if (!writeSession(file.toStdString(), made)) return QStringLiteral("no session is written");
            if (!openModel(session, file)) return QStringLiteral("no model is open");
            session.showPage(QStringLiteral("labs"));
            const auto tab = [&] { return window.findChild<QToolButton*>(QStringLiteral("lab-qat")); };
            const auto isBuilt = [&] { return (qat = window.findChild<QatPanel*>()) && tab()->isVisible(); };
            if (!QTest::qWaitFor(isBuilt, 60'000)) return QStringLiteral("no panel is built");
            const auto isShown = [&] {
                QTest::mouseClick(tab(), Qt::LeftButton); // a click before the page is laid out falls beside the tab
                return qat->isVisible();
            };
            if (!QTest::qWaitFor(isShown, 60'000)) return QStringLiteral("the panel is not shown");
            auto* status = window.findChild<QLabel*>(QStringLiteral("qatStatus"));
            const auto isSaid = [&] { return !status->text().isEmpty() && !status->text().startsWith(u"Adam"); };
            (void)QTest::qWaitFor(isSaid, 60'000);
            return status->text();
        };
        for (const bool damaged : {false, true}) {
            Session session;
            MainWindow window(session);
            window.show();
            QatPanel* qat = nullptr;
            const auto said = seen(damaged ? "AAAA" : "", qat, window, session);
            QVERIFY2(said.contains(damaged ? u"its weights" : u"did not fit"), qPrintable(said));
            QVERIFY(damaged || said.contains(u"x.npy"));
            QCOMPARE(qat->result() != nullptr, !damaged);
            QVERIFY(!window.findChild<QPushButton*>(QStringLiteral("qatSave"))->isVisible());
            QVERIFY(!window.findChild<QPushButton*>(QStringLiteral("qatKeep"))->isVisible());
            if (damaged) continue;
            QCOMPARE(window.findChild<QLabel*>(QStringLiteral("qatFigure3"))->text(), QStringLiteral("2"));
            QVERIFY(qat->result()->stopped);
            qat->saveTo(home_.filePath(QStringLiteral("none.safetensors"))); // saving must not be possible
            QTest::qWait(20);
            QVERIFY(!qat->running() && !QFile::exists(home_.filePath(QStringLiteral("none.safetensors"))));
        }
    }
};

QS_TEST(TestKeptLabResults)
#include "kept_lab_results_test.moc"
