// SPDX-License-Identifier: GPL-3.0-or-later
// What the page plan asks of its workers, and what it does with the answers.
#include "app/gui/page.h"
#include "app/gui/pages/plan/plan_budget.h"
#include "app/gui/pages/plan/plan_charts.h"
#include "app/gui/pages/plan/plan_choice.h"
#include "app/gui/pages/plan/plan_measure.h"
#include "app/gui/pages/plan/plan_page.h"
#include "app/gui/pages/plan/plan_speed.h"
#include "app/gui/pages/plan/plan_start.h"
#include "app/gui/pages/plan/plan_time.h"
#include "app/gui/pages/plan/plan_units.h"
#include "app/gui/session.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"
#include "core/session/kept_plan.h"

#include <QComboBox>
#include <QSignalBlocker>
#include <QStackedLayout>
#include <QToolButton>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr const char* kPlanKept = "plan"; ///< name in session files
constexpr std::size_t kMostChoices = 32;  ///< specs to choose from
constexpr std::size_t kDrawsAtOnce = 5;   ///< random plans of each kind, between two looks at the result

/// The specs of locks, each once.
std::vector<QuantSpec> lockedSpecs(const SessionRecipe& recipe) {
    std::vector<QuantSpec> out;
    for (const TensorRule& rule : recipe.lines.own)
        if (rule.spec && std::find(out.begin(), out.end(), *rule.spec) == out.end()) out.push_back(*rule.spec);
    return out;
}

bool areSame(const std::vector<TensorRule>& a, const std::vector<TensorRule>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return x.regex == y.regex && x.spec == y.spec; });
}

} // namespace

bool PlanPage::isGroundFresh() const {
    if (!ground_ || ground_->model != session_.model() || !(ground_->settings == choice_->settings())) return false;
    if (ground_->objective->how && groundOf_ != session_.output().text().sensitivities) return false;
    auto needed = lockedSpecs(*session_.recipe());
    if (const auto& start = session_.decision().start().recipe)
        needed.insert(needed.end(), start->specs.begin(), start->specs.end());
    return std::all_of(needed.begin(), needed.end(),
                       [&](const QuantSpec& spec) { return ground_->sizes->find(spec).has_value(); });
}

void PlanPage::ask() {
    if (stack_->currentIndex() == 0) return;
    if (isGroundFresh())
        solve();
    else if (ground_)
        ground();
    else
        draw();
}

void PlanPage::ground() {
    settle_.stop();
    GroundRequest request;
    request.model = session_.model(), request.layout = session_.layout(), request.settings = choice_->settings();
    if (request.settings.specs.size() < 2 || request.settings.specs.size() > kMostChoices)
        return status_->say(tr("A plan chooses between 2 to %1 specs: tick more or fewer.").arg(kMostChoices), true);
    request.locked = lockedSpecs(*session_.recipe()), request.shown = session_.recipe()->specs;
    if (const auto& start = session_.decision().start().recipe)
        request.shown.insert(request.shown.end(), start->specs.begin(), start->specs.end());
    for (const QuantSpec& spec : session_.analysedSpecs()) request.rows.emplace_back(spec, session_.modelRows(spec));
    request.text = session_.output().text(), request.before = ground_, request.backends = choice_->backends();
    groundOf_ = request.text.sensitivities;
    solving_.drop();
    again_ = false;
    status_->say({});
    using Made = std::shared_ptr<const PlanGround>;
    grounding_.run(
        "Measuring what each spec loses",
        [request = std::move(request)](const Job& job) { return planGround(request, job); },
        [this](Made made) {
            ground_ = std::move(made);
            solve();
        });
    draw();
}

void PlanPage::solve() {
    if (!ground_ || !ground_->sizes || grounding_.running()) return; // without sizes it is of a session file
    again_ = solving_.running();
    if (again_) return;
    PlanQuestion question{ground_, session_.recipe(),  bpw_,       session_.decision().start(),
                          nullptr, time_->latencies(), time_->ns()};
    time_->setSpecs(ground_->settings.specs);
    const bool isSameTime = answer_ && answer_->options->latencies == question.latencies &&
                            answer_->ns.has_value() == (question.latencies && question.ns);
    if (isSameTime && answer_->ground == ground_ && areSame(answer_->recipe->lines.own, question.recipe->lines.own))
        question.options = answer_->options;
    using Answer = std::shared_ptr<const PlanAnswer>;
    solving_.run(
        {}, [question = std::move(question)](const Job& job) { return answerPlan(question, job); },
        [this](Answer answer) { take(std::move(answer)); });
}

