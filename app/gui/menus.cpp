// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/menus.h"

#include "app/gui/clipboard.h"
#include "app/gui/main_window.h"
#include "app/gui/page.h"
#include "app/gui/session.h"
#include "app/gui/session_saver.h"
#include "app/gui/spec_edit.h"
#include "app/gui/spec_history.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/about_dialog.h"
#include "app/gui/widgets/guide_dialog.h"
#include "app/gui/widgets/open_dialogs.h"
#include "app/gui/widgets/recipe_dialog.h"
#include "app/gui/widgets/tensor_browser.h"
#include "app/gui/widgets/verify_dialog.h"

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QMenu>
#include <QSettings>
#include <QTreeView>

#include <functional>

namespace qs::gui {
namespace {

// Lives as long as the window, because the actions call its functions.
class Menus : public QObject {
public:
    explicit Menus(MainWindow& window)
        : QObject(&window), window_(window), session_(window.session()), root_(named(new QMenu(&window), "menu")) {}
    QMenu* build() {
        file();
        edit();
        tensor();
        spec();
        view();
        help();
        return root_;
    }

private:
    QMenu* menu(const char* title) { return root_->addMenu(QString::fromLatin1(title)); }

    QAction* add(QMenu* menu, const QString& text, const QKeySequence& key, std::function<void()> act) {
        auto* action = menu->addAction(text);
        action->setShortcut(key);
        QObject::connect(action, &QAction::triggered, &window_, std::move(act));
        window_.addAction(action);
        return action;
    }
    // Shows the key in the menu only. The key is handled where it is pressed, so that a focused control gets it first.
    QAction* addShown(QMenu* menu, const char* text, const char* key, std::function<void()> act) {
        return add(menu, QString::fromLatin1(text) + QLatin1Char('\t') + QString::fromLatin1(key), {}, std::move(act));
    }

    /// Disables the action while no model is open.
    QAction* ofModel(QAction* action) {
        const auto enable = [this, action] { action->setEnabled(bool(session_.model())); };
        enable();
        QObject::connect(&session_, &Session::modelChanged, action, enable);
        return action;
    }

    void file() {
        auto* m = menu("&File");
        add(m, QStringLiteral("&Open file…"), QKeySequence::Open, [this] { askForFile(session_, &window_); });
        add(m, QStringLiteral("Open &folder…"), Qt::CTRL | Qt::SHIFT | Qt::Key_O,
            [this] { askForFolder(session_, &window_); });
        auto* recent = m->addMenu(QStringLiteral("Open &recent"));
        QObject::connect(recent, &QMenu::aboutToShow, recent, [this, recent] {
            recent->clear();
            for (const auto& path : session_.recentFiles())
                recent->addAction(path, &window_, [this, path] { session_.open(path); });
            if (recent->isEmpty()) recent->addAction(QStringLiteral("Nothing opened yet"))->setEnabled(false);
        });
        add(m, QStringLiteral("Open the &sample"), {}, [this] {
            if (const auto sample = Session::samplePath(); !sample.isEmpty()) session_.open(sample);
        });
        auto* decode = add(m, QStringLiteral("&Decode stored tensors"), {}, [this] { session_.decodeStored(); });
        const auto enable = [this, decode] { decode->setEnabled(session_.hasStored()); };
        enable();
        QObject::connect(&session_, &Session::modelChanged, decode, enable);
        ofModel(add(m, QStringLiteral("&Close model"), Qt::CTRL | Qt::Key_W, [this] {
            session_.close();
            session_.showPage(kStartPage);
        }));
        m->addSeparator();
        const auto saveAs = [this] { askWhereToSave(session_, window_.saver(), &window_); };
        ofModel(add(m, QStringLiteral("Sa&ve session"), QKeySequence::Save, [this, saveAs] {
            if (window_.saver().path().isEmpty())
                saveAs();
            else
                window_.saver().save(window_.saver().path());
        }));
        ofModel(add(m, QStringLiteral("Save session &as…"), Qt::CTRL | Qt::SHIFT | Qt::Key_S, saveAs));
        m->addSeparator();
        ofModel(add(m, QStringLiteral("&Import figures of another program…"), {},
                    [this] { session_.output().askForImport(); }));
        m->addSeparator();
        ofModel(add(m, QStringLiteral("&Report"), Qt::CTRL | Qt::Key_R, [this] { page(kReportPage); }));
        ofModel(add(m, QStringLiteral("&Export"), Qt::CTRL | Qt::Key_E, [this] { page(kExportPage); }));
        ofModel(add(m, QStringLiteral("Recipes of other &programs…"), {}, [this] { showRecipes(session_, &window_); }));
        ofModel(add(m, QStringLiteral("Verify an export a&gainst this model…"), {},
                    [this] { showVerification(session_, &window_); }));
        m->addSeparator();
        add(m, QStringLiteral("&Quit"), Qt::CTRL | Qt::Key_Q, [this] { window_.close(); });
    }

