// SPDX-License-Identifier: GPL-3.0-or-later
// The dialogs for recipes of other programs and for exports against the model.
#include "app/gui/widgets/recipe_dialog.h"
#include "app/gui/widgets/verify_dialog.h"
#include "core/export/export_model.h"
#include "opened_session.h"
#include "tests/support/files.h"
#include "tests/support/test_program.h"

#include <QAbstractButton>
#include <QAbstractItemModelTester>
#include <QLabel>
#include <QTableView>
#include <QTemporaryDir>

using namespace qs;
using namespace qs::gui;
using namespace qs::test;

class TestRecipeDialogs : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    QString path(const char* name) { return folder_.filePath(QLatin1String(name)); }

private Q_SLOTS:
    void aRecipeComesInAndGoesOut();
    void whatCannotBeSaidIsShown();
    void anExportAgainstTheModel();
    void everyControlHasAName();
};

void TestRecipeDialogs::aRecipeComesInAndGoesOut() {
    Session session;
    QVERIFY(openModel(session, writeLayeredModel(path("m.safetensors"), 2, 32)));
    const QString file = put(path("r.json"), "{\"__default__\":{\"w_bits\":null},\".*/(query|key)\":{\"w_bits\":8},"
                                             "\".*/nobody\":{\"w_bits\":4}}");
    RecipeDialog dialog(session);
    QSignalSpy settled(&dialog, &RecipeDialog::settled);
    dialog.showSession();
    QVERIFY(settled.wait(10'000));
    dialog.setOpenChooser([&](const QString&) { return file; });
    dialog.findChild<QAbstractButton*>(QStringLiteral("openForeignRecipe"))->click();
    QVERIFY(settled.wait(10'000));
    QVERIFY(dialog.shown());
    const auto* view = dialog.findChild<QTableView*>(QStringLiteral("recipeRows"));
    QAbstractItemModelTester tester(view->model());
    QCOMPARE(view->model()->rowCount(), 14);
    QVERIFY(dialog.findChild<QLabel*>(QStringLiteral("recipeRemarks"))->text().contains(QStringLiteral("nobody")));
    dialog.use();
    QVERIFY(settled.wait(10'000));
    QVERIFY2(session.rules().contains(QStringLiteral("q_proj")) && session.rules().contains(QStringLiteral("=int8")),
             qPrintable(session.rules()));
    QVERIFY(session.keepsRest());
    // It starts a plan without locking anything.
    session.setRules(QString(), false);
    dialog.findChild<QAbstractButton*>(QStringLiteral("startPlan"))->click();
    QVERIFY(settled.wait(10'000));
    QVERIFY(session.rules().isEmpty());
    QCOMPARE(session.page(), QStringLiteral("plan"));
    QCOMPARE(session.decision().start().name, QStringLiteral("r.json"));
    QCOMPARE(session.decision().start().recipe->specs.size(), std::size_t(1));
    QCOMPARE(session.decision().start().recipe->specs.front().format, std::string("int8"));
    session.setRules(session.decision().start().rules, true);
    dialog.choose(QStringLiteral("qwix"));
    dialog.setSaveChooser([&](const QString&) { return path("out.yaml"); });
    dialog.findChild<QAbstractButton*>(QStringLiteral("saveForeignRecipe"))->click();
    QVERIFY(settled.wait(10'000));
    QVERIFY2(bytesOf(path("out.yaml")).startsWith("qwix:"), bytesOf(path("out.yaml")).constData());
    // The session's recipe says the same now.
    dialog.showSession();
    QVERIFY(settled.wait(10'000));
    std::size_t quantized = 0;
    for (const auto& row : dialog.shown()->tensors) quantized += row.spec.has_value();
    QCOMPARE(quantized, std::size_t(4));
}

void TestRecipeDialogs::whatCannotBeSaidIsShown() {
    Session session;
    QVERIFY(openModel(session, writeLayeredModel(path("n.safetensors"), 1, 32)));
    RecipeDialog dialog(session);
    QSignalSpy settled(&dialog, &RecipeDialog::settled);
    dialog.openFile(put(path("bad.json"), "no recipe"));
    QVERIFY(settled.wait(10'000));
    const auto* status = dialog.findChild<QLabel*>(QStringLiteral("recipeStatus"));
    QVERIFY2(status->text().contains(QStringLiteral("is not a recipe")), qPrintable(status->text()));
    dialog.openFile(put(path("two.json"), R"({"__default__":{"w_bits":4},".*/wo":{"w_bits":8}})"));
    QVERIFY(settled.wait(10'000));
    dialog.choose(QStringLiteral("bnb"));
    dialog.saveFile(path("never.json"));
    QVERIFY(settled.wait(10'000));
    QVERIFY2(status->text().contains(QStringLiteral("one spec for a model")), qPrintable(status->text()));
    QVERIFY(!QFile::exists(path("never.json")));
    dialog.choose(QStringLiteral("maxtext"));
    dialog.saveFile(path("n.safetensors")); // a file that is open
    QVERIFY(settled.wait(10'000));
    QVERIFY2(status->text().contains(QStringLiteral("opened input")), qPrintable(status->text()));
}

void TestRecipeDialogs::anExportAgainstTheModel() {
    Session session;
    QVERIFY(openModel(session, writeLayeredModel(path("v.safetensors"), 1, 64)));
    QuantizeRequest request{
        *parseSpec("int4:dialect=ct:block=32"), {}, "compressed-tensors", path("out").toStdString()};
    const auto exported = exportModel(*session.model(), request, Job{});
    QVERIFY2(exported, exported ? "" : exported.error().sentence().c_str());
    VerifyDialog dialog(session);
    QSignalSpy settled(&dialog, &VerifyDialog::settled);
    dialog.setFolderChooser([&] { return path("out"); });
    dialog.findChild<QAbstractButton*>(QStringLiteral("verifyFolder"))->click();
    QVERIFY(settled.wait(60'000));
    QVERIFY(dialog.found());
    QCOMPARE(dialog.found()->count(Derives::Exact), std::size_t(7));
    QVERIFY(dialog.findChild<QLabel*>(QStringLiteral("verifyHeadline"))
                ->text()
                .contains(QStringLiteral("7 derive exactly")));
    QAbstractItemModelTester tester(dialog.findChild<QTableView*>(QStringLiteral("verifyRows"))->model());
    QAbstractItemModelTester claims(dialog.findChild<QTableView*>(QStringLiteral("verifyClaims"))->model());
    dialog.save(path("report.html"));
    QVERIFY(settled.wait(60'000));
    QVERIFY(bytesOf(path("report.html")).contains("7 derive exactly"));
    dialog.verify(path("none"));
    QVERIFY(settled.wait(60'000));
    QVERIFY(!dialog.findChild<QLabel*>(QStringLiteral("verifyStatus"))->text().isEmpty());
}

void TestRecipeDialogs::everyControlHasAName() {
    Session session;
    RecipeDialog recipes(session);
    VerifyDialog verify(session);
    for (QDialog* dialog : {static_cast<QDialog*>(&recipes), static_cast<QDialog*>(&verify)}) {
        for (const auto* button : dialog->findChildren<QAbstractButton*>())
            if (!button->objectName().isEmpty() && !button->objectName().startsWith(QStringLiteral("qt_")))
                QVERIFY2(!button->text().isEmpty() || !button->accessibleName().isEmpty(),
                         qPrintable(button->objectName()));
        for (const auto* view : dialog->findChildren<QTableView*>()) QVERIFY(!view->accessibleName().isEmpty());
    }
    QVERIFY(!recipes.findChild<QWidget*>(QStringLiteral("recipeFormat"))->accessibleName().isEmpty());
}

QS_TEST(TestRecipeDialogs)
#include "recipe_dialogs_test.moc"
