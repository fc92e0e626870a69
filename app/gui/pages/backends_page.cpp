// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends_page.h"

#include "app/gui/pages/backends_matrix.h"
#include "app/gui/pages/backends_plan.h"
#include "app/gui/run_job.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "core/base/text.h"
#include "core/bench/bench_report.h"
#include "core/model/atomic_file.h"

#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QHeaderView>
#include <QMenu>
#include <QPlainTextEdit>
#include <QShowEvent>
#include <QSignalBlocker>
#include <QSortFilterProxyModel>
#include <QStyle>
#include <QTableView>
#include <QToolButton>

#include <algorithm>

namespace qs::gui {
namespace {

Columns<BenchmarkRow> columnsOf(std::initializer_list<std::string_view> ids) {
    Columns<BenchmarkRow> out;
    for (const auto id : ids)
        for (const auto& column : benchmarkColumns())
            if (column.id == id) out.push_back(column);
    return out;
}

bool checked(const BenchmarkRow& row) { return row.nmse.has_value() || row.status == RowState::Wrong; }

} // namespace

BackendsPage::BackendsPage(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), bench_(new BenchRun(session, this)), plan_(new BackendsPlan(session)) {
    choosePath_ = [this](const QString& suggested, bool save) {
        return save ? QFileDialog::getSaveFileName(this, tr("Write the results"), suggested)
                    : QFileDialog::getOpenFileName(this, tr("Results of an earlier run"), suggested, tr("JSON (*.json)"));
    };
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(Theme::kMargin, Theme::kGap, Theme::kMargin, Theme::kMargin);
    layout->setSpacing(Theme::kGap);
    layout->addLayout(header());
    auto* row = new QHBoxLayout;
    row->setSpacing(Theme::kGap);
    planCard_ = new Card(tr("Plan"));
    planCard_->setBody(plan_);
    planCard_->setFixedWidth(268);
    row->addWidget(planCard_);
    auto* grid = new QGridLayout;
    grid->setSpacing(Theme::kGap);
    buildCards(grid);
    row->addLayout(grid, 1);
    layout->addLayout(row, 1);

    connect(plan_, &BackendsPlan::runAsked, this, &BackendsPage::start);
    connect(plan_, &BackendsPlan::changed, this, &BackendsPage::askOnce);
    connect(plan_, &BackendsPlan::cancelAsked, bench_, &BenchRun::cancel);
    connect(plan_, &BackendsPlan::askAsked, this, [this] {
        if (auto plan = plan_->plan()) bench_->ask(*plan);
    });
    connect(bench_, &BenchRun::rowsChanged, this, &BackendsPage::refresh);
    connect(bench_, &BenchRun::answersChanged, this, &BackendsPage::refreshMatrix);
    connect(bench_, &BenchRun::failed, this, [this](const QString& sentence) { say(sentence, true); });
    connect(bench_, &BenchRun::finished, this, [this] {
        plan_->setRunning(false);
        for (auto* card : {latencyCard_, speedupCard_, rooflineCard_}) card->setLoading(false);
    });
    connect(&Theme::instance(), &Theme::changed, this, &BackendsPage::refresh);
    refreshMatrix();
    refresh();
}

QLayout* BackendsPage::header() {
    auto* line = new QHBoxLayout;
    line->setSpacing(Theme::kSpace);
    auto* title = new QLabel(tr("Backends"));
    title->setFont(Theme::words(18, QFont::DemiBold));
    note_ = new QLabel;
    note_->setFont(Theme::numbers());
    note_->setProperty("role", QStringLiteral("muted"));
    status_ = new QLabel;
    status_->setObjectName(QStringLiteral("benchStatus"));
    status_->setFont(Theme::words(11));
    status_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    baselineButton_ = new QToolButton;
    baselineButton_->setText(tr("Baseline…"));
    baselineButton_->setToolTip(tr("Compare with the JSON of an earlier run"));
    connect(baselineButton_, &QToolButton::clicked, this, &BackendsPage::loadBaseline);
    export_ = new QToolButton;
    export_->setObjectName(QStringLiteral("exportBench"));
    export_->setText(tr("Export"));
    export_->setToolTip(tr("Tables, charts and raw samples as a file"));
    export_->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(export_);
    for (const auto& writer : reportWriters())
        menu->addAction(QString::fromUtf8(writer.title).section(u':', 0, 0) + QStringLiteral("…"), this,
                        [this, &writer] { write(writer); });
    export_->setMenu(menu);
    line->addWidget(title);
    line->addSpacing(Theme::kSpace);
    line->addWidget(note_);
    line->addWidget(status_, 1);
    line->addWidget(baselineButton_);
    line->addWidget(export_);
    return line;
}

QTableView* BackendsPage::table(const char* name, const QString& title) {
    auto* view = new QTableView;
    view->setObjectName(QLatin1String(name));
    view->setAccessibleName(title);
    view->setShowGrid(false);
    view->setEditTriggers(QAbstractItemView::NoEditTriggers);
    view->setSelectionBehavior(QAbstractItemView::SelectRows);
    view->setSelectionMode(QAbstractItemView::SingleSelection);
    view->verticalHeader()->hide();
    view->verticalHeader()->setDefaultSectionSize(22);
    view->horizontalHeader()->setHighlightSections(false);
    view->setWordWrap(false);
    return view;
}

void BackendsPage::buildCards(QGridLayout* grid) {
    const auto card = [&](const QString& title, QWidget* body, int row, int column, int span = 1) {
        auto* made = new Card(title);
        made->setBody(body);
        grid->addWidget(made, row, column, 1, span);
        return made;
    };
    matrix_ = table("capabilityMatrix", tr("Specs and backends"));
    matrix_->setSelectionBehavior(QAbstractItemView::SelectItems);
    matrix_->verticalHeader()->show();
    matrix_->setModel(capabilities_ = new CapabilityModel(this));
    matrixCard_ = card(tr("What could run"), matrix_, 0, 0);
    connect(matrix_, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
        const auto* answer = capabilities_->at(index);
        if (!answer || (answer->status != RowState::Crashed && answer->status != RowState::Hung)) return;
        for (const auto& source : plan_->sources())
            if (source.id == answer->backend) releaseQuarantine(source);
        if (auto plan = plan_->plan()) bench_->ask(*plan);
    });

