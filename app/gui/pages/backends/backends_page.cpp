// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/backends_page.h"

#include "app/gui/output_check.h"
#include "app/gui/pages/backends/backends_charts.h"
#include "app/gui/pages/backends/backends_detail.h"
#include "app/gui/pages/backends/backends_matrix.h"
#include "app/gui/pages/backends/backends_plan.h"
#include "app/gui/pages/backends/backends_tables.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/banner.h"
#include "app/gui/widgets/staged_refresh.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"
#include "core/bench/report/bench_report.h"
#include "core/model/output/atomic_file.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QMenu>
#include <QShowEvent>
#include <QToolButton>

#include <algorithm>

namespace qs::gui {
namespace {

/// longer runs need a check for other load; duration of that check
constexpr double kLongSeconds = 60, kWatchSeconds = 0.3;
/// milliseconds without a change until the backends are asked again
constexpr int kRest = 400;

/// The part of a plan that capabilities() depends on; times and further shapes do not change the answer.
std::string questionOf(const BenchmarkPlan& plan) {
    std::string out =
        plan.ops.front() + ' ' + plan.acts.front() + (plan.bias ? " bias " : " ") + shapeKey(plan.shapes.front());
    for (const auto& source : plan.backends) {
        out += '\n' + source.id + ' ' + source.path;
        for (const auto& [key, value] : source.options) out += ' ' + key + '=' + value;
    }
    for (const auto& [text, spec] : plan.specs) out += '\t' + text;
    return out;
}

QString questionText(const BenchmarkPlan& plan) {
    const auto* op = findBenchOp(plan.ops.front());
    const auto& shape = plan.shapes.front();
    QString out = QString::fromUtf8(op->title);
    if (op->product)
        out += QStringLiteral("   act %1   M %2").arg(QString::fromStdString(plan.acts.front())).arg(shape.m);
    return out + QStringLiteral("   %1 × %2").arg(shape.n).arg(shape.k);
}

} // namespace

BackendsPage::BackendsPage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), bench_(new BenchRun(session, this)), stages_(new StagedRefresh(this)) {
    choosePath_ = [this](const QString& suggested, bool save) {
        return save ? QFileDialog::getSaveFileName(this, tr("Write the results"), suggested)
                    : QFileDialog::getOpenFileName(this, tr("Results of an earlier run"), suggested,
                                                   tr("JSON (*.json)"));
    };
    loadProbe_ = [](const Job& job) { return machineLoad(kWatchSeconds, job); };
    auto* layout = spaced(new QVBoxLayout(this), Theme::kGap, Theme::kPageMargins);
    layout->addLayout(header());
    busy_ = named(new Banner, "benchBusy");
    layout->addWidget(busy_);
    auto* row = spaced(new QHBoxLayout, Theme::kGap);
    layout->addLayout(row, 1);
    addPart([this, row, &session] {
        auto* card = new Card(tr("Plan"), this);
        card->setBody(plan_ = new BackendsPlan(session, card));
        card->setFixedWidth(268);
        row->insertWidget(0, card);
    });
    row->addLayout(cards(), 1);
    askTimer_.setSingleShot(true);
    connect(&askTimer_, &QTimer::timeout, this, [this] { ask(false); });
    addPart([this] {
        listen();
        refreshMatrix();
        refresh();
    });

    // One stage per turn of the event loop.
    stages_->add([this] {
        tables_->refresh();
        // Select a row at the start: a timed one if there is any, otherwise one with a reason.
        const auto& rows = bench_->rows();
        const auto timed = std::ranges::find_if(rows, [](const auto& row) { return row.timing.medianNs.has_value(); });
        if (shown_ < 0 && (timed != rows.end() || bench_->complete()))
            showRow(timed == rows.end() ? 0 : int(timed - rows.begin()));
    });
    stages_->add([this] { latency_->refresh(); });
    stages_->add([this] { speedup_->refresh(); });
    stages_->add([this] { roofline_->refresh(); });
}

QLayout* BackendsPage::header() {
    auto* line = spaced(new QHBoxLayout, Theme::kSpace);
    auto* title = dressed(new QLabel(tr("Backends")), Theme::words(18, QFont::DemiBold));
    note_ = dressed(new QLabel, Theme::numbers(), "muted");
    status_ = new StatusLine("benchStatus");
    status_->setWordWrap(false);
    status_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* baseline = named(new QToolButton, "loadBaseline");
    baseline->setText(tr("Baseline…"));
    baseline->setToolTip(tr("Compare with the JSON of an earlier run"));
    connect(baseline, &QToolButton::clicked, this, &BackendsPage::loadBaseline);
    export_ = named(new QToolButton, "exportBench");
    export_->setText(tr("Export"));
    export_->setToolTip(tr("Tables, charts and raw samples as a file"));
    export_->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(export_);
    for (const auto& writer : reportWriters())
        menu->addAction(QString::fromUtf8(writer.title) + QStringLiteral("…"), this,
                        [this, &writer] { write(writer); });
    export_->setMenu(menu);
    line->addWidget(title);
    line->addSpacing(Theme::kSpace);
    line->addWidget(note_);
    line->addWidget(status_, 1);
    addWidgets(*line, {baseline, export_});
    return line;
}

