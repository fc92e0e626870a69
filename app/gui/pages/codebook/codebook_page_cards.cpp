// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/codebook/codebook_page_cards.h"

#include "app/gui/sentence.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/plot_analysis.h"
#include "app/gui/widgets/plot_axis.h"
#include "core/base/text.h"

#include <QApplication>
#include <QClipboard>
#include <QKeyEvent>
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>

#include <cmath>
#include <limits>

namespace qs::gui {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void addLogToggle(Card* card, PlotChart* chart) {
    QToolButton* log = card->addToggle(QStringLiteral("log y"), Card::tr("Logarithmic y axis"));
    QObject::connect(log, &QToolButton::toggled, chart, &PlotChart::setLogY);
    QObject::connect(chart, &PlotChart::logYToggled, log, &QToolButton::setChecked);
}

QString fixed(double value, int decimals) { return QString::fromStdString(fixedText(value, decimals)); }
QString significant(double value) { return QString::fromStdString(significantText(value, 4)); }

} // namespace

// ---- levels --------------------------------------------------------------------------------------------------------

LevelsCard::LevelsCard(QWidget* parent) : Card(tr("Levels over the density"), parent), chart_(new PlotChart) {
    chart_->setAccessibleName(tr("Levels and decision boundaries over the weight density"));
    addLogToggle(this, chart_);
    setBody(chart_);
    connect(chart_, &PlotChart::markerMoved, this, &LevelsCard::levelMoved);
}

void LevelsCard::setCodebook(const AnalysisRow& row, const CodebookView& view, bool movable) {
    AnalysisPlot plot = weightDensity(*row);
    levels_.clear();
    const auto air = 0.02 * (plot.hi - plot.lo);
    for (qsizetype code = 0; movable && code < std::min(plot.markers.size(), qsizetype(view.rows.size())); ++code) {
        const CodebookRow& is = view.rows[std::size_t(code)];
        PlotMarker& marker = plot.markers[code];
        marker.handle = int(code);
        if (marker.x == is.level) continue;
        marker.x = is.level;
        marker.label = tr("code %1: level %2, %3 of weights")
                           .arg(code)
                           .arg(readoutText(is.level), fixed(100 * is.share, 2) + QStringLiteral(" %"));
        plot.lo = std::min(plot.lo, is.level - air), plot.hi = std::max(plot.hi, is.level + air);
    }
    for (const CodebookRow& code : view.rows) {
        levels_.append(code.level);
        if (std::isfinite(code.upper))
            plot.markers.append(
                {code.upper,
                 tr("boundary %1 | %2 at %3").arg(code.code).arg(code.code + 1).arg(readoutText(code.upper)), true,
                 false, 4});
    }
    setNote(plot.below + plot.above > 0 ? tr("beyond the axis: %1").arg(shareText(plot.below + plot.above, plot.total))
            : movable                   ? tr("drag a level   ┄ boundary")
                                        : tr("— level   ┄ boundary"));
    chart_->setAxes(row->spec.scaleKind() == ScaleKind::None ? tr("w") : tr("w / scale"), tr("density"));
    chart_->setXRange(plot.lo, plot.hi);
    const QString drawn = QString::fromStdString(row->tensor + '|' + row->spec.format);
    chart_->setData({plot.series}, plot.markers, drawn == drawn_);
    drawn_ = drawn;
}

void LevelsCard::showCode(int code) {
    chart_->showCrosshair(code >= 0 && code < levels_.size() ? levels_[code] : kNone);
}

// ---- occupancy -----------------------------------------------------------------------------------------------------

OccupancyCard::OccupancyCard(QWidget* parent) : Card(tr("Occupancy and error"), parent), chart_(new PlotChart) {
    chart_->setAccessibleName(tr("Share of the weights and of the error per code"));
    chart_->setAxes(tr("code"), tr("share, %"));
    chart_->setLegend(true);
    chart_->setXDecimals(0);
    addLogToggle(this, chart_);
    setBody(chart_);
    connect(chart_, &PlotChart::hovered, this,
            [this](double x) { Q_EMIT codeHovered(std::isnan(x) ? -1 : int(std::lround(x))); });
}

