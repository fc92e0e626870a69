// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/sweep_page.h"

#include "app/gui/page.h"
#include "app/gui/run_job.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/empty_state.h"
#include "app/gui/widgets/small_multiples.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/text.h"
#include "core/model/atomic_file.h"

#include <QCheckBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QStackedLayout>
#include <QStyle>
#include <QTableView>

#include <algorithm>
#include <mutex>

namespace qs::gui {
namespace {

constexpr std::uint32_t kOffered[] = {8, 16, 32, 64, 128, 256, 512, 1024};
constexpr double kAtOnce = double(1 << 28); ///< elements times specs that are measured without being asked
constexpr std::size_t kRowsAtOnce = 8000;   ///< and tensors times specs

Columns<SweepPoint> tableColumns() {
    Columns<SweepPoint> list;
    for (const char* id : {"spec", "bpw", "sqnr_db", "nmse", "bytes", "worst_tensor"})
        for (const auto& column : sweepColumns())
            if (column.id == id) list.push_back(column);
    return list;
}

QString plain(const std::string& text) { return QString::fromStdString(text); }

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

SweepPage::SweepPage(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), stack_(new QStackedLayout(this)), empty_(new EmptyState(session)),
      facts_(new QLabel), status_(new QLabel), formats_(new TickList("sweepFormats", tr("Formats to sweep"))),
      typed_(new QLineEdit), start_(new QPushButton(tr("Sweep"))), stop_(new QPushButton(tr("Stop"))),
      save_(new QPushButton(tr("Save report…"))), plotsCard_(new Card(tr("SQNR against true bits per weight"))),
      tableCard_(new Card(tr("Frontier"))), plots_(new SmallMultiples), table_(new QTableView),
      model_(new RowModel<SweepPoint>(tableColumns(), this)) {
    setObjectName(QStringLiteral("sweep"));
    setAccessibleName(tr("Sweep"));
    auto* content = new QWidget;
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(Theme::kMargin, Theme::kGap, Theme::kMargin, Theme::kGap);
    grid->setSpacing(Theme::kGap);
    auto* title = new QLabel(tr("Sweep"));
    title->setFont(Theme::words(18, QFont::DemiBold));
    facts_->setFont(Theme::numbers());
    facts_->setProperty("role", QStringLiteral("muted"));
    auto* proxy = new QLabel(tr("Weight-space error: a screening proxy, not accuracy"));
    proxy->setFont(Theme::words(11));
    proxy->setProperty("role", QStringLiteral("warn"));
    auto* header = new QHBoxLayout;
    header->setSpacing(Theme::kMargin);
    header->addWidget(title);
    header->addWidget(facts_, 1);
    header->addWidget(proxy);
    grid->addLayout(header, 0, 0, 1, 2);
    grid->setRowMinimumHeight(0, 32);
    grid->addWidget(sidebar(), 1, 0);
    grid->addWidget(results(), 1, 1);
    grid->setColumnStretch(1, 1);
    grid->setRowStretch(1, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(content);

    poll_.setInterval(100);
    connect(&poll_, &QTimer::timeout, this, &SweepPage::poll);
    connect(&session_, &Session::modelChanged, this, &SweepPage::modelChanged);
    connect(&session_, &Session::selectionChanged, this, [this] {
        if (isVisible()) estimate();
    });
    connect(&session_, &Session::jobCancelled, this, [this] {
        if (!lane_) return;
        poll();
        poll_.stop();
        lane_.reset();
        say(result_ ? tr("Cancelled: classes that were finished are kept.") : tr("Cancelled."));
        draw();
        Q_EMIT settled();
    });
    modelChanged();
}

SweepPage::~SweepPage() {
    if (lane_) lane_->job().cancel();
}

QWidget* SweepPage::sidebar() {
    const auto caption = [](const QString& text) {
        auto* label = new QLabel(text);
        label->setProperty("role", QStringLiteral("caption"));
        label->setFont(Theme::words(11));
        return label;
    };
    auto* body = new QWidget;
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins({});
    column->setSpacing(4);
    column->addWidget(caption(tr("Formats")));
    for (const auto& line : sweepLines()) formats_->add(plain(line.text), line.usual);
    connect(formats_, &QListWidget::itemChanged, this, &SweepPage::estimate);
    column->addWidget(formats_, 1);
    typed_->setObjectName(QStringLiteral("sweepAdd"));
    typed_->setFont(Theme::numbers());
    typed_->setPlaceholderText(tr("Add a spec, e.g. int4:calib=mse"));
    typed_->setAccessibleName(tr("Add a spec"));
    connect(typed_, &QLineEdit::returnPressed, this, &SweepPage::addTyped);
    column->addWidget(typed_);
    column->addSpacing(Theme::kSpace);
    column->addWidget(caption(tr("Block sizes, elements per scale")));
    auto* sizes = new QGridLayout;
    sizes->setSpacing(4);
    const auto usual = usualSweepBlocks();
    int place = 0;
    for (const std::uint32_t block : kOffered) {
        auto* box = new QCheckBox(QString::number(block));
        box->setFont(Theme::numbers());
        box->setObjectName(QStringLiteral("sweepBlock%1").arg(block));
        box->setAccessibleName(tr("Block size %1").arg(block));
        box->setChecked(std::find(usual.begin(), usual.end(), block) != usual.end());
        connect(box, &QCheckBox::toggled, this, &SweepPage::estimate);
        sizes->addWidget(box, place / 4, place % 4);
        ++place;
        blocks_.push_back(box);
    }
    column->addLayout(sizes);
    column->addSpacing(Theme::kSpace);
    start_->setObjectName(QStringLiteral("sweepStart"));
    start_->setProperty("role", QStringLiteral("primary"));
    stop_->setObjectName(QStringLiteral("sweepStop"));
    save_->setObjectName(QStringLiteral("sweepSave"));
    status_->setObjectName(QStringLiteral("sweepStatus"));
    status_->setFont(Theme::words(11));
    status_->setWordWrap(true);
    status_->setTextFormat(Qt::PlainText);
    for (QWidget* widget : std::initializer_list<QWidget*>{start_, stop_, save_, status_}) column->addWidget(widget);
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
    plots_->setObjectName(QStringLiteral("sweepPlots"));
    plots_->setAccessibleName(tr("SQNR against true bits per weight, a panel for each class of tensors"));
    plots_->setAxes(tr("bits per weight"), tr("SQNR, dB ↑"));
    plots_->setDescribe([this](int panel, int id) {
        if (!result_ || std::size_t(panel) >= result_->classes.size() || std::size_t(id) >= result_->specs)
            return QString();
        const auto& point = result_->at(std::size_t(panel), std::size_t(id));
        return tr("%1\n%2 bpw   %3 dB%4\nworst: %5")
            .arg(plain(point.specText), plain(fixedText(point.bpw().value_or(0), 4)),
                 plain(fixedText(point.sqnrDb().value_or(0), 2)), point.frontier ? tr("   on the frontier") : QString(),
                 plain(escapeForPeople(point.worstTensor)));
    });
    plotsCard_->setBody(plots_);
    asDataTable(*table_, tr("Specs on the frontier"));
    table_->setObjectName(QStringLiteral("sweepTable"));
    table_->setModel(model_);
    table_->horizontalHeader()->setStretchLastSection(true);
    tableCard_->setBody(table_);
    connect(plots_, &SmallMultiples::panelClicked, this, &SweepPage::showClass);
    connect(plots_, &SmallMultiples::dotClicked, this, &SweepPage::open);
    connect(table_, &QTableView::activated, this,
            [this](const QModelIndex& index) { open(class_, int(model_->row(index.row()).spec)); });
    auto* side = new QWidget;
    auto* column = new QVBoxLayout(side);
    column->setContentsMargins({});
    column->setSpacing(Theme::kGap);
    column->addWidget(plotsCard_, 7);
    column->addWidget(tableCard_, 2);
    return side;
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
    if (!spec) return say(plain(oneSentence(spec.error().message)), true);
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
    return SweepPlan{session_.model(), tensorsOf(session_), std::move(*specs)};
}

void SweepPage::modelChanged() {
    lane_.reset();
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
    if (event) QWidget::showEvent(event);
    if (!session_.model() || !std::exchange(fresh_, false)) return;
    estimate();
    const auto planned = plan();
    if (!planned) return draw();
    double work = 0;
    for (const auto* tensor : planned->tensors) work += double(tensor->elements) * double(planned->specs.size());
    if (work <= kAtOnce && planned->tensors.size() * planned->specs.size() <= kRowsAtOnce)
        begin();
    else
        draw();
}

void SweepPage::estimate() {
    if (running() || stack_->currentIndex() == 0) return;
    const auto planned = plan();
    start_->setEnabled(bool(planned));
    if (!planned) return say(plain(oneSentence(planned.error().message)), true);
    const bool some = planned->tensors.size() < session_.weights().size();
    say(tr("%1 specs over %2 tensors%3.")
            .arg(planned->specs.size())
            .arg(planned->tensors.size())
            .arg(some ? tr(": those selected in the browser") : QString()));
}

void SweepPage::begin() {
    auto planned = plan();
    if (!planned) return say(plain(oneSentence(planned.error().message)), true);
    plan_ = std::move(*planned);
    result_.reset();
    finished_ = false;
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
            estimate();
        } else if (!result.error().cancelled)
            say(plain(oneSentence(result.error().message)), true);
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
    draw();
}

void SweepPage::draw() {
    stop_->setVisible(running());
    start_->setVisible(!running());
    save_->setVisible(!running() && finished_ && result_);
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
        if (const QString line = plain(spec.line); !series.contains(line)) series << line;
    std::vector<Multiple> panels;
    for (std::size_t c = 0; c < result_->classes.size(); ++c) {
        Multiple panel;
        panel.title = plain(escapeForPeople(result_->classes[c], 40));
        std::size_t done = 0;
        const SweepPoint* first = nullptr;
        for (std::size_t s = 0; s < result_->specs; ++s) {
            const auto& point = result_->at(c, s);
            if (!first && !point.reason.empty()) first = &point;
            done += point.complete();
            const auto bpw = point.bpw(), sqnr = point.sqnrDb();
            if (!bpw || !sqnr) continue;
            panel.dots.push_back({*bpw, *sqnr, int(series.indexOf(plain(point.line))), int(s), point.frontier});
        }
        std::stable_sort(panel.dots.begin(), panel.dots.end(), [](const MultipleDot& a, const MultipleDot& b) {
            return std::pair(a.series, a.x) < std::pair(b.series, b.x);
        });
        const auto& any = result_->at(c, 0);
        panel.note = done == result_->specs ? (any.tensors == 1 ? tr("1 tensor") : tr("%1 tensors").arg(any.tensors))
                     : running()            ? tr("%1 of %2").arg(any.measured + any.refused).arg(any.tensors)
                                            : tr("%1 of %2 specs").arg(done).arg(result_->specs);
        panel.empty = running() ? tr("Measuring…")
                      : first   ? tr("Not measured: %1").arg(plain(oneSentence(first->reason)))
                                : tr("Not measured.");
        panels.push_back(std::move(panel));
    }
    plots_->setData(series, std::move(panels));
    plotsCard_->setNote(tr("heavy line: frontier"));
    facts_->setText(finished_ && result_->seconds > 0
                        ? tr("%1 specs   %2 tensors   %3   %4 GB/s")
                              .arg(result_->specs)
                              .arg(plan_->tensors.size())
                              .arg(plain(durationText(result_->seconds)))
                              .arg(double(result_->sourceBytes) / result_->seconds / 1e9, 0, 'f', 2)
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
    tableCard_->setTitle(tr("Frontier: %1").arg(plain(escapeForPeople(result_->classes[std::size_t(index)], 40))));
    tableCard_->setNote(tr("no other spec has fewer bits and no more error; Enter opens"));
    model_->setRows(std::move(rows));
    table_->resizeColumnsToContents();
    for (int column = 0; column + 1 < model_->columnCount(); ++column)
        table_->setColumnWidth(column, table_->columnWidth(column) + 16);
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
    const auto work = [plan = *plan_, result = *result_, writer,
                       path = path.toStdString()](const Job& job) -> Result<std::uint64_t> {
        const auto report = sweepReport(plan, result, {}, job);
        if (!report) return tl::unexpected(report.error());
        const auto bytes = writer->render(*report);
        if (!bytes) return tl::unexpected(bytes.error());
        if (job.cancelled()) return cancelledError();
        if (auto fine = notAnOpenedInput(path, plan.model.get()); !fine) return tl::unexpected(fine.error());
        if (auto done = writeWholeFile(path, *bytes); !done) return tl::unexpected(done.error());
        return bytes->size();
    };
    runJob<std::uint64_t>(this, lane_->job(), work, [this, path](Result<std::uint64_t> written) {
        lane_.reset();
        draw();
        if (!written) return say(plain(oneSentence(written.error().message)), true);
        say(tr("Wrote %1, %2.").arg(QFileInfo(path).fileName(), plain(bytesText(*written))));
        Q_EMIT saved(path);
    });
    draw();
}

QWidget* createSweepPage(Session& session, QWidget* parent) { return new SweepPage(session, parent); }

} // namespace qs::gui
