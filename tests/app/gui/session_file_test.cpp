// SPDX-License-Identifier: GPL-3.0-or-later
// Session files in the window: save, open, changed sources, and automatic saving.
#include "app/gui/main_window.h"
#include "app/gui/pages/audit/audit_page.h"
#include "app/gui/pages/export/export_page.h"
#include "app/gui/pages/labs/lab_operations.h"
#include "app/gui/pages/labs/lab_products.h"
#include "app/gui/pages/labs/lab_qat.h"
#include "app/gui/pages/labs/lab_solvers.h"
#include "app/gui/pages/sweep/sweep_page.h"
#include "app/gui/session.h"
#include "app/gui/session_saver.h"
#include "app/gui/spec_history.h"
#include "app/gui/theme.h"
#include "core/session/session_file.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/model_file.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/test_program.h"

#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QScopeGuard>
#include <QSettings>
#include <QSpinBox>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace qs;
using namespace qs::gui;

namespace {

// Counts the jobs shown in the job lane.
class LaneCount : public QObject {
public:
    explicit LaneCount(Session& session) {
        connect(&session, &Session::jobProgress, this, [this] { ++begun_; });
    }
    int begun() const { return begun_; }

private:
    int begun_ = 0;
};

} // namespace

class TestSessionFile : public QObject {
    Q_OBJECT
    QTemporaryDir home_;

private Q_SLOTS:
    void initTestCase() {
        QStandardPaths::setTestModeEnabled(true);
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
        Theme::install(Theme::Mode::Dark);
    }
    void cleanupTestCase() { QFile::remove(SessionSaver::autosavePath()); }
    void aSessionFileBringsEverythingBack() {
        const auto file = home_.filePath(QStringLiteral("work.qscope"));
        {
            Session session;
            MainWindow window(session);
            window.show();
            QVERIFY(openModel(session, samplePath()));
            session.setSpec(*parseSpec("int8:block=32"));
            QTest::qWait(450); // a separate undo step
            session.setSpec(*parseSpec("nf4:block=128"));
            session.setRules(QStringLiteral("down_proj=int8"), true);
            session.selectTensor(session.weights()[5]);
            session.setMetric(QStringLiteral("sqnr_db"));
            session.showPage(QStringLiteral("tensor"));
            QTRY_COMPARE_WITH_TIMEOUT(session.modelRows(session.spec()).size(), qsizetype(session.weights().size()),
                                      20000);
            QSignalSpy saved(&window.saver(), &SessionSaver::saved);
            window.saver().save(file);
            QVERIFY(saved.wait(20000));
            QCOMPARE(window.saver().path(), file);
        }
        Session session;
        MainWindow window(session);
        window.show();
        QSignalSpy opened(&session, &Session::modelChanged);
        bool hadRows = false;
        connect(&session, &Session::sessionOpened, this, [&] {
            hadRows = session.modelRows(*parseSpec("nf4:block=128")).size() == qsizetype(session.weights().size());
        });
        session.open(file);
        QVERIFY(opened.wait(20000));
        QVERIFY(hadRows); // before anything was measured again
        QCOMPARE(canonicalText(session.spec()), canonicalText(*parseSpec("nf4:block=128")));
        QCOMPARE(session.tensor(), session.weights()[5]);
        QCOMPARE(session.metric(), QStringLiteral("sqnr_db"));
        QCOMPARE(window.saver().path(), file);
        QTRY_COMPARE(session.page(), QStringLiteral("tensor"));
        QCOMPARE(session.rules(), QStringLiteral("down_proj=int8"));
        QVERIFY(session.keepsRest());
        QVERIFY(window.history().canUndo());
        window.history().undo();
        QCOMPARE(session.rules(), QString());
        window.history().undo();
        QCOMPARE(canonicalText(session.spec()), canonicalText(*parseSpec("int8:block=32")));
        QCOMPARE(window.message(), QString());
    }

