// SPDX-License-Identifier: GPL-3.0-or-later
// Another model begins anew: nothing that was decided or measured for the first one is left.
#include "app/gui/main_window.h"
#include "app/gui/page.h"
#include "app/gui/pages/backends/backends_page.h"
#include "app/gui/session_saver.h"
#include "app/gui/spec_edit.h"
#include "app/gui/spec_history.h"
#include "app/gui/theme.h"
#include "tests/app/gui/artefacts.h"
#include "tests/app/gui/opened_session.h"
#include "tests/app/gui/settled_window.h"
#include "tests/core/model/without_proof.h"
#include "tests/support/test_program.h"

#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QToolButton>
#include <set>

using namespace qs;
using namespace qs::gui;
using namespace qs::test;

class TestAnotherModel : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    /// Rules as a plan leaves them: of single tensors, and everything else stays as it is.
    static void decide(Session& session) {
        session.setRules(QStringLiteral("^model\\.embed_tokens\\.weight$=int8\n"
                                        "^model\\.layers\\.0\\.mlp\\.up_proj\\.weight$=ternary"),
                         true);
        session.setMovedLevels({"nf4", {-1, 0, 1}, QStringLiteral("moved")});
        session.decision().setBudget(4.5);
        session.decision().setLayout(QStringLiteral("native"));
    }
    static bool isPlain(const Session& session) {
        return session.rules().isEmpty() && !session.keepsRest() && !session.recipe()->isMixed() &&
               session.movedLevels() == MovedLevels() && !session.decision().budget() &&
               session.decision().layout().isEmpty() && !session.decision().benchRows();
    }
    static QPushButton* shownButton(const MainWindow& window, const QString& text) {
        for (auto* button : window.findChildren<QPushButton*>(QStringLiteral("bannerAction")))
            if (button->isVisible() && button->text() == text) return button;
        return nullptr;
    }
    static bool allMeasured(Session& session) {
        if (!everythingMeasured(session, session.spec())) return false;
        for (std::size_t i = 0; i < session.weights().size(); ++i)
            if (session.recipeRows().at(i)->status != Status::Ok) return false;
        return true;
    }