    latency_ = new PlotChart;
    latency_->setObjectName(QStringLiteral("latencyChart"));
    latency_->setAxes(tr("M, rows of x"), tr("median, µs"));
    latency_->setXPowers(2);
    latency_->setLogY(true);
    latency_->setLegend(true);
    latencyCard_ = card(tr("Latency against M"), latency_, 0, 1, 2);
    all_ = latencyCard_->addToggle(tr("all variants"), tr("A line for each variant instead of the fastest one"));
    connect(all_, &QToolButton::toggled, this, &BackendsPage::refreshLatency);
    group_ = new QComboBox;
    group_->setObjectName(QStringLiteral("latencyGroup"));
    group_->setAccessibleName(tr("Shape and operation of the latency chart"));
    group_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    latencyCard_->addCorner(group_);
    connect(group_, &QComboBox::activated, this, &BackendsPage::refreshLatency);

    speedup_ = new HeatMap;
    speedup_->setObjectName(QStringLiteral("speedupMap"));
    speedup_->setGap(2);
    speedup_->setDescribe([this](int row, int column) {
        const auto cell = std::size_t(row * speedup_->data().columns + column);
        const int index = cell < speedupPicture_.best.size() ? speedupPicture_.best[cell] : -1;
        return index < 0 ? tr("not measured") : rowText(bench_->rows()[std::size_t(index)]).trimmed();
    });
    connect(speedup_, &HeatMap::cellClicked, this, [this](int row, int column) {
        const int index = speedupPicture_.best[std::size_t(row * speedup_->data().columns + column)];
        if (index >= 0) select(index);
    });
    speedupCard_ = card(tr("Speed-up over f32 sgemm"), speedup_, 1, 0);