    void aSessionWhoseSourceChangedSaysSo() {
        const auto model = home_.filePath(QStringLiteral("source.safetensors")),
                   file = home_.filePath(QStringLiteral("changed.qscope"));
        const auto write = [&](int seed) {
            return writeModelFile(model, {{QStringLiteral("w"), {64, 64}, normalValues(64 * 64, 0.02, seed)}});
        };
        QVERIFY(write(1));
        {
            Session session;
            MainWindow window(session);
            QVERIFY(openModel(session, model));
            QTRY_COMPARE_WITH_TIMEOUT(session.modelRows(session.spec()).size(), qsizetype(1), 20000);
            QSignalSpy saved(&window.saver(), &SessionSaver::saved);
            window.saver().save(file);
            QVERIFY(saved.wait(20000));
        }
        QVERIFY(write(2));
        Session session;
        MainWindow window(session);
        window.show();
        QSignalSpy opened(&session, &Session::modelChanged), noticed(&session, &Session::noticed);
        session.open(file);
        QVERIFY(opened.wait(20000));
        QTRY_COMPARE(noticed.size(), qsizetype(1));
        QVERIFY2(window.message().contains(QStringLiteral("has changed since this session was saved")),
                 qPrintable(window.message()));

        QVERIFY(QFile::remove(model));
        Session fresh; // an open session also reports that its file is gone
        QSignalSpy failed(&fresh, &Session::failed);
        fresh.open(file);
        QVERIFY(failed.wait(20000));
        QVERIFY2(failed.front().front().toString().contains(QStringLiteral("is not there")),
                 qPrintable(failed.front().front().toString()));
        QVERIFY(!fresh.model());
    }

