// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_work.h"

#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/layouts/taken_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace qs::gui {
namespace {

using plan::Losses;

/// Enough to prove plans of 500 tensors x 12 specs, and few enough to stay below 100 ms.
constexpr std::size_t kLiveStates = std::size_t(1) << 15;

/// The NMSE of all weights under a spec, from rows of the session; none: a row is missing, or the rows follow another
/// layout than the plan, which keeps other matrices.
std::optional<Losses> measuredRows(const std::shared_ptr<const Model>& model, const Weights& weights,
                                   const QuantSpec& spec, const ModelRows& rows, const Layout& layout) {
    if (rows.size() < qsizetype(weights.size())) return {};
    if (const Layout* followed = followedLayout(*model, spec); followed && followed != &layout) return {};
    Losses out(model, {spec});
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const AnalysisRow& row = rows.at(i);
        if (row->status == Status::Ok && row->decodedAs != DType::F32) return {};
        if (const auto nmse = row->status == Status::Ok ? nmseMetric().value(*row) : std::nullopt)
            out.set(*weights[i], 0, {*nmse, {}, {}});
        else
            out.setReason(*weights[i], row->reason);
    }
    return out;
}

/// The NMSE under all wanted specs: what is known, then what the session has, then what must be measured.
Result<Losses> nmseOf(const GroundRequest& request, const std::vector<QuantSpec>& wanted, const Layout& layout,
                      const Job& job) {
    Losses out(request.model, std::vector<QuantSpec>());
    const bool isSame = request.before && request.before->model == request.model && request.before->nmse &&
                        (!request.before->sizes || request.before->sizes->layout == &layout);
    if (isSame) out = *request.before->nmse;
    const auto has = [&](const QuantSpec& spec) { return out.find(spec).has_value(); };
    for (const auto& [spec, rows] : request.rows)
        if (!has(spec))
            if (const auto known = measuredRows(request.model, request.layout->weights, spec, rows, layout))
                out.append(*known);
    std::vector<QuantSpec> missing;
    for (const QuantSpec& spec : wanted)
        if (!has(spec)) addOnce(missing, spec);
    if (missing.empty()) return out;
    const plan::Objective& objective = plan::objectives().front();
    const auto measured =
        objective.measure(objective, {request.model, request.layout->weights, missing, {}, false, &layout}, job);
    if (!measured) return tl::unexpected(measured.error());
    out.append(*measured);
    return out;
}

/// What the target takes; what the last ground knows of it is used.
Result<std::shared_ptr<const plan::Target>> targetOf(const GroundRequest& request, const std::vector<QuantSpec>& wanted,
                                                     const Job& job) {
    using Answer = std::shared_ptr<const plan::Target>;
    const std::string& id = request.settings.target;
    if (id.empty()) return Answer();
    const auto* before = request.before && request.before->model == request.model ? request.before.get() : nullptr;
    const std::int64_t rows = request.settings.targetRows;
    if (before && before->target && before->target->backend == id && before->target->m == rows &&
        before->target->specs == wanted)
        return before->target;
    const auto& sources = request.backends;
    const auto source = std::ranges::find_if(sources, [&](const auto& one) { return one.id == id; });
    if (source == sources.end()) return fail(fmt::format("There is no backend '{}'.", escapeForPeople(id, 60)));
    auto asked = plan::askTarget({*source, request.model, wanted, rows, {}}, job);
    if (!asked) return tl::unexpected(asked.error());
    return std::make_shared<const plan::Target>(std::move(*asked));
}

} // namespace

Result<std::shared_ptr<const PlanGround>> planGround(const GroundRequest& request, const Job& job) {
    auto out = std::make_shared<PlanGround>();
    out->model = request.model, out->weights = request.layout->weights, out->settings = request.settings;
    out->objective = plan::findObjective(request.settings.objective);
    if (!out->objective) return fail(fmt::format("There is no objective '{}'.", request.settings.objective));
    auto wanted = request.settings.specs;
    for (const QuantSpec& spec : request.locked) addOnce(wanted, spec);

    const auto& before = request.before;
    const bool hasSizes = before && before->model == request.model && before->sizes &&
                          before->settings.layout == request.settings.layout &&
                          (!request.settings.layout.empty() || before->settings.specs == request.settings.specs);
    auto sizes = hasSizes ? Result<plan::StoredSizes>(*before->sizes)
                          : plan::storedSizes(request.model, out->weights.empty() ? nullptr : out->weights.front(),
                                              request.settings.specs, request.settings.layout, job);
    if (!sizes) return tl::unexpected(sizes.error());
    for (const auto* list : std::initializer_list<const std::vector<QuantSpec>*>{&wanted, &request.shown})
        for (const QuantSpec& spec : *list)
            if (auto added = sizes->add(spec, job); !added) return tl::unexpected(added.error());
    out->sizes = std::make_shared<const plan::StoredSizes>(std::move(*sizes));

    auto target = targetOf(request, wanted, job);
    if (!target) return tl::unexpected(target.error());
    out->target = std::move(*target);

    auto nmse = nmseOf(request, wanted, *out->sizes->layout, job);
    if (!nmse) return tl::unexpected(nmse.error());
    out->nmse = std::make_shared<const Losses>(std::move(*nmse));
    out->losses = out->nmse;
    if (!out->objective->how) return out;
    const auto* all = request.text.sensitivities.get();
    const auto rows = all ? all->find(out->objective->how->id) : SensitivityRows::const_iterator();
    if (!all || rows == all->end()) {
        const bool isKnown = before && before->model == request.model && before->objective == out->objective;
        if (!isKnown || !before->losses)
            return fail(
                fmt::format("{} was not measured: page Evidence, tab Tensors, measures it.", out->objective->title));
        out->losses = before->losses, out->lossChunks = before->lossChunks; // of a session that was opened
        return out;
    }
    out->losses = std::make_shared<const Losses>(
        plan::lossesOf(request.model, out->nmse->specs(), rows->second, out->nmse.get()));
    out->lossChunks = request.text.measuredChunks;
    return out;
}

