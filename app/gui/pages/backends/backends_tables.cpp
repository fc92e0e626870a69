// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/backends_tables.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/sketch.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QSortFilterProxyModel>
#include <QTableView>

#include <algorithm>
#include <map>

namespace qs::gui {
namespace {

Columns<BenchmarkRow> columnsOf(std::initializer_list<std::string_view> ids) {
    auto out = benchmarkColumns().pick(ids);
    for (auto& column : out)
        if (column.id == "status") // words in files have underscores
            column.value = [status = column.value](const BenchmarkRow& row) -> Value {
                Value value = status(row);
                if (auto* text = std::get_if<std::string>(&value)) std::replace(text->begin(), text->end(), '_', ' ');
                return value;
            };
    return out;
}

/// "cpu/cpu:0", then the other parts of the name.
QStringList wordsOf(const ComparedRow& row) {
    QStringList words{QString::fromStdString(row.parts[0] + '/' + row.parts[1])};
    for (std::size_t i = 2; i < row.parts.size(); ++i) words << QString::fromStdString(row.parts[i]);
    return words;
}

/// In place of a missing time it shows a word for the reason; the tooltip has the full reason.
class SortedRows : public QSortFilterProxyModel {
public:
    SortedRows(const BenchRun& bench, QObject* parent) : QSortFilterProxyModel(parent), bench_(bench) {}
    void setTimes(const RowModel<BenchmarkRow>* times) {
        times_ = {times, times->columnOf("variant")};
        median_ = times->columnOf("median_ns");
        speedup_ = times->columnOf("speedup_vs_f32");
    }
    void setCorrectness(const RowModel<BenchmarkRow>* rows) { correctness_ = {rows, rows->columnOf("variant")}; }
    void setCompared(const RowModel<ComparedRow>* compared) { compared_ = compared; }
    /// Words that the names of all rows of the baseline share are not shown.
    void setCommon(const QStringList& words, bool oneDevice) {
        common_ = words;
        oneDevice_ = oneDevice;
    }
    QVariant data(const QModelIndex& index, int role) const override {
        const bool ofTimes = sourceModel() == times_.model, ofRows = ofTimes || sourceModel() == correctness_.model;
        if (!ofRows && role == Qt::ToolTipRole && index.column() == 0) // the name may be elided
            return QSortFilterProxyModel::data(index, Qt::DisplayRole);
        if (sourceModel() == compared_ && role == Qt::DisplayRole && index.column() == 0) {
            const auto& row = compared_->rows()[std::size_t(mapToSource(index).row())];
            QStringList words = wordsOf(row);
            if (oneDevice_ && !common_.contains(words.front())) words.front() = QString::fromStdString(row.parts[0]);
            words.removeIf([this](const QString& word) { return common_.contains(word); });
            return words.join(QStringLiteral("  "));
        }
        if (!ofRows || (role != Qt::DisplayRole && role != Qt::ToolTipRole))
            return QSortFilterProxyModel::data(index, role);
        const int at = mapToSource(index).row();
        if (at < 0 || std::size_t(at) >= bench_.rows().size()) return QSortFilterProxyModel::data(index, role);
        const auto& row = bench_.rows()[std::size_t(at)];
        if (role == Qt::ToolTipRole)
            return QString::fromStdString(row.verdict.reason.empty() &&
                                                  index.column() == (ofTimes ? times_ : correctness_).variant
                                              ? row.answer.variant.id
                                              : row.verdict.reason);
        // Threads waited for each other: a ratio means nothing.
        if (ofTimes && index.column() == speedup_ && row.timing.busy)
            return QCoreApplication::translate("qs::gui::BenchTables", "busy");
        if (!ofTimes || index.column() != median_ || row.timing.medianNs)
            return QSortFilterProxyModel::data(index, role);
        return QString::fromUtf8(rowStateText(row.verdict.status)).replace(u'_', u' ');
    }

private:
    const BenchRun& bench_;
    struct Rows {
        const RowModel<BenchmarkRow>* model = nullptr;
        int variant = -1; ///< column
    };
    Rows times_, correctness_;
    int median_ = -1, speedup_ = -1; ///< columns of the times
    const RowModel<ComparedRow>* compared_ = nullptr;
    QStringList common_;
    bool oneDevice_ = false; ///< each backend has only one device
};

QStringList commonWords(const std::vector<ComparedRow>& rows) {
    if (rows.size() < 2) return {};
    QStringList common = wordsOf(rows.front());
    for (const auto& row : rows) {
        const auto words = wordsOf(row);
        common.removeIf([&](const QString& word) { return !words.contains(word); });
    }
    return common;
}

} // namespace

BenchTables::BenchTables(const BenchRun& bench, QWidget* parent)
    : Card(tr("Results"), parent), bench_(bench), view_(named(new QTableView, "benchResults")),
      choice_(named(new QComboBox, "tableChoice")) {
    auto* sorted = new SortedRows(bench, this);
    sorted_ = sorted;
    // Order of columns: what the row is, what is compared, the rest.
    times_ = new RowModel<BenchmarkRow>(
        columnsOf({"backend",    "spec",        "variant",    "m",      "median_ns",    "speedup_vs_f32",
                   "n",          "k",           "status",     "ci_ns",  "act",          "cache",
                   "gflops",     "weight_gbps", "roof_share", "roof",   "nmse",         "format_nmse",
                   "prepare_ns", "repack_ms",   "compile_ms", "fusion", "sample_count", "op",
                   "device",     "reason"}),
        this);
    correctness_ = new RowModel<BenchmarkRow>(
        columnsOf({"backend", "spec", "variant", "m", "status", "nmse", "nmse_limit", "tail_nmse", "format_nmse", "n",
                   "k", "checked_outputs", "outputs", "checked_shapes", "approx", "variant_note", "reason"}),
        this);
    sorted->setTimes(times_);
    sorted->setCorrectness(correctness_);
    roofs_ = new RowModel<MeasuredRoof>(roofColumns(), this);
    passes_ = new RowModel<ModelPassRow>(
        modelPassColumns().pick({"backend", "spec", "m", "pass_ns", "tokens_per_second", "speedup_vs_f32", "products",
                                 "missing", "cache", "act", "op", "device", "variants", "reason"}),
        this);
    // The change and its verdict follow the name; then the values that they come from.
    compared_ =
        new RowModel<ComparedRow>(comparedColumns().pick({"row", "ratio", "verdict", "old_ns", "median_ns", "ratio_low",
                                                          "ratio_high", "drift_low", "drift_high", "old_nmse", "nmse"}),
                                  this);
    sorted->setCompared(compared_);
    asDataTable(*view_, tr("Results"));
    view_->setProperty("roomy", true); // text beside right-aligned numbers
    view_->setSelectionMode(QAbstractItemView::SingleSelection);
    sorted_->setSortRole(Qt::UserRole);
    view_->setModel(sorted_);
    view_->setSortingEnabled(true);
    setBody(view_);
    setSketch(Sketch::ofTable(*times_));
    choice_->setAccessibleName(tr("Table"));
    choice_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    choice_->addItems(
        {tr("Times"), tr("Correctness"), tr("Measured roofs"), tr("Model, per token"), tr("Against the baseline")});
    addCorner(choice_);
    connect(choice_, &QComboBox::currentIndexChanged, this, [this] {
        showChoice();
        select(selected_);
    });
    connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] {
        const int row = current();
        if (row < 0 || row == selected_) return;
        selected_ = row;
        Q_EMIT rowSelected(row);
    });
    showChoice();
}