    roofline_ = new PlotChart;
    roofline_->setObjectName(QStringLiteral("rooflineChart"));
    roofline_->setAxes(tr("operations a byte"), tr("GFLOP/s"));
    roofline_->setXPowers(10);
    roofline_->setLogY(true);
    roofline_->setLegend(true);
    rooflineCard_ = card(tr("Roofline"), roofline_, 1, 1);
    device_ = new QComboBox;
    device_->setObjectName(QStringLiteral("rooflineDevice"));
    device_->setAccessibleName(tr("Device of the roofline"));
    device_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    rooflineCard_->addCorner(device_);
    connect(device_, &QComboBox::activated, this, &BackendsPage::refreshRoofline);

    side_ = table("benchSide", tr("Correctness, roofs, model, baseline"));
    correctness_ = new RowModel<BenchmarkRow>(
        columnsOf({"variant", "status", "nmse", "nmse_limit", "format_nmse", "tail_nmse", "backend", "spec", "m", "n", "k",
                   "checked_outputs", "checked_shapes", "reason"}),
        this);
    roofs_ = new RowModel<MeasuredRoof>(roofColumns(), this);
    passes_ = new RowModel<ModelPassRow>(modelPassColumns(), this);
    compared_ = new RowModel<ComparedRow>(comparedColumns(), this);
    sideSorted_ = new QSortFilterProxyModel(this);
    sideSorted_->setSortRole(Qt::UserRole);
    side_->setModel(sideSorted_);
    side_->setSortingEnabled(true);
    sideCard_ = card(tr("Evidence"), side_, 1, 2);
    sideChoice_ = new QComboBox;
    sideChoice_->setObjectName(QStringLiteral("sideChoice"));
    sideChoice_->setAccessibleName(tr("Table"));
    sideChoice_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    sideChoice_->addItems({tr("Correctness"), tr("Measured roofs"), tr("Model, per token"), tr("Against the baseline")});
    sideCard_->addCorner(sideChoice_);
    connect(sideChoice_, &QComboBox::currentIndexChanged, this, &BackendsPage::refreshSide);

    results_ = table("benchResults", tr("Results"));
    rows_ = new RowModel<BenchmarkRow>(
        columnsOf({"backend", "spec", "variant", "m", "n", "k", "status", "median_ns", "speedup_vs_f32", "ci_ns", "act", "cache",
                    "gflops", "weight_gbps", "roof_share", "roof", "nmse", "format_nmse", "prepare_ns",
                   "repack_ms", "compile_ms", "fusion", "sample_count", "op", "device", "reason"}),
        this);
    sorted_ = new QSortFilterProxyModel(this);
    sorted_->setSortRole(Qt::UserRole);
    sorted_->setSourceModel(rows_);
    results_->setModel(sorted_);
    results_->setSortingEnabled(true);
    results_->sortByColumn(-1, Qt::AscendingOrder);
    resultsCard_ = card(tr("Results"), results_, 2, 0, 2);
    connect(results_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& index) { showRow(index.isValid() ? sorted_->mapToSource(index).row() : -1); });

    detail_ = new QPlainTextEdit;
    detail_->setObjectName(QStringLiteral("benchDetail"));
    detail_->setAccessibleName(tr("What was run"));
    detail_->setReadOnly(true);
    detail_->setFont(Theme::numbers(11));
    detail_->setLineWrapMode(QPlainTextEdit::NoWrap);
    detailCard_ = card(tr("What was run"), detail_, 2, 2);
    artifact_ = new QComboBox;
    artifact_->setObjectName(QStringLiteral("artifactChoice"));
    artifact_->setAccessibleName(tr("Artifact"));
    detailCard_->addCorner(artifact_);
    artifact_->hide();
    connect(artifact_, &QComboBox::activated, this, [this](int index) {
        const auto& rows = bench_->rows();
        if (shown_ < 0 || std::size_t(shown_) >= rows.size()) return;
        const auto& row = rows[std::size_t(shown_)];
        detail_->setPlainText(index == 0 ? rowText(row)
                                         : QString::fromStdString(row.artifacts[std::size_t(index - 1)].second));
    });
    for (int column = 0; column < 3; ++column) grid->setColumnStretch(column, 1);
    for (int row = 0; row < 3; ++row) grid->setRowStretch(row, 1);
}

void BackendsPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (dirty_) refresh();
    askOnce();
}

/// As soon as the page is seen and the shapes of the model are known.
void BackendsPage::askOnce() {
    if (asked_ || !isVisible()) return;
    const auto plan = plan_->plan();
    if (!plan) return;
    asked_ = true;
    bench_->ask(*plan);
}

