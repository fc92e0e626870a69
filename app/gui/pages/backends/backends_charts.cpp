// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/backends_charts.h"

#include "app/gui/bench_run.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/sketch.h"

#include <QComboBox>
#include <QLabel>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs::gui {
namespace {

constexpr double kReach = 14; // pixels from a point in which a click selects it

QComboBox* corner(Card& card, const char* name, const QString& accessibleName) {
    auto* box = new QComboBox;
    box->setObjectName(QLatin1String(name));
    box->setAccessibleName(accessibleName);
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    box->hide();
    card.addCorner(box);
    return box;
}

/// Keeps the choice. If there is only one item, it becomes a note.
void fill(Card& card, QComboBox& box, const QStringList& items) {
    const QString before = box.currentText();
    const QSignalBlocker blocker(&box);
    box.clear();
    box.addItems(items);
    if (const auto at = items.indexOf(before); at >= 0) box.setCurrentIndex(int(at));
    box.setVisible(items.size() > 1);
    card.setNote(items.size() == 1 ? items.front() : QString());
}

void choose(QComboBox& box, const QString& item) {
    if (const int at = box.findText(item); at >= 0) box.setCurrentIndex(at);
}

QString notYet(const BenchRun& bench, const QString& what) {
    return bench.running() ? QObject::tr("The first results are on their way.") : what;
}

/// Marks the selected point.
PlotSeries ringAt(const QPointF& at) {
    PlotSeries ring{{}, PlotSeries::Style::Dots, 0, {at}, {}};
    ring.naming = PlotSeries::Naming::None;
    ring.ring = true;
    return ring;
}

/// Finds the row of the point nearest to a click; -1: no point is near.
class Nearest {
public:
    Nearest(const PlotChart& chart, double x, double y) : chart_(chart), at_(chart.pixelOf(x, y)) {}
    void offer(double x, double y, std::size_t row) {
        const QPointF d = chart_.pixelOf(x, y) - at_;
        const double distance = std::hypot(d.x(), d.y());
        if (distance >= best_) return;
        best_ = distance;
        row_ = int(row);
    }
    int row() const { return row_; }

private:
    const PlotChart& chart_;
    QPointF at_;
    double best_ = kReach;
    int row_ = -1;
};

} // namespace

// ---- latency -------------------------------------------------------------------------------------------------------

LatencyCard::LatencyCard(const BenchRun& bench, QWidget* parent)
    : Card(tr("Latency against M"), parent), bench_(bench), chart_(named(new PlotChart, "latencyChart")) {
    chart_->setAccessibleName(tr("Latency against M"));
    chart_->setAxes(tr("M, rows of x"), tr("median, µs"));
    chart_->setXPowers(2);
    chart_->setLogY(true);
    chart_->setLegend(true);
    setBody(chart_);
    setSketch(new Sketch(Sketch::Kind::Curves, {tr("M, rows of x"), tr("median, µs")}));
    all_ = addToggle(tr("all variants"), tr("A line for each variant instead of the fastest one"));
    group_ = corner(*this, "latencyGroup", tr("Shape and operation of the latency chart"));
    connect(all_, &QToolButton::toggled, this, &LatencyCard::refresh);
    connect(group_, &QComboBox::activated, this, &LatencyCard::draw);
    connect(chart_, &PlotChart::clicked, this, [this](double x, double y) {
        const auto* chart = current();
        if (!chart) return;
        Nearest nearest(*chart_, x, y);
        for (const auto& series : chart->series)
            for (std::size_t i = 0; i < series.m.size(); ++i)
                nearest.offer(std::log2(series.m[i]), series.ns[i] / 1e3, series.rows[i]);
        if (nearest.row() >= 0) Q_EMIT rowClicked(nearest.row());
    });
}

const LatencyChart* LatencyCard::current() const {
    const auto at = std::size_t(std::max(0, group_->currentIndex()));
    return at < charts_.size() ? &charts_[at] : nullptr;
}

void LatencyCard::refresh() {
    const auto& rows = bench_.rows();
    charts_ = latencyCharts(rows, all_->isChecked() ? LatencyLines::Variants : LatencyLines::Fastest);
    QStringList groups;
    for (const auto& chart : charts_) groups << latencyGroup(rows[chart.series.front().rows.front()]);
    fill(*this, *group_, groups);
    draw();
}