plan::Budget PlanAnswer::whole() const {
    plan::Budget out(budget);
    out.ns = ns;
    return out;
}

Result<std::shared_ptr<const PlanAnswer>> answerPlan(const PlanQuestion& question, const Job&) {
    const auto begun = std::chrono::steady_clock::now();
    const PlanGround& ground = *question.ground;
    auto out = std::make_shared<PlanAnswer>();
    out->ground = question.ground, out->recipe = question.recipe, out->options = question.options;
    if (!out->options) {
        plan::OptionRequest request;
        request.model = ground.model, request.tensors = ground.weights, request.specs = ground.settings.specs;
        request.layout = ground.settings.layout, request.groups = ground.settings.groups;
        request.limits = ground.settings.limits;
        request.locks = question.recipe->lines.own;
        request.target = ground.target, request.latencies = question.latencies;
        request.needsTimes = question.latencies && question.ns;
        auto options = plan::planOptions(std::move(request), *ground.sizes, *ground.losses);
        if (!options) return tl::unexpected(options.error());
        out->options = std::make_shared<const plan::Options>(std::move(*options));
    }
    const plan::Options& options = *out->options;
    const double perBit = double(options.elements) / 8;
    const auto least = options.leastBytes(), most = options.mostBytes();
    const double usual = kUsualBudget * perBit;
    const bool fits = usual > double(least) && usual < double(most);
    const double wanted = question.bpw ? *question.bpw * perBit : fits ? usual : double(least / 2 + most / 2);
    // A budget of a plan that was made before is met whatever its rounding; locks may have made the smallest file larger.
    out->budget = std::max<std::uint64_t>(least, std::uint64_t(std::llround(std::max(0.0, wanted))));
    if (options.latencies) out->ns = question.ns;
    auto best = plan::bestMixture(options, out->whole(), kLiveStates);
    if (!best) return tl::unexpected(best.error());
    out->plan = std::move(*best);
    out->frontier = plan::frontierOf(options);
    out->uniform = plan::uniformMixtures(options, std::numeric_limits<std::uint64_t>::max());
    for (const plan::Heuristic& rule : plan::heuristics())
        if (auto mixture = plan::heuristicMixture(rule, options, out->whole()))
            out->heuristics.push_back(std::move(*mixture));
    out->rows = plan::mixtureRows(out->plan, options);
    const auto specOf = [&](const TensorInfo& tensor) { return question.recipe->specOf(tensor); };
    if (auto current = plan::knownRecipe("recipe", specOf, *ground.sizes, *ground.losses))
        out->current = std::move(current->mixture);
    if (const auto start = question.start.recipe) {
        auto known = plan::knownRecipe(
            question.start.name.toStdString(), [start](const TensorInfo& tensor) { return start->specOf(tensor); },
            *ground.sizes, *ground.losses);
        if (known)
            out->start.push_back(std::move(*known));
        else
            out->startProblem = known.error().sentence();
    }
    out->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
    return out;
}

Result<PlanBand> randomBand(const std::shared_ptr<const PlanAnswer>& answer, const Job& job) {
    constexpr int kSizes = 9;
    const plan::Options& options = *answer->options;
    const std::uint64_t least = options.leastBytes(), most = options.mostBytes();
    PlanBand out;
    for (int i = 0; i < kSizes; ++i) {
        plan::Mixture at; // a size to draw at
        at.bytes = least + (most - least) * std::uint64_t(i) / (kSizes - 1);
        PlanBand::Point point{at.bytes, INFINITY, -INFINITY};
        for (std::size_t draw = 1; draw <= kBandDraws; ++draw) {
            if (job.cancelled()) return cancelledError();
            const auto mixture = plan::randomMixture(at, options, draw, answer->ns);
            if (!mixture) continue;
            point.least = std::min(point.least, mixture->loss), point.largest = std::max(point.largest, mixture->loss);
        }
        if (point.largest >= point.least) out.points.push_back(point);
    }
    return out;
}

std::shared_ptr<const plan::PlanRecord> recordOf(const PlanAnswer& answer, const plan::MeasuredPlan* measured,
                                                 std::shared_ptr<const plan::SpeedMap> speed) {
    auto out = std::make_shared<plan::PlanRecord>();
    out->objective = answer.ground->objective, out->options = answer.options, out->losses = answer.ground->losses;
    out->plan = answer.plan, out->budget = answer.whole(), out->lossChunks = answer.ground->lossChunks;
    out->recipes = answer.start, out->sizes = answer.ground->sizes, out->speed = std::move(speed);
    if (measured) {
        out->proof = *measured->proof, out->text.path = measured->textPath;
        out->text.sha256 = measured->textSha256, out->context = measured->context;
    }
    return out;
}

RuleLines plannedLines(const PlanAnswer& answer, RuleLines lines) {
    const auto recipe = plan::recipeOf(answer.plan, *answer.options, lines.own);
    lines.planned.assign(recipe.rules.begin() + std::ptrdiff_t(lines.own.size()), recipe.rules.end());
    lines.note = fixedText(answer.plan.bpw(*answer.options), 4) + " bpw by " + answer.ground->objective->id;
    return lines;
}

bool areSame(const std::vector<TensorRule>& a, const std::vector<TensorRule>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return x.regex == y.regex && x.spec == y.spec; });
}

} // namespace qs::gui
