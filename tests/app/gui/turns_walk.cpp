// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/app/gui/turns_walk.h"

#include "app/gui/main_window.h"
#include "app/gui/page.h"
#include "app/gui/pages/codebook/codebook_page_cards.h"
#include "app/gui/pages/report/report_page.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/tensor_browser.h"
#include "app/gui/widgets/tensor_tree.h"
#include "tests/app/gui/opened_session.h"
#include "tests/support/thinned.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QLineEdit>
#include <QRegularExpression>
#include <QSlider>
#include <QTemporaryDir>
#include <QToolButton>
#include <QTreeView>

#include <functional>

using namespace qs;
using namespace qs::gui;

namespace {

/// If times are not judged, just enough layers for every step.
constexpr int kLayers = qs::test::kThinning > 1 ? 150 : 1500, kFewLayers = qs::test::kThinning > 1 ? 20 : 150;

class Walk {
public:
    explicit Walk(TimedApplication& application) : application_(application), window_(session_) {
        window_.show();
        view_ = window_.browser().view();
        tree_ = qobject_cast<TensorTree*>(view_->model());
        QTest::qWait(250); // until the first paint and the work after it
    }

    int run() {
        open(QStringLiteral("open %1 tensors").arg(7 * kLayers), kLayers);
        step(
            QStringLiteral("sweep"), [] {}, [this] { return measured(); });
        arrange();
        selectMany();
        step(
            QStringLiteral("close"), [this] { session_.close(); }, [this] { return tree_->rowCount() == 0; });
        session_.showPage(QStringLiteral("start"));
        open(QStringLiteral("open %1 tensors").arg(7 * kFewLayers), kFewLayers);
        for (const auto& page : pages())
            step(
                onPage("show", page), [&] { show(page); }, [&] { return shown(page); });
        for (const auto& page : pages()) usePage(page);
        useParts();
        useSpec();
        useWindow();
        open(QStringLiteral("open another model"), kFewLayers - 7);
        changeTheme();
        return failed_;
    }

private:
    using Act = std::function<void()>;
    using Done = std::function<bool()>;

    /// Runs `act` as a separate event, waits until `done` and until it is painted, and prints the times.
    void step(const QString& name, const Act& act, const Done& done, int after = 50) {
        if (failed_) return;
        application_.forget();
        bool begun = false;
        QTimer::singleShot(0, &window_, [&] {
            begun = true;
            act();
        });
        settle(name, [&] { return begun && done(); });
        QTest::qWait(after);
        TimedApplication::Turn longest{0, 0, "every turn under 4 ms"};
        for (const auto& turn : application_.longest)
            if (turn.heldMs > longest.heldMs) longest = turn;
        std::printf("%s\t%s\t%.3f\t%.3f\t%s\n", kStep, qPrintable(name), longest.heldMs, longest.cpuMs,
                    longest.receiver.constData());
        std::fflush(stdout);
    }