void LatencyCard::draw() {
    const auto* chart = current();
    all_->setVisible(chart != nullptr);
    if (!chart) {
        if (!bench_.rows().empty()) return setMessage(tr("Nothing was timed; the table says why."));
        return setEmpty(
            notYet(bench_, tr("Press Run to time each backend at every M; marks show where the fastest changes.")));
    }
    auto picture = latencyPicture(*chart, bench_.rows());
    for (const auto& series : chart->series)
        for (std::size_t i = 0; i < series.rows.size(); ++i)
            if (int(series.rows[i]) == shown_) picture.series << ringAt({std::log2(series.m[i]), series.ns[i] / 1e3});
    // Space for the ring around a point at both ends.
    double least = std::numeric_limits<double>::max(), most = 0;
    for (const auto& series : chart->series)
        for (const double m : series.m) least = std::min(least, std::log2(m)), most = std::max(most, std::log2(m));
    const double air = std::max(0.1, 0.03 * (most - least));
    chart_->setXRange(least - air, most + air);
    chart_->setData(picture.series, picture.crossovers, true);
    setMessage({});
}

void LatencyCard::show(int row) {
    shown_ = row;
    if (row >= 0) choose(*group_, latencyGroup(bench_.rows()[std::size_t(row)]));
    draw();
}

// ---- speed-up ------------------------------------------------------------------------------------------------------

SpeedupCard::SpeedupCard(const BenchRun& bench, QWidget* parent)
    : Card(tr("Speed-up over f32 sgemm"), parent), bench_(bench), map_(named(new HeatMap, "speedupMap")) {
    map_->setAccessibleName(tr("Speed-up over f32 sgemm"));
    map_->setGap(2);
    auto* body = new QWidget;
    auto* column = spaced(new QVBoxLayout(body), 4);
    busy_ = dressed(named(new QLabel, "speedupBusy"), Theme::words(11), "warn");
    busy_->setWordWrap(true);
    busy_->setFixedHeight(2 * busy_->fontMetrics().lineSpacing() + 2);
    busy_->hide();
    column->addWidget(busy_);
    column->addWidget(map_, 1);
    setBody(body);
    setSketch(new Sketch(Sketch::Kind::Map, {tr("backend and variant"), tr("shape: times as fast as f32")}));
    again_ = named(new QToolButton, "againBench");
    again_->setToolTip(
        tr("Measures the rows again that were disturbed by other load on the machine; the other rows stay"));
    again_->hide();
    addCorner(again_);
    connect(again_, &QToolButton::clicked, this, &SpeedupCard::againAsked);
    group_ = corner(*this, "speedupGroup", tr("Operation of the speed-up map"));
    connect(group_, &QComboBox::activated, this, &SpeedupCard::draw);
    map_->setDescribe([this](int row, int column) {
        const int index = rowAt(row, column);
        return index < 0 ? tr("not asked") : rowText(bench_.rows()[std::size_t(index)]).trimmed();
    });
    connect(map_, &HeatMap::cellClicked, this, [this](int row, int column) {
        if (const int index = rowAt(row, column); index >= 0) Q_EMIT rowClicked(index);
    });
}

int SpeedupCard::rowAt(int row, int column) const {
    const auto at = std::size_t(std::max(0, group_->currentIndex()));
    if (at >= maps_.size() || row < 0 || column < 0) return -1;
    const auto cell = std::size_t(row) * maps_[at].columns.size() + std::size_t(column);
    return cell < maps_[at].rows.size() ? maps_[at].rows[cell] : -1;
}

void SpeedupCard::refresh() {
    const auto& rows = bench_.rows();
    maps_ = speedupMaps(rows);
    QStringList groups;
    for (const auto& map : maps_) {
        const auto asked = std::ranges::find_if(map.rows, [](int row) { return row >= 0; });
        groups << speedupGroup(rows[std::size_t(*asked)]);
    }
    fill(*this, *group_, groups);
    draw();
}

/// Times of threads that waited for each other give no ratio; says so, and names the remedy.
void SpeedupCard::explainBusy() {
    const auto& rows = bench_.rows();
    const auto busy = std::ranges::count_if(rows, [](const auto& row) { return row.timing.busy; });
    again_->setVisible(busy > 0 && bench_.complete() && !bench_.running());
    again_->setText(busy == 1 ? tr("Time the busy row again") : tr("Time %1 busy rows again").arg(busy));
    const auto at = std::size_t(std::max(0, group_->currentIndex()));
    const int cells = at < maps_.size() ? maps_[at].busy : 0;
    busy_->setVisible(cells > 0);
    if (cells == 0) return;
    QString why; // "reading memory ran at 34 % of its best"
    for (const int row : maps_[at].rows)
        if (row >= 0 && why.isEmpty()) why = QString::fromStdString(busyProbeText(rows[std::size_t(row)].timing));
    const auto all = std::count_if(maps_[at].rows.begin(), maps_[at].rows.end(), [](int row) { return row >= 0; });
    busy_->setText(
        (cells == all
             ? tr("All cells were timed on a busy machine, or in too few rounds that agree")
             : tr("%1 of %2 cells were timed on a busy machine, or in too few rounds that agree").arg(cells).arg(all)) +
        (why.isEmpty() ? QString() : tr(" (%1)").arg(why)) +
        tr(", so their ratios mean nothing. Close other programs, then time them again."));
    auto policy = busy_->sizePolicy(); // otherwise the width of this text would decide the heights of the cards
    policy.setHeightForWidth(false);
    busy_->setSizePolicy(policy);
}

