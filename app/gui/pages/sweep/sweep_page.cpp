// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/sweep/sweep_page.h"

#include "app/gui/output_check.h"
#include "app/gui/page.h"
#include "app/gui/run_job.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/job_lane.h"
#include "app/gui/widgets/small_multiples.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/text.h"
#include "core/model/output/atomic_file.h"
#include "core/session/kept_results.h"

#include <QCheckBox>
#include <QFileInfo>
#include <QLineEdit>
#include <QPushButton>
#include <QStackedLayout>
#include <QStyle>
#include <QTableView>

#include <algorithm>
#include <mutex>

namespace qs::gui {
namespace {

constexpr double kSweepWorkAtOnce = double(1 << 28); ///< elements times specs that are measured without being asked
constexpr std::size_t kSweepRowsAtOnce = 8000;       ///< and tensors times specs

constexpr const char* kSweepKept = "sweep"; ///< in session files
constexpr qint64 kKeepMs = 10'000;          ///< how often what is measured so far is kept

QString asText(const std::string& text) { return QString::fromStdString(text); }

std::vector<const TensorInfo*> tensorsOf(const Session& session) {
    std::vector<const TensorInfo*> chosen;
    for (const auto* tensor : session.selection())
        if (tensor->isWeight()) chosen.push_back(tensor);
    return chosen.size() > 1 ? chosen : session.weights();
}

} // namespace

/// Between the measuring thread and the window.
struct SweepPage::Inbox {
    std::mutex lock;
    std::optional<SweepResult> latest;
};

SweepPage::~SweepPage() {
    restoring_.cancel();
    if (lane_) lane_->job().cancel();
}

void SweepPage::say(const QString& text, bool warn) {
    status_->setText(text);
    status_->setProperty("role", warn ? QStringLiteral("warn") : QStringLiteral("muted"));
    status_->style()->unpolish(status_);
    status_->style()->polish(status_);
}

void SweepPage::addTyped() {
    const auto text = typed_->text().trimmed();
    const auto spec = parseSpec(text.toStdString());
    if (!spec) return say(asText(oneSentence(spec.error().message)), true);
    const auto known = formats_->findItems(text, Qt::MatchExactly);
    if (known.isEmpty()) {
        formats_->add(text, true);
        formats_->scrollToBottom();
    } else
        known.front()->setCheckState(Qt::Checked);
    typed_->clear();
    estimate();
}

std::vector<std::string> SweepPage::lines() const {
    std::vector<std::string> out;
    for (int i = 0; i < formats_->count(); ++i)
        if (formats_->ticked(i)) out.push_back(formats_->item(i)->text().toStdString());
    return out;
}

Result<SweepPlan> SweepPage::plan() const {
    std::vector<std::uint32_t> blocks;
    for (const auto* box : blocks_)
        if (box->isChecked()) blocks.push_back(box->text().toUInt());
    auto specs = sweepSpecs(lines(), blocks);
    if (!specs) return tl::unexpected(specs.error());
    return SweepPlan{session_.model(), tensorsOf(session_), std::move(*specs), session_.decodedAs()};
}

void SweepPage::modelChanged() {
    lane_.reset();
    restoring_.cancel();
    inbox_.reset();
    poll_.stop();
    plan_.reset();
    result_.reset();
    fresh_ = true;
    class_ = 0;
    if (!session_.model())
        empty_->setState(tr("No model is open."), tr("Open a checkpoint"), QStringLiteral("start"));
    else
        empty_->setState(tr("This file holds no float tensor of rank 2 or more: nothing to sweep."),
                         tr("Open another one"), QStringLiteral("start"));
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
    restoring_ = Job();
    const auto work = [text, model = session_.model()](const Job&) { return sweepKept(*text, model); };
    runJob<KeptSweep>(this, restoring_, work, [this](Result<KeptSweep> kept) {
        if (result_ || running()) return; // another one was begun
        if (kept) {
            plan_ = std::move(kept->plan);
            result_ = std::move(kept->result);
            finished_ = kept->complete;
            say(finished_ ? tr("As it was measured before.") : tr("Not all of it was measured: press Sweep."));
        } else {
            say(asText(oneSentence(kept.error().message)), true);
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
    if (!planned) return say(asText(oneSentence(planned.error().message)), true);
    const bool some = planned->tensors.size() < session_.weights().size();
    say(tr("%1 specs over %2 tensors%3.")
            .arg(planned->specs.size())
            .arg(planned->tensors.size())
            .arg(some ? tr(": those selected in the browser") : QString()));
}

void SweepPage::begin() {
    auto planned = plan();
    if (!planned) return say(asText(oneSentence(planned.error().message)), true);
    plan_ = std::move(*planned);
    result_.reset();
    finished_ = false;
    sinceKept_.start();
    inbox_ = std::make_shared<Inbox>();
    lane_ = std::make_unique<LaneWork>(session_, "Sweeping formats and block sizes");
    const auto work = [plan = *plan_, box = inbox_](const Job& job) {
        return runSweep(plan, job, [&](const SweepResult& state) {
            const std::lock_guard guard(box->lock);
            if (!box->latest) box->latest = state; // collected: the next one counts
        });
    };
    runJob<SweepResult>(this, lane_->job(), work, [this](Result<SweepResult> result) {
        poll_.stop();
        lane_.reset();
        if (result) {
            result_ = std::move(*result);
            finished_ = true;
            keep();
            estimate();
        } else if (!result.error().cancelled)
            say(asText(oneSentence(result.error().message)), true);
        draw();
        Q_EMIT settled();
    });
    say(tr("Measuring %1 specs over %2 tensors…").arg(plan_->specs.size()).arg(plan_->tensors.size()));
    poll_.start();
    draw();
}

void SweepPage::poll() {
    if (!inbox_) return;
    std::optional<SweepResult> latest;
    {
        const std::lock_guard guard(inbox_->lock);
        latest.swap(inbox_->latest);
    }
    if (!latest) return;
    markFrontier(*latest);
    result_ = std::move(latest);
    if (sinceKept_.elapsed() > kKeepMs) keep();
    draw();
}

void SweepPage::draw() {
    stop_->setVisible(running());
    start_->setVisible(!running());
    save_->setVisible(finished_ && result_); // in its place while it is written
    save_->setEnabled(!running());
    if (!result_) {
        const QString sentence = running() ? tr("Measuring the first tensors…") : tr("Not measured yet: press Sweep.");
        plotsCard_->setMessage(sentence);
        tableCard_->setMessage(sentence);
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
        std::stable_sort(panel.dots.begin(), panel.dots.end(), [](const MultipleDot& a, const MultipleDot& b) {
            return std::pair(a.series, a.x) < std::pair(b.series, b.x);
        });
        const auto& any = result_->at(c, 0);
        panel.note = done == result_->specs ? (any.tensors == 1 ? tr("1 tensor") : tr("%1 tensors").arg(any.tensors))
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
    std::stable_sort(rows.begin(), rows.end(),
                     [](const SweepPoint& a, const SweepPoint& b) { return *a.bpw() < *b.bpw(); });
    tableCard_->setTitle(tr("Frontier: %1").arg(asText(escapeForPeople(result_->classes[std::size_t(index)], 40))));
    tableCard_->setNote(tr("no other spec has fewer bits and no more error; Enter opens"));
    model_->setRows(std::move(rows));
    table_->resizeColumnsToContents();
    for (int column = 0; column + 1 < model_->columnCount(); ++column)
        table_->setColumnWidth(column, table_->columnWidth(column) + 8);
}

/// The spec becomes A; the selected tensor stays if it is of the class, else the class's worst one is shown.
void SweepPage::open(int classIndex, int spec) {
    if (!result_ || !plan_ || plan_->model != session_.model()) return;
    const auto& point = result_->at(std::size_t(classIndex), std::size_t(spec));
    const TensorInfo* tensor = session_.tensor();
    const bool ofAll = classIndex == 0 && result_->classes.size() > 1;
    if (!tensor || (!ofAll && placeOf(tensor->name).role != point.className))
        tensor = session_.model()->find(point.worstTensor);
    session_.setSpec(plan_->specs[std::size_t(spec)].spec);
    if (tensor) session_.selectTensor(tensor);
    session_.showPage(QStringLiteral("tensor"));
}

void SweepPage::saveTo(const QString& path) {
    if (!result_ || !plan_) return;
    const ReportWriter* writer = nullptr;
    for (const auto& each : reportWriters())
        if (path.endsWith(QLatin1String(each.extension), Qt::CaseInsensitive)) writer = &each;
    if (!writer) return say(tr("The ending says what to write: .html, .pdf, .md, .json or .csv."), true);
    lane_ = std::make_unique<LaneWork>(session_, "Writing the sweep");
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
    runJob<std::uint64_t>(this, lane_->job(), work, [this, path](Result<std::uint64_t> written) {
        lane_.reset();
        draw();
        if (!written) return say(asText(oneSentence(written.error().message)), true);
        say(tr("Wrote %1, %2.").arg(QFileInfo(path).fileName(), asText(bytesText(*written))));
        Q_EMIT saved(path);
    });
    draw();
}

QWidget* createSweepPage(Session& session, QWidget* parent) { return new SweepPage(session, parent); }

} // namespace qs::gui
