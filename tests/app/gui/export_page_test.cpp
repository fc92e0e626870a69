// SPDX-License-Identifier: GPL-3.0-or-later
// The export page: choose a layout, write and prove the model, show the certificate, and open an older certificate.
#include "app/gui/output_check.h"
#include "app/gui/pages/export/export_page.h"
#include "app/gui/pages/overview/overview_rows.h"
#include "app/gui/spec_history.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/rule_editor.h"
#include "artefacts.h"
#include "core/export/export_plan.h"
#include "core/export/recipe_sizes.h"
#include "opened_session.h"
#include "tests/support/test_program.h"

#include <QComboBox>
#include <QDir>
#include <QLabel>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>

#include <memory>

using namespace qs;
using namespace qs::gui;

class TestExportPage : public QObject {
    Q_OBJECT
    std::unique_ptr<Session> session_;

    std::unique_ptr<ExportPage> make() {
        auto page = std::make_unique<ExportPage>(*session_);
        page->setAutoFillBackground(true);
        page->resize(1356, 802);
        page->show();
        return page;
    }
    static void choose(ExportPage& page, const char* layout) {
        auto* box = page.findChild<QComboBox*>(QStringLiteral("exportLayout"));
        box->setCurrentIndex(box->findData(QString::fromLatin1(layout)));
    }
    static QString textOf(ExportPage& page, const char* name) {
        return page.findChild<QLabel*>(QString::fromLatin1(name))->text();
    }

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        QVERIFY(openModel(*session_, samplePath()));
        session_->setSpec(*parseSpec("nf4:block=64"));
    }

    void everyLayoutSaysWhetherItTakesTheSpec() {
        const auto page = make();
        auto* write = page->findChild<QPushButton*>(QStringLiteral("exportWrite"));
        choose(*page, "eformer");
        QVERIFY(write->isEnabled());
        choose(*page, "bnb");
        QVERIFY(!write->isEnabled());
        QVERIFY(textOf(*page, "exportTakes").contains(QStringLiteral("nf4:dialect=bnb")));
        session_->setSpec(*parseSpec("nf4:dialect=bnb"));
        QVERIFY(write->isEnabled());
        session_->setSpec(*parseSpec("nf4:block=64"));
    }

    void writesProvesAndShows() {
        QTemporaryDir folder;
        const auto page = make();
        choose(*page, "eformer");
        page->setOutputChooser([&](const QString&) { return folder.filePath(QStringLiteral("out")); });
        QSignalSpy exported(page.get(), &ExportPage::exported);
        QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("exportWrite")), Qt::LeftButton);
        QVERIFY(exported.wait(60'000));
        QVERIFY(page->certificate() && page->certificate()->proof.proved());
        QVERIFY(textOf(*page, "proofHeadline").contains(QStringLiteral("4.5")));
        auto* table = page->findChild<QTableView*>(QStringLiteral("proofTable"));
        QCOMPARE(table->model()->rowCount(), int(session_->model()->tensors.size()));
        QCOMPARE(page->findChild<QTableView*>(QStringLiteral("certifiedFiles"))->model()->rowCount(),
                 int(page->certificate()->files.size()));
        keepPicture(*page, QStringLiteral("export_page"));

        // The same certificate opened from its file, on a page that has written nothing.
        const auto later = make();
        QVERIFY(!later->certificate());
        later->setCertificateChooser(
            [&](const QString&) { return folder.filePath(QStringLiteral("out/certificate.json")); });
        QTest::mouseClick(later->findChild<QPushButton*>(QStringLiteral("openCertificate")), Qt::LeftButton);
        QVERIFY(later->certificate());
        QCOMPARE(certificateText(*later->certificate()), certificateText(*page->certificate()));
        auto* status = later->findChild<QLabel*>(QStringLiteral("exportStatus"));
        QTRY_VERIFY_WITH_TIMEOUT(status->text().contains(QStringLiteral("files are as certified")), 20'000);

        // The certificate is compared with the files beside it.
        QFile changed(folder.filePath(QStringLiteral("out/config.json")));
        QVERIFY(changed.open(QIODevice::Append) && changed.write(" ") == 1);
        changed.close();
        QSignalSpy failed(later.get(), &ExportPage::failed);
        QTest::mouseClick(later->findChild<QPushButton*>(QStringLiteral("openCertificate")), Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(failed.size(), 1, 20'000);
        QVERIFY(failed.last().first().toString().contains(QStringLiteral("does not speak of config.json")));
    }

    /// The open model and the files read beside it are never overwritten, under any name.
    void inputsAreNotWritten() {
        QTemporaryDir folder;
        const auto page = make();
        choose(*page, "eformer");
        QSignalSpy failed(page.get(), &ExportPage::failed);
        const QString link = folder.filePath(QStringLiteral("link.safetensors")),
                      beside = folder.filePath(QStringLiteral("beside.safetensors"));
        QVERIFY(QFile::link(QString::fromStdString(session_->model()->files.front().path), link));
        QVERIFY(QFile(beside).open(QIODevice::WriteOnly));
        readsBeside(*session_, beside, QStringLiteral("the earlier results"));
        int said = 0;
        for (const QString& path : {link, beside}) {
            page->setOutputChooser([&](const QString&) { return path; });
            QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("exportWrite")), Qt::LeftButton);
            ++said;
            QTRY_COMPARE_WITH_TIMEOUT(failed.size(), said, 20'000);
            QVERIFY2(failed.last().first().toString().contains(QStringLiteral("opened input")),
                     qPrintable(failed.last().first().toString()));
        }
    }

    /// A format that a worker process writes and reads: chosen by extension, written by a click, in both themes.
    void writesHdf5() {
        for (const auto mode : {Theme::Mode::Dark, Theme::Mode::Light}) {
            Theme::install(mode);
            QTemporaryDir folder;
            const auto page = make();
            auto* box = page->findChild<QComboBox*>(QStringLiteral("exportLayout"));
            box->setFocus();
            QTest::keyClicks(box, QStringLiteral("hdf"));
            QCOMPARE(box->currentText(), QStringLiteral("HDF5"));
            QString suggested;
            page->setOutputChooser([&](const QString& name) {
                suggested = name;
                return folder.filePath(QStringLiteral("model.h5"));
            });
            QSignalSpy exported(page.get(), &ExportPage::exported);
            QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("exportWrite")), Qt::LeftButton);
            QVERIFY(exported.wait(60'000));
            QVERIFY2(suggested.endsWith(QStringLiteral(".h5")), qPrintable(suggested));
            QVERIFY(page->certificate() && page->certificate()->proof.proved());
            QCOMPARE(page->certificate()->layout, std::string("hdf5"));
            QCOMPARE(page->certificate()->files.front().name, std::string("model.h5"));
            keepPicture(*page, mode == Theme::Mode::Dark ? QStringLiteral("export_page_hdf5_dark")
                                                         : QStringLiteral("export_page_hdf5_light"));
        }
        Theme::install(Theme::Mode::Dark);
    }

    /// A refusal has a button with a spec that fits. A click selects the spec, and the plan can be written.
    void aRefusalOffersWhatFits() {
        const auto page = make();
        choose(*page, "bnb");
        session_->setSpec(*parseSpec("nf4:block=64"));
        auto* write = page->findChild<QPushButton*>(QStringLiteral("exportWrite"));
        QPushButton* offer = nullptr;
        QTRY_VERIFY((offer = page->findChild<QPushButton*>(QStringLiteral("offer"))) && offer->isVisible());
        QVERIFY(!write->isEnabled());
        QVERIFY2(offer->text().contains(QStringLiteral("dialect=bnb")), qPrintable(offer->text()));
        keepPicture(*page, QStringLiteral("export_page_offer"));
        // Another layout takes the spec as it is.
        auto* other = page->findChild<QPushButton*>(QStringLiteral("offerLayout"));
        QVERIFY(other && other->text().contains(QStringLiteral("eformer")));
        QTest::mouseClick(other, Qt::LeftButton);
        QTRY_VERIFY(write->isEnabled());
        QCOMPARE(page->findChild<QComboBox*>(QStringLiteral("exportLayout"))->currentData().toString(),
                 QStringLiteral("eformer"));
        QCOMPARE(specText(session_->spec()), std::string("nf4:block=64"));
        choose(*page, "bnb");
        QTRY_VERIFY((offer = page->findChild<QPushButton*>(QStringLiteral("offer"))) && offer->isVisible());
        QTest::mouseClick(offer, Qt::LeftButton);
        QCOMPARE(session_->spec().dialect, std::optional<std::string>("bnb"));
        QTRY_VERIFY(write->isEnabled());
        QTRY_VERIFY(!page->findChild<QPushButton*>(QStringLiteral("offer")));
        // If a rule caused the refusal, the spec of that rule is replaced.
        session_->setRules(QStringLiteral("lm_head=keep\ndown_proj=nf4:block=64"), false);
        QTRY_VERIFY((offer = page->findChild<QPushButton*>(QStringLiteral("offer"))) && offer->isVisible());
        QVERIFY2(offer->text().startsWith(QStringLiteral("Use down_proj=nf4")), qPrintable(offer->text()));
        QTest::mouseClick(offer, Qt::LeftButton);
        QVERIFY2(session_->rules().startsWith(QStringLiteral("lm_head=keep\ndown_proj=nf4:block=64:dialect=bnb")),
                 qPrintable(session_->rules()));
        QTRY_VERIFY(write->isEnabled());
        session_->setRules(QString(), false);
        session_->setSpec(*parseSpec("nf4:block=64"));
    }

    /// A model that lacks a shard is not written until the button allows it. Then the certificate counts what is missing.
    void whatIsThereIsWrittenByAClick() {
        QTemporaryDir folder;
        const QString in = folder.filePath(QStringLiteral("in")), out = folder.filePath(QStringLiteral("out"));
        QVERIFY(QDir().mkpath(in) && !writeLayeredModel(in + QStringLiteral("/one.safetensors"), 1, 64).isEmpty());
        QFile index(in + QStringLiteral("/model.safetensors.index.json"));
        QVERIFY(index.open(QIODevice::WriteOnly));
        index.write(R"({"metadata":{},"weight_map":{"model.layers.0.mlp.up_proj.weight":"one.safetensors",)"
                    R"("model.norm.weight":"two.safetensors"}})");
        index.close();
        Session session;
        QVERIFY(openModel(session, in));
        session.setSpec(*parseSpec("int8"));
        ExportPage page(session);
        page.resize(1356, 802);
        page.show();
        choose(page, "plain");
        auto* write = page.findChild<QPushButton*>(QStringLiteral("exportWrite"));
        page.setOutputChooser([&](const QString&) { return out; });
        QPushButton* offer = nullptr;
        QTRY_VERIFY((offer = page.findChild<QPushButton*>(QStringLiteral("offer"))) && offer->isVisible());
        QCOMPARE(offer->text(), QStringLiteral("Write what is there"));
        QVERIFY(!write->isEnabled());
        QTest::mouseClick(write, Qt::LeftButton);
        QVERIFY(!QFile::exists(out));
        QTest::mouseClick(offer, Qt::LeftButton);
        QTRY_VERIFY(write->isEnabled());
        QSignalSpy exported(&page, &ExportPage::exported);
        QTest::mouseClick(write, Qt::LeftButton);
        QVERIFY(exported.wait(60'000));
        QVERIFY(page.certificate() && page.certificate()->proof.proved());
        QCOMPARE(page.certificate()->missingTensors, std::uint64_t(1));
        QVERIFY(page.certificate()->missing.find("two.safetensors") != std::string::npos);
        QVERIFY2(textOf(page, "exportStatus").contains(QStringLiteral("two.safetensors")),
                 qPrintable(textOf(page, "exportStatus")));
    }

    /// The column of specs is as wide as its longest text, so that names of tensors get the rest.
    void specsLeaveRoomForNames() {
        const auto page = make();
        auto* table = page->findChild<QTableView*>(QStringLiteral("planTable"));
        const auto longest = [&] {
            int pixels = 0;
            for (int row = 0; row < table->model()->rowCount(); ++row)
                pixels = std::max(
                    pixels, table->fontMetrics().horizontalAdvance(table->model()->index(row, 1).data().toString()));
            return pixels;
        };
        choose(*page, "bnb");
        QTRY_VERIFY(longest() > 330); // reasons of a refusal
        QCOMPARE(table->columnWidth(1), 330);
        choose(*page, "eformer");
        QTRY_VERIFY(longest() > 0 && longest() < 300);
        QVERIFY(table->columnWidth(1) >= longest() && table->columnWidth(1) < 330);
    }

    /// While a rule is wrong, the plan of the former rules is dimmed and the field has a frame.
    void aWrongRuleDimsThePlan() {
        const auto page = make();
        choose(*page, "eformer");
        auto* lines = page->findChild<QPlainTextEdit*>(QStringLiteral("exportRules"));
        auto* table = page->findChild<QTableView*>(QStringLiteral("planTable"));
        QTRY_VERIFY(table->model()->rowCount() > 0);
        lines->setFocus();
        QTest::keyClicks(lines, QStringLiteral("(=int8"));
        QTRY_VERIFY(!table->isEnabled());
        QVERIFY(lines->parentWidget()->property("invalid").toBool());
        QVERIFY(textOf(*page, "exportRulesSaid").contains(QStringLiteral("is not a regular expression")));
        keepPicture(*page, QStringLiteral("export_page_wrong_rule"));
        lines->selectAll();
        QTest::keyClick(lines, Qt::Key_Delete);
        QTRY_VERIFY(table->isEnabled());
    }

    /// The context menu of a row keeps the tensor, gives it a spec, locks and unlocks it.
    void aRowOfThePlanHasAMenu() {
        const auto page = make();
        choose(*page, "eformer");
        auto* table = page->findChild<QTableView*>(QStringLiteral("planTable"));
        QTRY_VERIFY(table->model()->rowCount() > 0);
        const auto press = [&](const char* id) {
            int row = 0;
            while (table->model()->index(row, 0).data().toString() != QStringLiteral("lm_head.weight")) ++row;
            table->scrollTo(table->model()->index(row, 0));
            Q_EMIT table->customContextMenuRequested(table->visualRect(table->model()->index(row, 0)).center());
            auto* menu = page->findChild<QMenu*>(QStringLiteral("tensorMenu"));
            auto* action = menu ? menu->findChild<QAction*>(QLatin1String(id)) : nullptr;
            if (!action)
                for (auto* one : menu ? menu->actions() : QList<QAction*>())
                    if (one->objectName() == QLatin1String(id)) action = one;
            const bool can = action && action->isEnabled();
            if (can) action->trigger();
            delete menu;
            return can;
        };
        QVERIFY(press("tensorKeep"));
        QCOMPARE(session_->rules(), QStringLiteral("^lm_head\\.weight$=keep\n"));
        QVERIFY(!press("tensorKeep")); // it is already kept
        QVERIFY(press("tensorThisSpec"));
        QCOMPARE(session_->rules(), QStringLiteral("^lm_head\\.weight$=nf4:block=64\n"));
        QVERIFY(press("tensorUnlock"));
        QCOMPARE(session_->rules(), QString());
        QVERIFY(press("tensorLock"));
        QCOMPARE(session_->rules(), QStringLiteral("^lm_head\\.weight$=nf4:block=64\n"));
        QVERIFY(press("tensorCodebook"));
        QCOMPARE(QString::fromStdString(session_->tensor()->name), QStringLiteral("lm_head.weight"));
        session_->setRules(QString(), false);
    }

    /// Rules typed into the field: the plan and the export follow them, and undo reverts them.
    void aRecipeIsPlannedWrittenAndUndone() {
        QTemporaryDir folder;
        SpecHistory history(*session_);
        const auto page = make();
        choose(*page, "eformer");
        auto* lines = page->findChild<QPlainTextEdit*>(QStringLiteral("exportRules"));
        auto* write = page->findChild<QPushButton*>(QStringLiteral("exportWrite"));
        const auto* table = page->findChild<QTableView*>(QStringLiteral("planTable"))->model();
        QTRY_COMPARE(table->rowCount(), int(session_->model()->tensors.size()));
        QVERIFY(write->isEnabled());
        lines->setFocus();
        QTest::keyClicks(lines, QStringLiteral("down_proj=int8"));
        QTest::keyClick(lines, Qt::Key_Return);
        QTest::keyClicks(lines, QStringLiteral("embed=ke"));
        QTRY_VERIFY(textOf(*page, "exportRulesSaid").startsWith(QStringLiteral("Line 2")));
        QVERIFY(!write->isEnabled());
        QTest::keyClicks(lines, QStringLiteral("ep"));
        QTRY_COMPARE(session_->rules(), QStringLiteral("down_proj=int8\nembed=keep"));
        QVERIFY(write->isEnabled() && textOf(*page, "exportRulesSaid").isEmpty());
        const auto specOf = [&](const char* name) {
            for (int i = 0; i < table->rowCount(); ++i)
                if (table->index(i, 0).data().toString() == QLatin1String(name))
                    return table->index(i, 1).data().toString();
            return QString();
        };
        QTRY_COMPARE(specOf("model.layers.0.mlp.down_proj.weight"), QStringLiteral("int8"));
        QCOMPARE(specOf("model.embed_tokens.weight"), QStringLiteral("copied"));
        QCOMPARE(specOf("model.layers.0.mlp.up_proj.weight"), QStringLiteral("nf4:block=64"));
        QVERIFY(textOf(*page, "planHeadline").contains(QStringLiteral("of 75 tensors quantized at")));
        keepPicture(*page, QStringLiteral("export_page_plan"));

        page->setOutputChooser([&](const QString&) { return folder.filePath(QStringLiteral("mixed")); });
        QSignalSpy exported(page.get(), &ExportPage::exported);
        QTest::mouseClick(write, Qt::LeftButton);
        QVERIFY(exported.wait(60'000));
        QVERIFY(page->certificate() && page->certificate()->proof.proved());
        auto proofs = *page->certificate()->proof.tensors.all();
        for (const auto& one : proofs)
            if (one.name == "model.layers.0.mlp.down_proj.weight") QCOMPARE(one.spec, std::string("int8"));

        // Rules typed just before the export, within the delay of the field, count too.
        QTest::keyClick(lines, Qt::Key_Return);
        QTest::keyClicks(lines, QStringLiteral("up_proj=int8"));
        QTest::mouseClick(write, Qt::LeftButton);
        QVERIFY(exported.wait(60'000));
        proofs = *page->certificate()->proof.tensors.all();
        for (const auto& one : proofs)
            if (one.name == "model.layers.0.mlp.up_proj.weight") QCOMPARE(one.spec, std::string("int8"));
        session_->setRules(QStringLiteral("down_proj=int8\nembed=keep"), false);

        const auto recipe = folder.filePath(QStringLiteral("recipe.json"));
        page->rules().setSaveChooser([&](const QString&) { return recipe; });
        QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("saveRecipe")), Qt::LeftButton);
        const auto saved = readRecipe(recipe.toStdString());
        QVERIFY(saved && saved->rules.size() == 2 && saved->rest);

        QVERIFY(history.canUndo());
        while (history.canUndo() && !session_->rules().isEmpty())
            history.undo(); // edits in quick succession are one
                            // undo step
        QCOMPARE(session_->rules(), QString());
        QCOMPARE(lines->toPlainText(), QString());
        page->rules().setOpenChooser([&](const QString&) { return recipe; });
        QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("openRecipe")), Qt::LeftButton);
        QCOMPARE(lines->toPlainText(), QStringLiteral("down_proj=int8\nembed=keep\n"));
        page->rules().setOpenChooser([](const QString&) { return samplePath() + QStringLiteral("/config.json"); });
        QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("openRecipe")), Qt::LeftButton);
        QVERIFY(textOf(*page, "exportRulesSaid").contains(QStringLiteral("is not a recipe")));
        QVERIFY(write->isEnabled()); // the former rules are still in force
        session_->setRules(QString(), false);
    }

    /// A recipe that the layout cannot store is refused before anything is written, with a message per row and one for
    /// all.
    void aRecipeThatTheLayoutCannotHoldIsRefused() {
        const auto page = make();
        choose(*page, "bnb");
        session_->setSpec(*parseSpec("nf4:dialect=bnb"));
        session_->setRules(QStringLiteral("up_proj=ternary"), false);
        auto* write = page->findChild<QPushButton*>(QStringLiteral("exportWrite"));
        QTRY_VERIFY(textOf(*page, "planHeadline").contains(QStringLiteral("cannot be written this way")));
        QVERIFY(!write->isEnabled());
        session_->setRules(QStringLiteral("up_proj=fp4:dialect=bnb"), false);
        QTRY_VERIFY(textOf(*page, "planHeadline").contains(QStringLiteral("bnb")) &&
                    !textOf(*page, "planHeadline").contains(QStringLiteral("cannot be written this way")));
        QVERIFY(!write->isEnabled());
        keepPicture(*page, QStringLiteral("export_page_refused"));
        auto* rest = page->findChild<QComboBox*>(QStringLiteral("exportRest"));
        rest->setCurrentIndex(1); // the others stay unquantized, so only one 4-bit format is left
        QTRY_VERIFY(write->isEnabled() && textOf(*page, "planHeadline").contains(QStringLiteral("quantized at")));
        session_->setRules(QString(), false);
        session_->setSpec(*parseSpec("nf4:block=64"));
    }

    /// One recipe has the same bits and bytes everywhere: on this page, in the rows and sums of the others, in a plan. They
    /// are those of one layout, which is named. Ternary differs most: 2 bits in eformer's files, 1.6 in native ones.
    void bytesAreThoseOfOneLayout() {
        session_->decision().setLayout({});
        session_->setRules(QStringLiteral("down_proj=ternary:scale=channel\nup_proj=int3\nlm_head=keep"), false);
        const auto page = make();
        auto* box = page->findChild<QComboBox*>(QStringLiteral("exportLayout"));
        QCOMPARE(box->currentData().toString(), QStringLiteral("native")); // the only one that takes all of them
        const auto measured = [&] { return session_->recipeRows().size() == qsizetype(session_->weights().size()); };
        QVERIFY(QTest::qWaitFor(measured, 60'000));
        for (const char* layout : {"native", "eformer", "native"}) {
            session_->decision().setLayout(QLatin1String(layout));
            QCOMPARE(box->currentData().toString(), QLatin1String(layout));
            QCOMPARE(QLatin1String(session_->countedLayout().id), QLatin1String(layout));
            QTRY_VERIFY(measured());
            QTest::qWait(300); // rows in the other layout
            const SessionRecipe& recipe = *session_->recipe();
            QuantizeRequest request;
            recipe.asRecipe().applyTo(request);
            request.layout = layout, request.skipRefused = true;
            const auto plan = planExport(*session_->model(), request);
            QVERIFY(plan);
            QCOMPARE(recipe.sizes.all, plan->bytes);
            const auto shares =
                byteShares(*session_->model(), session_->weights(), session_->recipeRows(), recipe.sizes);
            const bool takesAll = std::string_view(layout) == "native";
            if (takesAll) QCOMPARE(shares.after, plan->bytes);
            for (std::size_t i = 0; i < session_->weights().size(); ++i) {
                const TensorInfo& tensor = *session_->weights()[i];
                const auto& row = session_->recipeRows().at(i);
                const PlannedTensor& planned = plan->tensors[std::size_t(&tensor - session_->model()->tensors.data())];
                if (planned.becomes != Becomes::Quantized) continue;
                QCOMPARE(row->bytesAfter, planned.bytes);
                QCOMPARE(row->bpw, 8.0 * double(planned.bytes) / double(tensor.elements));
                QCOMPARE(tensorBytes(*session_->model(), tensor, *recipe.specOf(tensor), *findLayout(layout)),
                         std::optional(planned.bytes));
            }
            const ModelRows& rows = session_->recipeRows();
            if (takesAll)
                QCOMPARE(8 * rows.bytesAfter() / rows.elements(),
                         8 * double(plan->quantizedBytes) / double(plan->quantizedElements));
        }
        session_->setRules(QString(), false);
        session_->decision().setLayout({});
    }

    /// Layers that are quantized in the source and that no rule selects are written as decoded values. The page says so
    /// before.
    void decodedLayersAreSaid() {
        Session other;
        QVERIFY(openModel(other, QStringLiteral(QS_TEST_DATA "/conventions/bnb_4bit")));
        other.setRules(QString::fromStdString("^" + other.model()->tensors.front().name + "$=int8"), true);
        ExportPage page(other);
        page.resize(1356, 802);
        page.show();
        choose(page, "native");
        QTRY_VERIFY(textOf(page, "planHeadline").contains(QStringLiteral("written as the values")));
        QTemporaryDir folder;
        page.setOutputChooser([&](const QString&) { return folder.filePath(QStringLiteral("out.safetensors")); });
        QSignalSpy exported(&page, &ExportPage::exported);
        QTest::mouseClick(page.findChild<QPushButton*>(QStringLiteral("exportWrite")), Qt::LeftButton);
        QVERIFY(exported.wait(60'000));
        QVERIFY(textOf(page, "exportStatus").contains(QStringLiteral("were written as the values")));
        keepPicture(page, QStringLiteral("export_page_decoded"));
    }

    void whatCannotBeWrittenIsASentence() {
        const auto page = make();
        choose(*page, "eformer");
        QSignalSpy failed(page.get(), &ExportPage::failed);
        page->setOutputChooser([](const QString&) { return QStringLiteral("/nonexistent/folder/out"); });
        QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("exportWrite")), Qt::LeftButton);
        QVERIFY(failed.wait(20'000));
        QVERIFY(failed.last().first().toString().contains(QStringLiteral("/nonexistent/folder")));
        QVERIFY(!page->certificate());
        page->setCertificateChooser([](const QString&) { return samplePath() + QStringLiteral("/config.json"); });
        QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("openCertificate")), Qt::LeftButton);
        QCOMPARE(failed.size(), 2);
        QVERIFY(failed.last().first().toString().contains(QStringLiteral("not a certificate")));
    }
};

QS_TEST(TestExportPage)
#include "export_page_test.moc"