void PlanPage::take(std::shared_ptr<const PlanAnswer> answer) {
    const bool isSame = answer_ && answer_->options == answer->options;
    answer_ = std::move(answer);
    const plan::Options& options = *answer_->options;
    if (!again_) budget_->setAnswer(answer_.get());
    if (!isSame) charts_->setBand({});
    charts_->setAnswer(answer_);
    units_->setAnswer(answer_);
    startLine_->setAnswer(answer_.get());
    status_->say(options.remarks.empty() ? QString() : QString::fromStdString(options.remarks.front()));
    QStringList remarks;
    for (const auto& remark : options.remarks) remarks << QString::fromStdString(remark);
    status_->setToolTip(remarks.join(u'\n'));
    time_->setPlan(&answer_->plan, answer_->options.get());
    speed_->setAnswer(answer_, measured_.empty() ? nullptr : &measured_.back());
    publish();
    keep();
    if (!again_ && !isSame)
        banding_.run(
            {}, [answer = answer_](const Job& job) { return randomBand(answer, job); },
            [this](PlanBand band) { charts_->setBand(std::move(band)); });
}

void PlanPage::publish() {
    if (!answer_) return;
    auto record = recordOf(*answer_);
    if (speed_->map()) {
        auto timed = std::make_shared<plan::PlanRecord>(*record);
        timed->speed = speed_->map();
        record = timed;
    }
    if (const auto* measured = measuredNow()) {
        auto whole = std::make_shared<plan::PlanRecord>(*record);
        whole->proof = *measured->proof, whole->text.path = measured->textPath;
        whole->text.sha256 = measured->textSha256, whole->context = measured->context;
        record = whole;
    }
    session_.decision().setPlan(std::move(record));
}

void PlanPage::recipeChanged() {
    if (stack_->currentIndex() == 0 || !isVisible() || (ground_ && ground_->model != session_.model())) return;
    settle_.stop();
    ask();
    draw();
}

void PlanPage::budgetChanged() {
    if (session_.decision().budget() == bpw_) return; // it was changed here
    bpw_ = session_.decision().budget();
    budget_->follow();
    solve();
}

/// Its specs are to choose from, and it stands beside the plan; its rules lock nothing.
void PlanPage::startChanged() {
    const PlanStart& start = session_.decision().start();
    startLine_->setAnswer(nullptr);
    if (stack_->currentIndex() == 0 || fresh_ || restoring_.running()) return; // it is asked for when the page is shown
    if (!start.recipe) return solve();
    choice_->chooseFrom(start.recipe->specs);
    ground();
}

RuleLines PlanPage::plannedLines() const {
    RuleLines lines = session_.recipe()->lines;
    const auto recipe = plan::recipeOf(answer_->plan, *answer_->options, lines.own);
    lines.planned.assign(recipe.rules.begin() + std::ptrdiff_t(lines.own.size()), recipe.rules.end());
    lines.note = fixedText(answer_->plan.bpw(*answer_->options), 4) + " bpw by " + answer_->ground->objective->id;
    return lines;
}

bool PlanPage::isInUse() const {
    return answer_ && session_.keepsRest() && areSame(plannedLines().planned, session_.recipe()->lines.planned);
}

void PlanPage::use() {
    if (!answer_ || isInUse()) return;
    session_.setRules(plannedLines(), true);
    status_->say(tr("The recipe of the session is this plan. Undo takes it back."));
    draw();
}

const plan::MeasuredPlan* PlanPage::measuredNow() const {
    if (!answer_) return nullptr;
    const auto found = std::find_if(measured_.rbegin(), measured_.rend(), [&](const plan::MeasuredPlan& one) {
        return one.objective == answer_->ground->objective->id && one.plan().mixture.bytes == answer_->plan.bytes &&
               one.plan().mixture.loss == answer_->plan.loss;
    });
    return found == measured_.rend() ? nullptr : &*found;
}

