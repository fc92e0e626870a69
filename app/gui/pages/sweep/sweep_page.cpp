// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/sweep/sweep_page.h"

#include "app/gui/output_check.h"
#include "app/gui/page.h"
#include "app/gui/pages/sweep/sweep_choice.h"
#include "app/gui/pages/sweep/sweep_points.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/elided_label.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/job_lane.h"
#include "app/gui/widgets/sketch.h"
#include "app/gui/widgets/small_multiples.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"
#include "core/model/output/atomic_file.h"
#include "core/session/kept_results.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QStackedLayout>
#include <QTableView>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr double kSweepWorkAtOnce = double(1 << 28); ///< elements x specs; smaller sweeps start automatically
constexpr std::size_t kSweepRowsAtOnce = 8000;       ///< tensors x specs, the second limit

constexpr const char* kSweepKept = "sweep"; ///< name in session files
constexpr qint64 kKeepMs = 10'000;          ///< interval in which partial results are stored

QString asText(const std::string& text) { return QString::fromStdString(text); }

std::vector<const TensorInfo*> tensorsOf(const Session& session) {
    std::vector<const TensorInfo*> chosen;
    for (const auto* tensor : session.selection())
        if (tensor->isWeight()) chosen.push_back(tensor);
    return chosen.size() > 1 ? chosen : session.weights();
}

} // namespace

