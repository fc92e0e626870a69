// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/backends_plan.h"

#include "app/gui/pages/backends/plan_fields.h"
#include "app/gui/pages/backends/plan_shapes.h"
#include "app/gui/pages/backends/plan_sources.h"
#include "app/gui/pages/backends/plan_specs.h"
#include "app/gui/sentence.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "core/base/text.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace qs::gui {

BackendsPlan::BackendsPlan(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
    auto* whole = spaced(new QVBoxLayout(this), 4);
    // In a low window the plan scrolls, and the buttons below stay in place.
    auto* scroll = new QScrollArea;
    auto* inner = new QWidget;
    auto* column = spaced(new QVBoxLayout(inner), 3);
    scroll->setWidget(inner);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    inner->setAutoFillBackground(false);
    scroll->viewport()->setAutoFillBackground(false);
    whole->addWidget(scroll, 1);
    sources_ = new PlanSources(*column, this);
    specs_ = new PlanSpecs(*column, session, this);
    shapes_ = new PlanShapes(*column, session, this);
    fields_ = new PlanFields(*column, this);
    fields_->offerTopology(sources_->all());
    column->addStretch(1);

    note_ = dressed(named(new QLabel, "planNote"), Theme::numbers(10), "muted");
    note_->setWordWrap(true);
    complaint_ = dressed(named(new QLabel, "planComplaint"), Theme::words(11), "warn");
    complaint_->setWordWrap(true);
    addWidgets(*whole, {note_, complaint_});
    whole->addLayout(buttons());
    connect(sources_, &PlanSources::listed, this, [this] { fields_->offerTopology(sources_->all()); });
    connect(sources_, &PlanSources::changed, this, &BackendsPlan::estimate);
    connect(specs_, &PlanSpecs::changed, this, &BackendsPlan::estimate);
    connect(specs_, &PlanSpecs::complained, this, &BackendsPlan::complain);
    connect(shapes_, &PlanShapes::changed, this, &BackendsPlan::estimate);
    connect(shapes_, &PlanShapes::complained, this, &BackendsPlan::complain);
    connect(fields_, &PlanFields::changed, this, &BackendsPlan::estimate);
    for (auto signal : {&Session::specChanged, &Session::recipeChanged})
        connect(&session, signal, this, [this] {
            specs_->spoil();
            if (isVisible()) specs_->refresh();
        });
    const auto takeWish = [this] {
        if (session_.decision().benchWish().empty()) return;
        specs_->wish(session_.decision().benchWish());
        shapes_->wishAll();
    };
    connect(&session.decision(), &Decision::benchAsked, this, takeWish);
    takeWish();
    setRunning(false);
}

QLayout* BackendsPlan::buttons() {
    auto* buttons = new QHBoxLayout;
    run_ = named(new QPushButton(tr("Run")), "runBench", "primary");
    cancel_ = named(new QPushButton(tr("Cancel")), "cancelBench");
    auto* ask = named(new QPushButton(tr("Ask")), "askBackends");
    ask->setToolTip(tr("Which backend could run which spec, without timing anything"));
    buttons->addWidget(run_, 1);
    buttons->addWidget(cancel_, 1);
    buttons->addWidget(ask);
    connect(run_, &QPushButton::clicked, this, &BackendsPlan::runAsked);
    connect(cancel_, &QPushButton::clicked, this, &BackendsPlan::cancelAsked);
    connect(ask, &QPushButton::clicked, this, &BackendsPlan::askAsked);
    return buttons;
}

void BackendsPlan::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    specs_->refresh();
}

const std::vector<BackendSource>& BackendsPlan::sources() const { return sources_->all(); }
void BackendsPlan::addPlugin(const QString& path) { sources_->addPlugin(path); }
void BackendsPlan::removePlugin(const QString& path) { sources_->removePlugin(path); }

Result<BenchmarkPlan> BackendsPlan::plan() const {
    BenchmarkPlan plan;
    fields_->fill(plan);
    plan.artifacts = true;
    plan.cacheBytes = cacheBytes_;
    plan.model = session_.model();
    plan.commandLine = "quantscope";
    plan.specs = specs_->ticked();
    for (auto& backend : sources_->ticked()) {
        auto source = fields_->withTopology(std::move(backend));
        if (!source) return tl::unexpected(source.error());
        plan.backends.push_back(std::move(*source));
    }
    const auto ms = fields_->ms();
    if (!ms) return tl::unexpected(ms.error());
    plan.shapes = shapes_->ticked(*ms);
    if (plan.backends.empty()) return fail("choose at least one backend");
    if (plan.specs.empty()) return fail("choose at least one format of the weights");
    if (plan.shapes.empty()) return fail("choose at least one shape");
    if (auto usable = checkPlan(plan); !usable) return tl::unexpected(usable.error());
    return plan;
}

void BackendsPlan::complain(const QString& sentence) {
    complaint_->setText(sentence);
    complaint_->setVisible(!sentence.isEmpty());
}

void BackendsPlan::estimate() {
    sources_->fit();
    specs_->fit();
    shapes_->fit();
    fields_->enableForOperation();
    const auto planned = plan();
    complain(planned ? QString() : errorSentence(planned.error()));
    note_->setVisible(bool(planned));
    if (planned) showRows(*planned);
    run_->setEnabled(bool(planned) && !running_);
    Q_EMIT changed();
}

void BackendsPlan::showRows(const BenchmarkPlan& plan) {
    std::size_t rows = 0, timed = 0;
    bool known = true;
    for (const auto& backend : plan.backends)
        for (const auto& [text, spec] : plan.specs) {
            const auto answer = variants_.find({backend.id, text});
            known &= answer != variants_.end();
            const auto ways = answer == variants_.end() ? Ways{1, 1} : answer->second;
            rows += std::max<std::size_t>(1, ways.all); // no variant: one row with the reason
            timed += ways.timed;
        }
    const auto each = plan.shapes.size() * plan.caches.size();
    secondsNeeded_ = double(timed * each) * plan.secondsPerRow;
    const auto time = QString::fromStdString(durationText(secondsNeeded_));
    note_->setText(
        (known ? tr("%1 rows: checked, then %2") : tr("%1 rows or more: at least %2")).arg(rows * each).arg(time));
}

void BackendsPlan::setAnswers(const std::vector<Capability>& answers) {
    variants_.clear();
    for (const auto& answer : answers) {
        auto& ways = variants_[{answer.backend, answer.spec}];
        ways.all += answer.variants.size();
        if (answer.status == RowState::Ok) ways.timed += answer.variants.size();
    }
    estimate();
}

void BackendsPlan::setRunning(bool running) {
    running_ = running;
    run_->setVisible(!running);
    cancel_->setVisible(running);
    estimate();
}

} // namespace qs::gui