void BackendsPage::start() {
    auto plan = plan_->plan();
    if (!plan) return;
    say({}, false);
    shown_ = -1;
    plan_->setRunning(true);
    bench_->start(*plan);
}

void BackendsPage::refreshMatrix() {
    capabilities_->setAnswers(bench_->answers(), !bench_->asking());
    matrix_->resizeColumnsToContents();
    matrixCard_->setNote(bench_->asking() ? tr("asking") : QString());
    matrixCard_->setMessage(bench_->answers().empty()
                                ? (bench_->asking() ? tr("Asking the backends what they can run.")
                                                    : tr("Choose backends and weights at the left, then Ask."))
                                : QString());
}

void BackendsPage::refresh() {
    dirty_ = !isVisible();
    if (dirty_) return;
    const auto& rows = bench_->rows();
    std::vector<BenchmarkRow> right;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(right), checked);
    rows_->setRows(rows);
    correctness_->setRows(std::move(right));
    const bool any = !rows.empty();
    const QString empty =
        any ? QString() : bench_->running() ? tr("The first results are on their way.") : tr("Run fills this.");
    for (auto* card : {latencyCard_, speedupCard_, rooflineCard_, sideCard_, resultsCard_}) card->setMessage(empty);
    detailCard_->setMessage(any ? QString() : tr("A click on a result shows what exactly was run."));
    export_->setEnabled(bench_->complete());
    results_->resizeColumnsToContents();
    const auto count = [&](auto&& that) { return std::count_if(rows.begin(), rows.end(), that); };
    const auto timed = count([](const auto& row) { return row.medianNs.has_value(); });
    note_->setText(any ? tr("%1 rows, %2 timed").arg(rows.size()).arg(timed) : QString());
    resultsCard_->setNote(bench_->complete() ? tr("correct before timed; medians; a wrong answer has no time") : QString());

    const auto fill = [](QComboBox* box, const QStringList& items) {
        const QString before = box->currentText();
        const QSignalBlocker blocker(box);
        box->clear();
        box->addItems(items);
        if (const int at = box->findText(before); at >= 0) box->setCurrentIndex(at);
        box->setVisible(items.size() > 1);
    };
    fill(group_, latencyGroups(rows));
    fill(device_, deviceKeys(rows));
    refreshLatency();
    refreshSpeedup();
    refreshRoofline();
    refreshSide();
    if (shown_ < 0 && any) return select(0);
    const QSignalBlocker blocker(results_->selectionModel()); // the new rows took the selection with them
    if (any) results_->setCurrentIndex(sorted_->mapFromSource(rows_->index(shown_, 0)));
}

void BackendsPage::refreshLatency() {
    const auto picture = latencyPicture(bench_->rows(), group_->currentText(), all_->isChecked());
    latency_->setData(picture.series, picture.crossovers, true);
    latencyCard_->setNote(group_->count() == 1 ? group_->currentText() : QString());
    if (!bench_->rows().empty())
        latencyCard_->setMessage(picture.measured > 0 ? QString() : tr("Nothing was timed; the table says why."));
}

void BackendsPage::refreshSpeedup() {
    speedupPicture_ = speedupPicture(bench_->rows());
    speedup_->setData(speedupPicture_.map);
    if (!bench_->rows().empty())
        speedupCard_->setMessage(speedupPicture_.map.values.isEmpty() ? tr("No quantized product was measured.")
                                                                      : QString());
}

void BackendsPage::refreshRoofline() {
    const auto picture = rooflinePicture(bench_->rows(), bench_->run().roofs, device_->currentText());
    roofline_->setData(picture.series, {}, true);
    rooflineCard_->setNote(device_->count() == 1 ? device_->currentText() : QString());
    if (!bench_->rows().empty())
        rooflineCard_->setMessage(picture.series.isEmpty() ? tr("No cold product was timed on a device with roofs.")
                                                           : QString());
}