private Q_SLOTS:
    void initTestCase() {
        QCoreApplication::setOrganizationName(QStringLiteral("QuantScope"));
        QCoreApplication::setApplicationName(QStringLiteral("QuantScopeTest"));
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder_.path());
        Theme::install(Theme::Mode::Dark);
    }

    void theRecipeOfTheFirstIsGone() {
        const QString other = writeLayeredModel(folder_.filePath(QStringLiteral("other.safetensors")), 3, 64);
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        QVERIFY(openModel(session, samplePath()));
        decide(session);
        QVERIFY(session.recipe()->isMixed());
        auto* shown = window.findChild<QLabel*>(QStringLiteral("recipeInForce"));
        QVERIFY(shown && shown->isVisible());
        QVERIFY2(shown->text().startsWith(u"recipe: 2 specs"), qPrintable(shown->text()));
        keepPicture(window, QStringLiteral("recipe-in-force"));

        QVERIFY(openModel(session, other));
        QVERIFY(isPlain(session));
        QVERIFY(!shown->isVisible() && !window.history().canUndo());
        QVERIFY(allMeasured(session));
        QTest::keyClick(&window, Qt::Key_5); // keys change what is measured again
        QCOMPARE(session.spec(), presets()[4]);
        QVERIFY(allMeasured(session));
        QTest::keyClick(&window, Qt::Key_Z, Qt::ControlModifier); // and undo does not bring the rules back
        QVERIFY(isPlain(session));

        // The same where the model is closed with Ctrl+W and opened again.
        decide(session);
        QTest::keyClick(&window, Qt::Key_W, Qt::ControlModifier);
        QVERIFY(!session.model() && isPlain(session));
        QVERIFY(openModel(session, other));
        QVERIFY(isPlain(session) && allMeasured(session));
        QVERIFY(settles(session, window));
    }

    void aRecipeCanBeCleared() {
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        QVERIFY(openModel(session, samplePath()));
        auto* clear = window.findChild<QToolButton*>(QStringLiteral("recipeClear"));
        auto* action = window.findChild<QAction*>(QStringLiteral("clearRecipe"));
        QVERIFY(clear && action && !clear->isVisible() && !action->isEnabled());
        decide(session);
        QVERIFY(clear->isVisible() && action->isEnabled());
        QTest::mouseClick(clear, Qt::LeftButton);
        QVERIFY(session.rules().isEmpty() && !session.keepsRest() && !session.recipe()->isMixed());
        QVERIFY(!clear->isVisible() && !action->isEnabled());
        QTest::keyClick(&window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(session.keepsRest() && session.recipe()->isMixed() && clear->isVisible());
    }

    /// A file of another program whose matrices are quantized: every page about the weights says so, until it is closed.
    void aQuantizedSourceIsSaid() {
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        QVERIFY(openModel(session, samplePath()));
        auto* banner = window.findChild<QWidget*>(QStringLiteral("sourceQuantized"));
        QVERIFY(banner && !banner->isVisible());
        QVERIFY(openModel(session, QStringLiteral(QS_TEST_DATA "/conventions/bnb_4bit")));
        QTRY_VERIFY(banner->isVisible()); // the page comes in a later turn
        QVERIFY2(banner->accessibleName().contains(u"are stored quantized already (bnb-nf4"),
                 qPrintable(banner->accessibleName()));
        keepPicture(window, QStringLiteral("source-quantized"));
        for (const Qt::Key page : {Qt::Key_1, Qt::Key_2, Qt::Key_3}) {
            QTest::keyClick(&window, page, Qt::AltModifier);
            const PageTraits* shown = nullptr;
            for (const PageTraits& one : pages())
                if (session.isOn(one)) shown = &one;
            QTRY_COMPARE(banner->isVisible(), shown->usesSpecBar || shown->usesBrowser);
        }
        session.showPage(kOverviewPage);
        QTRY_VERIFY(banner->isVisible());
        for (auto* button : banner->findChildren<QToolButton*>()) QTest::mouseClick(button, Qt::LeftButton);
        QVERIFY(!banner->isVisible());
        session.showPage(kPlanPage);
        QTRY_VERIFY(session.isOn(kPlanPage));
        QVERIFY(!banner->isVisible());
    }

    /// Whatever the window offers, a press of it opens the file by that convention.
    void everyConventionOpensAtAPress() {
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        std::set<std::string> pressed;
        for (const WithoutProof& given : kWithoutProof) {
            QTemporaryDir at;
            const QString path = write(at.path(), given.made());
            std::set<std::string> ids = {given.itself};
            if (*given.another) ids.insert(given.another);
            for (const std::string& id : ids) {
                QVERIFY(openModel(session, path));
                QCOMPARE(session.model()->undecoded.size(), std::size_t(1));
                const QString text = QStringLiteral("Open as ") + QString::fromStdString(id);
                QPushButton* way = nullptr;
                QTRY_VERIFY2((way = shownButton(window, text)), given.title);
                QSignalSpy changed(&session, &Session::modelChanged);
                QTest::mouseClick(way, Qt::LeftButton);
                QVERIFY(changed.wait(60'000));
                QVERIFY2(session.model()->undecoded.empty(), (given.title + (" " + id)).c_str());
                const auto* layer = session.model()->find(given.layer);
                QVERIFY2(layer && layer->derived && layer->isWeight(), given.title);
                QTRY_VERIFY2(!shownButton(window, text), given.title);
                pressed.insert(id);
            }
        }
        QVERIFY(pressed.size() >= std::size(kWithoutProof));
    }

    /// Layers that nothing says the convention of: the window offers those that fit, and opens the file by the chosen one.
    void layersWithoutProofAreOffered() {
        const QString bare = folder_.filePath(QStringLiteral("bare.safetensors"));
        QVERIFY(QFile::copy(QStringLiteral(QS_TEST_DATA "/conventions/gptq_v1/model.safetensors"), bare));
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        QVERIFY(openModel(session, bare));
        QVERIFY(!session.model()->undecoded.empty());
        QPushButton* way = nullptr;
        QTRY_VERIFY((way = shownButton(window, QStringLiteral("Open as gptq"))));
        QVERIFY2(way->toolTip().contains(u"plausibility"), qPrintable(way->toolTip()));
        keepPicture(window, QStringLiteral("layers-without-proof"));
        QSignalSpy changed(&session, &Session::modelChanged);
        QTest::mouseClick(way, Qt::LeftButton);
        QVERIFY(changed.wait(60'000));
        QVERIFY(session.model()->undecoded.empty());
        const auto* layer = session.model()->find("model.layers.2.self_attn.q_proj.weight");
        QVERIFY(layer && layer->derived && layer->isWeight());

        const QString saved = folder_.filePath(QStringLiteral("bare.qscope")); // the choice is part of the session
        QSignalSpy written(&window.saver(), &SessionSaver::saved);
        window.saver().save(saved);
        QVERIFY(written.wait(60'000));
        Session again;
        MainWindow other(again);
        QSignalSpy reopened(&again, &Session::modelChanged);
        again.open(saved);
        QVERIFY(reopened.wait(60'000));
        QCOMPARE(again.state().as, QStringLiteral("gptq"));
        QVERIFY(again.model()->undecoded.empty());
    }

    /// Compare needs B; the other pages have it only where the user wants it.
    void compareLeavesTheToggleAsItWas() {
        Session session;
        MainWindow window(session);
        QVERIFY(inFront(window));
        QVERIFY(openModel(session, samplePath()));
        QTest::keyClick(&window, Qt::Key_C);
        QTRY_VERIFY(session.comparing());
        QTest::keyClick(&window, Qt::Key_1, Qt::AltModifier);
        QTRY_VERIFY(!session.isOn(kComparePage));
        QVERIFY(!session.comparing());
        QTest::keyClick(&window, Qt::Key_B);
        QTest::keyClick(&window, Qt::Key_C);
        QTRY_VERIFY(session.isOn(kComparePage));
        QTest::keyClick(&window, Qt::Key_1, Qt::AltModifier);
        QTRY_VERIFY(!session.isOn(kComparePage));
        QVERIFY(session.comparing());
    }
};

QS_TEST(TestAnotherModel)
#include "another_model_test.moc"