    /// A file is changed, replaced and removed while the window has it open.
    void aFileThatChangesWhileItIsOpenIsNoticed() {
        const auto model = home_.filePath(QStringLiteral("watched.safetensors")),
                   other = home_.filePath(QStringLiteral("other.safetensors"));
        const auto write = [&](const QString& path, int seed) {
            return writeModelFile(path, {{QStringLiteral("w"), {64, 64}, normalValues(64 * 64, 0.02, seed)}});
        };
        QVERIFY(write(model, 1));
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, model));
        QSignalSpy noticed(&session, &Session::noticed);
        QVERIFY(write(model, 2));
        QTRY_COMPARE(noticed.size(), qsizetype(1));
        QVERIFY2(window.message().contains(QStringLiteral("watched.safetensors changed on disk")),
                 qPrintable(window.message()));
        QVERIFY(write(other, 3));
        QCOMPARE(std::rename(QFile::encodeName(other).constData(), QFile::encodeName(model).constData()), 0);
        QTRY_COMPARE(noticed.size(), qsizetype(2));
        QVERIFY(QFile::remove(model));
        QTRY_COMPARE(noticed.size(), qsizetype(3));
        QVERIFY2(window.message().contains(QStringLiteral("is no longer where it was opened")),
                 qPrintable(window.message()));
    }

    void aSessionThatNamesItselfIsRefused() {
        const auto file = home_.filePath(QStringLiteral("round.qscope"));
        SessionFile itself;
        itself.opened = file.toStdString();
        QVERIFY(writeSession(file.toStdString(), itself, Job()));
        Session session;
        QSignalSpy failed(&session, &Session::failed);
        session.open(file);
        QVERIFY(failed.wait(20000));
        QVERIFY2(failed.front().front().toString().contains(QStringLiteral("names another session")),
                 qPrintable(failed.front().front().toString()));
    }

    void theSessionSavesItself() {
        QFile::remove(SessionSaver::autosavePath());
        Session session;
        MainWindow window(session);
        window.saver().startAutosave(20);
        QSignalSpy saved(&window.saver(), &SessionSaver::saved);
        QVERIFY(openModel(session, samplePath()));
        QVERIFY(saved.wait(20000));
        QVERIFY(readSession(SessionSaver::autosavePath().toStdString()));
        session.setSpec(*parseSpec("int8:block=16"));
        QTRY_VERIFY_WITH_TIMEOUT(
            [&] {
                const auto read = readSession(SessionSaver::autosavePath().toStdString());
                return read && read->at < read->history.size() && read->history[read->at].specA == "int8:block=16";
            }(),
            20000);
        QVERIFY(window.saver().path().isEmpty()); // the user did not choose this path
    }

    /// Session files and settings store specs as the user typed them, and restore them so.
    void specsKeepTheirSpelling() {
        const auto file = home_.filePath(QStringLiteral("spelled.qscope"));
        {
            Session session;
            MainWindow window(session);
            QVERIFY(openModel(session, samplePath()));
            session.setSpec(*parseSpec("int4:block=32"));
            session.setSpecB(*parseSpec("fp8_e4m3"));
            session.setComparing(true);
            QCOMPARE(session.state().specA, QStringLiteral("int4:block=32"));
            QCOMPARE(session.state().specB, QStringLiteral("fp8_e4m3"));
            QVERIFY(everythingMeasured(session, session.spec()));
            QSignalSpy saved(&window.saver(), &SessionSaver::saved);
            window.saver().save(file);
            QVERIFY(saved.wait(20000));
        }
        auto kept = readSession(file.toStdString());
        QVERIFY(kept);
        QCOMPARE(kept->history[kept->at].specA, std::string("int4:block=32"));
        bool found = false;
        for (const auto& results : kept->results) found |= results.spec == "int4:block=32";
        QVERIFY(found);
        const auto reopened = [&] {
            Session session;
            MainWindow window(session);
            if (!openModel(session, file)) return QString();
            const auto row = session.modelRows(session.spec()).at(0);
            return QString::fromStdString(specText(session.spec()) + " " + specText(session.specB()) + " " +
                                          (row ? row->specAsTyped : "no row"));
        };
        QCOMPARE(reopened(), QStringLiteral("int4:block=32 fp8_e4m3 int4:block=32"));
        // Older versions stored the canonical text.
        const auto full = [](std::string& text) { text = canonicalText(*parseSpec(text)); };
        for (auto& step : kept->history) full(step.specA), full(step.specB);
        for (auto& results : kept->results) full(results.spec);
        QVERIFY(writeSession(file.toStdString(), *kept));
        QCOMPARE(reopened(), QStringLiteral("int4:block=32 fp8_e4m3 int4:block=32"));
    }

    /// Page results are stored in the session: nothing is computed again, and the user is not asked.
    void whatPagesComputedComesBack() {
        const auto file = home_.filePath(QStringLiteral("computed.qscope"));
        const auto other = home_.filePath(QStringLiteral("compared.safetensors"));
        QVERIFY(!writeLayeredModel(other, 2, 16).isEmpty());
        const auto model = home_.filePath(QStringLiteral("model.safetensors")); // small, because everything is swept
        QVERIFY(!writeLayeredModel(model, 2, 32).isEmpty());
        std::size_t findings = 0, points = 0, rows = 0;
        {
            Session session;
            MainWindow window(session);
            window.resize(1280, 680); // the smallest window
            window.show();
            QVERIFY(openModel(session, model));
            session.showPage(QStringLiteral("audit"));
            AuditPage* audit = nullptr;
            QTRY_VERIFY((audit = window.findChild<AuditPage*>()) && audit->isVisible());
            QTRY_VERIFY_WITH_TIMEOUT(audit->result() && !audit->running(), 60000);
            audit->compareWith(other);
            QTRY_VERIFY_WITH_TIMEOUT(audit->differences() && !audit->running(), 60000);
            session.showPage(QStringLiteral("sweep"));
            SweepPage* sweep = nullptr;
            QTRY_VERIFY((sweep = window.findChild<SweepPage*>()) && sweep->isVisible());
            if (!sweep->running())
                QTest::mouseClick(window.findChild<QPushButton*>(QStringLiteral("sweepStart")), Qt::LeftButton);
            QTRY_VERIFY_WITH_TIMEOUT(sweep->result() && !sweep->running(), 300000);
            session.showPage(QStringLiteral("export"));
            ExportPage* exports = nullptr;
            QTRY_VERIFY((exports = window.findChild<ExportPage*>()) && exports->isVisible());
            exports->setOutputChooser(
                [&](const QString&) { return home_.filePath(QStringLiteral("out.safetensors")); });
            QSignalSpy exported(exports, &ExportPage::exported);
            auto* write = window.findChild<QPushButton*>(QStringLiteral("exportWrite"));
            QTRY_VERIFY_WITH_TIMEOUT(write->isEnabled(), 20000);
            const auto place = [&] { return write->mapTo(&window, QPoint()); };
            const auto before = place();
            QTest::mouseClick(write, Qt::LeftButton);
            QVERIFY(exported.wait(60000));
            QTest::qWait(50);
            QCOMPARE(place(), before); // no widget moves under the mouse
            QVERIFY(exports->certificate());
            findings = audit->result()->findings.size(), points = sweep->result()->points.size();
            rows = audit->differences()->rows.size();
            QSignalSpy saved(&window.saver(), &SessionSaver::saved);
            window.saver().save(file);
            QVERIFY(saved.wait(60000));
        }
        Session session;
        MainWindow window(session);
        window.show();
        QVERIFY(openModel(session, file));
        QTRY_COMPARE(session.page(), QStringLiteral("export"));
        ExportPage* exports = nullptr;
        QTRY_VERIFY((exports = window.findChild<ExportPage*>()) && exports->certificate());
        QVERIFY(exports->certificate()->proof.proved());
        QTRY_VERIFY(!session.busy());
        const LaneCount lane(session); // no job is started
        session.showPage(QStringLiteral("audit"));
        AuditPage* audit = nullptr;
        QTRY_VERIFY((audit = window.findChild<AuditPage*>()) && audit->result() && audit->differences());
        QCOMPARE(audit->result()->findings.size(), findings);
        QCOMPARE(audit->differences()->rows.size(), rows);
        session.showPage(QStringLiteral("sweep"));
        SweepPage* sweep = nullptr;
        QTRY_VERIFY((sweep = window.findChild<SweepPage*>()) && sweep->result());
        QCOMPARE(sweep->result()->points.size(), points);
        QVERIFY(sweep->result()->points.front().sqnrDb());
        QCOMPARE(lane.begun(), 0);
        // A session saved again without visiting the pages keeps all results.
        const auto again = home_.filePath(QStringLiteral("again.qscope"));
        QSignalSpy saved(&window.saver(), &SessionSaver::saved);
        window.saver().save(again);
        QVERIFY(saved.wait(60000));
        const auto first = readSession(file.toStdString()), second = readSession(again.toStdString());
        QVERIFY(first && second && first->kept == second->kept);
        QCOMPARE(first->kept.size(), std::size_t(4));
        // Another checkpoint has none of these results.
        QVERIFY(openModel(session, other));
        QVERIFY(session.kept().empty());
    }

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
            if (!writeSession(file.toStdString(), made) || !openModel(session, file)) return QString();
            QTest::qWait(50);
            session.showPage(QStringLiteral("labs"));
            if (!QTest::qWaitFor([&] { return (qat = window.findChild<QatPanel*>()); })) return QString();
            QTest::qWait(50);
            QTest::mouseClick(window.findChild<QToolButton*>(QStringLiteral("lab-qat")), Qt::LeftButton);
            auto* status = window.findChild<QLabel*>(QStringLiteral("qatStatus"));
            (void)QTest::qWaitFor([&] { return !status->text().startsWith(u"Adam"); });
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

    /// The real program is killed: the next start says so and restores what was computed.
    void aKilledProgramIsNoticedAndRestored() {
        const QTemporaryDir place;
        QProcess program;
        auto environment = QProcessEnvironment::systemEnvironment();
        for (const auto& [name, value] : {std::pair{"XDG_CONFIG_HOME", "config"}, std::pair{"XDG_DATA_HOME", "data"}})
            environment.insert(QLatin1String(name), place.filePath(QLatin1String(value)));
        environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
        environment.insert(QStringLiteral("QS_AUTOSAVE_MS"), QStringLiteral("100"));
        program.setProcessEnvironment(environment);
        program.start(QStringLiteral(QS_BIN_DIR "/quantscope"),
                      {samplePath(), QStringLiteral("--page"), QStringLiteral("audit")});
        QVERIFY(program.waitForStarted());
        const auto data = place.filePath(QStringLiteral("data/QuantScope/QuantScope"));
        const auto saved = data + QStringLiteral("/autosave.qscope");
        QTRY_VERIFY_WITH_TIMEOUT(
            [&] {
                const auto read = readSession(saved.toStdString());
                return read && read->kept.contains("audit");
            }(),
            60000);
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(place.filePath(QStringLiteral("config/QuantScope/QuantScope.conf"))),
                                 20000);
        const auto marks = [&] { return QDir(data).entryList({QStringLiteral("running-*")}).size(); };
        QCOMPARE(marks(), 1);
        program.kill(); // SIGKILL
        QVERIFY(program.waitForFinished());
        QCOMPARE(program.exitStatus(), QProcess::CrashExit);
        QCOMPARE(marks(), 1);

        qputenv("XDG_DATA_HOME", place.filePath(QStringLiteral("data")).toLocal8Bit());
        QStandardPaths::setTestModeEnabled(false);
        const QString names[] = {QCoreApplication::organizationName(), QCoreApplication::applicationName()};
        QCoreApplication::setOrganizationName(QStringLiteral("QuantScope"));
        QCoreApplication::setApplicationName(QStringLiteral("QuantScope"));
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, place.filePath(QStringLiteral("config")));
        const auto restore = qScopeGuard([&] {
            qunsetenv("XDG_DATA_HOME");
            QStandardPaths::setTestModeEnabled(true);
            QCoreApplication::setOrganizationName(names[0]);
            QCoreApplication::setApplicationName(names[1]);
            QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
        });
        {
            Session session;
            keepSaved(session);
            MainWindow window(session);
            window.show();
            auto* said = window.findChild<QLabel*>(QStringLiteral("endedUnexpectedly"));
            QVERIFY(said && said->isVisible());
            QVERIFY2(said->text().startsWith(u"The last run ended unexpectedly. Resume brings back tiny-llama as of "),
                     qPrintable(said->text()));
            QVERIFY(!QFile::exists(saved)); // the old file was set aside, so the next model can be saved there
            keepPicture(window, QStringLiteral("start-after-a-crash"));
            QSignalSpy opened(&session, &Session::modelChanged);
            for (auto* button : window.findChildren<QToolButton*>())
                if (button->accessibleName() == u"Resume tiny-llama") QTest::mouseClick(button, Qt::LeftButton);
            QVERIFY(opened.wait(20000));
            QTRY_VERIFY2(window.message().startsWith(u"Restored as of "), qPrintable(window.message()));
            AuditPage* audit = nullptr;
            QTRY_VERIFY((audit = window.findChild<AuditPage*>()) && audit->result());
            QVERIFY(session.restored(QStringLiteral("audit"))); // restored, not audited again
            QVERIFY(window.saver().path().isEmpty());
            QCOMPARE(marks(), 1);
        }
        QCOMPARE(marks(), 0);
        Session session; // after a normal end
        keepSaved(session);
        MainWindow window(session);
        window.show();
        QVERIFY(!window.findChild<QLabel*>(QStringLiteral("endedUnexpectedly"))->isVisible());
    }
};

QS_TEST(TestSessionFile)
#include "session_file_test.moc"
