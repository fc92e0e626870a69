// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_speed.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/sketch.h"
#include "core/base/text.h"
#include "core/plan/speed_report.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QSignalBlocker>

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

constexpr double kSpeedReach = 14; ///< pixels from a dot in which a click takes it

} // namespace

PlanSpeed::PlanSpeed(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), card_(new Card(tr("Speed × error × size"))),
      chart_(named(new PlotChart, "planSpeed")), m_(named(new QComboBox, "planSpeedM")),
      crossovers_(named(new QLabel, "planCrossovers")) {
    auto* row = spaced(new QHBoxLayout(this), Theme::kGap);
    chart_->setAccessibleName(tr("Measured time a token against error; the area of a dot is the size of the file"));
    chart_->setLegend(true);
    chart_->setLogY(true);
    m_->setAccessibleName(tr("M: tokens in one pass"));
    m_->setToolTip(tr("M: tokens in one pass"));
    card_->addCorner(m_);
    card_->setBody(chart_);
    card_->setSketch(new Sketch(Sketch::Kind::Frontier, {tr("time a token of all products, µs"), tr("error ↓")}));
    crossovers_->setAccessibleName(tr("Where another spec becomes faster"));
    crossovers_->setWordWrap(true);
    crossovers_->setTextFormat(Qt::PlainText);
    crossovers_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    crossovers_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(crossovers_);
    auto* side = new Card(tr("Which spec when"));
    side->setBody(scroll);
    row->addWidget(card_, 3);
    row->addWidget(side, 2);
    connect(m_, &QComboBox::currentIndexChanged, this, &PlanSpeed::draw);
    connect(chart_, &PlotChart::clicked, this, &PlanSpeed::click);
    connect(&session.decision(), &Decision::benchRowsChanged, this, &PlanSpeed::compute);
    draw();
}

void PlanSpeed::setAnswer(std::shared_ptr<const PlanAnswer> answer, const plan::MeasuredPlan* measured) {
    answer_ = std::move(answer);
    proof_ = measured ? measured->proof : nullptr;
    compute();
}

void PlanSpeed::compute() {
    const auto rows = session_.decision().benchRows();
    if (!answer_ || !rows) {
        mapping_.drop();
        options_.reset(), rows_.reset();
        if (std::exchange(map_, nullptr)) Q_EMIT mapped();
        return draw();
    }
    if (options_ == answer_->options && rows_ == rows && provedBy_ == proof_) return;
    options_ = answer_->options, rows_ = rows, provedBy_ = proof_;
    using Made = std::shared_ptr<const plan::SpeedMap>;
    mapping_.run(
        {},
        [options = options_, rows, proof = proof_](const Job&) -> Result<Made> {
            return std::make_shared<const plan::SpeedMap>(plan::speedMap(*options, *rows, proof.get()));
        },
        [this](Made map) {
            map_ = std::move(map);
            const QString before = m_->currentText();
            {
                const QSignalBlocker quiet(m_);
                m_->clear();
                for (const std::int64_t m : map_->ms()) m_->addItem(tr("M = %1").arg(m), qlonglong(m));
                m_->setCurrentIndex(std::max(0, m_->findText(before)));
            }
            draw();
            Q_EMIT mapped();
        });
}

std::int64_t PlanSpeed::m() const { return m_->currentData().toLongLong(); }
double PlanSpeed::yOf(const plan::SpeedPoint& point) const { return map_->isMeasured() ? *point.kl : point.loss; }
bool PlanSpeed::isShown(const plan::SpeedPoint& point) const {
    return point.m == m() && (!map_->isMeasured() || point.kl);
}

void PlanSpeed::draw() {
    const bool has = map_ && !map_->points.empty() && answer_;
    m_->setVisible(has);
    QString text;
    if (map_) {
        for (const plan::Crossover& one : map_->crossovers)
            text += QString::fromStdString(plan::crossoverText(one)) + u'\n';
        if (map_->crossovers.empty() && has)
            text += tr("Over the measured M no spec overtakes another with intervals apart.") + u'\n';
        for (const std::string& remark : map_->remarks) text += QString::fromStdString(remark) + u'\n';
    }
    crossovers_->setText(text.isEmpty() ? tr("Nothing was timed.") : text);
    if (!has) {
        card_->setNote({});
        if (map_) return card_->setMessage(tr("No spec to choose from was timed at every shape of the model."));
        return card_->setEmpty(tr("No time of this model's products was measured: Measure times opens the page "
                                  "Backends with these specs."));
    }
    const plan::Objective& objective = *answer_->ground->objective;
    const QString error = QString::fromStdString(plan::errorTitle(*map_, objective));
    chart_->setAxes(tr("time a token of all products, µs"), error + QStringLiteral(" ↓"));
    card_->setNote(tr("one spec everywhere; area: bytes; click: its time as the budget"));
    QVector<PlotSeries> all;
    std::vector<const plan::SpeedPoint*> order;
    for (const plan::SpeedPoint& point : map_->points)
        if (isShown(point)) order.push_back(&point);
    std::ranges::stable_sort(order, [](const auto* a, const auto* b) { return a->nsPerToken() < b->nsPerToken(); });
    for (const plan::SpeedPoint* point : order) {
        const QString name = QString::fromStdString(plan::caseText(point->where));
        auto at = std::ranges::find_if(all, [&](const PlotSeries& series) { return series.name == name; });
        if (at == all.end()) {
            PlotSeries series;
            series.name = name, series.style = PlotSeries::Style::Dots, series.token = int(all.size() % 5);
            all << series;
            at = all.end() - 1;
        }
        at->points << QPointF(point->nsPerToken() / 1e3, yOf(*point));
        at->radii << point->radius(map_->mostBytes());
        at->labels << QString::fromStdString(point->specText);
        at->notes << QStringLiteral("%1, %2%3")
                         .arg(QString::fromStdString(point->specText), QString::fromStdString(bytesText(point->bytes)),
                              point->busy ? tr(", timed on a busy machine") : QString());
    }
    chart_->setData(all, {}, true);
    card_->setMessage(all.isEmpty() ? tr("At this M no spec was timed at every shape of the model.") : QString());
}

void PlanSpeed::click(double x, double y) {
    if (!map_ || !answer_) return;
    const QPointF at = chart_->pixelOf(x, y);
    const plan::SpeedPoint* nearest = nullptr;
    double distance = kSpeedReach;
    for (const plan::SpeedPoint& point : map_->points) {
        if (!isShown(point)) continue;
        const QPointF away = chart_->pixelOf(point.nsPerToken() / 1e3, yOf(point)) - at;
        const double far = std::hypot(away.x(), away.y());
        if (far < distance) distance = far, nearest = &point;
    }
    if (nearest) Q_EMIT pointClicked(plan::SpeedPoint(*nearest));
}

} // namespace qs::gui
