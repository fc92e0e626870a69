// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/labs/lab_qat.h"

#include "app/gui/output_check.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/sketch.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/decibel.h"
#include "core/base/text.h"
#include "core/model/safetensors/safetensors.h"
#include "core/value/deviation.h"
#include "core/value/trained.h"

#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QGridLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QToolButton>

#include <atomic>
#include <cmath>
#include <fmt/format.h>

namespace qs::gui {
namespace {

using Steps = std::vector<value::QatStep>;

constexpr std::size_t kPointsOfCurve = 1000;          ///< at most
constexpr const char* kTrainingKept = "lab-training"; // name in session files

QString dB(double nmse) {
    const auto value = sqnrDb(nmse);
    return value ? QString::fromStdString(fixedText(*value, 2)) + QatPanel::tr(" dB") : QatPanel::tr("exact");
}

/// "down_proj_qat", with a number if that name is in use
QString freeName(const std::string& tensor) {
    std::string base;
    for (const char c : placeOf(tensor).role) {
        const char small = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
        const bool letter = small >= 'a' && small <= 'z';
        if (letter || small == '_' || (small >= '0' && small <= '9' && !base.empty())) base += small;
    }
    while (!base.empty() && base.front() == '_') base.erase(0, 1);
    base = (base.empty() ? "layer" : base.substr(0, 20)) + "_qat";
    std::string name = base;
    for (int i = 2; findTrained(name); ++i) name = base + std::to_string(i);
    return QString::fromStdString(name);
}

} // namespace

QatPanel::QatPanel(Session& session, const LabInputs& inputs, QWidget* parent)
    : LabPanel(session, inputs, parent), chart_(new PlotChart),
      chartCard_(new Card(tr("Output error while training"))) {
    setObjectName(QStringLiteral("labQat"));
    chart_->setAccessibleName(tr("Output NMSE per step"));
    chart_->setAxes(tr("step"), tr("output NMSE ↓"));
    chart_->setLegend(true);
    chart_->setXDecimals(0);
    QToolButton* log = chartCard_->addToggle(QStringLiteral("log y"), tr("Logarithmic y axis"));
    connect(log, &QToolButton::toggled, chart_, &PlotChart::setLogY);
    connect(chart_, &PlotChart::logYToggled, log, &QToolButton::setChecked);
    chartCard_->setBody(chart_);
    chartCard_->setSketch(new Sketch(Sketch::Kind::Curves, {tr("step"), tr("output NMSE")}));

    auto* figures = new QWidget;
    auto* row = new QGridLayout(figures);
    row->setContentsMargins({});
    row->setHorizontalSpacing(Theme::kGap);
    const QString titles[] = {tr("Nearest ↓"), tr("Trained, best ↓"), tr("Gain ↑"), tr("Best at step"),
                              tr("Weight NMSE ↓")};
    for (int i = 0; i < int(figures_.size()); ++i) {
        auto* caption = captionLabel(titles[i]);
        if (i == 0) caption->setToolTip(tr("Output NMSE of weights rounded to nearest"));
        if (i == 4) caption->setToolTip(tr("NMSE of the trained weights themselves"));
        figures_[std::size_t(i)] = dressed(new QLabel(tr("not measured")), Theme::numbers(13));
        figures_[std::size_t(i)]->setObjectName(QStringLiteral("qatFigure%1").arg(i));
        row->addWidget(caption, 0, i);
        row->addWidget(figures_[std::size_t(i)], 1, i);
    }
    auto* figuresCard = new Card(tr("Result"));
    figuresCard->setNote(tr("output NMSE = ‖X(Q(V) − W)ᵀ‖² / ‖XWᵀ‖²"));
    figuresCard->setBody(figures);
    figuresCard->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // long figures must not widen the window

    auto* grid = spaced(new QGridLayout(this), Theme::kGap);
    grid->addWidget(sidebar(), 0, 0, 2, 1);
    grid->addWidget(chartCard_, 0, 1);
    grid->addWidget(figuresCard, 1, 1);
    grid->setRowStretch(0, 1);
    grid->setColumnStretch(1, 1);
}

QWidget* QatPanel::sidebar() {
    auto* body = new QWidget;
    QFormLayout* form = labForm(body);
    inputsCount_ = new QSpinBox;
    inputsCount_->setRange(1, 65536);
    inputsCount_->setValue(512);
    addField(*form, tr("Inputs, rows of X"), inputsCount_, "qatInputs");
    steps_ = new QSpinBox;
    steps_->setRange(1, 100000);
    steps_->setValue(200);
    addField(*form, tr("Steps"), steps_, "qatSteps");
    rate_ = new QDoubleSpinBox;
    rate_->setDecimals(4);
    rate_->setRange(0.0001, 1);
    rate_->setSingleStep(0.001);
    rate_->setValue(0.005);
    addField(*form, tr("Rate, in RMS of the weights"), rate_, "qatRate");
    start_ = named(new QPushButton(tr("Train")), "qatStart", "primary");
    stop_ = named(new QPushButton(tr("Stop and keep the best")), "qatStop");
    save_ = named(new QPushButton(tr("Save latent weights…")), "qatSave");
    name_ = dressed(named(new QLineEdit, "qatName"), Theme::code());
    name_->setAccessibleName(tr("Name of the trained spec"));
    keep_ = named(new QPushButton(tr("Keep as a spec")), "qatKeep");
    keep_->setToolTip(
        tr("A spec of its own, SPEC:dialect=NAME: the pages, analyze, quantize and reports take it. It becomes B."));
    status_ = new StatusLine("qatStatus");
    connect(keep_, &QPushButton::clicked, this, &QatPanel::keep);
    connect(name_, &QLineEdit::returnPressed, this, &QatPanel::keep);
    connect(start_, &QPushButton::clicked, this, &QatPanel::begin);
    connect(stop_, &QPushButton::clicked, this, &QatPanel::stop);
    connect(save_, &QPushButton::clicked, this, [this] {
        const QString path = QFileDialog::getSaveFileName(
            this, tr("Save latent weights"), QStringLiteral("latent.safetensors"), tr("safetensors (*.safetensors)"));
        if (!path.isEmpty()) saveTo(path);
    });
    return labSidebar(tr("Training"), body, {start_, stop_, name_, keep_, save_, status_});
}

/// Another tensor or spec clears the chart; only the user starts training.
void QatPanel::refresh() {
    if (const QString now = subject(); now != subject_) {
        drop();
        clear();
        subject_ = now;
        status_->say(tr("Adam on latent (unrounded) weights V; the gradient passes the rounding unchanged."));
    }
    takeRestored<std::shared_ptr<const KeptTraining>>(
        kTrainingKept, trainingKept, [this](auto training) { kept_ = freedOnPool(training), restored_ = true; });
    const bool nothing = !running() && !shown_ && curve_.empty();
    if (nothing && kept_ && subjectOf(kept_->tensor, kept_->spec) == subject_) show(kept_);
    draw();
}

void QatPanel::clear() {
    stop();
    curve_.clear();
    shown_.reset();
}

void QatPanel::forget() {
    clear();
    kept_.reset();
    subject_.clear();
}

void QatPanel::complain(const QString& why) { status_->say(why, true); }

void QatPanel::failed(const QString& why) {
    if (!shown_) lose(); // not while a file is being written
    status_->say(why, true);
    draw();
}

void QatPanel::lose() {
    if (!kept_ || subjectOf(kept_->tensor, kept_->spec) != subject_) return;
    kept_.reset();
    session_.keep(QLatin1String(kTrainingKept), nullptr);
}

/// Shows an earlier result, possibly of a run that ended unexpectedly.
void QatPanel::show(const std::shared_ptr<const KeptTraining>& training) {
    shown_ = training;
    if (std::exchange(restored_, false)) {
        inputsCount_->setValue(training->rows);
        steps_->setValue(training->steps);
        rate_->setValue(training->rate);
    }
    name_->setText(freeName(training->tensor));
    const QString before = tr("As it was trained before, on %1 inputs.").arg(LabInputs::titled(training->inputs));
    const bool whole = !training->result.latent.values.empty();
    status_->say(
        whole ? before
              : tr("%1 Its weights did not fit into the session file: train again to save or keep them.").arg(before));
}

void QatPanel::interrupted() {
    if (!shown_) lose(); // not while a file is being written
    status_->say(tr("Cancelled; nothing was kept."));
    draw();
}

void QatPanel::begin() {
    const TensorInfo* tensor = session_.tensor();
    if (!tensor) return;
    clear();
    stopped_ = std::make_shared<std::atomic<bool>>(false);
    planned_ = {tensor->name,
                session_.spec(),
                LabInputs::nameOf(inputs_.activations),
                inputsCount_->value(),
                steps_->value(),
                rate_->value(),
                {}};
    const auto work = [model = session_.model(), tensor, spec = forTensor(session_.spec(), *tensor), inputs = inputs_,
                       stopped = stopped_, rows = inputsCount_->value(), steps = steps_->value(),
                       rate = rate_->value()](const Job& job, Inbox<Steps>& inbox) -> Result<value::QatResult> {
        auto w = labTensor(*model, *tensor, false);
        if (!w) return tl::unexpected(w.error());
        auto x = inputs.make(tensor->name, rows, tensor->lastAxis());
        if (!x) return tl::unexpected(x.error());
        w->dtype = DType::F32;
        return value::trainQat({std::move(*w), std::move(*x), spec, steps, rate}, job,
                               [&inbox, stopped](const value::QatStep& step) {
                                   inbox.write([&](Steps& steps) { steps.push_back(step); });
                                   return !*stopped;
                               });
    };
    const auto arrived = [this](const Steps& steps) {
        curve_.insert(curve_.end(), steps.begin(), steps.end());
        draw();
    };
    startSending<Steps>(tr("Training the latent weights"), work, arrived, [this](value::QatResult result) {
        auto training = std::make_shared<KeptTraining>(std::move(planned_));
        training->result = std::move(result);
        kept_ = shown_ = freedOnPool(std::shared_ptr<const KeptTraining>(training));
        session_.keep(QLatin1String(kTrainingKept), [kept = kept_] { return keptTraining(*kept); });
        name_->setText(freeName(kept_->tensor));
        const QString done =
            kept_->result.stopped ? tr("Stopped: the best step so far is kept.") : tr("Done: the best step is kept.");
        const bool fits = kept_->result.latent.values.size() <= kMostKeptFloats;
        status_->say(fits ? done : tr("%1 Its weights do not fit into a session file: save them.").arg(done));
        draw();
    });
    status_->say(tr("Training on %1 inputs…").arg(inputs_.title()));
    draw();
}

void QatPanel::stop() {
    if (stopped_) *stopped_ = true;
}

void QatPanel::draw() {
    const bool busy = running(), focused = start_->hasFocus() || stop_->hasFocus();
    (busy ? stop_ : start_)->setEnabled(session_.tensor());
    if (busy) stop_->show();
    if (focused) (busy ? stop_ : start_)->setFocus(); // otherwise the focus would move to the next control
    start_->setEnabled(session_.tensor() && !busy);
    stop_->setVisible(busy);
    const value::QatResult* result = this->result();
    for (QWidget* widget : std::initializer_list<QWidget*>{save_, keep_, name_})
        widget->setVisible(!busy && result && !result->latent.values.empty());
    const auto& curve = result ? result->curve : curve_;
    const int steps = result ? shown_->steps : planned_.steps;
    chartCard_->setEmpty(curve.empty() && !busy ? tr("Not trained yet: press Train.") : QString());
    const QString none = tr("not measured");
    if (curve.empty()) {
        for (QLabel* figure : figures_) figure->setText(none);
        chartCard_->setNote({});
        return;
    }
    PlotSeries loss{tr("this step"), PlotSeries::Style::Line, 2, {}, {}};
    PlotSeries best{tr("best so far"), PlotSeries::Style::Line, 0, {}, {}};
    PlotSeries nearest{tr("rounded to nearest"), PlotSeries::Style::Line, 4, {}, {}};
    nearest.dash = 1;
    const std::size_t stride = curve.size() / kPointsOfCurve + 1;
    for (std::size_t i = 0; i < curve.size(); i += stride) {
        loss.points.append({double(curve[i].step), curve[i].loss});
        best.points.append({double(curve[i].step), curve[i].best});
    }
    const double start = curve.front().loss, last = curve.back().best;
    nearest.points = {{0, start}, {double(std::max(steps, curve.back().step)), start}};
    chart_->setData({loss, best, nearest}, {}, true);
    chartCard_->setNote(tr("step %1 of %2").arg(curve.back().step).arg(steps));
    figures_[0]->setText(QString::fromStdString(significantText(start)) + QStringLiteral("  ") + dB(start));
    figures_[1]->setText(QString::fromStdString(significantText(last)) + QStringLiteral("  ") + dB(last));
    figures_[2]->setText(start > 0 && last > 0 ? QString::fromStdString(fixedText(*sqnrDb(last / start), 2)) + tr(" dB")
                                               : none);
    figures_[3]->setText(result ? QString::number(result->bestStep) : none);
    figures_[4]->setText(result && result->weightNmse ? QString::fromStdString(significantText(*result->weightNmse))
                                                      : none);
}

/// Makes the trained spec B and the untrained one A, so that the compare page shows the effect of training.
void QatPanel::keep() {
    const TensorInfo* tensor = session_.tensor();
    if (!shown_ || running() || !tensor || tensor->name != shown_->tensor || result()->latent.values.empty()) return;
    const auto work = [id = name_->text().trimmed().toStdString(), model = session_.model(), tensor, shown = shown_](
                          const Job& job) { return value::keepTrained(id, *model, *tensor, shown->result, job); };
    start(tr("Keeping the trained spec"), work, [this](const QuantSpec& spec) {
        draw();
        if (shown_) name_->setText(freeName(shown_->tensor));
        session_.setSpecB(spec);
        session_.setComparing(true);
        const QString text = QString::fromStdString(specText(spec));
        status_->say(tr("Kept: %1 is B now; compare shows both, export and reports take it.").arg(text));
        Q_EMIT kept(text);
    });
    draw();
}

void QatPanel::saveTo(const QString& path) {
    const auto shown = shown_;
    if (!shown || shown->result.latent.values.empty()) return;
    const auto& result = shown->result;
    const std::shared_ptr<const std::vector<float>> values(shown, &result.latent.values);
    TensorToWrite tensor{shown->tensor, DType::F32, result.latent.shape,
                         [values](const TensorToWrite::Sink& sink) { return sink(std::as_bytes(std::span(*values))); }};
    std::map<std::string, std::string> metadata{
        {"quantscope.latent", fmt::format("latent weights of {}; output NMSE {} instead of {}", specText(result.spec),
                                          significantText(result.bestLoss), significantText(result.startLoss))}};
    const auto work = [path = path.toStdString(), tensor, metadata, model = session_.model(),
                       check = outputCheck(session_)](const Job& job) -> Result<std::uint64_t> {
        if (auto fine = check(path); !fine) return tl::unexpected(fine.error());
        return writeSafetensors(path, {tensor}, metadata, model.get(), job);
    };
    start(tr("Writing the latent weights"), work, [this, path, shown](std::uint64_t) {
        status_->say(
            tr("Written: quantize %1 with %2.").arg(path, QString::fromStdString(specText(shown->result.spec))));
        Q_EMIT saved(path);
    });
}

} // namespace qs::gui
