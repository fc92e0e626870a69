// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_charts.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/sketch.h"
#include "core/base/text.h"

#include <QHBoxLayout>
#include <QToolButton>

#include <algorithm>
#include <map>

namespace qs::gui {
namespace {

constexpr double kGiB = double(1 << 30), kMiB = double(1 << 20);
constexpr double kHalfWidth = 1.96; ///< of a 95 % interval, in standard errors
enum Token { kPlanToken = 0, kRulesToken = 1, kUniformToken = 2, kRecipeToken = 3, kChanceToken = 4 };

PlotSeries dots(const QString& name, int token, bool ring = false) {
    PlotSeries out;
    out.name = name, out.style = PlotSeries::Style::Dots, out.token = token, out.ring = ring;
    return out;
}

void sortByX(PlotSeries& series) {
    std::vector<qsizetype> order(std::size_t(series.points.size()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = qsizetype(i);
    std::ranges::stable_sort(order, [&](auto a, auto b) { return series.points[a].x() < series.points[b].x(); });
    PlotSeries sorted = series;
    for (std::size_t i = 0; i < order.size(); ++i) {
        sorted.points[qsizetype(i)] = series.points[order[i]];
        if (!series.notes.isEmpty()) sorted.notes[qsizetype(i)] = series.notes[order[i]];
    }
    series = std::move(sorted);
}

} // namespace

PlanCharts::PlanCharts(QWidget* parent)
    : QWidget(parent), predictedCard_(new Card(tr("Predicted loss against size"))),
      measuredCard_(new Card(tr("Measured KL against size"))), predicted_(named(new PlotChart, "planFrontier")),
      measuredChart_(named(new PlotChart, "planMeasured")),
      inBytes_(predictedCard_->addToggle(tr("GiB"), tr("Size of the file in bytes instead of bits per weight"))),
      logY_(predictedCard_->addToggle(tr("log y"), tr("Logarithmic axes of losses"))) {
    auto* row = spaced(new QHBoxLayout(this), Theme::kGap);
    predicted_->setAccessibleName(tr("Predicted loss against the size of the file"));
    predicted_->setLegend(true);
    measuredChart_->setAccessibleName(tr("Measured KL against the size of the file"));
    measuredChart_->setLegend(true);
    inBytes_->setObjectName(QStringLiteral("planInBytes"));
    logY_->setObjectName(QStringLiteral("planLogY"));
    logY_->setChecked(true);
    predictedCard_->setBody(predicted_);
    predictedCard_->setSketch(
        new Sketch(Sketch::Kind::Curves, {tr("bits per weight of the whole file"), tr("sum of losses ↓")}));
    measuredCard_->setBody(measuredChart_);
    measuredCard_->setSketch(
        new Sketch(Sketch::Kind::Curves, {tr("bits per weight of the whole file"), tr("mean KL, nats ↓")}));
    row->addWidget(predictedCard_, 1);
    row->addWidget(measuredCard_, 1);
    connect(inBytes_, &QToolButton::toggled, this, [this] {
        draw();
        drawMeasured();
    });
    connect(logY_, &QToolButton::toggled, this, [this](bool on) {
        predicted_->setLogY(on);
        measuredChart_->setLogY(on);
    });
    predicted_->setLogY(true);
    measuredChart_->setLogY(true);
    connect(predicted_, &PlotChart::clicked, this, [this](double x, double) {
        if (!answer_) return;
        const double bytes = inBytes_->isChecked() ? x * (xTitle().startsWith(u"GiB") ? kGiB : kMiB)
                                                   : x * double(answer_->options->elements) / 8;
        Q_EMIT budgetClicked(8 * bytes / double(answer_->options->elements));
    });
    draw();
    drawMeasured();
}

void PlanCharts::setAnswer(std::shared_ptr<const PlanAnswer> answer) {
    answer_ = std::move(answer);
    draw();
}

void PlanCharts::setBand(PlanBand band) {
    band_ = std::move(band);
    draw();
}

void PlanCharts::setMeasured(const std::vector<plan::MeasuredPlan>& measured) {
    all_ = measured;
    drawMeasured();
}

void PlanCharts::setMessage(const QString& sentence) {
    predictedCard_->setEmpty(sentence);
    if (!sentence.isEmpty())
        measuredCard_->setEmpty(tr("Not measured."));
    else
        drawMeasured();
}

double PlanCharts::xOf(std::uint64_t bytes) const {
    if (inBytes_->isChecked()) return double(bytes) / (xTitle().startsWith(u"GiB") ? kGiB : kMiB);
    return answer_ ? 8 * double(bytes) / double(answer_->options->elements) : 0;
}

QString PlanCharts::xTitle() const {
    if (!inBytes_->isChecked()) return tr("bits per weight of the whole file");
    const bool isLarge = answer_ && answer_->options->mostBytes() >= std::uint64_t(kGiB) / 4;
    return isLarge ? QStringLiteral("GiB of the whole file") : QStringLiteral("MiB of the whole file");
}

QString PlanCharts::noteOf(const QString& name, std::uint64_t bytes) const {
    return QStringLiteral("%1, %2").arg(name, QString::fromStdString(bytesText(bytes)));
}

void PlanCharts::draw() {
    if (!answer_) return predicted_->setData({}, {});
    const plan::Objective& objective = *answer_->ground->objective;
    predicted_->setAxes(xTitle(), objective.isDivergence ? tr("predicted KL, nats") : tr("sum of losses (proxy)"));
    predictedCard_->setNote(objective.isProxy ? tr("%1: a proxy").arg(QLatin1String(objective.title))
                                              : QString::fromUtf8(objective.title));
    QVector<PlotSeries> all;
    PlotSeries band;
    band.name = tr("random plans"), band.style = PlotSeries::Style::Band, band.token = kChanceToken;
    for (const auto& point : band_.points) {
        band.points << QPointF(xOf(point.bytes), point.largest);
        band.lower << QPointF(xOf(point.bytes), point.least);
    }
    if (!band.points.isEmpty()) all << band;
    PlotSeries interval, least;
    interval.name = tr("95 % interval"), interval.style = PlotSeries::Style::Band, interval.token = kPlanToken;
    least.name = tr("best for its size"), least.style = PlotSeries::Style::Line, least.token = kPlanToken;
    for (const plan::FrontierPoint& point : answer_->frontier) {
        least.points << QPointF(xOf(point.bytes), point.loss);
        if (point.error > 0) {
            interval.points << QPointF(xOf(point.bytes), point.loss + kHalfWidth * point.error);
            interval.lower << QPointF(xOf(point.bytes), std::max(0.0, point.loss - kHalfWidth * point.error));
        }
    }
    if (interval.points.size() == least.points.size() && !interval.points.isEmpty()) all << interval;
    all << least;
    auto uniform = dots(tr("uniform"), kUniformToken), rules = dots(tr("rules of thumb"), kRulesToken);
    for (const auto& [series, list] : {std::pair(&uniform, &answer_->uniform), {&rules, &answer_->heuristics}}) {
        for (const plan::Mixture& one : *list) {
            series->points << QPointF(xOf(one.bytes), one.loss);
            series->notes << noteOf(QString::fromStdString(one.name), one.bytes);
        }
        sortByX(*series);
        if (!series->points.isEmpty()) all << *series;
    }
    if (const auto& current = answer_->current; current && current->unmeasured == 0) {
        auto recipe = dots(tr("recipe"), kRecipeToken, true);
        recipe.points << QPointF(xOf(current->bytes), current->loss);
        recipe.notes << noteOf(tr("the recipe of the session"), current->bytes);
        all << recipe;
    }
    for (const plan::KnownRecipe& one : answer_->start) {
        if (one.mixture.unmeasured > 0) continue;
        const QString name = QString::fromStdString(escapeForPeople(one.mixture.name, 40));
        auto start = dots(name, kRecipeToken);
        start.points << QPointF(xOf(one.mixture.bytes), one.mixture.loss);
        start.notes << noteOf(name, one.mixture.bytes);
        all << start;
    }
    auto point = dots(tr("plan"), kPlanToken);
    point.points << QPointF(xOf(answer_->plan.bytes), answer_->plan.loss);
    point.notes << noteOf(tr("plan"), answer_->plan.bytes);
    all << point;
    PlotMarker budget;
    budget.x = xOf(answer_->budget), budget.label = tr("budget"), budget.dashed = true, budget.token = kChanceToken;
    predicted_->setData(all, {budget}, true);
}

void PlanCharts::drawMeasured() {
    measuredChart_->setAxes(xTitle(), tr("mean KL, nats ↓"));
    measuredCard_->setEmpty(all_.empty() ? tr("Not measured yet: Measure finds the KL of the plan on held-out text, "
                                              "beside uniform specs, rules of thumb and chance.")
                                         : QString());
    if (all_.empty() || !answer_) return measuredChart_->setData({}, {});
    std::map<plan::ContenderKind, PlotSeries> series;
    const auto tokenOf = [](plan::ContenderKind kind) {
        switch (kind) {
        case plan::ContenderKind::Plan: return int(kPlanToken);
        case plan::ContenderKind::Uniform: return int(kUniformToken);
        case plan::ContenderKind::Heuristic: return int(kRulesToken);
        case plan::ContenderKind::Recipe: return int(kRecipeToken);
        default: return int(kChanceToken);
        }
    };
    for (const plan::MeasuredPlan& one : all_)
        for (const plan::Contender& contender : one.proof->contenders) {
            if (!contender.summary) continue;
            auto& to =
                series.try_emplace(contender.kind, dots(tr(plan::titleOf(contender.kind)), tokenOf(contender.kind)))
                    .first->second;
            to.points << QPointF(xOf(contender.mixture.bytes), contender.summary->divergence.mean);
            to.notes << noteOf(QString::fromStdString(contender.mixture.name), contender.mixture.bytes);
        }
    QVector<PlotSeries> shown;
    if (answer_->ground->objective->isDivergence) {
        PlotSeries least;
        least.name = tr("predicted"), least.style = PlotSeries::Style::Line, least.token = kPlanToken, least.dash = 1;
        for (const plan::FrontierPoint& point : answer_->frontier)
            least.points << QPointF(xOf(point.bytes), point.loss);
        shown << least;
    }
    for (const auto kind : {plan::ContenderKind::Random, plan::ContenderKind::Permuted, plan::ContenderKind::Heuristic,
                            plan::ContenderKind::Uniform, plan::ContenderKind::Recipe, plan::ContenderKind::Plan})
        if (const auto found = series.find(kind); found != series.end()) {
            sortByX(found->second);
            shown << found->second;
        }
    measuredChart_->setData(shown, {}, true);
}

} // namespace qs::gui