void BenchTables::showChoice() {
    QAbstractItemModel* const models[] = {times_, correctness_, roofs_, passes_, compared_};
    sorted_->setSourceModel(models[choice_->currentIndex()]);
    // Names of rows in the baseline differ at both ends.
    view_->setTextElideMode(choice_->currentIndex() == Baseline ? Qt::ElideMiddle : Qt::ElideRight);
    view_->sortByColumn(-1, Qt::AscendingOrder);
    fitColumns();
    explain();
}

void BenchTables::fitColumns() {
    view_->resizeColumnsToContents();
    nameWidth_ = view_->columnWidth(nameColumn());
    giveWay();
}

int BenchTables::nameColumn() const {
    const auto* model = sorted_->sourceModel();
    if (model == compared_) return compared_->columnOf("row");
    return (model == times_ ? times_ : correctness_)->columnOf("variant");
}

/// The compared columns stay visible: names of variants and rows are elided, and the tooltip has the full name.
void BenchTables::giveWay() {
    const auto* model = sorted_->sourceModel();
    if (model != times_ && model != correctness_ && model != compared_) return;
    const bool named = model == compared_;
    const int last = named             ? compared_->columnOf("verdict")
                     : model == times_ ? times_->columnOf("speedup_vs_f32")
                                       : correctness_->columnOf("nmse");
    const int least = named ? 160 : 84, name = nameColumn();
    int others = 0;
    for (int column = 0; column <= last; ++column) others += column == name ? 0 : view_->columnWidth(column);
    const int room = std::max(least, view_->viewport()->width() - others);
    view_->setColumnWidth(name, std::min(nameWidth_, room));
}