    void edit() {
        auto* m = menu("&Edit");
        auto* undo = add(m, window_.history().undoText(), QKeySequence::Undo, [this] { window_.history().undo(); });
        auto* redo = add(m, window_.history().redoText(), Qt::CTRL | Qt::SHIFT | Qt::Key_Z,
                         [this] { window_.history().redo(); });
        const auto enable = [this, undo, redo] {
            const auto& history = window_.history();
            undo->setText(history.undoText());
            redo->setText(history.redoText());
            undo->setEnabled(session_.model() && history.canUndo());
            redo->setEnabled(session_.model() && history.canRedo());
        };
        enable();
        QObject::connect(&window_.history(), &SpecHistory::changed, undo, enable);
        QObject::connect(&session_, &Session::modelChanged, undo, enable);
        m->addSeparator();
        ofModel(
            add(m, QStringLiteral("&Copy table"), QKeySequence::Copy, [this] { copyTable(window_.browser().view()); }));
        add(m, QStringLiteral("Copy &picture"), Qt::CTRL | Qt::SHIFT | Qt::Key_C,
            [this] { copyPicture(window_.currentPage()); });
        m->addSeparator();
        add(m, QStringLiteral("C&ancel work"), Qt::Key_Escape, [this] { window_.cancel(); });
    }

    void tensor() {
        auto* m = menu("&Tensor");
        ofModel(add(m, QStringLiteral("&Filter"), QKeySequence::Find, [this] {
            window_.setBrowserWanted(true);
            if (!window_.browser().isVisible()) page(kTensorPage);
            window_.browser().focusFilter();
        }));
        ofModel(addShown(m, "&Previous", "Up", [this] { window_.step(-1); }));
        ofModel(addShown(m, "&Next", "Down", [this] { window_.step(1); }));
        ofModel(add(m, QStringLiteral("Same role, layer &before"), Qt::Key_BracketLeft,
                    [this] { session_.selectSameRole(-1); }));
        ofModel(add(m, QStringLiteral("Same role, layer &after"), Qt::Key_BracketRight,
                    [this] { session_.selectSameRole(1); }));
        m->addSeparator();
        ofModel(addShown(m, "Pee&k", "Space", [this] { window_.peek(); }));
    }

    void spec() {
        auto* m = menu("&Spec");
        const auto known = presets();
        for (std::size_t i = 0; i < known.size(); ++i) {
            const auto spec = known[i];
            ofModel(add(m, QString::fromStdString(specText(spec)), QKeySequence(int(Qt::Key_1) + int(i)),
                        [this, spec] { session_.setSpec(spec); }));
        }
        m->addSeparator();
        auto* baseline = ofModel(add(m, QStringLiteral("Second spec &B beside A"), Qt::Key_B,
                                     [this] { session_.setComparing(!session_.comparing()); }));
        baseline->setCheckable(true);
        const auto follow = [this, baseline] { baseline->setChecked(session_.comparing()); };
        QObject::connect(&session_, &Session::specChanged, baseline, follow);
        ofModel(add(m, QStringLiteral("S&wap A and B"), Qt::Key_X, [this] {
            const auto a = session_.spec();
            session_.setSpec(session_.specB());
            session_.setSpecB(a);
        }));
        auto* clear = add(m, QStringLiteral("Clear &recipe"), {}, [this] { session_.clearRecipe(); });
        clear->setObjectName(QStringLiteral("clearRecipe"));
        clear->setToolTip(QStringLiteral("Spec A for every tensor, in the place of the rules; Undo takes it back"));
        const auto allow = [this, clear] { clear->setEnabled(session_.model() && session_.hasRecipe()); };
        allow();
        for (auto signal : {&Session::modelChanged, &Session::rulesChanged})
            QObject::connect(&session_, signal, clear, allow);
        ofModel(add(m, QStringLiteral("&Analyse the model under A"), Qt::Key_F5,
                    [this] { session_.analyseModel(session_.spec()); }));
        auto* decoded = ofModel(add(m, QStringLiteral("&Errors as the source's type"), {}, [this] {
            session_.setDecodedAs(session_.decodedAs() == DecodedAs::F32 ? DecodedAs::Source : DecodedAs::F32);
        }));
        decoded->setObjectName(QStringLiteral("decodedAsSource"));
        decoded->setToolTip(
            QStringLiteral("Errors of F16 and BF16 tensors: of the f32 values that codes decode to, or, "
                           "when checked, of those values as a file of that type holds them"));
        decoded->setCheckable(true);
        QObject::connect(m, &QMenu::aboutToShow, decoded,
                         [this, decoded] { decoded->setChecked(session_.decodedAs() == DecodedAs::Source); });
    }