void OccupancyCard::setCodebook(const CodebookView& view) {
    PlotSeries bars{tr("occupancy"), PlotSeries::Style::Bars, 0, {}, {}};
    PlotSeries errors{tr("squared error"), PlotSeries::Style::Bars, 2, {}, {}};
    PlotSeries even{tr("evenly used"), PlotSeries::Style::Line, 4, {}, {}};
    const double share = view.rows.empty() ? 0 : 100.0 / double(view.rows.size());
    for (const CodebookRow& row : view.rows) {
        bars.points.append({double(row.code), 100 * row.share});
        bars.notes.append(tr("level %1, %2 weights").arg(readoutText(row.level)).arg(row.count));
        if (!std::isnan(row.errorShare)) errors.points.append({double(row.code), 100 * row.errorShare});
    }
    if (!view.rows.empty()) even.points = {{-0.5, share}, {double(view.rows.size()) - 0.5, share}};
    setNote(tr("entropy %1 of %2 bits  %3 dead")
                .arg(fixed(view.entropyBits, 3), fixed(view.maxBits, 3))
                .arg(view.deadCodes));
    if (errors.points.isEmpty()) return chart_->setData({bars, even}, {}, true);
    bars.barTo = 0, errors.barFrom = 0; // side by side
    chart_->setData({bars, even, errors}, {}, true);
}

void OccupancyCard::showCode(int code) { chart_->showCrosshair(code < 0 ? kNone : double(code)); }

// ---- table ---------------------------------------------------------------------------------------------------------

CodeTableCard::CodeTableCard(QWidget* parent)
    : Card(tr("Codes"), parent), model_(new RowModel<CodebookRow>(codebookColumns(), this)), table_(new QTableView) {
    asDataTable(*table_, tr("Codes: level, boundaries, occupancy"));
    table_->setModel(model_);
    table_->installEventFilter(this);
    setBody(table_);
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& current) {
                Q_EMIT codeSelected(current.isValid() ? model_->row(current.row()).code : -1);
            });
}

void CodeTableCard::setCodebook(const CodebookView& view) {
    const QModelIndex current = table_->currentIndex();
    const int scrolled = table_->verticalScrollBar()->value();
    const QSignalBlocker quiet(table_->selectionModel());
    model_->setRows(view.rows);
    if (current.isValid() && current.row() < model_->rowCount())
        table_->setCurrentIndex(model_->index(current.row(), current.column()));
    table_->verticalScrollBar()->setValue(scrolled);
    setNote(tr("%1 codes").arg(view.rows.size()));
    if (std::exchange(codes_, view.rows.size()) == view.rows.size()) return;
    table_->setColumnHidden(int(codebookColumns().indexOf("poly_level")), true); // the chart below shows it
    table_->resizeColumnsToContents();
    widths_.clear();
    for (int column = 0; column < model_->columnCount(); ++column) widths_.push_back(table_->columnWidth(column));
    spreadColumns();
}

/// Distributes the remaining width equally over all columns, because rows are read across.
void CodeTableCard::spreadColumns() {
    const int room = table_->width() - table_->verticalScrollBar()->sizeHint().width() - 4;
    const auto& columns = codebookColumns();
    int used = 0, shown = 0, count = -1;
    for (int column = 0; column < int(widths_.size()); ++column) {
        const auto& id = columns[std::size_t(column)].id;
        if (id == "poly_level") continue;
        if (id == "count") count = column;
        used += widths_[std::size_t(column)], ++shown;
    }
    if (shown == 0) return;
    if (count >= 0) table_->setColumnHidden(count, used > room); // without room only the share is shown
    if (count >= 0 && used > room) used -= widths_[std::size_t(count)], --shown;
    const int more = std::clamp((room - used) / shown, 0, 96);
    for (int column = 0; column < int(widths_.size()); ++column)
        if (!table_->isColumnHidden(column)) table_->setColumnWidth(column, widths_[std::size_t(column)] + more);
}

void CodeTableCard::showCode(int code) {
    if (code < 0 || code >= model_->rowCount()) return;
    const QSignalBlocker quiet(table_->selectionModel());
    table_->setCurrentIndex(model_->index(code, 0));
    table_->viewport()->update();
}

