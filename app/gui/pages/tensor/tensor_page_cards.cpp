// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/tensor/tensor_page_cards.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/plot_analysis.h"
#include "core/base/text.h"

#include <QToolButton>

#include <cmath>

namespace qs::gui {
namespace {

QToolButton* addLogToggle(Card* card, const QList<PlotChart*>& charts) {
    QToolButton* log = card->addToggle(QStringLiteral("log y"), Card::tr("Logarithmic y axis"));
    for (PlotChart* chart : charts) {
        QObject::connect(log, &QToolButton::toggled, chart, &PlotChart::setLogY);
        QObject::connect(chart, &PlotChart::logYToggled, log, &QToolButton::setChecked);
    }
    return log;
}

PlotSeries asSecond(PlotSeries series, const AnalysisRow& row) {
    series.style = PlotSeries::Style::Line;
    series.token = 1;
    series.name = QStringLiteral("B ") + QString::fromStdString(specText(row->spec));
    return series;
}

QString identity(const AnalysisRow& row, bool withBlock) {
    return QString::fromStdString(row->tensor) + u'|' +
           QString::fromStdString(withBlock ? canonicalText(row->spec) : row->spec.format);
}

QString tailsText(const AnalysisPlot& plot) {
    if (plot.below + plot.above <= 0) return {};
    const QString share = shareText(plot.below + plot.above, plot.total);
    return plot.above <= 0   ? Card::tr("beyond the axis: %1 below").arg(share)
           : plot.below <= 0 ? Card::tr("beyond the axis: %1 above").arg(share)
                             : Card::tr("beyond the axis: %1").arg(share);
}

/// The type in which errors are measured, if the source's type differs from f32.
QString decodedWords(const TensorAnalysis& row) {
    if (row.decodedAs != DType::F32) return Card::tr(";  as %1").arg(QString::fromLatin1(info(row.decodedAs).id));
    const bool half = row.dtype == DType::F16 || row.dtype == DType::BF16;
    return half ? Card::tr(";  as f32") : QString();
}

} // namespace

QString blockedReason(const AnalysisRow& row) {
    if (!row) return Card::tr("Not measured yet.");
    if (row->status == Status::Ok) return {};
    return Card::tr("Not measured: %1").arg(QString::fromStdString(row->reason));
}

bool drawable(const AnalysisRow& row) { return row && row->status == Status::Ok; }

// ---- density -------------------------------------------------------------------------------------------------------

DensityCard::DensityCard(QWidget* parent) : Card(tr("Weight density and levels"), parent), chart_(new PlotChart) {
    chart_->setAccessibleName(tr("Weight density and levels"));
    addLogToggle(this, {chart_});
    setBody(chart_);
}

void DensityCard::setRows(const AnalysisRow& a, const AnalysisRow& b) {
    setMessage(blockedReason(a));
    if (!drawable(a)) return setNote({});
    const AnalysisPlot plot = weightDensity(*a);
    QVector<PlotSeries> series{plot.series};
    QString note = tailsText(plot);
    if (b) {
        series[0].name = QStringLiteral("A ") + QString::fromStdString(specText(a->spec));
        // Two formats share the axis only if their outermost levels are equal.
        const auto levelsA = decodeLevels(*a), levelsB = drawable(b) ? decodeLevels(*b) : levelsA;
        const bool sameAxis = drawable(b) && !levelsA.empty() && !levelsB.empty() &&
                              std::abs(double(levelsA.back()) - double(levelsB.back())) < 0.02 * double(levelsA.back());
        if (sameAxis) series.append(asSecond(weightDensity(*b).series, b));
        if (!sameAxis) note = tr("B %1 has another axis").arg(QString::fromStdString(b->spec.format));
    }
    const QString title = QString::fromUtf8(a->spec.traits().title);
    setTitle(plot.markers.isEmpty() ? tr("Weight density") : tr("Weight density and %1 levels").arg(title));
    setNote(note);
    const bool scaled = a->spec.scaleKind() != ScaleKind::None;
    const QString drawn = identity(a, false);
    chart_->setAxes(scaled ? tr("w / scale") : tr("w"), tr("density"));
    chart_->setLegend(series.size() > 1);
    chart_->setXRange(plot.lo, plot.hi);
    chart_->setData(series, plot.markers, drawn == drawn_);
    drawn_ = drawn;
}

// ---- error ---------------------------------------------------------------------------------------------------------

ErrorCard::ErrorCard(QWidget* parent) : Card(tr("Signed error"), parent), chart_(new PlotChart) {
    chart_->setAccessibleName(tr("Signed error"));
    symlog_ = addToggle(QStringLiteral("symlog"), tr("x linear around 0 and logarithmic beyond, to the largest error"));
    symlog_->setChecked(true);
    connect(symlog_, &QToolButton::toggled, this, &ErrorCard::draw);
    cumulative_ = addToggle(QStringLiteral("ECDF"), tr("Cumulative share of the errors instead of their density"));
    connect(cumulative_, &QToolButton::toggled, this, &ErrorCard::draw);
    addLogToggle(this, {chart_});
    setBody(chart_);
}

void ErrorCard::setRows(const AnalysisRow& a, const AnalysisRow& b) {
    a_ = a;
    b_ = b;
    draw();
}

void ErrorCard::draw() {
    setMessage(blockedReason(a_));
    if (!drawable(a_)) return setNote({});
    const bool second = drawable(b_);
    const bool cumulative = cumulative_->isChecked();
    const ErrorAxis axis = errorAxis(*a_, second ? b_.get() : nullptr, symlog_->isChecked());
    if (!(axis.range > 0)) {
        setNote({});
        return setMessage(tr("No error: every weight is reproduced exactly."));
    }
    const AnalysisPlot plot = signedError(*a_, axis, cumulative);
    QVector<PlotSeries> series{plot.series};
    if (second) {
        series[0].name = QStringLiteral("A ") + QString::fromStdString(specText(a_->spec));
        series.append(asSecond(signedError(*b_, axis, cumulative).series, b_));
    }
    const auto shown = [](double value) { return QString::fromStdString(significantText(value, 3)); };
    // The end of the axis, or of its linear part; the percentiles are below it.
    setNote(axis.symlog.on()
                ? tr("linear within ±%1").arg(QString::fromStdString(significantText(axis.symlog.linear, 1)))
                : tr("%1 beyond").arg(shareText(plot.below + plot.above, plot.total)));
    chart_->setAxes(tr("error ŵ − w"), errorUnit(axis, cumulative));
    chart_->setXCaption(
        tr(";  |E| p50 %1, p95 %2, p99 %3%4").arg(shown(a_->p50), shown(a_->p95), shown(a_->p99), decodedWords(*a_)));
    chart_->setLegend(second);
    chart_->setXScale(axis.symlog);
    chart_->setXRange(plot.lo, plot.hi);
    const QString drawn = identity(a_, true) + (cumulative ? u'c' : u'd') + (axis.symlog.on() ? u's' : u'l');
    chart_->setData(series, plot.markers, drawn == drawn_);
    drawn_ = drawn;
}

// ---- channels ------------------------------------------------------------------------------------------------------

ChannelCard::ChannelCard(QWidget* parent)
    : Card(tr("Channel profile"), parent), magnitudes_(new PlotChart), errors_(new PlotChart), columns_(new PlotChart) {
    magnitudes_->setAccessibleName(tr("Largest weight of each row"));
    errors_->setAccessibleName(tr("NMSE of each row"));
    columns_->setAccessibleName(tr("Largest weight of each column"));
    for (PlotChart* chart : {magnitudes_, errors_, columns_}) chart->setLeftMargin(52);
    magnitudes_->setXLabels(false);
    magnitudes_->setAxes(tr("row"), tr("max |w|"));
    errors_->setAxes(tr("row"), QStringLiteral("NMSE"));
    columns_->setAxes(tr("column"), tr("max |w|"));
    for (auto* chart : {magnitudes_, errors_, columns_}) chart->setXDecimals(0);
    errors_->setXCaption(tr(" (all axes but the last)"));
    columns_->setXCaption(tr(" (index of the last axis)"));
    columnsToggle_ = addToggle(tr("columns"), tr("Columns, indices of the last axis, instead of rows"));
    connect(columnsToggle_, &QToolButton::toggled, this, &ChannelCard::showAxis);
    addLogToggle(this, {magnitudes_, errors_, columns_});
    auto* body = new QWidget;
    auto* layout = spaced(new QVBoxLayout(body), 0);
    layout->addWidget(magnitudes_, 5);
    layout->addWidget(errors_, 7); // the axis labels take part of its height
    layout->addWidget(columns_, 12);
    setBody(body);
    showAxis();
    for (PlotChart* chart : {magnitudes_, errors_}) {
        connect(chart, &PlotChart::hovered, this, &ChannelCard::showRow);
        connect(chart, &PlotChart::hovered, this, &ChannelCard::rowHovered);
        connect(chart, &PlotChart::clicked, this, [this](double row) {
            const auto first = qint64(std::floor(std::round(row) / rowsPerPoint_) * rowsPerPoint_);
            Q_EMIT rowsClicked(first, first + qint64(std::ceil(rowsPerPoint_)));
        });
    }
    connect(magnitudes_, &PlotChart::viewChanged, errors_, [this](double lo, double hi) { errors_->setXView(lo, hi); });
    connect(errors_, &PlotChart::viewChanged, magnitudes_,
            [this](double lo, double hi) { magnitudes_->setXView(lo, hi); });
}

void ChannelCard::showAxis() {
    const bool columns = columnsToggle_->isChecked();
    magnitudes_->setVisible(!columns);
    errors_->setVisible(!columns);
    columns_->setVisible(columns);
    setNote(columns ? columnsNote_ : rowsNote_);
}

void ChannelCard::showRow(double row) {
    magnitudes_->showCrosshair(row);
    errors_->showCrosshair(row);
}

void ChannelCard::setRows(const AnalysisRow& a, const AnalysisRow& b) {
    setMessage(blockedReason(a));
    rowsNote_.clear(), columnsNote_.clear();
    if (!drawable(a)) return setNote({});
    const ChannelProfile& profile = a->channels();
    rowsPerPoint_ = rowsPerPoint(profile);
    const auto note = [](const QString& what, double each) { return each > 1 ? what + tr("  max-pooled") : what; };
    rowsNote_ = note(tr("%1 rows").arg(profile.channels), rowsPerPoint_);
    columnsNote_ = note(tr("%1 columns").arg(a->columns().channels), rowsPerPoint(a->columns()));
    columns_->setData({channelSeries(a->columns(), a->columns().absMax, QString(), 0)}, {}, true);
    showAxis();
    magnitudes_->setData({channelSeries(profile, profile.absMax, QString(), 0)}, {}, true);
    QVector<PlotSeries> series{channelSeries(profile, profile.nmse, QString(), 2)};
    if (drawable(b)) {
        series[0].name = QStringLiteral("A ") + QString::fromStdString(specText(a->spec));
        series.append(asSecond(channelSeries(b->channels(), b->channels().nmse, QString(), 1), b));
    }
    errors_->setLegend(series.size() > 1);
    errors_->setData(series, {}, true);
}

} // namespace qs::gui