SweepPage::SweepPage(Session& session, QWidget* parent)
    : PageInParts(parent), session_(session), task_(&session.tasks()), stack_(new QStackedLayout(this)),
      empty_(new EmptyState(session)), facts_(new QLabel),
      model_(new RowModel<SweepPoint>(sweepTableColumns(session), this)) {
    setAccessibleName(tr("Sweep"));
    auto* content = new QWidget;
    auto* grid = spaced(new QGridLayout(content), Theme::kGap, Theme::kPageMargins);
    auto* title = dressed(new QLabel(tr("Sweep")), Theme::words(18, QFont::DemiBold));
    dress(*facts_, Theme::numbers(), "muted");
    proxy_ = dressed(named(new ElidedLabel(Qt::ElideRight), "sweepTrust"), Theme::words(11), "caption");
    proxy_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    auto* header = spaced(new QHBoxLayout, Theme::kMargin);
    addWidgets(*header, {title, facts_});
    header->addWidget(proxy_, 1);
    grid->addLayout(header, 0, 0, 1, 2);
    grid->setRowMinimumHeight(0, Theme::kControl);
    addPart([this, grid] { grid->addWidget(sidebar(), 1, 0); });
    addPart([this, grid] { grid->addWidget(results(), 1, 1); });
    addPart([this] { connectSession(); });
    grid->setColumnStretch(1, 1);
    grid->setRowStretch(1, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(content);
}

void SweepPage::connectSession() {
    task_.setInterval(100);
    task_.setKept([this] { return result_ ? tr("classes that were finished are kept") : QString(); });
    status_->listenTo(task_);
    connect(&session_, &Session::modelChanged, this, &SweepPage::modelChanged);
    connect(&session_, &Session::selectionChanged, this, [this] {
        if (isVisible()) estimate();
    });
    connect(&task_, &Task::cancelled, this, [this] {
        status_->say(result_ ? tr("Cancelled: classes that were finished are kept.") : tr("Cancelled."));
    });
    connect(&task_, &Task::over, this, [this] {
        draw();
        Q_EMIT settled();
    });
    modelChanged();
}

QWidget* SweepPage::sidebar() {
    auto* body = new QWidget;
    auto* column = spaced(new QVBoxLayout(body), 4);
    choice_ = new SweepChoice;
    connect(choice_, &SweepChoice::changed, this, &SweepPage::estimate);
    connect(choice_, &SweepChoice::refused, this, [this](const QString& why) { status_->say(why, true); });
    column->addWidget(choice_, 1);
    column->addSpacing(Theme::kSpace);
    start_ = named(new QPushButton(tr("Sweep")), "sweepStart", "primary");
    stop_ = named(new QPushButton(tr("Stop")), "sweepStop");
    save_ = named(new QPushButton(tr("Save report…")), "sweepSave");
    status_ = new StatusLine("sweepStatus");
    addWidgets(*column, {start_, stop_, save_, status_});
    connect(start_, &QPushButton::clicked, this, &SweepPage::begin);
    connect(stop_, &QPushButton::clicked, this, [this] { session_.cancelJobs(); });
    connect(save_, &QPushButton::clicked, this, [this] {
        const QString path = QFileDialog::getSaveFileName(this, tr("Save the sweep"), QStringLiteral("sweep.html"),
                                                          tr("Reports (*.html *.pdf *.md);;Data (*.json *.csv)"));
        if (!path.isEmpty()) saveTo(path);
    });
    auto* card = new Card(tr("What is swept"));
    card->setFixedWidth(260);
    card->setBody(body);
    return card;
}

QWidget* SweepPage::results() {
    plots_ = named(new SmallMultiples, "sweepPlots");
    plotsCard_ = new Card(tr("SQNR against true bits per weight"));
    plots_->setAccessibleName(tr("SQNR against true bits per weight, a panel for each class of tensors"));
    plots_->setAxes(tr("bits per weight"), tr("SQNR, dB ↑"));
    plots_->setDescribe([this](int panel, int id) {
        if (!result_ || std::size_t(panel) >= result_->classes.size() || std::size_t(id) >= result_->specs)
            return QString();
        return sweepPointText(result_->at(std::size_t(panel), std::size_t(id)));
    });
    plotsCard_->setBody(plots_);
    plotsCard_->setSketch(new Sketch(Sketch::Kind::Frontier, {tr("bits per weight"), tr("SQNR, dB ↑")}));
    table_ = named(new QTableView, "sweepTable");
    tableCard_ = new Card(tr("Frontier"));
    asDataTable(*table_, tr("Specs on the frontier"));
    table_->setProperty("roomy", true); // text beside right-aligned numbers
    table_->setModel(model_);
    table_->horizontalHeader()->setStretchLastSection(true);
    tableCard_->setBody(table_);
    tableCard_->setSketch(Sketch::ofTable(*model_));
    connect(plots_, &SmallMultiples::panelClicked, this, &SweepPage::showClass);
    connect(plots_, &SmallMultiples::dotClicked, this, &SweepPage::open);
    connect(table_, &QTableView::activated, this,
            [this](const QModelIndex& index) { open(class_, int(model_->row(index.row()).spec)); });
    auto* side = new QWidget;
    auto* column = spaced(new QVBoxLayout(side), Theme::kGap);
    column->addWidget(plotsCard_, 7);
    column->addWidget(tableCard_, 2);
    return side;
}

Result<SweepPlan> SweepPage::plan() const {
    auto specs = choice_->specs();
    if (!specs) return tl::unexpected(specs.error());
    return SweepPlan{session_.model(), tensorsOf(session_), std::move(*specs), session_.decodedAs(),
                     session_.output().effects()};
}

void SweepPage::modelChanged() {
    task_.drop();
    restoring_.drop();
    plan_.reset();
    result_.reset();
    fresh_ = true;
    class_ = 0;
    if (!session_.model())
        empty_->askForModel();
    else
        empty_->setState(tr("This file holds no float tensor of rank 2 or more: nothing to sweep."),
                         tr("Open another one"), kStartPage);
    stack_->setCurrentIndex(session_.model() && !session_.weights().empty() ? 1 : 0);
    if (isVisible()) showEvent(nullptr);
}

void SweepPage::showEvent(QShowEvent* event) {
    if (event) PageInParts::showEvent(event);
    if (!session_.model() || !std::exchange(fresh_, false)) return;
    estimate();
    if (takeRestored()) return draw();
    const auto planned = plan();
    if (!planned) return draw();
    double work = 0;
    for (const auto* tensor : planned->tensors) work += double(tensor->elements) * double(planned->specs.size());
    if (work <= kSweepWorkAtOnce && planned->tensors.size() * planned->specs.size() <= kSweepRowsAtOnce)
        begin();
    else
        draw();
}

void SweepPage::keep() {
    sinceKept_.start();
    const auto held = std::make_shared<const KeptSweep>(KeptSweep{*plan_, *result_, finished_});
    session_.keep(QLatin1String(kSweepKept), [held] { return keptSweep(*held); });
}

bool SweepPage::takeRestored() {
    const auto text = session_.restored(QLatin1String(kSweepKept));
    if (!text) return false;
    const auto work = [text, model = session_.model()](const Job&) { return sweepKept(*text, model); };
    restoring_.run({}, work, [this](Result<KeptSweep> kept) {
        if (result_ || running()) return; // another sweep has started
        if (kept) {
            plan_ = std::move(kept->plan);
            result_ = std::move(kept->result);
            finished_ = kept->complete;
            status_->say(finished_ ? tr("As it was measured before.") : tr("Not all of it was measured: press Sweep."));
        } else {
            status_->say(errorSentence(kept.error()), true);
        }
        draw();
        Q_EMIT settled();
    });
    return true;
}

void SweepPage::estimate() {
    if (running() || stack_->currentIndex() == 0) return;
    const auto planned = plan();
    start_->setEnabled(bool(planned));
    if (!planned) return status_->say(errorSentence(planned.error()), true);
    const bool some = planned->tensors.size() < session_.weights().size();
    status_->say(tr("%1 specs over %2 tensors%3.")
                     .arg(planned->specs.size())
                     .arg(planned->tensors.size())
                     .arg(some ? tr(": those selected in the browser") : QString()));
}

void SweepPage::begin() {
    auto planned = plan();
    if (!planned) return status_->say(errorSentence(planned.error()), true);
    plan_ = std::move(*planned);
    result_.reset();
    finished_ = false;
    sinceKept_.start();
    using Latest = std::optional<SweepResult>;
    const auto work = [plan = *plan_](const Job& job, Inbox<Latest>& inbox) {
        return runSweep(plan, job, [&](const SweepResult& state) {
            inbox.write([&](Latest& latest) {
                if (!latest) latest = state; // copying the state each time would take too long
            });
        });
    };
    const auto arrived = [this](Latest latest) {
        markFrontier(*latest);
        result_ = std::move(latest);
        if (sinceKept_.elapsed() > kKeepMs) keep();
        draw();
    };
    task_.run<Latest>("Sweeping formats and block sizes", work, arrived, [this](SweepResult result) {
        result_ = std::move(result);
        finished_ = true;
        keep();
        estimate();
    });
    status_->say(tr("Measuring %1 specs over %2 tensors…").arg(plan_->specs.size()).arg(plan_->tensors.size()));
    draw();
}

void SweepPage::draw() {
    stop_->setVisible(running());
    start_->setVisible(!running());
    save_->setVisible(finished_ && result_); // hidden while it writes
    save_->setEnabled(!running());
    const QString remark = asText(result_ ? sweepRemark(*result_) : sweepRemark({}));
    proxy_->setText(remark);
    proxy_->setToolTip(remark);
    if (!result_) {
        const QString sentence = running() ? tr("Measuring the first tensors…") : tr("Not measured yet: press Sweep.");
        plotsCard_->setEmpty(sentence);
        tableCard_->setEmpty(sentence);
        plotsCard_->setNote({});
        facts_->clear();
        return;
    }
    plotsCard_->setMessage({});
    tableCard_->setMessage({});
    QStringList series;
    for (const auto& spec : plan_->specs)
        if (const QString line = asText(spec.line); !series.contains(line)) series << line;
    std::vector<Multiple> panels;
    for (std::size_t c = 0; c < result_->classes.size(); ++c) {
        Multiple panel;
        panel.title = asText(escapeForPeople(result_->classes[c], 40));
        std::size_t done = 0;
        const SweepPoint* first = nullptr;
        for (std::size_t s = 0; s < result_->specs; ++s) {
            const auto& point = result_->at(c, s);
            if (!first && !point.reason.empty()) first = &point;
            done += point.complete();
            const auto bpw = point.bpw(), sqnr = point.sqnrDb();
            if (!bpw || !sqnr) continue;
            panel.dots.push_back({*bpw, *sqnr, int(series.indexOf(asText(point.line))), int(s), point.frontier});
        }
        std::ranges::stable_sort(panel.dots, [](const MultipleDot& a, const MultipleDot& b) {
            return std::pair(a.series, a.x) < std::pair(b.series, b.x);
        });
        const auto& any = result_->at(c, 0);
        std::uint64_t least = any.tensors, most = any.tensors; // layouts of some specs keep some tensors
        for (std::size_t s = 0; s < result_->specs; ++s)
            least = std::min(least, result_->at(c, s).tensors), most = std::max(most, result_->at(c, s).tensors);
        panel.note = done == result_->specs ? (least < most ? tr("%1 or %2 tensors").arg(least).arg(most)
                                               : most == 1  ? tr("1 tensor")
                                                            : tr("%1 tensors").arg(most))
                     : running()            ? tr("%1 of %2").arg(any.measured + any.refused).arg(any.tensors)
                                            : tr("%1 of %2 specs").arg(done).arg(result_->specs);
        panel.empty = running() ? tr("Measuring…")
                      : first   ? tr("Not measured: %1").arg(asText(oneSentence(first->reason)))
                                : tr("Not measured.");
        panels.push_back(std::move(panel));
    }
    plots_->setData(series, std::move(panels));
    plotsCard_->setNote(tr("heavy line: frontier"));
    facts_->setText(finished_ && result_->seconds > 0
                        ? tr("%1 specs   %2 tensors   %3   %4")
                              .arg(result_->specs)
                              .arg(plan_->tensors.size())
                              .arg(asText(durationText(result_->seconds)))
                              .arg(rateText(double(result_->sourceBytes) / result_->seconds / 1e9))
                        : QString());
    showClass(std::min(class_, int(result_->classes.size()) - 1));
}

void SweepPage::showClass(int index) {
    if (!result_ || index < 0) return;
    class_ = index;
    std::vector<SweepPoint> rows;
    for (std::size_t s = 0; s < result_->specs; ++s)
        if (const auto& point = result_->at(std::size_t(index), s); point.frontier) rows.push_back(point);
    std::ranges::stable_sort(rows, [](const SweepPoint& a, const SweepPoint& b) { return *a.bpw() < *b.bpw(); });
    tableCard_->setTitle(tr("Frontier: %1").arg(asText(escapeForPeople(result_->classes[std::size_t(index)], 40))));
    tableCard_->setNote(tr("no other spec has fewer bits and no more error; Enter opens"));
    model_->setRows(std::move(rows));
    hideUnknownEffects(*table_);
    table_->resizeColumnsToContents();
    for (int column = 0; column + 1 < model_->columnCount(); ++column)
        table_->setColumnWidth(column, table_->columnWidth(column) + 8);
}

/// Makes the spec A. Keeps the selected tensor if it belongs to the class; otherwise selects the worst one of the
/// class.
void SweepPage::open(int classIndex, int spec) {
    if (!result_ || !plan_ || plan_->model != session_.model()) return;
    const auto& point = result_->at(std::size_t(classIndex), std::size_t(spec));
    const TensorInfo* tensor = session_.tensor();
    const bool ofAll = classIndex == 0 && result_->classes.size() > 1;
    if (!tensor || (!ofAll && placeOf(tensor->name).role != point.className))
        tensor = session_.model()->find(point.worstTensor);
    session_.setSpec(plan_->specs[std::size_t(spec)].spec);
    if (tensor) session_.selectTensor(tensor);
    session_.showPage(kTensorPage);
}

void SweepPage::saveTo(const QString& path) {
    if (!result_ || !plan_) return;
    const ReportWriter* writer = nullptr;
    for (const auto& each : reportWriters())
        if (path.endsWith(QLatin1String(each.extension), Qt::CaseInsensitive)) writer = &each;
    if (!writer) return status_->say(tr("The ending says what to write: .html, .pdf, .md, .json or .csv."), true);
    const auto work = [plan = *plan_, result = *result_, writer, path = path.toStdString(),
                       check = outputCheck(session_)](const Job& job) -> Result<std::uint64_t> {
        auto report = sweepReport(plan, result, {}, job);
        if (!report) return tl::unexpected(report.error());
        withoutFolders(*report, {plan.model->path});
        const auto bytes = writer->render(*report);
        if (!bytes) return tl::unexpected(bytes.error());
        if (job.cancelled()) return cancelledError();
        if (auto fine = check(path); !fine) return tl::unexpected(fine.error());
        if (auto done = writeWholeFile(path, *bytes); !done) return tl::unexpected(done.error());
        return bytes->size();
    };
    task_.run("Writing the sweep", work, [this, path](std::uint64_t written) {
        status_->say(tr("Wrote %1, %2.").arg(QFileInfo(path).fileName(), asText(bytesText(written))));
        Q_EMIT saved(path);
    });
    draw();
}

QWidget* createSweepPage(Session& session, QWidget* parent) { return new SweepPage(session, parent); }

} // namespace qs::gui
