// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/main_window.h"

#include "app/gui/menus.h"
#include "app/gui/page.h"
#include "app/gui/page_in_parts.h"
#include "app/gui/session.h"
#include "app/gui/session_saver.h"
#include "app/gui/source_watch.h"
#include "app/gui/spec_history.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/banner.h"
#include "app/gui/widgets/escape_key.h"
#include "app/gui/widgets/focus_keeper.h"
#include "app/gui/widgets/job_lane.h"
#include "app/gui/widgets/keys_dialog.h"
#include "app/gui/widgets/open_dialogs.h"
#include "app/gui/widgets/peek.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/rail.h"
#include "app/gui/widgets/refusal_banner.h"
#include "app/gui/widgets/source_banner.h"
#include "app/gui/widgets/tensor_browser.h"
#include "app/gui/widgets/top_bar.h"
#include "core/base/text.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QGridLayout>
#include <QKeyEvent>
#include <QMimeData>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>
#include <functional>

namespace qs::gui {
namespace {

constexpr int kQuietMs = 150; ///< delay until the first picture is on the screen

const PageTraits* findPage(const QString& id) {
    for (const auto& page : pages())
        if (id == QLatin1String(page.id)) return &page;
    return nullptr;
}

/// A button for each convention by which layers that are not decoded may be stored, the most plausible first.
std::vector<Banner::Action> waysToOpen(Session& session) {
    constexpr std::size_t kMost = 4;
    std::vector<const ConventionCandidate*> ways;
    for (const UndecodedLayer& layer : session.model()->undecoded)
        for (const ConventionCandidate& one : layer.candidates) {
            const auto same = std::ranges::find_if(ways, [&](const ConventionCandidate* known) {
                return std::string_view(known->convention) == one.convention;
            });
            if (same == ways.end())
                ways.push_back(&one);
            else if (one.plausibility > (*same)->plausibility)
                *same = &one;
        }
    std::ranges::stable_sort(ways, std::greater(), &ConventionCandidate::plausibility);
    std::vector<Banner::Action> out;
    for (std::size_t i = 0; i < std::min(kMost, ways.size()); ++i) {
        const QString id = QString::fromUtf8(ways[i]->convention), path = QString::fromStdString(session.model()->path);
        out.push_back({MainWindow::tr("Open as %1").arg(id),
                       MainWindow::tr("%1 (plausibility %2)")
                           .arg(QString::fromStdString(ways[i]->reason))
                           .arg(ways[i]->plausibility, 0, 'f', 2),
                       [&session, path, id] { session.open(path, id); }});
    }
    return out;
}

} // namespace

MainWindow::MainWindow(Session& session, QWidget* parent)
    : QMainWindow(parent), session_(session), history_(new SpecHistory(session, this)),
      saver_(new SessionSaver(session, *history_, this)), top_(new TopBar(session)),
      browser_(new TensorBrowser(session)), banner_(new Banner), refusal_(new RefusalBanner(session)),
      source_(new SourceBanner(session)), stack_(new QStackedWidget), splitter_(new QSplitter(Qt::Horizontal)),
      lane_(new JobLane(session)), peek_(new Peek(session, this)), escape_(new EscapeKey(*this)) {
    setAcceptDrops(true);
    setMinimumSize(1280, 680); // smaller windows have no room for the spec bar and two columns of cards
    resize(1440, 900);
    rail_ = new Rail(session, buildMenus(*this));

    auto* area = new QWidget;
    auto* areaColumn = spaced(new QVBoxLayout(area), 0);
    addWidgets(*areaColumn, {banner_, source_, refusal_});
    areaColumn->addWidget(stack_, 1);
    splitter_->addWidget(browser_);
    splitter_->addWidget(area);
    splitter_->setHandleWidth(1);
    splitter_->setStretchFactor(1, 1);
    splitter_->setCollapsible(1, false);
    splitter_->setSizes({300, 1056});

    auto* frame = new QWidget;
    auto* grid = spaced(new QGridLayout(frame), 0);
    grid->addWidget(rail_, 0, 0, 3, 1);
    grid->addWidget(top_, 0, 1);
    grid->addWidget(splitter_, 1, 1);
    grid->addWidget(lane_, 2, 1);
    grid->setRowStretch(1, 1);
    grid->setColumnStretch(1, 1);
    setCentralWidget(frame);

    browser_->view()->installEventFilter(this);
    connect(&session, &Session::pageChanged, this, [this](const QString& id) {
        if (made_.contains(id) || !isVisible()) return showPage(id);
        // in a later turn of the event loop than the work below
        QTimer::singleShot(0, this, [this] { showPage(session_.page()); });
    });
    connect(&session, &Session::modelChanged, this, &MainWindow::followModel);
    connect(&session, &Session::opening, banner_, [this] { banner_->say({}); });
    connect(&session, &Session::failed, this, [this](const QString& sentence) {
        // The start page shows the sentence itself.
        if (!session_.isOn(kStartPage)) banner_->say(sentence);
    });
    new SourceWatch(session, this);
    connect(&session, &Session::noticed, banner_, [this](const QString& sentence) { banner_->say(sentence); });
    showPage(session.page());
    followModel();
    stack_->setFocusPolicy(Qt::ClickFocus);
    stack_->setFocus(); // not the first button
    new FocusKeeper(*this, *stack_);
    // prepares charts before the first page that has them is shown
    QTimer::singleShot(kQuietMs, this, &PlotChart::warmUp);
}

QWidget* MainWindow::currentPage() const { return stack_->currentWidget(); }
QString MainWindow::message() const { return banner_->text(); }

void MainWindow::showPage(const QString& id) {
    const auto* page = findPage(id);
    if (!page) return session_.showPage(kStartPage);
    auto*& widget = made_[id];
    bool later = false;
    if (!widget) {
        widget = page->create(session_, stack_);
        widget->setObjectName(QStringLiteral("page-") + id);
        stack_->addWidget(widget);
        later = isVisible();
    }
    // Creating a page and laying it out in one turn, or creating all its parts in one turn, would block the event loop
    // too long.
    if (auto* parts = dynamic_cast<PageInParts*>(widget); parts && isVisible() && !later) later = parts->makePart();
    if (later) return QTimer::singleShot(0, this, [this] { showPage(session_.page()); });
    // Without this the focus would move from the hidden page to the first button of the next one.
    if (auto* leaving = stack_->currentWidget();
        leaving && leaving != widget && leaving->isAncestorOf(QApplication::focusWidget()))
        stack_->setFocus();
    stack_->setCurrentWidget(widget);
    top_->setSpecVisible(page->usesSpecBar);
    refusal_->setWanted(page->usesSpecBar);
    source_->setWanted(page->usesSpecBar || page->usesBrowser);
    browser_->setVisible(page->usesBrowser && browserWanted_ && session_.model());
}

void MainWindow::followModel() {
    const auto& model = session_.model();
    // Doubled, because Qt replaces a single "[*]" in a title by the mark of a modified document.
    const auto titled = [](QString name) { return name.replace(QLatin1String("[*]"), QLatin1String("[*][*]")); };
    setWindowTitle(model
                       ? titled(QString::fromStdString(escapeForPeople(model->title))) + QStringLiteral(" – QuantScope")
                       : QStringLiteral("QuantScope"));
    if (const auto* page = findPage(session_.page()))
        browser_->setVisible(page->usesBrowser && browserWanted_ && model);
    if (!model) return;
    QString sentence;
    if (!model->warnings.empty()) sentence = QString::fromStdString(model->warnings.front());
    if (model->warnings.size() > 1) sentence += QStringLiteral(" (and %1 more)").arg(model->warnings.size() - 1);
    std::vector<Banner::Action> actions = waysToOpen(session_);
    if (session_.hasStored()) {
        sentence = QStringLiteral("Tensors of this file are stored quantized: what is listed are their codes and "
                                  "scales. ") +
                   sentence;
        actions.insert(actions.begin(), {QStringLiteral("Decode them"), {}, [this] { session_.decodeStored(); }});
    }
    if (!sentence.isEmpty()) banner_->offer(sentence, actions);
}

void MainWindow::setBrowserWanted(bool wanted) {
    browserWanted_ = wanted;
    showPage(session_.page());
}

void MainWindow::step(int by) {
    if (browser_->isVisible())
        browser_->moveCurrent(by);
    else
        session_.selectNeighbour(by);
}

void MainWindow::peek() {
    QRect cell;
    const auto* tensor = browser_->isVisible() ? browser_->tensorAtCursor(&cell) : session_.tensor();
    if (tensor) peek_->showFor(*tensor, cell);
}

void MainWindow::cancel() {
    if (escape_->closesSomething()) return;
    const auto stop = [this] { session_.cancelJobs(); };
    if (!session_.busy()) {
        if (browser_->isVisible()) browser_->clearFilter();
    } else if (mayStop(session_, *this, tr("Stop the work?"), tr("Stop"), stop)) {
        stop();
    }
}

void MainWindow::showKeys() { showKeysDialog(*this); }
void MainWindow::openMenu() { rail_->openMenu(); }

// Keys that a focused control may use are not shortcuts: they arrive here when no control took them.
void MainWindow::keyPressEvent(QKeyEvent* event) {
    if (event->modifiers() != Qt::NoModifier) return QMainWindow::keyPressEvent(event);
    switch (event->key()) {
    case Qt::Key_Up: return step(-1);
    case Qt::Key_Down: return step(1);
    case Qt::Key_Space:
        if (!event->isAutoRepeat()) peek(); // key repeats go to the popup
        return;
    default: QMainWindow::keyPressEvent(event);
    }
}

bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
    if (watched == browser_->view() && event->type() == QEvent::KeyPress &&
        static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space &&
        static_cast<QKeyEvent*>(event)->modifiers() == Qt::NoModifier) {
        if (!static_cast<QKeyEvent*>(event)->isAutoRepeat()) peek();
        return true;
    }
    return QMainWindow::eventFilter(watched, event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (!droppedPath(event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const auto path = droppedPath(event->mimeData());
    if (path.isEmpty()) return;
    event->acceptProposedAction();
    session_.open(path);
}

void MainWindow::restoreFrom(const QSettings& settings) {
    restoreGeometry(settings.value(QStringLiteral("window/geometry")).toByteArray());
    splitter_->restoreState(settings.value(QStringLiteral("window/splitter")).toByteArray());
    setBrowserWanted(settings.value(QStringLiteral("window/browser"), true).toBool());
}

void MainWindow::saveTo(QSettings& settings) const {
    settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
    settings.setValue(QStringLiteral("window/splitter"), splitter_->saveState());
    settings.setValue(QStringLiteral("window/browser"), browserWanted_);
}

void MainWindow::closeEvent(QCloseEvent* event) {
    const auto quit = [this] {
        quits_ = true;
        close();
    };
    if (!quits_ && isVisible() && !mayStop(session_, *this, tr("Quit, and stop the work?"), tr("Quit"), quit))
        return event->ignore();
    QSettings settings;
    saveTo(settings);
    session_.cancelJobs();
    QMainWindow::closeEvent(event);
}

} // namespace qs::gui