void SpeedupCard::draw() {
    explainBusy();
    const auto at = std::size_t(std::max(0, group_->currentIndex()));
    if (at >= maps_.size()) {
        if (!bench_.rows().empty())
            return setMessage(tr("No speed-up is known: the baseline, openblas f32, was not timed beside these."));
        return setEmpty(notYet(bench_, tr("Press Run for a map of shapes and backends: faster or slower than f32.")));
    }
    map_->setData(speedupPicture(maps_[at]));
    const auto& cells = maps_[at].rows;
    const auto cell = shown_ < 0 ? cells.end() : std::find(cells.begin(), cells.end(), shown_);
    const auto index = int(cell - cells.begin()), columns = int(maps_[at].columns.size());
    const bool best = cell != cells.end(); // it is the best row of its cell
    map_->setCurrent(best ? index / columns : -1, best ? index % columns : -1);
    setMessage({});
}

void SpeedupCard::show(int row) {
    shown_ = row;
    if (row >= 0) choose(*group_, speedupGroup(bench_.rows()[std::size_t(row)]));
    draw();
}

// ---- roofline ------------------------------------------------------------------------------------------------------

RooflineCard::RooflineCard(const BenchRun& bench, QWidget* parent)
    : Card(tr("Roofline"), parent), bench_(bench), chart_(named(new PlotChart, "rooflineChart")) {
    chart_->setAccessibleName(tr("Roofline"));
    chart_->setAxes(tr("operations a byte"), tr("GFLOP/s"));
    chart_->setXPowers(10);
    chart_->setLogY(true);
    chart_->setLegend(true);
    setBody(chart_);
    setSketch(new Sketch(Sketch::Kind::Roof, {tr("operations a byte"), tr("GFLOP/s")}));
    device_ = corner(*this, "rooflineDevice", tr("Device of the roofline"));
    connect(device_, &QComboBox::activated, this, &RooflineCard::draw);
    connect(chart_, &PlotChart::clicked, this, [this](double x, double y) {
        const auto at = std::size_t(std::max(0, device_->currentIndex()));
        if (at >= rooflines_.size()) return;
        Nearest nearest(*chart_, x, y);
        for (const auto& point : rooflines_[at].points)
            nearest.offer(std::log10(point.intensity), point.gflops, point.row);
        if (nearest.row() >= 0) Q_EMIT rowClicked(nearest.row());
    });
}

void RooflineCard::refresh() {
    const auto& rows = bench_.rows();
    rooflines_ = rooflines(rows, bench_.run().roofs);
    // The baseline is measured first, but its device should not be the first choice.
    std::stable_partition(rooflines_.begin(), rooflines_.end(), [&](const Roofline& line) {
        return std::ranges::any_of(line.points,
                                   [&](const auto& point) { return !rows[point.row].answer.variant.baseline; });
    });
    QStringList devices;
    for (const auto& line : rooflines_) devices << deviceKey(rows[line.points.front().row]);
    fill(*this, *device_, devices);
    draw();
}

void RooflineCard::draw() {
    const auto at = std::size_t(std::max(0, device_->currentIndex()));
    if (at >= rooflines_.size()) {
        if (!bench_.rows().empty()) return setMessage(tr("No product was timed from a cold cache."));
        return setEmpty(notYet(bench_, tr("Press Run to see each product below the roofs measured in the same run.")));
    }
    auto series = rooflinePicture(rooflines_[at], bench_.rows());
    double least = std::numeric_limits<double>::max(), most = 0;
    for (const auto& one : series)
        for (const auto& point : one.points) {
            least = std::min(least, point.y());
            most = std::max(most, point.y());
        }
    for (const auto& point : rooflines_[at].points)
        if (int(point.row) == shown_) series << ringAt({std::log10(point.intensity), point.gflops});
    chart_->setYRange(least / 1.5, most * 2.5); // space above the highest roof for its name
    chart_->setData(series, {}, true);
    setMessage({});
}

void RooflineCard::show(int row) {
    shown_ = row;
    if (row >= 0) choose(*device_, deviceKey(bench_.rows()[std::size_t(row)]));
    draw();
}

} // namespace qs::gui