void BackendsPage::refreshSide() {
    const int choice = sideChoice_->currentIndex();
    roofs_->setRows(bench_->run().roofs);
    passes_->setRows(bench_->run().passes);
    compared_->setRows(baseline_ ? compareRuns(*baseline_, bench_->rows()) : std::vector<ComparedRow>{});
    QAbstractItemModel* const models[] = {correctness_, roofs_, passes_, compared_};
    sideSorted_->setSourceModel(models[std::clamp(choice, 0, 3)]);
    side_->sortByColumn(-1, Qt::AscendingOrder);
    side_->resizeColumnsToContents();
    QString message;
    if (sideSorted_->rowCount() == 0)
        message = choice == 3 && !baseline_ ? tr("Baseline… loads the JSON of an earlier run.")
                  : choice == 2             ? tr("Needs a run over shapes of an opened model.")
                  : bench_->running()       ? tr("The first results are on their way.")
                                            : tr("Run fills this.");
    sideCard_->setMessage(message);
}

void BackendsPage::select(int row) {
    const auto index = sorted_->mapFromSource(rows_->index(row, 0));
    results_->setCurrentIndex(index);
    results_->scrollTo(index);
    showRow(row);
}

void BackendsPage::showRow(int row) {
    const auto& rows = bench_->rows();
    if (row < 0 || std::size_t(row) >= rows.size()) return;
    shown_ = row;
    const auto& shown = rows[std::size_t(row)];
    detail_->setPlainText(rowText(shown));
    artifact_->clear();
    artifact_->addItem(tr("Summary"));
    for (const auto& [kind, text] : shown.artifacts) artifact_->addItem(QString::fromStdString(kind));
    artifact_->setVisible(artifact_->count() > 1);
    if (const int at = group_->findText(latencyGroup(shown)); at >= 0 && at != group_->currentIndex()) {
        group_->setCurrentIndex(at);
        refreshLatency();
    }
    for (std::size_t i = 0; i < speedupPicture_.best.size(); ++i)
        if (speedupPicture_.best[i] == row)
            speedup_->setCurrent(int(i) / speedup_->data().columns, int(i) % speedup_->data().columns);
}

void BackendsPage::write(const ReportWriter& writer) {
    if (!bench_->complete()) return;
    const QString path = choosePath_(QDir::home().filePath(QStringLiteral("quantscope-bench") +
                                                           QString::fromUtf8(writer.extension)),
                                     true);
    if (path.isEmpty()) return;
    std::vector<ComparedRow> compared;
    if (baseline_) compared = compareRuns(*baseline_, bench_->rows());
    const auto work = [run = bench_->run(), plan = bench_->plan(), compared, &writer,
                       path = path.toStdString()](const Job&) -> Result<std::uint64_t> {
        const auto text = writer.render(benchmarkReport(plan, run, compared));
        if (!text) return tl::unexpected(text.error());
        if (auto done = writeWholeFile(path, *text); !done) return tl::unexpected(done.error());
        return text->size();
    };
    runJob<std::uint64_t>(this, Job(), work, [this, path](Result<std::uint64_t> bytes) {
        if (!bytes) return say(QString::fromStdString(oneSentence(bytes.error().message)), true);
        say(tr("Wrote %1, %2.").arg(QFileInfo(path).fileName(), QString::fromStdString(bytesText(*bytes))), false);
        Q_EMIT written(path);
    });
}

void BackendsPage::loadBaseline() {
    const QString path = choosePath_(QDir::homePath(), false);
    if (path.isEmpty()) return;
    const auto work = [path = path.toStdString()](const Job&) { return readBenchBaseline(path); };
    runJob<BenchBaseline>(this, Job(), work, [this](Result<BenchBaseline> baseline) {
        if (!baseline) return say(QString::fromStdString(oneSentence(baseline.error().message)), true);
        baseline_ = std::move(*baseline);
        sideChoice_->setCurrentIndex(3);
        refreshSide();
    });
}

void BackendsPage::say(const QString& sentence, bool wrong) {
    status_->setText(sentence);
    status_->setToolTip(sentence);
    status_->setProperty("role", wrong ? QStringLiteral("warn") : QStringLiteral("muted"));
    status_->style()->polish(status_);
}

QWidget* createBackendsPage(Session& session, QWidget* parent) { return new BackendsPage(session, parent); }

} // namespace qs::gui