QLayout* BackendsPage::cards() {
    auto* grid = new QGridLayout;
    grid->setSpacing(Theme::kGap);
    addPart([this, grid] {
        grid->addWidget(latency_ = new LatencyCard(*bench_, this), 0, 0);
        grid->addWidget(matrix_ = new MatrixCard(this), 0, 1);
    });
    addPart([this, grid] {
        grid->addWidget(speedup_ = new SpeedupCard(*bench_, this), 1, 0);
        grid->addWidget(roofline_ = new RooflineCard(*bench_, this), 1, 1);
    });
    addPart([this, grid] {
        grid->addWidget(tables_ = new BenchTables(*bench_, this), 2, 0);
        grid->addWidget(detail_ = new BenchDetail(this), 2, 1);
    });
    grid->setColumnStretch(0, 7);
    grid->setColumnStretch(1, 5);
    for (int row = 0; row < 3; ++row) grid->setRowStretch(row, 1);
    return grid;
}

void BackendsPage::listen() {
    connect(plan_, &BackendsPlan::runAsked, this, &BackendsPage::startIfQuiet);
    connect(plan_, &BackendsPlan::changed, this, &BackendsPage::keepAsked);
    connect(plan_, &BackendsPlan::cancelAsked, bench_, &BenchRun::cancel);
    connect(plan_, &BackendsPlan::askAsked, this, [this] { ask(true); });
    connect(matrix_, &MatrixCard::retryAsked, this, [this](const std::string& backend) {
        for (const auto& source : plan_->sources())
            if (backend.empty() || source.id == backend) releaseQuarantine(source);
        ask(true);
    });
    connect(&session_, &Session::modelChanged, this, [this] {
        if (bench_->rows().empty()) showNoRow();
        if (isVisible()) bench_->takeRestored(plan_->sources());
    });
    connect(bench_, &BenchRun::rowsChanged, this, &BackendsPage::refresh);
    connect(bench_, &BenchRun::answersChanged, this, &BackendsPage::refreshMatrix);
    connect(bench_, &BenchRun::failed, this, [this](const QString& sentence) { status_->say(sentence, true); });
    connect(bench_, &BenchRun::finished, this, [this] {
        plan_->setRunning(false);
        keepAsked();
    });
    connect(latency_, &LatencyCard::rowClicked, this, &BackendsPage::showRow);
    connect(speedup_, &SpeedupCard::rowClicked, this, &BackendsPage::showRow);
    connect(speedup_, &SpeedupCard::againAsked, this, [this] {
        bench_->again();
        if (!bench_->running()) return;
        status_->say({});
        shown_ = -1; // the new rows may differ
        plan_->setRunning(true);
        askTimer_.stop();
        if (bench_->asking()) asked_.clear(), bench_->stopAsking();
    });
    connect(roofline_, &RooflineCard::rowClicked, this, &BackendsPage::showRow);
    connect(tables_, &BenchTables::rowSelected, this, &BackendsPage::showRow);
    connect(&Theme::instance(), &Theme::changed, this, &BackendsPage::refresh);
}

void BackendsPage::showEvent(QShowEvent* event) {
    PageInParts::showEvent(event);
    stages_->setActive(true);
    bench_->takeRestored(plan_->sources());
    keepAsked();
}

void BackendsPage::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    stages_->setActive(false);
}

bool BackendsPage::settled() const {
    return !bench_->running() && !bench_->asking() && !stages_->pending() && !askTimer_.isActive();
}

/// Keeps the matrix up to date: asks at once when the page is first shown and the shapes are known, later when the plan
/// has stopped changing. Never during a benchmark, which it would disturb.
void BackendsPage::keepAsked() {
    if (!isVisible() || bench_->running()) return;
    const auto plan = plan_->plan();
    if (!plan || questionOf(*plan) == asked_) return askTimer_.stop();
    if (asked_.empty()) return ask(false);
    askTimer_.start(kRest);
}

void BackendsPage::ask(bool again) {
    askTimer_.stop();
    const auto plan = plan_->plan();
    if (!plan || bench_->running() || (!again && questionOf(*plan) == asked_)) return;
    asked_ = questionOf(*plan);
    askedText_ = questionText(*plan);
    bench_->ask(*plan);
}