void PlanPage::measure() {
    if (!answer_) return;
    OutputText text = session_.output().text();
    if (text.path.empty()) text.path = session_.sampleText().toStdString();
    if (text.path.empty()) return session_.showPage(kEvidencePage);
    MeasureRequest request{answer_, text, 0, {}};
    if (const auto* now = measuredNow(); now && canGoOn(*now)) {
        request.before = *now;
        while (draws_->currentData().toULongLong() <= now->proof->draws() &&
               draws_->currentIndex() + 1 < draws_->count())
            draws_->setCurrentIndex(draws_->currentIndex() + 1);
    } else {
        findChild<QToolButton*>(QStringLiteral("planTabChance"))->click();
    }
    status_->say({});
    drawMore(std::move(request));
}

/// A few draws at a time, so that what is known of chance is shown and kept while the others are drawn. The plan may
/// change meanwhile: the draws are of the one that they began with.
void PlanPage::drawMore(MeasureRequest request) {
    const std::size_t all = std::size_t(draws_->currentData().toULongLong());
    const std::size_t known = request.before ? request.before->proof->draws() : 0;
    if (request.before && known >= all) return draw();
    request.draws = std::min(all, request.before ? known + kDrawsAtOnce : plan::kUsualDraws);
    drawn_ = known;
    measuring_.run(
        request.before ? tr("Random plans of each kind: %1 of %2").arg(known).arg(all).toStdString()
                       : std::string("Measuring the plan beside chance"),
        [request](const Job& job) { return measurePlan(request, job); },
        [this, request](plan::MeasuredPlan measured) mutable {
            const auto before = std::find_if(measured_.begin(), measured_.end(), [&](const plan::MeasuredPlan& one) {
                return request.before && one.proof == request.before->proof;
            });
            if (before != measured_.end())
                *before = measured;
            else
                measured_.push_back(measured);
            charts_->setMeasured(measured_);
            speed_->setAnswer(answer_, &measured_.back());
            publish();
            keep();
            request.before = std::move(measured);
            drawMore(std::move(request));
        });
    draw();
}

bool PlanPage::canGoOn(const plan::MeasuredPlan& measured) const {
    return !measured.proof->scores.empty() && measured.plan().mixture.picked == answer_->plan.picked;
}

void PlanPage::keep() {
    KeptPlan kept;
    const PlanSettings& settings = ground_->settings;
    kept.specs = settings.specs, kept.layout = settings.layout, kept.objective = settings.objective;
    if (!settings.target.empty()) kept.target = settings.target, kept.targetRows = std::uint64_t(settings.targetRows);
    kept.groups = settings.groups, kept.bpw = bpw_, kept.ns = time_->ns(), kept.lossChunks = ground_->lossChunks,
    kept.measured = measured_;
    kept.startName = session_.decision().start().name.toStdString(),
    kept.startRules = session_.decision().start().rules.toStdString();
    session_.keep(QLatin1String(kPlanKept), [kept = std::move(kept), losses = ground_->losses]() mutable {
        KeptPlan whole = kept;
        whole.losses = *losses;
        return keptPlan(whole);
    });
}

bool PlanPage::takeRestored() {
    const auto text = session_.restored(QLatin1String(kPlanKept));
    if (!text) return false;
    restoring_.run(
        {}, [text](const Job&) { return planKept(*text); },
        [this](Result<KeptPlan> kept) {
            if (!kept) {
                status_->say(QString::fromStdString(oneSentence(kept.error().sentence())), true);
                return session_.decision().start().recipe ? startChanged() : ground();
            }
            choice_->allowObjective(kept->objective);
            choice_->setSettings({kept->specs, kept->layout, kept->objective, kept->groups,
                                  kept->target.value_or(std::string()), std::int64_t(kept->targetRows.value_or(1))});
            auto before = std::make_shared<PlanGround>();
            before->model = session_.model(), before->objective = plan::findObjective(kept->objective);
            before->lossChunks = kept->lossChunks;
            before->losses = std::make_shared<const plan::Losses>(std::move(kept->losses));
            if (!before->objective->how) before->nmse = before->losses;
            ground_ = std::move(before);
            measured_ = std::move(kept->measured);
            charts_->setMeasured(measured_);
            if (!bpw_) session_.decision().setBudget(bpw_ = kept->bpw);    // of a file whose history has none
            if (session_.decision().start().recipe) return startChanged(); // somebody has chosen another since
            {
                const QSignalBlocker quiet(&session_.decision()); // the ticks are those of the file
                session_.startPlanFrom(QString::fromStdString(kept->startName),
                                       QString::fromStdString(kept->startRules));
            }
            startLine_->setAnswer(nullptr);
            time_->setNs(kept->ns);
            ground();
        });
    return true;
}

} // namespace qs::gui