void BenchTables::resizeEvent(QResizeEvent* event) {
    Card::resizeEvent(event);
    giveWay();
}

/// Rows arrive while the benchmark runs; the scroll position is kept.
void BenchTables::refresh() {
    const auto& rows = bench_.rows();
    const bool first = times_->rows().empty();
    if (run_ != bench_.number()) {
        run_ = bench_.number();
        selected_ = -1;
        times_->setRows(rows);
        correctness_->setRows(rows);
    } else {
        times_->grow(rows);
        correctness_->grow(rows);
    }
    roofs_->setRows(bench_.run().roofs);
    passes_->setRows(bench_.run().passes);
    setCompared();
    if (first || bench_.complete()) fitColumns();
    explain();
}

void BenchTables::explain() {
    const int choice = choice_->currentIndex();
    const auto& rows = bench_.rows();
    const auto busy = std::ranges::count_if(rows, [](const auto& row) { return row.timing.busy; });
    const auto& passes = bench_.run().passes;
    const bool part = !passes.empty() && std::ranges::all_of(passes, [](const auto& pass) { return pass.missing > 0; });
    setNote(part && choice == Model                      ? tr("for sums tick every shape of the model, and run")
            : busy && choice != Correctness              ? tr("%1 rows timed on a busy machine: too slow").arg(busy)
            : bench_.complete() && choice <= Correctness ? tr("correct before timed")
                                                         : QString());
    QString message;
    if (sorted_->rowCount() == 0)
        message = choice == Baseline && !baseline_ ? tr("Press Baseline… to load the JSON of an earlier run.")
                  : choice == Model && bench_.complete()
                      ? tr("Tick every shape of an opened model, and run: their sum is one pass over it.")
                  : bench_.running() ? (choice == Roofs || choice == Model ? tr("Shown when the run is complete.")
                                                                           : tr("The first results are on their way."))
                                     : tr("Press Run: every variant is checked against f64 first, then timed.");
    setEmpty(message);
}

int BenchTables::current() const {
    const auto index = sorted_->mapToSource(view_->currentIndex());
    return index.model() == times_ || index.model() == correctness_ ? index.row() : -1;
}

void BenchTables::select(int row) {
    selected_ = row;
    if (row < 0 || row == current()) return;
    auto* model = sorted_->sourceModel();
    if ((model != times_ && model != correctness_) || row >= model->rowCount()) return;
    const auto index = sorted_->mapFromSource(model->index(row, 0));
    view_->setCurrentIndex(index);
    view_->scrollTo(index);
}

void BenchTables::setBaseline(BenchBaseline baseline) {
    baseline_ = std::move(baseline);
    setCompared();
    choice_->setCurrentIndex(Baseline);
    showChoice();
}

void BenchTables::setCompared() {
    const auto rows = compared();
    std::map<std::string, std::string> devices; // of each backend
    bool one = true;
    for (const auto& row : rows) {
        one &= devices.try_emplace(row.parts[0], row.parts[1]).first->second == row.parts[1];
    }
    static_cast<SortedRows*>(sorted_)->setCommon(commonWords(rows), one && rows.size() > 1);
    compared_->setRows(rows);
}

std::vector<ComparedRow> BenchTables::compared() const {
    return baseline_ ? compareRuns(*baseline_, bench_.rows(), bench_.run().roofs) : std::vector<ComparedRow>{};
}

} // namespace qs::gui