void BackendsPage::startIfQuiet() {
    probing_.drop();
    if (plan_->secondsNeeded() < kLongSeconds) return start();
    probing_.run(
        {}, [probe = loadProbe_](const Job& job) { return Result<std::optional<MachineLoad>>(probe(job)); },
        [this](Result<std::optional<MachineLoad>> load) {
            if (bench_->running()) return;
            if (!load || !*load || !(*load)->busy()) return start();
            const QString sentence = capitalized(QString::fromStdString(busyText(**load)));
            busy_->offer(tr("%1: rows timed now will be marked busy, and their ratios mean nothing. They "
                            "would take at least %2.")
                             .arg(sentence, QString::fromStdString(durationText(plan_->secondsNeeded()))),
                         {{tr("Run anyway"), {}, [this] { start(); }}});
        });
}

void BackendsPage::start() {
    busy_->say({});
    auto plan = plan_->plan();
    if (!plan) return;
    status_->say({});
    showNoRow();
    plan_->setRunning(true);
    bench_->start(*plan);
    askTimer_.stop();
    if (bench_->asking()) asked_.clear(), bench_->stopAsking(); // asked again when the benchmark has ended
}

void BackendsPage::showNoRow() {
    shown_ = -1;
    detail_->clear();
    latency_->show(-1);
    speedup_->show(-1);
    roofline_->show(-1);
}

void BackendsPage::refreshMatrix() {
    matrix_->setAnswers(bench_->answers(), bench_->asking(), askedText_);
    plan_->setAnswers(bench_->answers());
    showQuarantine();
}

void BackendsPage::showQuarantine() {
    QStringList aside;
    for (const auto& source : plan_->sources())
        if (const auto reason = quarantineReason(source))
            aside << QString::fromStdString(escapeForPeople(source.id, 40) + ": " + *reason);
    matrix_->setQuarantined(aside);
}

void BackendsPage::refresh() {
    const auto& rows = bench_->rows();
    const auto timed = std::ranges::count_if(rows, [](const auto& row) { return row.timing.medianNs.has_value(); });
    note_->setText(rows.empty() ? QString() : tr("%1 rows, %2 timed").arg(rows.size()).arg(timed));
    export_->setEnabled(!bench_->running() && !rows.empty());
    stages_->askAll();
    showQuarantine();
}

void BackendsPage::showRow(int row) {
    const auto& rows = bench_->rows();
    if (row < 0 || std::size_t(row) >= rows.size()) return;
    shown_ = row;
    tables_->select(row);
    detail_->show(rows[std::size_t(row)]);
    latency_->show(row);
    speedup_->show(row);
    roofline_->show(row);
}

void BackendsPage::write(const ReportWriter& writer) {
    if (bench_->running() || bench_->rows().empty()) return;
    const QString path = choosePath_(
        QDir::home().filePath(QStringLiteral("quantscope-bench") + QString::fromUtf8(writer.extension)), true);
    if (path.isEmpty()) return;
    const auto work = [run = bench_->run(), plan = bench_->plan(), compared = tables_->compared(), &writer,
                       path = path.toStdString(), check = outputCheck(session_),
                       complete = bench_->complete()](const Job&) mutable -> Result<std::uint64_t> {
        if (auto fine = check(path); !fine) return tl::unexpected(fine.error());
        if (!complete) run.provenance = incompleteProvenance();
        auto report = benchmarkReport(plan, run, compared);
        withoutFolders(report, benchPaths(plan));
        const auto text = writer.render(report);
        if (!text) return tl::unexpected(text.error());
        if (auto done = writeWholeFile(path, *text); !done) return tl::unexpected(done.error());
        return text->size();
    };
    Task::once(this, work, [this, path](const Result<std::uint64_t>& bytes) {
        if (!bytes) return status_->say(errorSentence(bytes.error()), true);
        status_->say(tr("Wrote %1, %2.").arg(QFileInfo(path).fileName(), QString::fromStdString(bytesText(*bytes))));
        Q_EMIT written(path);
    });
}

void BackendsPage::loadBaseline() {
    const QString path = choosePath_(QDir::homePath(), false);
    if (path.isEmpty()) return;
    const auto work = [path = path.toStdString()](const Job&) { return readBenchBaseline(path); };
    Task::once(this, work, [this, path](Result<BenchBaseline> baseline) {
        if (!baseline) return status_->say(errorSentence(baseline.error()), true);
        tables_->setBaseline(std::move(*baseline));
        readsBeside(session_, path, tr("the earlier results"));
    });
}

QWidget* createBackendsPage(Session& session, QWidget* parent) { return new BackendsPage(session, parent); }

} // namespace qs::gui