    void settle(const QString& name, const Done& done) {
        if (failed_ || QTest::qWaitFor(done, 120'000)) return;
        std::fprintf(stderr, "\"%s\" did not end\n", qPrintable(name));
        failed_ = 1;
    }

    static QString onPage(const char* what, const PageTraits& page) {
        return QStringLiteral("%1: %2").arg(QLatin1String(page.id), QLatin1String(what));
    }
    bool measured() const { return session_.modelRows(session_.spec()).size() == qsizetype(session_.weights().size()); }
    bool quiet() const { return !session_.busy() && !tree_->arranging(); }
    void show(const PageTraits& page) { session_.showPage(QString::fromLatin1(page.id)); }
    bool shown(const PageTraits& page) const {
        const auto* report = window_.findChild<ReportPage*>();
        return window_.currentPage()->objectName() == QStringLiteral("page-") + QLatin1String(page.id) && quiet() &&
               (session_.page() != QLatin1String("report") || (report && report->report()));
    }

    void open(const QString& name, int layers) {
        const auto path = writeLayeredModel(folder_.filePath(QStringLiteral("%1.safetensors").arg(layers)), layers, 2);
        step(
            name, [&] { session_.open(path); },
            [&] {
                return tree_->shown() == 7 * layers && session_.page() != QLatin1String("start") && quiet() &&
                       session_.weights().size() == std::size_t(7 * layers);
            });
    }

    void arrange() {
        auto* filter = window_.findChild<QLineEdit*>(QStringLiteral("filter"));
        auto* flat = window_.findChild<QToolButton*>(QStringLiteral("asTable"));
        for (const auto& text : {QStringLiteral("layers\\.\\d*[05]\\.mlp|q_proj$"), QStringLiteral("mlp"), QString()})
            step(
                QStringLiteral("filter /%1/").arg(text), [&] { filter->setText(text); },
                [&] { return !tree_->arranging() && tree_->filter() == text; });
        step(
            QStringLiteral("as a table"), [&] { flat->click(); },
            [&] { return !tree_->arranging() && tree_->isFlat(); });
        const std::pair<int, Qt::SortOrder> orders[] = {{TensorTree::MetricValue, Qt::DescendingOrder},
                                                        {TensorTree::Bytes, Qt::DescendingOrder},
                                                        {TensorTree::Name, Qt::AscendingOrder}};
        for (const auto& [column, order] : orders)
            step(
                QStringLiteral("sort by column %1").arg(column),
                [&, column = column, order = order] { view_->sortByColumn(column, order); },
                [&] { return !tree_->arranging(); });
        step(
            QStringLiteral("another metric"), [&] { session_.setMetric(QStringLiteral("sqnr_db")); },
            [&] { return !tree_->arranging(); });
    }

    void selectMany() {
        auto* asTree = window_.findChild<QToolButton*>(QStringLiteral("asTree"));
        step(
            QStringLiteral("select all tensors"), [&] { QTest::keyClick(view_, Qt::Key_A, Qt::ControlModifier); },
            [&] { return session_.selection().size() == session_.weights().size() && quiet(); });
        step(
            QStringLiteral("select one of them"), [&] { QTest::keyClick(view_, Qt::Key_End); },
            [&] { return session_.selection().size() == 1 && quiet(); });
        step(
            QStringLiteral("as a tree"), [&] { asTree->click(); },
            [&] { return !tree_->arranging() && !tree_->isFlat(); });
    }

    void usePage(const PageTraits& page) {
        show(page);
        settle(QString::fromLatin1(page.id), [&] { return shown(page); });
        const bool uses = page.usesSpecBar || page.usesBrowser;
        const auto* before = session_.tensor();
        if (uses)
            step(
                onPage("next tensor", page), [&] { window_.step(1); },
                [&] { return session_.tensor() != before && quiet(); });
        if (auto* slider = window_.findChild<QSlider*>(QStringLiteral("block")); page.usesSpecBar)
            for (const auto key : {Qt::Key_Right, Qt::Key_Left}) {
                const auto spec = session_.spec();
                step(
                    onPage(key == Qt::Key_Right ? "slider up" : "slider down", page),
                    [&] { QTest::keyClick(slider, key); },
                    [&] { return !(session_.spec() == spec) && measured() && quiet(); });
            }
    }

    /// Changes the theme on each page. Then shows the pages that were hidden meanwhile.
    void changeTheme() {
        for (const auto& page : pages()) {
            show(page);
            settle(QString::fromLatin1(page.id), [&] { return shown(page); });
            QTest::qWait(50); // until it is painted; a user does not change the theme in the same turn
            for (const auto mode : {Theme::Mode::Light, Theme::Mode::Dark})
                step(
                    onPage(mode == Theme::Mode::Light ? "light theme" : "dark theme", page),
                    [&] { Theme::instance().setMode(mode); }, [&] { return shown(page); });
        }
        Theme::instance().setMode(Theme::Mode::Light);
        for (const auto& page : pages())
            step(
                onPage("show in the light theme", page), [&] { show(page); }, [&] { return shown(page); });
    }

    /// Parts of pages that are made on demand: the labs behind the tabs, and the fit after a level was moved.
    void useParts() {
        inFront("labs");
        const auto tabs = window_.currentPage()->findChildren<QToolButton*>(
            QRegularExpression(QStringLiteral("^lab-"))); // waits until results are shown
        for (auto* tab : tabs)
            step(
                tab->objectName(), [&] { tab->click(); }, [&] { return tab->isChecked() && quiet(); }, 400);
        inFront("codebook");
        auto* levels = window_.currentPage()->findChild<LevelsCard*>();
        step(
            QStringLiteral("a level is moved"), [&] { Q_EMIT levels->levelMoved(3, -0.41); },
            [this] { return quiet(); });
    }

    void inFront(const char* id) {
        session_.showPage(QString::fromLatin1(id));
        settle(QString::fromLatin1(id), [this, id] {
            return window_.currentPage()->objectName() == QStringLiteral("page-") + QLatin1String(id) && quiet();
        });
    }

    /// The rest of the spec bar, on the page with the most charts.
    void useSpec() {
        inFront("tensor");
        auto* format = window_.findChild<QComboBox*>(QStringLiteral("format"));
        for (const char* id : {"int8", "q4_k", "mxfp4", "nf4"})
            step(
                QStringLiteral("format %1").arg(QLatin1String(id)), [&] { format->setCurrentText(QLatin1String(id)); },
                [&] { return session_.spec().format == id && measured() && quiet(); });
        auto* compare = window_.findChild<QToolButton*>(QStringLiteral("comparing"));
        for (int twice = 0; twice < 2; ++twice) { // the compare page has switched it on
            const bool on = !session_.comparing();
            step(
                on ? QStringLiteral("compare with B") : QStringLiteral("A alone"), [&] { compare->click(); },
                [&] { return session_.comparing() == on && quiet(); });
        }
        const auto popUp = [this](const char* name, const Act& act) {
            step(QLatin1String(name), act, [] { return QApplication::activePopupWidget() != nullptr; });
            if (auto* popup = QApplication::activePopupWidget()) popup->close();
        };
        popUp("list of formats", [&] { format->showPopup(); });
        popUp("rest of the spec", [&] { window_.findChild<QToolButton*>(QStringLiteral("more"))->click(); });
        popUp("peek", [&] { window_.peek(); });
    }

    void useWindow() {
        const QSize sizes[] = {{1680, 1050}, {1440, 900}, {2560, 1440}};
        for (const auto& page : pages()) {
            show(page); // from the second page on in the largest size
            settle(QString::fromLatin1(page.id), [&] { return shown(page); });
            for (const auto& size : sizes)
                step(
                    QStringLiteral("%1: %2 px wide").arg(QLatin1String(page.id)).arg(size.width()),
                    [&] { window_.resize(size); }, [&] { return window_.size() == size && quiet(); });
        }
        for (const auto& page : pages())
            step(
                onPage("show in 2560 px", page), [&] { show(page); }, [&] { return shown(page); });
        inFront("overview");
        step(
            QStringLiteral("the browser goes"), [&] { window_.setBrowserWanted(false); }, [&] { return quiet(); });
        step(
            QStringLiteral("the browser comes"), [&] { window_.setBrowserWanted(true); }, [&] { return quiet(); });
        auto* tabs = window_.currentPage()->findChild<QButtonGroup*>();
        step(
            QStringLiteral("specs of the overview"), [&] { tabs->button(1)->click(); }, [&] { return quiet(); }, 400);
        step(
            QStringLiteral("layers of the overview"), [&] { tabs->button(0)->click(); }, [&] { return quiet(); });
    }

    TimedApplication& application_;
    QTemporaryDir folder_;
    Session session_;
    MainWindow window_;
    QTreeView* view_ = nullptr;
    TensorTree* tree_ = nullptr;
    int failed_ = 0;
};

} // namespace

int walkTheWindow(TimedApplication& application) {
    Theme::install(Theme::Mode::Dark);
    return Walk(application).run();
}