    void view() {
        auto* m = menu("&View");
        int number = 1;
        for (const auto& row : pages()) {
            // Ten digits are for pages; pages after the tenth have keys of their own.
            const auto digit = QKeySequence(Qt::ALT | Qt::Key(Qt::Key_0 + number % 10));
            auto* shown = add(m, QString::fromUtf8(row.title), number++ <= 10 ? digit : QKeySequence(),
                              [this, &row] { page(row); });
            if (row.usesSpecBar || row.usesBrowser) ofModel(shown);
        }
        ofModel(add(m, QStringLiteral("Compare page"), Qt::Key_C, [this] { page(kComparePage); }));
        m->addSeparator();
        auto* browser = ofModel(add(m, QStringLiteral("Tensor &browser"), Qt::Key_F9,
                                    [this] { window_.setBrowserWanted(!window_.browserWanted()); }));
        browser->setCheckable(true);
        browser->setChecked(true);
        QObject::connect(m, &QMenu::aboutToShow, browser,
                         [this, browser] { browser->setChecked(window_.browserWanted()); });
        m->addSeparator();
        auto* group = new QActionGroup(m);
        const std::pair<Theme::Mode, QString> modes[] = {{Theme::Mode::System, QStringLiteral("Theme of the &system")},
                                                         {Theme::Mode::Dark, QStringLiteral("&Dark theme")},
                                                         {Theme::Mode::Light, QStringLiteral("&Light theme")}};
        for (const auto& [mode, title] : modes) {
            auto* action = add(m, title, {}, [mode = mode] {
                Theme::instance().setMode(mode);
                QSettings().setValue(QStringLiteral("theme"), int(mode));
            });
            action->setCheckable(true);
            action->setChecked(Theme::instance().mode() == mode);
            group->addAction(action);
        }
        add(m, QStringLiteral("Switch dark and light"), Qt::CTRL | Qt::Key_T, [] {
            const auto mode = Theme::instance().isDark() ? Theme::Mode::Light : Theme::Mode::Dark;
            Theme::instance().setMode(mode);
            QSettings().setValue(QStringLiteral("theme"), int(mode));
        });
        add(m, QStringLiteral("&Full screen"), Qt::Key_F11,
            [this] { window_.setWindowState(window_.windowState() ^ Qt::WindowFullScreen); });
        m->addSeparator();
        add(m, QStringLiteral("&Menu"), Qt::Key_F10, [this] { window_.openMenu(); });
    }

    void help() {
        auto* m = menu("&Help");
        add(m, QStringLiteral("&Keys"), Qt::Key_F1, [this] { window_.showKeys(); });
        add(m, QStringLiteral("&Guide to this page"), Qt::SHIFT | Qt::Key_F1, [this] { showGuide(); });
        add(m, QStringLiteral("&About QuantScope"), {}, [this] { showAboutDialog(window_); });
    }

    void showGuide() {
        if (!guide_) guide_ = new GuideDialog(&window_);
        for (const PageTraits& page : pages())
            if (session_.isOn(page)) guide_->showPlace(QLatin1String(page.guide));
    }

    void page(const PageTraits& page) {
        if (session_.model() || !(page.usesSpecBar || page.usesBrowser)) session_.showPage(page);
    }

    MainWindow& window_;
    Session& session_;
    QMenu* root_;
    GuideDialog* guide_ = nullptr;
};

} // namespace

QMenu* buildMenus(MainWindow& window) { return (new Menus(window))->build(); }

QList<KeyLine> keyLines(const MainWindow& window) {
    QList<KeyLine> out;
    const auto* root = window.findChild<QMenu*>(QStringLiteral("menu"));
    for (const auto* top : root->actions()) {
        if (!top->menu()) continue;
        for (const auto* action : top->menu()->actions()) {
            const auto parts = action->text().remove(QLatin1Char('&')).split(QLatin1Char('\t'));
            const auto keys = parts.size() > 1 ? parts.back() : action->shortcut().toString(QKeySequence::NativeText);
            if (!keys.isEmpty()) out.push_back({top->text().remove(QLatin1Char('&')), keys, parts.front()});
        }
    }
    const std::pair<const char*, const char*> charts[] = {{"Wheel", "Zoom"},
                                                          {"Drag", "Pan"},
                                                          {"Double-click", "Show everything again"},
                                                          {"Right-click", "Copy PNG, SVG or data"}};
    for (const auto& [keys, what] : charts)
        out.push_back({QStringLiteral("Charts"), QString::fromLatin1(keys), QString::fromLatin1(what)});
    return out;
}

} // namespace qs::gui