bool CodeTableCard::eventFilter(QObject* object, QEvent* event) {
    if (object == table_ && event->type() == QEvent::Resize) spreadColumns();
    if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->matches(QKeySequence::Copy)) {
        QString text;
        for (int column = 0; column < model_->columnCount(); ++column)
            text += model_->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString() +
                    (column + 1 < model_->columnCount() ? u'\t' : u'\n');
        QModelIndexList rows = table_->selectionModel()->selectedRows();
        std::sort(rows.begin(), rows.end());
        for (const QModelIndex& row : rows) {
            for (int column = 0; column < model_->columnCount(); ++column)
                text += model_->index(row.row(), column).data().toString() +
                        (column + 1 < model_->columnCount() ? u'\t' : u'\n');
        }
        QApplication::clipboard()->setText(text);
        return true;
    }
    return Card::eventFilter(object, event);
}

// ---- decode --------------------------------------------------------------------------------------------------------

DecodeCard::DecodeCard(QWidget* parent)
    : Card(tr("Table against polynomial decode"), parent), chart_(new PlotChart), verdict_(new QLabel) {
    chart_->setAccessibleName(tr("Difference of the polynomial's levels from the table's, per code"));
    chart_->setAxes(tr("code"), tr("polynomial − table, units of the scale"));
    chart_->setXDecimals(0);
    verdict_->setProperty("role", QStringLiteral("muted"));
    verdict_->setWordWrap(true);
    verdict_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Minimum);
    verdict_->setTextFormat(Qt::PlainText);
    auto* body = new QWidget;
    auto* layout = spaced(new QVBoxLayout(body), Theme::kSpace);
    layout->addWidget(chart_, 1);
    layout->addWidget(verdict_);
    setBody(body);
}

void DecodeCard::setCodebook(const std::shared_ptr<const Model>& model, const TensorInfo* tensor,
                             const AnalysisRow& row, const CodebookView& view) {
    if (!view.hasPoly) {
        task_.drop();
        asked_.clear();
        setNote({});
        return setMessage(tr("%1 has one decode: its levels are exact in the table.")
                              .arg(QString::fromUtf8(row->spec.traits().title)));
    }
    setMessage({});
    PlotSeries bars{tr("difference"), PlotSeries::Style::Bars, 3, {}, {}};
    double largest = 0;
    for (const CodebookRow& code : view.rows) {
        const double difference = code.polyLevel - code.level;
        largest = std::max(largest, std::abs(difference));
        bars.points.append({double(code.code), difference});
        bars.notes.append(tr("table %1, polynomial %2").arg(readoutText(code.level), readoutText(code.polyLevel)));
    }
    setNote(tr("largest %1").arg(significant(largest)));
    chart_->setData({bars}, {}, true);
    if (!model || !tensor) return;
    const QString asked = QString::fromStdString(tensor->name + '|' + canonicalText(row->spec));
    if (asked == asked_) return;
    asked_ = asked;
    verdict_->setText(tr("Measuring both decodes…"));
    const auto work = [model, tensor, spec = row->spec](const Job& job) {
        return compareDecodes(*model, *tensor, spec, job);
    };
    task_.run({}, work, [this](const Result<DecodeComparison>& result) {
        if (!result && result.error().cancelled) return;
        verdict_->setText(result ? decodeVerdict(*result) : tr("Not measured: %1").arg(errorSentence(result.error())));
    });
}

void DecodeCard::showCode(int code) { chart_->showCrosshair(code < 0 ? kNone : double(code)); }

QString decodeVerdict(const DecodeComparison& comparison) {
    const double table = comparison.table.n > 0 ? comparison.table.se2 / comparison.table.n : kNone;
    const double poly = comparison.poly.n > 0 ? comparison.poly.se2 / comparison.poly.n : kNone;
    if (std::isnan(table) || std::isnan(poly)) return Card::tr("Not measured: there is no finite weight.");
    if (table == 0)
        return Card::tr("MSE 0 by the table, %1 by the polynomial: all of that error comes from the decode.")
            .arg(significant(poly));
    const double change = 100 * (poly - table) / table;
    return Card::tr(
               "MSE %1 by the table, %2 by the polynomial: the polynomial decode changes the squared error by %3 %.")
        .arg(significant(table), significant(poly),
             (change >= 0 ? QStringLiteral("+") : QStringLiteral("−")) + fixed(std::abs(change), 2));
}

} // namespace qs::gui
