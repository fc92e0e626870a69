// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_tensors.h"

#include "app/gui/page.h"
#include "app/gui/pages/evidence/evidence_records.h"
#include "app/gui/pages/evidence/evidence_tensor_plots.h"
#include "app/gui/restored_evidence.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/heat_map.h"
#include "app/gui/widgets/plot_chart.h"
#include "app/gui/widgets/ranked_bars.h"
#include "app/gui/widgets/sketch.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"

#include <QComboBox>
#include <QGridLayout>
#include <QPushButton>

namespace qs::gui {
namespace {

using Rows = std::vector<eval::SensitivityRow>;

Result<eval::Sensitivity> measureTensors(const std::shared_ptr<const Model>& model, const EvidenceSettings& settings,
                                         const eval::SensitivityHow& how, const Job& job, Inbox<Rows>& inbox) {
    auto text =
        settings.ids ? eval::textFromTokens(settings.path, job) : eval::textFromFile(*model, settings.path, job);
    if (!text) return tl::unexpected(text.error());
    eval::SensitivityPlan plan;
    plan.text = std::move(*text);
    plan.context = settings.context, plan.scored = settings.scored;
    plan.chunks = settings.chunks > 0 ? settings.chunks : eval::kUsualChunks;
    plan.specs = settings.specs, plan.how = &how, plan.by = &eval::groupings().front();
    plan.cache = eval::defaultSensitivityCache();
    plan.arrived = [&](const eval::SensitivityRow& row) { inbox.write([&](Rows& rows) { rows.push_back(row); }); };
    return eval::sensitivity(model, plan, job);
}

} // namespace

EvidenceTensors::EvidenceTensors(Session& session, std::function<EvidenceSettings()> settings, QWidget* parent)
    : QWidget(parent), session_(session), settings_(std::move(settings)), task_(&session.tasks()), how_(new QComboBox),
      spec_(new QComboBox), start_(new QPushButton(tr("Measure each tensor"))), stop_(new QPushButton(tr("Cancel"))),
      status_(new StatusLine("evidenceTensorStatus")), mapCard_(new Card(tr("Effect by layer × role"))),
      barsCard_(new Card(tr("Tensors by their effect"))), predictionsCard_(new Card(tr("Predicted against measured"))),
      map_(named(new HeatMap, "evidenceMap")), bars_(named(new RankedBars, "evidenceBars")),
      predictions_(named(new PlotChart, "evidencePredictions")) {
    map_->setAccessibleName(tr("Effect of each tensor by layer and role"));
    map_->setGap(2);
    bars_->setAccessibleName(tr("Tensors by their effect, the largest first"));
    bars_->setNamesTensors();
    bars_->setFromZero(true);
    predictions_->setAccessibleName(tr("KL alone against its prediction, a dot for each tensor"));
    predictions_->setAxes(tr("predicted: slope × NMSE, nats"), tr("KL alone, nats"));
    mapCard_->setBody(map_);
    barsCard_->setBody(bars_);
    predictionsCard_->setBody(predictions_);
    mapCard_->setSketch(new Sketch(Sketch::Kind::Map, {tr("layer"), tr("role")}));
    barsCard_->setSketch(new Sketch(Sketch::Kind::Bars, {tr("KL alone, nats")}));
    predictionsCard_->setSketch(
        new Sketch(Sketch::Kind::Frontier, {tr("predicted: slope × NMSE, nats"), tr("KL alone, nats")}));
    auto* grid = spaced(new QGridLayout(this), Theme::kGap);
    grid->addWidget(controls(), 0, 0, 1, 2);
    grid->addWidget(mapCard_, 1, 0);
    grid->addWidget(predictionsCard_, 2, 0);
    grid->addWidget(barsCard_, 1, 1, 2, 1);
    grid->setRowStretch(1, 1);
    grid->setRowStretch(2, 1);
    grid->setColumnStretch(0, 3);
    grid->setColumnStretch(1, 2);
    connect(bars_, &RankedBars::barClicked, this, [this](int bar) { open(weightOfBar_[std::size_t(bar)]); });
    connect(map_, &HeatMap::cellClicked, this, [this](int row, int column) {
        const auto cell = std::size_t(row * map_->data().columns + column);
        if (cell < weightOfCell_.size()) open(weightOfCell_[cell]);
    });
    task_.setKept([] { return tr("what was finished is kept"); });
    connect(&task_, &Task::failed, this, [this](const QString& why) { status_->say(why, true); });
    connect(&task_, &Task::cancelled, this, [this] {
        cancelled_ = begun_;
        status_->say(tr("Cancelled; what was finished is kept, and Resume goes on from there."));
    });
    connect(&task_, &Task::over, this, [this] {
        draw();
        Q_EMIT changed();
        Q_EMIT settled();
    });
    draw();
}

QWidget* EvidenceTensors::controls() {
    auto* bar = new QWidget;
    auto* row = spaced(new QHBoxLayout(bar), Theme::kSpace);
    for (const auto& one : eval::sensitivityHows()) {
        how_->addItem(tr(one.title), QLatin1String(one.id));
        how_->setItemData(how_->count() - 1, QString::fromUtf8(one.summary), Qt::ToolTipRole);
    }
    how_->setObjectName(QStringLiteral("evidenceHow"));
    how_->setAccessibleName(tr("How the effect is measured"));
    spec_->setObjectName(QStringLiteral("evidenceTensorSpec"));
    spec_->setAccessibleName(tr("Spec whose effect is shown"));
    spec_->setFont(Theme::code());
    spec_->setMinimumWidth(160);
    start_->setObjectName(QStringLiteral("evidenceTensorStart"));
    start_->setProperty("role", QStringLiteral("primary"));
    stop_->setObjectName(QStringLiteral("evidenceTensorStop"));
    status_->setWordWrap(false);
    status_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    addWidgets(*row, {how_, spec_, start_, stop_});
    row->addWidget(status_, 1);
    connect(how_, &QComboBox::currentIndexChanged, this, &EvidenceTensors::draw);
    connect(spec_, &QComboBox::currentIndexChanged, this, &EvidenceTensors::draw);
    connect(start_, &QPushButton::clicked, this, &EvidenceTensors::begin);
    connect(stop_, &QPushButton::clicked, this, [this] { session_.cancelJobs(); });
    return bar;
}

const eval::SensitivityHow& EvidenceTensors::how() const {
    return eval::sensitivityHows()[std::size_t(std::max(0, how_->currentIndex()))];
}

void EvidenceTensors::clear() {
    task_.drop();
    rows_.clear();
    additivity_.clear();
    finished_.reset();
    chunks_.clear();
    cancelled_.reset();
    refusal_.clear();
    spec_->clear();
    status_->say({});
    draw();
    Q_EMIT changed();
}

std::vector<eval::SensitivityRow> EvidenceTensors::rows() const {
    Rows all;
    for (const auto& [how, rows] : rows_) all.insert(all.end(), rows.begin(), rows.end());
    return all;
}

void EvidenceTensors::restore(const eval::Sensitivity& known, std::shared_ptr<const SensitivityRows> byHow) {
    finished_ = std::move(byHow);
    for (const auto& row : known.rows) {
        rows_[row.how].push_back(row);
        chunks_[row.how] = known.chunks;
        const QString spec = QString::fromStdString(row.spec);
        if (!spec.isEmpty() && spec_->findText(spec) < 0) spec_->addItem(spec);
    }
    for (const auto& sum : known.additivity) additivity_[sum.how].push_back(sum);
    status_->say(tr("As it was measured before."));
    draw();
    Q_EMIT changed();
}

eval::Sensitivity EvidenceTensors::known() const {
    eval::Sensitivity out;
    out.rows = rows();
    out.chunks = chunks();
    for (const auto& [how, sums] : additivity_) out.additivity.insert(out.additivity.end(), sums.begin(), sums.end());
    return out;
}

std::size_t EvidenceTensors::chunks() const {
    std::size_t most = 0;
    for (const auto& [how, count] : chunks_) most = std::max(most, count);
    return most;
}

void EvidenceTensors::refuse(const QString& why) {
    refusal_ = why;
    draw();
}

void EvidenceTensors::goOnWith(EvidenceSettings settings, const std::string& how) {
    const auto* known = eval::findSensitivityHow(how);
    if (!known || running()) return;
    how_->setCurrentIndex(how_->findData(QLatin1String(known->id)));
    cancelled_ = {std::move(settings), known};
    status_->say(tr("Stopped before; what was finished is kept, and Resume goes on from there."));
    draw();
}

bool EvidenceTensors::goesOn() const { return cancelled_ && *cancelled_ == std::pair(settings_(), &how()); }

void EvidenceTensors::begin() {
    const EvidenceSettings settings = settings_();
    if (!session_.model() || settings.path.empty() || settings.specs.empty()) return;
    const auto* chosen = &how();
    begun_ = {settings, chosen};
    cancelled_.reset();
    const std::string id = chosen->id;
    rows_[id].clear();
    additivity_[id].clear();
    const QSignalBlocker blocker(spec_);
    spec_->clear();
    for (const QuantSpec& spec : settings.specs) spec_->addItem(QString::fromStdString(specText(spec)));
    const auto work = [model = session_.model(), settings, chosen](const Job& job, Inbox<Rows>& inbox) {
        return measureTensors(model, settings, *chosen, job, inbox);
    };
    const auto arrived = [this, id](Rows rows) {
        auto& known = rows_[id];
        known.insert(known.end(), rows.begin(), rows.end());
        draw();
    };
    task_.run<Rows>("Measuring the effect of each tensor", work, arrived, [this, id](eval::Sensitivity result) {
        rows_[id] = std::move(result.rows);
        additivity_[id] = std::move(result.additivity);
        finished_ = std::make_shared<const SensitivityRows>(rows_);
        chunks_[id] = result.chunks;
        session_.keep(QLatin1String(kTensorsBegun), nullptr);
        status_->say(result.keptRuns == 0 ? QString()
                                          : tr("%1 of %2 networks had gone forward before.")
                                                .arg(result.keptRuns)
                                                .arg(result.runs + result.keptRuns));
    });
    auto text = begunOf(settings);
    text.how = id;
    session_.keep(QLatin1String(kTensorsBegun), [text = std::move(text)] { return keptBegun(text); });
    status_->say({});
    draw();
}

void EvidenceTensors::follow() {
    const EvidenceSettings settings = settings_();
    start_->setText(goesOn() ? tr("Resume") : tr("Measure each tensor"));
    start_->setEnabled(session_.model() && refusal_.isEmpty() && !settings.path.empty() && !settings.specs.empty());
    start_->setToolTip(!refusal_.isEmpty()   ? refusal_
                       : start_->isEnabled() ? QString::fromUtf8(how().summary)
                                             : tr("Choose a text and a spec first"));
}

void EvidenceTensors::draw() {
    start_->setVisible(!running());
    stop_->setVisible(running());
    follow();
    const auto found = rows_.find(how().id);
    const std::string spec = spec_->currentText().toStdString();
    std::vector<const eval::SensitivityRow*> ranked;
    if (found != rows_.end()) ranked = rankedRows(found->second, spec);
    const QString empty = !refusal_.isEmpty() ? refusal_
                          : running()         ? tr("The first tensors are measured…")
                          : !start_->isEnabled()
                              ? tr("Choose a text and tick a spec on the left, then press Measure each tensor.")
                              : tr("Press Measure each tensor. %1").arg(QString::fromUtf8(how().summary));
    mapCard_->setEmpty(ranked.empty() ? empty : QString());
    barsCard_->setEmpty(ranked.empty() ? tr("Not measured yet.") : QString());
    spec_->setVisible(spec_->count() > 0);
    drawTensors(ranked);
    drawPredictions();
    if (const auto sums = additivity_.find(how().id); sums != additivity_.end() && !running())
        for (const auto& one : sums->second)
            if (one.spec == spec && one.ratio)
                status_->say(tr("Sum of the tensors / all at once: %1. Near 1, effects add up.")
                                 .arg(QString::fromStdString(fixedText(*one.ratio, 2))));
}

void EvidenceTensors::drawTensors(const std::vector<const eval::SensitivityRow*>& ranked) {
    const auto& layout = *session_.layout();
    const auto weightOf = [&](const eval::SensitivityRow& row) {
        return session_.model() ? session_.weightIndex(session_.model()->find(row.unit)) : -1;
    };
    std::vector<double> values(layout.weights.size(), std::nan(""));
    std::vector<RankedBar> bars;
    weightOfBar_.clear();
    for (const auto* row : ranked) {
        const int weight = weightOf(*row);
        const auto rank = row->rank();
        if (weight >= 0 && rank) values[std::size_t(weight)] = rank->mean;
        bars.push_back(
            barOf(*row, weight < 0 ? QString::fromStdString(row->unit) : layout.grid.brief[std::size_t(weight)]));
        weightOfBar_.push_back(weight);
    }
    bars_->setAxis(QString::fromUtf8(how().figure));
    bars_->setBars(std::move(bars));
    auto picture = gridPicture(layout.grid, values, QString::fromUtf8(how().figure));
    weightOfCell_ = std::move(picture.weights);
    map_->setData(picture.map);
    barsCard_->setNote(ranked.empty() ? QString() : tr("%1 tensors").arg(ranked.size()));
}

void EvidenceTensors::drawPredictions() {
    const auto plot = predictionPlot(rows(), spec_->currentText().toStdString());
    predictionsCard_->setEmpty(
        plot.isEmpty() ? tr("Shown when a spec was measured both ways: choose Slope above and measure, then Alone.")
                       : QString());
    predictions_->setData(plot, {});
}

void EvidenceTensors::open(int weight) {
    if (weight < 0) return;
    session_.selectTensor(session_.weights()[std::size_t(weight)]);
    session_.showPage(kTensorPage);
}

} // namespace qs::gui
